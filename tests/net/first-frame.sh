#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# No frame of a box passes before its rules stand: virsh start, a start while the tables are flushed, autostart as
# after a boot of the host. A real domain sends from its first moment: its network boot ROM asks for an address
# by DHCP, which may pass, and by IPv6, which may not. And box does not let a box run that the hook did not let in. watch.py tells in which order the rules, the tap and its
# frames came. Without the hook the same IPv6 frames do pass: so what is seen means something.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
require_root
require_command virsh nft jq python3
[ -e /usr/lib/ipxe/qemu/efi-virtio.rom ] || [ -e /usr/share/qemu/efi-virtio.rom ] ||
	skip "needs QEMU's network boot ROMs (ipxe-qemu)"
tap=bxt33333333
log=${LOG:-}

# watch NAME [WORD...]: watches from here on, by that command; $log is what it sees.
watch() {
	log=$scratch/$1.log
	"${@:2}" python3 "$tests_dir/net/watch.py" 52:54:00:03:03:03 </dev/null >"$log" &
	watcher=$!
	on_exit sh -c "kill $watcher 2>/dev/null"
	wait_until 20 grep -qx ready "$log"
}

unwatch() {
	kill "$watcher"
	wait "$watcher" 2>/dev/null || true
}

# The lines were seen in this order.
assert_order() {
	local line at last=0
	for line; do
		at=$(grep -nxF -m 1 "$line" "$log" | cut -d: -f1) || fail "no '$line' in: $(cat "$log")"
		[ "$at" -gt "$last" ] || fail "'$line' came too early: $(cat "$log")"
		last=$at
	done
}

# The box has sent IPv6 by now, and it did not get as far as the bridge; rules were there before the tap was.
assert_guarded() {
	wait_until 90 grep -qx "frame $tap 86dd" "$log"
	unwatch
	assert_order "$@" 'entry box sources' "link $tap" "frame $tap 0800" "frame boxnet 0800"
	assert_order 'entry box taps' "link $tap"
	assert_order 'entry box hosts' "link $tap"
	assert_lacks "$(cat "$log")" 'frame boxnet 86dd'
}

in_the_lab() {
	. "$tests_dir/net/boxes.sh"
	boxes_begin
	box_xml 3 web | sed "s|</type>|</type><boot dev='network'/>|" >"$scratch/domain.xml"
	virsh -q define "$scratch/domain.xml"
	on_exit sh -c 'virsh -q undefine web >/dev/null 2>&1'
	on_exit sh -c 'virsh -q destroy web >/dev/null 2>&1'
	box_reserve 3
}

case ${IN_LAB:-} in
'')
	make_scratch
	lab_run env IN_LAB=starts "$(readlink -f "$0")"
	# As after a boot: no tables, no bridge, no record of what ran; and then libvirtd starts.
	on_exit lab_run env IN_LAB=away "$(readlink -f "$0")"
	lab_run env IN_LAB=boot "$(readlink -f "$0")"
	watch boot "$tests_dir/lab/lab" run --
	"$tests_dir/lab/lab" restart-libvirtd
	assert_guarded 'table box ' 'link boxnet'
	;;
starts)
	in_the_lab
	watch start
	virsh -q start web
	assert_guarded
	virsh -q destroy web

	nft flush ruleset
	watch flushed
	virsh -q start web
	assert_guarded 'table box '
	virsh -q destroy web

	# The control: nobody stands guard.
	mv /etc/libvirt/hooks/qemu.d/box "$scratch/hook"
	on_exit mv "$scratch/hook" /etc/libvirt/hooks/qemu.d/box
	on_exit "$BOX_LIBEXEC/box-hook" apply
	nft flush ruleset
	watch control
	virsh -q start web
	wait_until 90 grep -qx 'frame boxnet 86dd' "$log"
	unwatch
	virsh -q destroy web

	# So box itself looks whether somebody does, before the first instruction.
	nft flush ruleset
	watch refused
	assert_status 1 box start web
	assert_contains "$err" "box 'web' was not let run: libvirt did not call the hook"
	assert_equal 'shut off' "$(virsh domstate web)"
	unwatch
	assert_contains "$(cat "$log")" "link $tap"
	assert_lacks "$(cat "$log")" 'frame '
	# Nor one that stands still, as a killed box may leave it.
	virsh -q start --paused web
	assert_status 1 box start web
	assert_contains "$err" "box 'web' was not let run"
	assert_equal paused "$(virsh domstate web)"
	;;
boot)
	in_the_lab
	exit_commands=()
	virsh -q autostart web
	virsh -q net-destroy boxnet
	nft flush ruleset
	rm -rf /run/box /run/libvirt/qemu/autostarted /run/libvirt/network/autostarted "$scratch"
	;;
away)
	virsh -q destroy web
	virsh -q undefine web
	virsh -q net-update boxnet delete ip-dhcp-host "<host mac='52:54:00:03:03:03'/>" --live --config
	box doctor --json | jq -e '[.checks[] | select(.verdict == "DIRTY")] == []' >/dev/null
	;;
esac
