#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# "box exec" has two programs: box-exec, which speaks to libvirt's daemon by itself, and box-main, which has
# libvirt's library. They do the same; the first leaves to the second what it does not know, whole.
# (contract.sh goes through the first.)
set -euo pipefail
# What is in single quotes is for the box.
# shellcheck disable=SC2016
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/micro-box.sh"
. "$(dirname "$0")/status-table.sh"
require_root
require_command python3 virsh
make_scratch
box=ways-$$
micro_box "$box"
build=${BOX_BUILD:-$(dirname "$tests_dir")/build}

# The quick one, where there is no other to fall back on; and where there is none but the other.
mkdir "$scratch/quick" "$scratch/library"
cp "$build/cli/box" "$build/cli/box-exec" "$scratch/quick"
cp "$build/cli/box" "$build/cli/box-main" "$scratch/library"
chmod 755 "$scratch" "$scratch"/*
quick=$scratch/quick/box library=$scratch/library/box

for row in "${status_table[@]}"; do
	for way in "$quick" "$library"; do
		assert_status "${row%% *}" lab_run "$way" exec "$box" -- sh -c "${row#* }"
		assert_silent "$out$err" "$row by $way"
	done
done
for way in "$quick" "$library"; do
	assert_status 127 lab_run "$way" exec "$box" -- /no/such/program
	assert_equal "box: fault=not-executable detail=\"cannot execute '/no/such/program' in box '$box': No such file or directory\"" "$err"
	assert_status 124 lab_run "$way" exec --timeout 1s "$box" -- sleep 60
done

# Much, both ways at once, past every window and packet; and a reader that is slow.
head -c 20000000 /dev/urandom >"$scratch/in"
lab_run "$quick" exec "$box" -- cat <"$scratch/in" >"$scratch/out"
cmp "$scratch/in" "$scratch/out" || fail 'cat is not byte-exact'
sum=$(lab_run "$quick" exec "$box" -- sh -c 'yes | head -c 9000000' | { sleep 2; cksum; })
assert_equal "$(yes | head -c 9000000 | cksum)" "$sum" 'a slow reader'
# One that does not read at all holds up the command, and does not fill our memory.
lab_run sh -c 'echo $$ >"$1/pid"; exec "$2" exec "$3" -- yes' sh "$scratch" "$quick" "$box" |
	(wait_until 100 test -e "$scratch/read") &
wait_until 60 test -s "$scratch/pid"
sleep 3
memory=$(awk '/VmHWM/ {print $2}' "/proc/$(cat "$scratch/pid")/status")
[ "$memory" -lt 8192 ] || fail "box-exec holds $memory kB for a reader that does not read"
touch "$scratch/read"
wait

# What it does not know is the other's, with the other's words. (Here there is no other: it says so.)
cannot="box: cannot start"
for words in "exec no-such-box -- true" "exec $box" "exec --timing $box -- true" "exec --nonsense $box -- true" \
	"exec --help" "exec --connect test:///default $box -- true" "exec $box no-dashes extra -- true" "list"; do
	# shellcheck disable=SC2086
	assert_status 1 lab_run "$quick" $words
	assert_contains "$err" "$cannot" "$words"
done
assert_status 1 lab_run env BOX_DEBUG=1 "$quick" exec "$box" -- true
assert_contains "$err" "$cannot"
assert_status 0 lab_run "$library" exec --timing "$box" -- true
assert_contains "$err" 'exec.command'
assert_status 125 lab_run box exec no-such-box -- true
assert_equal 'box: fault=box-missing detail="no such box: no-such-box"' "$err"

# Standard input is untouched when the other takes over.
assert_equal whole "$(echo whole | lab_run box exec --timing "$box" -- cat 2>/dev/null)"

# Metadata that is not as we write it: the one that reads XML decides, and here refuses.
lab_run virsh metadata "$box" urn:box:domain >"$scratch/meta"
damaged=$(sed 's|<template>|<!-- by hand --><template>|' "$scratch/meta")
lab_run virsh metadata "$box" urn:box:domain --key box --set "$damaged" --live --config >/dev/null
assert_status 1 lab_run "$quick" exec "$box" -- true
assert_contains "$err" "$cannot"
assert_status 0 lab_run box exec "$box" -- true
lab_run virsh metadata "$box" urn:box:domain --key box --set "$(cat "$scratch/meta")" --live --config >/dev/null
assert_status 0 lab_run "$quick" exec "$box" -- true

# A daemon that wants polkit: agreed, the quick one goes on; refused, it leaves the question to the other, nothing done.
for decision in agree refuse; do
	"$tests_dir/lab/lab" run -- python3 "$tests_dir/vm/ask-polkit.py" "$scratch/$decision" /run/libvirt/libvirt-sock \
		"$decision" "$scratch/log-$decision" &
	on_exit kill "$!"
	wait_until 30 test -S "$scratch/$decision"
done
by_polkit() { # DECISION CMD...: where libvirt's socket is that daemon's
	lab_run unshare --mount --propagation private sh -c 'mount --bind "$1" /run/libvirt/libvirt-sock && shift && exec "$@"' sh \
		"$scratch/$1" "${@:2}"
}
assert_status 7 by_polkit agree "$quick" exec "$box" -- sh -c 'echo agreed; exit 7'
assert_equal agreed "$out"
assert_silent "$err"
assert_equal 'list polkit' "$(xargs <"$scratch/log-agree")"
assert_status 1 by_polkit refuse "$quick" exec "$box" -- touch /run/refused
assert_contains "$err" "$cannot"
assert_equal 'list polkit' "$(xargs <"$scratch/log-refuse")"
assert_status 1 lab_run "$quick" exec "$box" -- test -e /run/refused
# The other asks once more, and has the words for it.
assert_status 126 by_polkit refuse box exec "$box" -- true
assert_contains "$err" 'box: fault=agent-unreachable'
assert_contains "$err" 'authentication cancelled'
assert_equal 'list polkit list polkit list polkit' "$(xargs <"$scratch/log-refuse")"

# The daemon goes away in the middle.
lab_run "$quick" exec "$box" -- sh -c 'echo here; sleep 600' >"$scratch/out" 2>"$scratch/err" &
pid=$!
wait_until 30 grep -q here "$scratch/out"
"$tests_dir/lab/lab" kill-libvirtd
status=0
wait "$pid" || status=$?
"$tests_dir/lab/lab" start-libvirtd
assert_equal 126 "$status" 'libvirtd is killed'
assert_contains "$(cat "$scratch/err")" 'box: fault=agent-unreachable detail="the stream to the box broke: End of file'
assert_status 0 lab_run "$quick" exec "$box" -- true

# A box that does not run.
lab_run virsh destroy "$box" >/dev/null
assert_status 1 lab_run "$quick" exec "$box" -- true
assert_contains "$err" "$cannot"
assert_status 125 lab_run box exec "$box" -- true
assert_contains "$err" 'fault=box-stopped'
