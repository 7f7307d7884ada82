#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# libvirtd is killed at some moment of an operation on a box's layers, and started again: the command
# says so and fails or has succeeded, and the next one makes the box whole.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
require_root
require_command virsh qemu-img qemu-io
lab=$tests_dir/lab/lab

# bare FUNCTION ARG...: of bare.sh, in the lab
bare() {
	lab_run bash -c '. "$1"; shift; "$@"' bash "$tests_dir/vm/bare.sh" "$@"
}

bare bare_pool
on_exit bare bare_gone web
export BOX_READY_TIMEOUT=1s

make() {
	bare bare_gone web
	bare bare_box web >/dev/null
	bare bare_put web 0 1
	lab_run box snapshot web a --quiet >/dev/null
	bare bare_put web 0 2
	[ "$1" = stopped ] || lab_run virsh -q start web >/dev/null
}

# round POWER DELAY VALUES -- ARGS...: afterwards slot 0 has one of VALUES
round() {
	local power=$1 delay=$2 values=$3 value pid found=
	shift 4
	make "$power"
	"$lab" run -- box "$@" >/dev/null 2>&1 </dev/null &
	pid=$!
	# not a wait for an event: the moment of the kill is what is varied
	sleep "$delay"
	"$lab" kill-libvirtd
	"$lab" start-libvirtd
	wait "$pid" || true
	assert_status 1 lab_run box start no-such-box
	for value in $values; do
		! bare bare_get web 0 "$value" 2>/dev/null || found=$value
	done
	[ -n "$found" ] || fail "slot 0 of web after 'box $*' at $delay: none of $values"
	assert_lacks "$(lab_run virsh -q dumpxml web)" box:operation
	assert_equal '' "$(lab_run virsh -q list --all --name | grep box-merge || true)"
	# it can be worked with
	assert_status 0 lab_run box snapshot web again
	bare bare_put web 0 3
	assert_status 0 lab_run box snapshot web --remove again
	bare bare_get web 0 3
}

for delay in 0.02 0.06 0.1 0.15 0.25; do
	round stopped "$delay" 2 -- snapshot web b
	round running "$delay" 2 -- snapshot web b
	round stopped "$delay" '1 2' -- restore web a --force
	round running "$delay" '1 2' -- restore web a --force
done
for delay in 0.1 0.5 1.5; do
	round stopped "$delay" 2 -- snapshot web --remove a
	round running "$delay" 2 -- snapshot web --remove a
done
