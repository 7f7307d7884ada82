#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Snapshot, restore, removing a snapshot and rename, cut off after each of their steps: by a failure, by
# SIGKILL, by the death of libvirtd. A failure before the step that counts leaves everything as it was;
# whatever a kill leaves, the next command makes whole: content of before or after, no stray layer.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
require_root
require_command virsh qemu-img qemu-io
if [ "${1:-}" != inside ]; then
	exec "$tests_dir/lab/lab" run -- env BOX_READY_TIMEOUT=1s "$0" inside
fi
. "$tests_dir/vm/bare.sh"
bare_pool
on_exit bare_gone web
on_exit bare_gone api

# A box with 1, 2, 3 in slot 0 at snapshots a, b and now. make stopped|running
make() {
	bare_gone web
	bare_gone api
	bare_box web >/dev/null
	bare_put web 0 1
	box snapshot web a --quiet >/dev/null
	bare_put web 0 2
	box snapshot web b --quiet >/dev/null
	[ "$1" = stopped ] || virsh -q start web >/dev/null
	bare_put web 0 3
}

# state: name, power, metadata without what changes by itself, content of slot 0
state() {
	local name value found=none
	name=$(virsh -q list --all --name | grep -xE 'web|api')
	for value in 1 2 3; do
		if bare_get "$name" 0 "$value" 2>/dev/null; then
			found=$value
		fi
	done
	echo "$name $(bare_state "$name") slot=$found $(virsh -q dumpxml "$name" |
		grep -oE 'snapshot label="[^"]*"|box:operation' | tr '\n' ' ')"
}

# Each layer is needed, each chain whole: snapshots are read through to the golden image's marker.
whole() {
	local name layer count
	virsh -q pool-refresh box >/dev/null
	name=$(virsh -q list --all --name | grep -xE 'web|api')
	assert_lacks "$(virsh -q dumpxml "$name")" box:operation
	assert_equal '' "$(virsh -q list --all --name | grep box-merge || true)"
	assert_equal '' "$(find "$bare_folder" -name 'lock-*')" 'locks left'
	for layer in $(virsh -q dumpxml "$name" | grep -o 'layer="[^"]*"' | cut -d'"' -f2); do
		bare_file -r -U -f qcow2 -c 'read -P 0 640k 64k' "$bare_folder/$layer" ||
			fail "$name: $layer cannot be read"
	done
	count=$(virsh -q dumpxml "$name" | grep -c 'snapshot label' || true)
	assert_equal "$((count + 1))" "$(bare_layers | grep -c .)" "layers of $name $1: $(bare_layers)"
}

next_command() {
	assert_status 1 box start no-such-box
}

# try POWER OPERATION AFTER STEPS -- ARGS...: the operation with each step failing, then killed.
try() {
	local power=$1 operation=$2 after=$3 steps=$4 step before got
	shift 5
	for step in $steps; do
		make "$power"
		before=$(state)
		BOX_FAULT=$operation.$step assert_status 1 box "$@"
		assert_contains "$err" 'fault injected'
		next_command
		got=$(state)
		[ "$got" = "$before" ] || assert_equal "$after" "$got" "$* ($power) failed after $step"
		whole "after $* ($power) failed after $step"

		make "$power"
		BOX_FAULT=$operation.$step:kill assert_status 137 box "$@"
		next_command
		got=$(state)
		[ "$got" = "$before" ] || assert_equal "$after" "$got" "$* ($power) killed after $step"
		whole "after $* ($power) killed after $step"
		bare_put "${got%% *}" 0 3
	done
}

a='snapshot label="a"' b='snapshot label="b"' c='snapshot label="c"'
try stopped snapshot "web shut off slot=3 $a $b $c " '0 intend create switch' -- snapshot web c
try running snapshot "web running slot=3 $a $b $c " '0 intend create pivot record' -- snapshot web c
try stopped restore "web shut off slot=1 $a $b " '0 intend create switch delete clear' -- \
	restore web a --force
try running restore "web running slot=1 $a $b " '0 intend create stop switch start delete clear' -- \
	restore web a --force
try stopped forget "web shut off slot=3 $a " '0 intend pull forget delete clear' -- \
	snapshot web --remove b
try running forget "web running slot=3 $a " '0 intend pull forget delete clear' -- \
	snapshot web --remove b
try running forget "web running slot=3 $b " '0 intend forget commit move delete clear' -- \
	snapshot web --remove a
try stopped rename "api shut off slot=3 $a $b " '0 mark name define console' -- rename web api
