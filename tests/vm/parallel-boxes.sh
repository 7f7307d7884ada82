#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Several commands at once: on different boxes they run side by side and never get the same name, address,
# MAC or tap; on one box the second waits, then refuses, and says who holds it.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
. "$tests_dir/vm/hollow.sh"
require_root
require_command virsh jq qemu-img
lab=$tests_dir/lab/lab
make_scratch
hollow_set_up
hollow_nothing_left 'set-up'

# Five at once, without names. They wait for guests that never come, and are killed.
pids=()
for i in {1..5}; do
	"$lab" run -- box new --cold --template hollow </dev/null >"$scratch/out.$i" 2>&1 &
	pids+=($!)
done
all_started() {
	[ "$(lab_run sh -c 'ip -o link | grep -c bxt')" = 5 ]
}
wait_until 120 all_started
assert_status 0 lab_run box list --json
assert_equal "$(printf 'hollow-%d\n' {1..5})" "$(jq -r '.boxes[].name' <<<"$out")"
assert_equal 5 "$(jq -r '.boxes[].ipv4' <<<"$out" | sort -u | grep -c '^10\.')" 'addresses of their own'
assert_equal 5 "$(lab_run virsh net-dumpxml boxnet | grep '<host ' | sort -u | wc -l)"
assert_equal 5 "$(hollow_pending | grep -c '^box-')" 'layers'
kill -KILL "${pids[@]}"
wait || true

# Two commands recover at the same time: each box is taken away once.
lab_run box start nosuch >"$scratch/a" 2>&1 &
pid=$!
lab_run box start nosuch >"$scratch/b" 2>&1 || true
wait "$pid" || true
assert_status 1 lab_run box start nosuch
assert_equal 5 "$(cat "$scratch/a" "$scratch/b" <(echo "$err") | grep -c 'removed the half-made box')"
hollow_nothing_left 'recovery by two at once'

# A held box: new waits for a guest that never comes.
"$lab" run -- box new --cold --template hollow one </dev/null >"$scratch/out" 2>&1 &
pid=$!
wait_until 60 lab_run sh -c 'ip -o link | grep -q bxt'
begin=$SECONDS
assert_status 1 lab_run box rm --force one
assert_contains "$err" "box 'one' is busy: "
assert_contains "$err" "(pid $pid) works on it since 20"
[ $((SECONDS - begin)) -ge 9 ] || fail 'it did not wait'
assert_equal 'one creating' "$(lab_run box list --json | jq -r '.boxes[] | .name + " " + .state')"
# Reading takes no lock, and another box is free.
assert_status 0 lab_run box info one
BOX_FAULT=new.disk assert_status 1 hollow_new two
assert_contains "$err" 'fault injected'

# It waits for one that ends in time.
(sleep 2 && kill -TERM "$pid") &
assert_status 0 lab_run box rm --force one
assert_equal 'one: removed' "$out"
wait "$pid" || true
hollow_nothing_left 'rm that had to wait'

# Two that give up the same layer at the same time, whichever looks at the layers first: one of them takes it.
stopped() { # COMMAND
	pgrep -x -f "$1" >"$scratch/held" && grep -q '^State:.*T' "/proc/$(cat "$scratch/held")/status"
}
# held_at FAULT REST...: box REST... stands still there; "let_go" lets it end.
held_at() {
	local fault=$1
	shift
	BOX_FAULT=$fault:stop "$lab" run -- box "$@" </dev/null >"$scratch/out" 2>&1 &
	pid=$!
	wait_until 60 stopped "box $*"
}
let_go() {
	kill -CONT "$(cat "$scratch/held")"
	wait "$pid" || fail "$(cat "$scratch/out")"
}
layers() {
	hollow_pending | grep -c '^box-'
}
hollow_box one
lab_run virsh -q destroy one >/dev/null
assert_status 0 lab_run box snapshot --quiet one begin
for order in 'restore.create restore --force one begin:rm --force two' 'rm.layers rm --force two:restore --force one begin'; do
	BOX_FAULT=new.start:kill assert_status 137 lab_run box new --cold two --from one
	hollow_finished two
	lab_run virsh -q destroy two >/dev/null
	assert_equal 4 "$(layers)" 'begin, what both stand on, and what is on top of it'
	# shellcheck disable=SC2086 # words
	held_at ${order%:*}
	# shellcheck disable=SC2086 # words
	assert_status 0 lab_run box ${order#*:}
	let_go
	assert_equal 2 "$(layers)" "after '${order%:*}', and '${order#*:}' in the midst of it"
done

# virsh starts it between the look and the change: then nothing is changed, and it runs on what it had.
refused() { # TEXT
	kill -CONT "$(cat "$scratch/held")"
	! wait "$pid" || fail "it went on: $(cat "$scratch/out")"
	assert_contains "$(cat "$scratch/out")" "$1"
}
definition() { lab_run virsh -q domblklist "$1" --inactive; }
for command in 'restore --force one begin' 'snapshot one second'; do
	was=$(definition one)
	# shellcheck disable=SC2086 # words
	held_at "${command%% *}.create" $command
	assert_status 0 lab_run virsh -q start one
	refused "box 'one' was started by another program"
	assert_equal "$was" "$(definition one)"
	assert_equal "$was" "$(lab_run virsh -q domblklist one)"
	lab_run virsh -q destroy one >/dev/null
	assert_equal 2 "$(layers)" "after a start in the midst of '$command'"
	assert_equal begin "$(lab_run box snapshot one --list --json | jq -r '[.snapshots[].label] | join(" ")')"
done

# One that is renamed while "rm" waits for it stays.
held_at rename.mark rename one keep
"$lab" run -- box rm --force one </dev/null >"$scratch/rm" 2>&1 &
rm=$!
sleep 3 # by then it waits; it would wait for ten
let_go
! wait "$rm" || fail "it removed: $(cat "$scratch/rm")"
assert_contains "$(cat "$scratch/rm")" "box 'one' was renamed to 'keep' while this waited for it"
assert_equal keep "$(lab_run box list --json | jq -r '.boxes[].name')"
assert_status 0 lab_run box snapshot --quiet keep
assert_status 0 lab_run box snapshot --quiet keep
assert_status 0 lab_run box rm --force keep
hollow_nothing_left 'two that gave up a layer'

# The answer to a question is as old as the question.
answer() {
	wait_until 30 grep -qF '[y/N]' "$scratch/asked" && BOX_FAULT=new.start:kill hollow_new two >/dev/null 2>&1
	echo y
}
: >"$scratch/asked"
answer | "$lab" run -- script -qefc "box image rm $hollow_golden" "$scratch/asked" >/dev/null && fail 'it removed what a box stands on'
assert_contains "$(cat "$scratch/asked")" 'in use'
assert_status 1 lab_run box start nosuch
hollow_nothing_left 'a question that took its time'
