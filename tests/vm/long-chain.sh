#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A chain of layers that is too long is shortened before a clone makes it longer: by its own QEMU while the box runs,
# by another one while it is stopped; and when that is killed in the middle, the next command mends it. Nothing
# that was written into any of the layers is lost, and a layer with a name stays.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
require_root
require_command virsh qemu-img qemu-io jq
if [ "${1:-}" != inside ]; then
	exec "$tests_dir/lab/lab" run -- env BOX_READY_TIMEOUT=1s "$0" inside
fi
. "$tests_dir/vm/bare.sh"
make_scratch
bare_pool
on_exit bare_gone long
depth=40

# long_box LABELLED: a stopped box "long" with a chain of so many layers, as generations of clones that are gone leave
# them; in some of them a marker, and that one is a snapshot's.
long_box() {
	local uuid i slot
	uuid=$(bare_box long)
	for ((i = 2; i <= depth; i++)); do
		qemu-img create -q -f qcow2 -F qcow2 -b "$bare_folder/box-$uuid-$((i - 1)).qcow2" \
			"$bare_folder/box-$uuid-$i.qcow2"
		slot=$((i / 6))
		[ $((i % 6)) != 0 ] ||
			bare_file -f qcow2 -c "write -P $i $((slot * 64))k 64k" "$bare_folder/box-$uuid-$i.qcow2"
	done
	virsh -q pool-refresh box >/dev/null
	virsh -q dumpxml long | sed "s|-1.qcow2'|-$depth.qcow2'|; s|</box:image>|&<box:snapshot label='half' created='2026-01-02T03:04:05Z' layer='box-$uuid-$1.qcow2' quiesced='yes'/>|" |
		virsh -q define /dev/stdin >/dev/null
}
contents() {
	local i
	bare_get long 0 200
	for ((i = 6; i <= depth; i += 6)); do
		bare_get long $((i / 6)) "$i"
	done
}
layers() { bare_layers "$(virsh -q domuuid long)" | wc -l; }

for state in 'shut off' running; do
	for fault in new.disk:fail flatten.pull:kill flatten.delete:kill; do
		long_box 20
		assert_status 0 box snapshot long --list
		assert_contains "$out" half
		[ "$state" = 'shut off' ] || virsh -q start long >/dev/null
		contents
		assert_equal "$depth" "$(layers)"
		BOX_FAULT=$fault assert_status "$([ "$fault" = new.disk:fail ] && echo 1 || echo 137)" box new copy --memory 256MiB --from long
		[ "$fault" = new.disk:fail ] || assert_equal "$(virsh -q list --all --name | grep -cx long)" 1
		assert_status 1 box start no-such-box
		contents
		assert_equal "$state" "$(bare_state long)"
		# What was merged: all above the snapshot's layer if it runs, and all below as well if not.
		case $fault in
		new.disk:fail) limit=$([ "$state" = running ] && echo 22 || echo 4) ;;
		*) limit=$((depth - 1)) ;;
		esac
		[ "$(layers)" -le "$limit" ] || fail "$state, $fault: $(layers) layers are left"
		echo "$state, $fault: $depth layers became $(layers)"
		[ "$state" = 'shut off' ] || virsh -q destroy long >/dev/null
		assert_status 0 box restore long half --force
		bare_get long 3 18
		bare_get long 4 0
		assert_status 0 box rm long --force
		assert_equal '' "$(bare_layers)"
	done
done
