# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# micro_pair A B: two boxes in the lab that boot in seconds, from tests/vm/micro-guest.sh: our mark, our
# channels, the real guest agent, a network device on boxnet with a reserved address, libvirt's hook, and
# no disk. They go away at the end of the script. Include it behind tests/lib.sh; $scratch is there.
. "$tests_dir/vm/micro-box.sh"

micro_pair() {
	local kernel name n=20 status=/var/lib/libvirt/dnsmasq/boxnet.status
	# A lease of an earlier run blocks its address for a while.
	while lab_run grep -qE "\.($n|$((n + 1)))\"" "$status" && [ $n -lt 250 ]; do
		n=$((n + 2))
	done
	kernel=$("$tests_dir/vm/micro-guest.sh" "$scratch/initrd" "$BOX_BUILD/agent/box-agent") || exit
	micro_overlay
	chmod 755 "$scratch"
	chmod 644 "$scratch/initrd"
	for name; do
		micro_define "$name" "$kernel" $n
		n=$((n + 1))
		lab_run virsh -q start "$name" >/dev/null
	done
	for name; do
		wait_until 300 lab_run box exec --user root "$name" -- grep -q ready /run/micro
	done
}

# What the drill looks at in a guest, over the micro guest's own files: a network by DHCP, an identity from
# the hardware's UUID, a seed without secrets, and install(1) where distributions have it.
micro_overlay() {
	local root=$scratch/overlay
	mkdir -p "$root/usr/bin" "$root/etc/ssh" "$root/var/log" "$root/opt" "$root/srv"
	cat >"$root/usr/bin/install" <<-'END'
		#!/bin/sh
		cat "$3" >"$4" && chmod "$2" "$4"
	END
	cat >"$root/usr/bin/micro-lease" <<-'END'
		#!/bin/sh
		[ "$1" = bound ] || exit 0
		ip addr add "$ip/$mask" broadcast + dev "$interface"
		ip route add default via "$router"
	END
	cat >"$root/usr/bin/micro-net" <<-'END'
		#!/bin/sh
		ln -s /proc/self/fd/0 /dev/stdin
		mkdir -p /dev/disk/by-label
		echo 'local-hostname: micro' >/run/seed
		ln -s /run/seed /dev/disk/by-label/CIDATA
		tr -d - </sys/class/dmi/id/product_uuid >/etc/machine-id
		hostname "$(sed 's/.*micro=//; s/ .*//' /proc/cmdline)"
		echo "-----BEGIN OPENSSH PRIVATE KEY-----" >/etc/ssh/ssh_host_ed25519_key
		echo "ssh-ed25519 $(cat /etc/machine-id) root@micro" >/etc/ssh/ssh_host_ed25519_key.pub
		ip link set eth0 up
		udhcpc -q -n -t 30 -i eth0 -s /usr/bin/micro-lease && echo ready >/run/micro
	END
	chmod 755 "$root"/usr/bin/*
	# A later archive of an initramfs replaces files of an earlier one: init gets one more line.
	(cd "$scratch" && mkdir -p first && cd first && gzip -dc "$scratch/initrd" | cpio --quiet -i init)
	sed 's/^\/usr\/lib\/box\/box-agent identity/\/usr\/bin\/micro-net \&\n&/' "$scratch/first/init" >"$root/init"
	grep -q micro-net "$root/init" || fail 'the micro guest has changed: no place for its network'
	chmod 755 "$root/init"
	(cd "$root" && find . | cpio --quiet -o -H newc) | gzip -1 >>"$scratch/initrd"
}

# micro_define NAME KERNEL N: its address ends in N
micro_define() {
	local name=$1 kernel=$2 n=$3 uuid mac
	uuid=$(cat /proc/sys/kernel/random/uuid)
	mac=52:54:00:${uuid:24:2}:${uuid:26:2}:${uuid:28:2}
	micro_domain "$name" "$uuid" "$n" "$kernel" "$scratch/initrd" "<interface type='network'>
      <mac address='$mac'/>
      <source network='boxnet'/>
      <target dev='bxt${uuid:0:8}'/>
      <model type='virtio'/>
      <port isolated='yes'/>
      <rom enabled='no'/>
    </interface>" >"$scratch/$name.xml"
	lab_run virsh -q net-update boxnet add ip-dhcp-host "<host mac='$mac' ip='10.88.0.$n'/>" --live --config >/dev/null
	on_exit lab_run virsh -q net-update boxnet delete ip-dhcp-host "<host mac='$mac' ip='10.88.0.$n'/>" --live --config
	on_exit lab_run virsh -q undefine "$name"
	on_exit lab_run virsh -q destroy "$name"
	lab_run virsh -q define "$scratch/$name.xml" >/dev/null
}
