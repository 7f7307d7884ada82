#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# box run, with real boxes, from memory: its statuses are those of exec; streams, signals, time limit, faults;
# several at once. Whatever ends it, the box goes once: at the end, or by the next command after a kill.
set -euo pipefail
# What is in single quotes is for the box.
# shellcheck disable=SC2016
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/status-table.sh"
require_root
require_command virsh jq script
make_scratch
export BOX_CPU=1
lab=$tests_dir/lab/lab

lab_run box image list --json | jq -e 'any(.images[]; .template == "blank")' >/dev/null ||
	skip 'the lab has no image of blank'
lab_run box image warm blank >/dev/null 2>&1
mkfifo "$scratch/never"
exec 9<>"$scratch/never"
on_terminal() { # CMD...: see contract.sh
	script -qec "$(printf '%q ' "$lab" run -- "$@")" /dev/null <&9
}

# start NAME OPTIONS... -- CMD...: box run in the background, its streams and pid under that name
start() {
	local name=$1
	shift
	[ -e "$scratch/$name.in" ] || : >"$scratch/$name.in"
	rm -f "$scratch/$name".{out,err,name} # of an earlier one, which is not to be taken for this one's
	on_exit lab_run box rm --quiet --force "$name"
	# What a shell starts with "&" ignores INT, and what was ignored stays so.
	env --default-signal=INT "$lab" run -- box run --name "$name" --name-file "$scratch/$name.name" "$@" \
		<"$scratch/$name.in" >"$scratch/$name.out" 2>"$scratch/$name.err" &
	echo "$!" >"$scratch/$name.pid"
}

# ended NAME: its exit status into $status
ended() {
	status=0
	wait "$(cat "$scratch/$1.pid")" 2>/dev/null || status=$?
}

boxes() { lab_run virsh -q list --all --name | sed '/^$/d'; }
volumes() { lab_run virsh -q vol-list box | awk '{ print $1 }' | sort; }
before_boxes=$(boxes) before=$(volumes)
nothing_left() {
	assert_equal "$before_boxes" "$(boxes)" "boxes after $1"
	assert_equal '' "$(find "$scratch" -name '*.name')" "name files after $1"
}

# ---- the table, and who is to blame ----

for row in "${status_table[@]}"; do
	assert_status "${row%% *}" lab_run box run --quiet -- sh -c "${row#* }"
	assert_silent "$out" "$row"
	assert_lacks "$err" 'fault='
	assert_status "${row%% *}" on_terminal box run --quiet -- sh -c "${row#* }"
	assert_lacks "$out" 'fault='
done
nothing_left 'the table'

assert_status 124 lab_run box run --quiet --timeout 2s -- sh -c 'trap "" TERM; sleep 600'
assert_silent "$out"
assert_lacks "$err" 'fault='
assert_status 127 lab_run box run --quiet -- /no/such/program
assert_contains "$err" 'box: fault=not-executable detail="cannot execute '\''/no/such/program'\'
BOX_FAULT=new.disk assert_status 126 lab_run box run --quiet -- true
assert_equal 1 "$(grep -c '^box: fault=start-failed detail="' <<<"$err")" "$err"
mkdir -p "$scratch/config/box/templates/unminted"
printf 'user: dev\n' >"$scratch/config/box/templates/unminted/template.yaml"
XDG_CONFIG_HOME=$scratch/config assert_status 125 lab_run box run --template unminted -- true
assert_contains "$err" 'box: fault=image-missing detail="'
assert_status 125 lab_run box run --from no-such-box -- true
assert_contains "$err" 'box: fault=box-missing detail="no such box: no-such-box'
assert_lacks "$err" $'\nbox: fault='
nothing_left faults

# ---- streams ----

head -c 300000 /dev/urandom >"$scratch/run-plain.in"
start run-plain -- sh -c 'cat; cat /etc/hostname >&2; exit 7'
ended run-plain
assert_equal 7 "$status" "$(cat "$scratch/run-plain.err")"
cmp "$scratch/run-plain.in" "$scratch/run-plain.out" || fail 'standard output is not byte-exact'
assert_contains "$(cat "$scratch/run-plain.err")" run-plain
assert_lacks "$(cat "$scratch/run-plain.err")" 'fault='
assert_status 0 sh -c '"$@" <&-' sh "$lab" run -- box run --quiet --name-file /no/such/file -- cat
assert_silent "$out" 'closed stdin'
assert_contains "$err" "cannot be written: "
nothing_left streams

# ---- signals: they reach the command, which decides ----

loop='while :; do sleep 0.2; done'
for signal in INT TERM HUP; do
	start run-signal -- sh -c "trap 'echo got; exit 9' $signal; echo ready; $loop"
	wait_until 600 grep -q ready "$scratch/run-signal.out"
	assert_equal run-signal "$(cat "$scratch/run-signal.name")"
	kill "-$signal" "$(cat "$scratch/run-signal.pid")"
	ended run-signal
	assert_equal 9 "$status" "$signal: $(cat "$scratch/run-signal.err")"
	assert_equal $'ready\ngot' "$(cat "$scratch/run-signal.out")"
	nothing_left "$signal"
done

# Several at once, and each its own.
for i in 1 2 3; do
	echo "input of $i" >"$scratch/run-$i.in"
	start "run-$i" -- sh -c 'cat; hostname; exit $1' sh "1$i"
done
for i in 1 2 3; do
	ended "run-$i"
	assert_equal "1$i" "$status" "$(cat "$scratch/run-$i.err")"
	assert_equal "input of $i"$'\n'"run-$i" "$(cat "$scratch/run-$i.out")"
done
nothing_left 'several at once'

# ---- the box goes once ----

# What a kill leaves, the next command that changes boxes takes away, and says so; of two, one.
start run-kill -- sh -c "echo ready; $loop"
wait_until 600 grep -q ready "$scratch/run-kill.out"
kill -KILL "$(cat "$scratch/run-kill.pid")"
ended run-kill
assert_equal 137 "$status"
assert_contains "$(boxes)" run-kill
lab_run box start no-such-box >"$scratch/a" 2>&1 &
pid=$!
lab_run box start no-such-box >"$scratch/b" 2>&1 || true
wait "$pid" || true
assert_status 1 lab_run box start no-such-box
assert_equal 1 "$(cat "$scratch/a" "$scratch/b" <(echo "$err") | grep -c "removed.*'run-kill'")" "$(cat "$scratch/a" "$scratch/b"): $err"
rm -f "$scratch/run-kill.name"
nothing_left 'a kill'

# Killed while it removes the box.
BOX_FAULT=rm.stop:kill assert_status 137 lab_run box run --quiet --name run-cut -- true
assert_contains "$(boxes)" run-cut
assert_status 1 lab_run box start no-such-box
assert_contains "$err" run-cut
nothing_left 'a kill of the removal'

# It is nobody else's, and when somebody pulls its plug, that is said and it goes all the same.
start run-gone -- sh -c "echo ready; $loop"
wait_until 600 grep -q ready "$scratch/run-gone.out"
assert_status 1 lab_run box rm --force run-gone
assert_contains "$err" "box 'run-gone' is busy: "
lab_run virsh -q destroy run-gone
ended run-gone
assert_equal 126 "$status" "$(cat "$scratch/run-gone.err")"
assert_equal 1 "$(grep -c '^box: fault=agent-unreachable detail="' "$scratch/run-gone.err")" "$(cat "$scratch/run-gone.err")"
nothing_left 'a plug that was pulled'

# ---- kept; and cloned ----

on_exit lab_run box rm --quiet --force run-kept
assert_status 3 lab_run box run --quiet --keep --name run-kept -- sh -c 'echo kept >note; exit 3'
assert_equal kept "$(lab_run box exec run-kept -- cat note)"
assert_status 126 lab_run box run --name run-kept -- true
assert_contains "$err" "fault=start-failed detail=\"the name 'run-kept' is taken"
assert_equal kept "$(lab_run box exec run-kept -- cat note)"
assert_status 0 lab_run box snapshot --quiet --live run-kept half
assert_status 5 lab_run box run --quiet --from run-kept/half -- sh -c 'cat note; echo changed >note; hostname; exit 5'
assert_equal $'kept\nrun-kept-1' "$out"
assert_equal kept "$(lab_run box exec run-kept -- cat note)"
assert_status 0 lab_run box rm --force run-kept
nothing_left 'a kept box'
assert_equal "$before" "$(volumes)" 'volumes of the pool'
