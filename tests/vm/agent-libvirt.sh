#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The same tests as agent.sh, through libvirt's channels: the guest is a domain of the lab.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
require_root
require_command virsh mkfs.ext4
make_scratch

here=$tests_dir/vm name=agent-guest-$$
status=0
kernel=$("$here/micro-guest.sh" "$scratch/initramfs" "$BOX_BUILD/agent/box-agent") || status=$?
[ "$status" = 0 ] || exit "$status"
# Copies: libvirt gives what a domain uses to QEMU's user.
cp "$kernel" "$scratch/kernel"
truncate -s 32M "$scratch/disk"
mkfs.ext4 -q -F "$scratch/disk"
chmod 755 "$scratch"

channels=
for n in $(seq 0 15); do
	channels+="<channel type='unix'><target type='virtio' name='box.agent.$n'/></channel>"
done
cat >"$scratch/domain.xml" <<END
<domain type='qemu'>
  <name>$name</name>
  <uuid>11111111-2222-3333-4444-555555555555</uuid>
  <memory unit='MiB'>256</memory>
  <vcpu>2</vcpu>
  <sysinfo type='smbios'><system>
    <entry name='serial'>ds=nocloud;i=iid-1;h=first</entry>
    <entry name='uuid'>11111111-2222-3333-4444-555555555555</entry>
  </system></sysinfo>
  <os>
    <type arch='x86_64' machine='q35'>hvm</type>
    <kernel>$scratch/kernel</kernel>
    <initrd>$scratch/initramfs</initrd>
    <cmdline>console=ttyS0 quiet no_timer_check panic=-1</cmdline>
    <smbios mode='sysinfo'/>
  </os>
  <features><acpi/></features>
  <cpu mode='maximum'/>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/><source file='$scratch/disk'/><target dev='vda' bus='virtio'/>
    </disk>
    <interface type='ethernet'>
      <mac address='52:54:00:11:11:11'/><target dev='agtest$((RANDOM % 10000))'/><model type='virtio'/>
    </interface>
    <serial type='pty'><log file='/var/log/libvirt/qemu/$name-console.log'/></serial>
    $channels
    <memballoon model='none'/>
  </devices>
</domain>
END
# shellcheck disable=SC2317 # called by on_exit
away() {
	lab_run virsh -q destroy "$name" >/dev/null 2>&1
	lab_run virsh -q undefine "$name" >/dev/null 2>&1
}
on_exit away
lab_run virsh -q define "$scratch/domain.xml"
lab_run virsh -q start "$name"
"$tests_dir/lab/lab" run -- timeout 380 "$BOX_BUILD/tests/vm/agent-guest" "$@" --domain "$name"
