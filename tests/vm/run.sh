#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# box run, with real boxes: status and streams, a signal, a kill. The box is gone after each. One at a
# time, since guests are emulated here; the time limit is tested by contract.sh, which is the same code.
set -euo pipefail
# What is in single quotes is for the box.
# shellcheck disable=SC2016
. "$(dirname "$0")/../lib.sh"
require_root
require_command virsh jq
make_scratch
export BOX_CPU=1 BOX_MEMORY=768MiB

lab_run box image list --json | jq -e 'any(.images[]; .template == "blank")' >/dev/null ||
	skip 'the lab has no image of blank'

# start NAME OPTIONS... -- CMD...: box run in the background, its streams and pid under that name
start() {
	local name=$1
	shift
	"$tests_dir/lab/lab" run -- box run --name "$name" --name-file "$scratch/$name.name" "$@" \
		<"$scratch/$name.in" >"$scratch/$name.out" 2>"$scratch/$name.err" &
	echo "$!" >"$scratch/$name.pid"
}

# ended NAME: its exit status into $status
ended() {
	status=0
	wait "$(cat "$scratch/$1.pid")" || status=$?
}

there() { lab_run virsh domstate "$1"; }
gone() {
	! there "$1" >/dev/null 2>&1 || fail "the box of '$1' is still there"
	[ ! -e "$scratch/$1.name" ] || fail "the name file of '$1' is still there"
}
for name in run-plain run-term run-kill; do
	on_exit lab_run box rm --force "$name"
	: >"$scratch/$name.in"
done
# The first box of an image warms it: that stays.
volumes() { lab_run virsh vol-list box | awk 'NR > 2 && NF && $1 !~ /^warm-/ {print $1}' | sort; }
before=$(volumes)

loop='while :; do sleep 0.2; done'

head -c 300000 /dev/urandom >"$scratch/run-plain.in"
start run-plain -- sh -c 'cat; cat /etc/hostname >&2; exit 7'
ended run-plain
assert_equal 7 "$status" "$(cat "$scratch/run-plain.err")"
cmp "$scratch/run-plain.in" "$scratch/run-plain.out" || fail 'standard output is not byte-exact'
assert_contains "$(cat "$scratch/run-plain.err")" run-plain
assert_lacks "$(cat "$scratch/run-plain.err")" 'fault='
gone run-plain

start run-term -- sh -c "trap 'echo got; exit 9' TERM; echo ready; $loop"
wait_until 600 grep -q ready "$scratch/run-term.out"
assert_equal run-term "$(cat "$scratch/run-term.name")"
kill -TERM "$(cat "$scratch/run-term.pid")"
ended run-term
assert_equal 9 "$status" "$(cat "$scratch/run-term.err")"
assert_equal $'ready\ngot' "$(cat "$scratch/run-term.out")"
gone run-term

# What a kill leaves, the next command that changes boxes takes away, and says so.
start run-kill -- sh -c "echo ready; $loop"
wait_until 600 grep -q ready "$scratch/run-kill.out"
kill -KILL "$(cat "$scratch/run-kill.pid")"
ended run-kill
assert_equal 137 "$status"
there run-kill >/dev/null || fail 'the box of a killed run went by itself'
assert_status 0 lab_run box down all
assert_contains "$err" run-kill
rm -f "$scratch/run-kill.name"
gone run-kill
assert_equal "$before" "$(volumes)" 'volumes of the pool'
