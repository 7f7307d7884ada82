#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# box new and box rm, cut off after each of their steps: by a failure, by SIGKILL, by SIGTERM, by the death
# of libvirtd. A failure leaves nothing; what a kill leaves is shown, and gone after the next command.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
. "$tests_dir/vm/hollow.sh"
require_root
require_command virsh jq qemu-img
lab=$tests_dir/lab/lab
make_scratch
hollow_set_up
hollow_nothing_left 'set-up'

# states: "NAME STATE" of all boxes
states() {
	lab_run box list --json | jq -r '.boxes[] | .name + " " + .state'
}

# Any command that changes boxes recovers what others left; this one changes nothing itself.
next_command() {
	assert_status 1 lab_run box start nosuch
	assert_contains "$err" 'box: no such box: nosuch'
}

# ---- new ----

for step in 0 define address disk seed start; do
	BOX_FAULT=new.$step assert_status 1 hollow_new one
	assert_contains "$err" 'fault injected'
	hollow_nothing_left "new.$step failed"

	BOX_FAULT=new.$step:kill assert_status 137 hollow_new one
	if [ "$step" != 0 ]; then
		assert_equal 'one creating' "$(states)" "after kill at new.$step"
		assert_contains "$(hollow_pending)" lock-
	fi
	next_command
	[ "$step" = 0 ] || assert_contains "$err" "removed the half-made box 'one'"
	hollow_nothing_left "the command after kill at new.$step"
done

# The same name again is enough: it recovers first.
BOX_FAULT=new.disk:kill assert_status 137 hollow_new one
BOX_FAULT=new.start assert_status 1 hollow_new one
assert_contains "$err" "removed the half-made box 'one'"
hollow_nothing_left 'new over a half-made box'

# rm of a half-made box does what was asked.
BOX_FAULT=new.start:kill assert_status 137 hollow_new one
assert_status 0 lab_run box rm --force one
hollow_nothing_left 'rm of a half-made box'

# Ended (a shell's background commands ignore INT) while it waits for the guest: undone, and ended as the signal would have.
"$lab" run -- box new --cold --template hollow one </dev/null >"$scratch/out" 2>"$scratch/err" &
pid=$!
wait_until 60 lab_run sh -c 'ip -o link | grep -q bxt'
kill -TERM "$pid"
status=0
wait "$pid" || status=$?
assert_equal 143 "$status" "$(cat "$scratch/err")"
hollow_nothing_left 'SIGTERM'

# libvirtd dies meanwhile: an error; it stays half made and says so; the next command cleans up.
"$lab" run -- box new --cold --template hollow one </dev/null >"$scratch/out" 2>"$scratch/err" &
pid=$!
wait_until 60 lab_run sh -c 'ip -o link | grep -q bxt'
"$lab" kill-libvirtd
status=0
wait "$pid" || status=$?
assert_equal 1 "$status" "$(cat "$scratch/err")"
"$lab" start-libvirtd
assert_equal 'one creating' "$(states)" 'after the death of libvirtd'
next_command
hollow_nothing_left 'the death of libvirtd'

# ---- rm ----

make_box() {
	hollow_box "$1"
	assert_equal "$1 running" "$(states)"
}

make_box two
for step in mark stop layers seed address console domain; do
	[ -n "$(states)" ] || make_box two
	BOX_FAULT=rm.$step:kill assert_status 137 lab_run box rm --force two
	[ "$step" = domain ] || assert_equal 'two removing' "$(states)" "after kill at rm.$step"
	next_command
	[ "$step" = domain ] || assert_contains "$err" "finished removing box 'two'"
	hollow_nothing_left "the command after kill at rm.$step"
	make_box two
	BOX_FAULT=rm.$step assert_status 1 lab_run box rm --force two
	assert_contains "$err" 'fault injected'
	[ "$step" = domain ] || assert_status 0 lab_run box rm --force two
	hollow_nothing_left "rm after a failure at rm.$step"
done
