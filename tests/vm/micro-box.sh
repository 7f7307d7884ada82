# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# micro_box NAME [PROGRAM...]: a box in the lab that boots in seconds, from micro-guest.sh: our mark, our
# channels, the real guest agent, no disk and no network, and these programs of the machine. It goes away at
# the end of the script. Its user is dev.
#
# micro_domain NAME UUID N KERNEL INITRD [INTERFACE]: the XML of such a box on stdout; N ends its address, INTERFACE is XML.
#
# Include it behind tests/lib.sh.

micro_domain() {
	local name=$1 uuid=$2 n=$3 kernel=$4 initrd=$5 interface=${6:-} channels='' i
	for i in {0..15}; do
		channels+="<channel type='unix'><target type='virtio' name='box.agent.$i'/></channel>"
	done
	cat <<END
<domain type='qemu'>
  <name>$name</name>
  <uuid>$uuid</uuid>
  <metadata>
    <box:box xmlns:box='urn:box:domain' schema='1'>
      <box:template>blank</box:template>
      <box:user>dev</box:user>
      <box:origin>mint</box:origin>
      <box:created>2026-01-02T03:04:05Z</box:created>
      <box:image digest=''>golden-blank-0123456789abcdef.qcow2</box:image>
      <box:agent>0.1.0</box:agent>
      <box:address>10.88.0.$n</box:address>
      <box:tap>bxt${uuid:0:8}</box:tap>
    </box:box>
  </metadata>
  <memory unit='MiB'>256</memory>
  <memoryBacking>
    <nosharepages/>
  </memoryBacking>
  <os>
    <type arch='x86_64' machine='q35'>hvm</type>
    <kernel>$kernel</kernel>
    <initrd>$initrd</initrd>
    <cmdline>console=ttyS0 quiet no_timer_check micro=$name</cmdline>
  </os>
  <features><acpi/></features>
  <cpu mode='maximum'/>
  <devices>
    $interface
    $channels
    <console type='pty'><log file='/var/log/libvirt/qemu/$name-console.log'/></console>
    <memballoon model='none'/>
  </devices>
</domain>
END
}

micro_box() {
	local name=$1 folder kernel
	shift
	folder=$(mktemp -d)
	on_exit rm -rf "$folder"
	chmod 755 "$folder"
	kernel=$("$tests_dir/vm/micro-guest.sh" "$folder/initrd" "$BOX_BUILD/agent/box-agent" "$@") || exit
	chmod 644 "$folder/initrd"
	micro_domain "$name" "$(cat /proc/sys/kernel/random/uuid)" 2 "$kernel" "$folder/initrd" >"$folder/box.xml"
	on_exit lab_run virsh undefine "$name"
	on_exit lab_run virsh destroy "$name"
	lab_run virsh define "$folder/box.xml" >/dev/null
	lab_run virsh start "$name" >/dev/null
	wait_until 120 lab_run box exec "$name" -- true
}
