# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Boxes without an operating system, for tests of disks: they are made in no time, start at once, and
# what "the guest" writes is written by qemu-io. Source this inside the lab (lab run -- script).
#
#   bare_pool                   the pool, and the golden image $bare_golden with a marker, and a seed
#   bare_box NAME [SIZE]        a stopped box on it; prints its UUID
#   bare_put NAME SLOT VALUE    write the marker VALUE (1-255) into a slot of the box's disk: by
#                               QEMU if the box runs, else into the file
#   bare_get NAME SLOT VALUE    the slot has that marker (0: nothing was written)
#   bare_state NAME             running, "shut off", ...
#   bare_layers [UUID]          names of all layers of boxes in the pool, or of one's
#   bare_gone NAME              take a box and its layers away, whatever state they are in

bare_golden=golden-bare-0123456789abcdef.qcow2
bare_folder=/var/lib/libvirt/images/box

bare_pool() {
	if ! virsh -q pool-info box >/dev/null 2>&1; then
		mkdir -p "$bare_folder"
		virsh -q pool-define-as box dir --target "$bare_folder" >/dev/null
	fi
	virsh -q pool-start box >/dev/null 2>&1 || true
	[ ! -e "$bare_folder/$bare_golden" ] || return 0
	head -c 4096 /dev/zero >"$bare_folder/seed-0123456789abcdef.iso"
	qemu-img create -q -f qcow2 "$bare_folder/.new" 64M
	qemu-io -c 'write -P 200 0 64k' "$bare_folder/.new" >/dev/null
	chmod 0444 "$bare_folder/.new"
	mv "$bare_folder/.new" "$bare_folder/$bare_golden"
	virsh -q pool-refresh box >/dev/null
}

bare_xml() {
	cat <<-END
	<domain type='qemu'>
	  <name>$1</name>
	  <uuid>$2</uuid>
	  <metadata><box:box xmlns:box='urn:box:domain' schema='1'>
	    <box:template>bare</box:template><box:user>dev</box:user><box:tap>bxt${2:0:8}</box:tap>
	    <box:origin>mint</box:origin><box:created>2026-01-02T03:04:05Z</box:created>
	    <box:image>$bare_golden</box:image>
	  </box:box></metadata>
	  <memory unit='MiB'>32</memory>
	  <vcpu>1</vcpu>
	  <sysinfo type='smbios'><system>
	    <entry name='serial'>ds=nocloud;i=i-$2;h=$1</entry>
	  </system></sysinfo>
	  <os><type arch='x86_64' machine='q35'>hvm</type><smbios mode='sysinfo'/></os>
	  <devices>
	    <disk type='file' device='disk'>
	      <driver name='qemu' type='qcow2' discard='unmap' detect_zeroes='unmap'/>
	      <source file='$bare_folder/box-$2-1.qcow2'/>
	      <target dev='vda' bus='virtio'/>
	    </disk>
	    <channel type='unix'><source mode='bind'/><target type='virtio' name='box.agent.0'/></channel>
	    <serial type='pty'>
	      <log file='/var/log/libvirt/qemu/$1-console.log' append='off'/>
	      <target type='isa-serial' port='0'/>
	    </serial>
	    <controller type='usb' model='none'/>
	    <video><model type='none'/></video>
	    <memballoon model='none'/>
	  </devices>
	</domain>
	END
}

bare_box() {
	local uuid
	uuid=$(cat /proc/sys/kernel/random/uuid)
	virsh -q vol-create-as box "box-$uuid-1.qcow2" "${2:-64M}" --format qcow2 \
		--backing-vol "$bare_golden" --backing-vol-format qcow2 >/dev/null
	virsh -q define /dev/stdin < <(bare_xml "$1" "$uuid") >/dev/null
	echo "$uuid"
}

bare_state() {
	virsh -q domstate "$1"
}

bare_disk() {
	virsh -q domblklist "$1" | awk '$1 == "vda" {print $2}'
}

# bare_file COMMAND ARG...: qemu-io must succeed, and a pattern that it reads must be there.
bare_file() {
	local got
	got=$(qemu-io "$@" 2>&1) || { echo "$got" >&2 && return 1; }
	case $got in
	*failed* | *rror*) echo "$got" >&2 && return 1 ;;
	esac
}

# QEMU's own qemu-io tells its log, not us, what it has read: so only writes go through it.
bare_live() {
	virsh -q qemu-monitor-command "$1" --hmp \
		"qemu-io -d /machine/peripheral/virtio-disk0/virtio-backend \"$2\"" >/dev/null
}

bare_put() {
	local command="write -P $3 $(($2 * 64))k 64k"
	if [ "$(bare_state "$1")" = 'shut off' ]; then
		bare_file -f qcow2 -c "$command" "$(bare_disk "$1")"
	else
		bare_live "$1" "$command"
	fi
}

bare_get() {
	local command="read -P $3 $(($2 * 64))k 64k"
	[ "$(bare_state "$1")" = 'shut off' ] || bare_live "$1" flush
	bare_file -r -U -f qcow2 -c "$command" "$(bare_disk "$1")"
}

bare_layers() {
	(cd "$bare_folder" && find . -name "box-${1:-*}-*.qcow2" -printf '%P\n' | sort)
}

bare_gone() {
	local uuid
	uuid=$(virsh -q domuuid "$1" 2>/dev/null) || return 0
	virsh -q destroy "$1" >/dev/null 2>&1 || true
	virsh -q undefine "$1" --managed-save --snapshots-metadata >/dev/null
	rm -f "$bare_folder/box-$uuid-"*.qcow2
	virsh -q pool-refresh box >/dev/null
}
