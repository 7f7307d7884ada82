#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the doctor says of a host on which something is wrong, a thing at a time: exactly its row is DIRTY, with a repair
# that helps; --fix mends what needs no person. Everything is really broken, in the lab.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
require_root
require_command virsh nft jq

if [ -z "${IN_LAB:-}" ]; then
	lab_run env IN_LAB=1 "$(readlink -f "$0")"
	exit
fi
. "$tests_dir/net/boxes.sh"
boxes_begin

# Names of the rows that are not OK, and one row's words.
dirty() {
	box doctor --json >"$scratch/doctor" || true
	jq -r '[.checks[] | select(.verdict == "DIRTY").name] | join(" ")' "$scratch/doctor"
}
words() {
	jq -r --arg name "$1" '.checks[] | select(.name == $name) | .text + "; repair: " + (.repair // "")' "$scratch/doctor"
}

# wrong NAME PART...: the row NAME alone is DIRTY, and its words have these parts.
wrong() {
	local name=$1 part
	shift
	assert_equal "$name" "$(dirty)" 'what is DIRTY'
	for part; do
		assert_contains "$(words "$name")" "$part"
	done
}
fix_mends() {
	assert_status 0 box doctor --fix
	clean
}
clean() {
	assert_equal '' "$(dirty)" "what is DIRTY: $(cat "$scratch/doctor")"
}

box setup-host -q >/dev/null 2>&1 # of this build
clean
nft flush ruleset
wrong tables 'table bridge box is missing' 'box doctor --fix'
fix_mends
nft insert rule inet box forward accept
wrong tables 'is not ours'
fix_mends

sysctl -qw net.ipv4.ip_forward=0
wrong forwarding 'forwards no packets'
fix_mends

echo >>/etc/libvirt/hooks/qemu.d/box
wrong hooks "'/etc/libvirt/hooks/qemu.d/box' is of another version of box" 'box setup-host'
chmod 0777 /etc/libvirt/hooks/qemu.d/box
wrong hooks 'can be written by others'
rm /etc/libvirt/hooks/network.d/box
wrong hooks ''
box setup-host -q >/dev/null
clean

ip addr add "$base.77/32" dev lan0
wrong subnet "the boxes' subnet $base.0/24 is used by the host as well: lan0 has an address in $base.77/32"
ip addr del "$base.77/32" dev lan0
ip route add "$base.128/25" dev lan0
wrong subnet "lan0 has a route to $base.128/25"
ip route del "$base.128/25" dev lan0

# Resolvers out of reach: the gateway's server lives, and has nobody to ask.
on_exit sh -c 'nft delete table ip away 2>/dev/null'
nft add table ip away
nft add chain ip away out '{ type filter hook output priority 0; }'
nft add rule ip away out ip daddr 203.0.113.53 udp dport 53 drop
wrong dns 'resolvers do not answer' 'see that this host reaches 203.0.113.53'
nft delete table ip away
kill "$(cat /run/libvirt/network/boxnet.pid)"
wait_until 10 sh -c '! kill -0 "$(cat /run/libvirt/network/boxnet.pid)"'
wrong dns 'the DHCP and name server of' 'virsh net-destroy boxnet && virsh net-start boxnet'
virsh -q net-destroy boxnet
assert_equal 'network addresses dns' "$(dirty)"
virsh -q net-start boxnet
clean

# A box: its address, its port in the kernel, its definition, its disk.
box_domain 3 web
box_admit 4
box_stand_in 4
ip link add raw9 type veth peer name raw9b
on_exit sh -c 'ip link del raw9 2>/dev/null'
assert_equal 'addresses disks' "$(dirty)" 'a domain without a disk, and a box without a domain'
assert_contains "$(words addresses)" "$base.104 is reserved for 52:54:00:04:04:04, which is no box's MAC"
assert_contains "$(words disks)" "box 'web'"
bridge link set dev bxt44444444 isolated off
assert_equal 'addresses ports disks' "$(dirty)"
assert_contains "$(words ports)" "does not isolate the port 'bxt44444444'"
box doctor --fix >/dev/null || true
assert_contains "$(bridge -d link show dev bxt44444444)" 'isolated on'
ip link set raw9 master boxnet
assert_equal 'addresses ports disks' "$(dirty)"
assert_contains "$(words ports)" "the port 'raw9' of boxnet is no box's"
ip link del raw9
virsh -q net-update boxnet delete ip-dhcp-host "<host mac='52:54:00:03:03:03'/>" --live --config
assert_equal 'addresses disks' "$(dirty)"
assert_contains "$(words addresses)" "box 'web' has no address reserved"
virsh -q attach-interface web network other --config
assert_equal 'addresses boxes disks' "$(dirty)"
assert_contains "$(words boxes)" "box 'web' is UNCONFINED"
assert_status 0 box list
assert_contains "$out" unconfined
virsh -q detach-interface web network --mac "$(virsh -q domiflist web | awk '$3 == "other" { print $5 }')" --config
assert_equal 'addresses disks' "$(dirty)"

# Nor need the way off be a network card: a disk of the host, a port on it, a socket of it.
for device in "<disk type='block' device='disk'><source dev='/dev/null'/><target dev='vdx' bus='virtio'/></disk>" \
	"<channel type='tcp'><source mode='bind' host='0.0.0.0' service='4555'/><protocol type='raw'/>
		<target type='virtio' name='away'/></channel>" \
	"<channel type='unix'><source mode='connect' path='/run/away.sock'/><target type='virtio' name='away'/></channel>"; do
	echo "$device" >"$scratch/device.xml"
	virsh -q attach-device web "$scratch/device.xml" --config
	assert_equal 'addresses boxes disks' "$(dirty)" "$device"
	assert_contains "$(words boxes)" "box 'web' is UNCONFINED"
	assert_contains "$(box list)" stopped,unconfined
	assert_contains "$(box info web)" 'ISOLATION   UNCONFINED'
	virsh -q detach-device web "$scratch/device.xml" --config
	assert_equal 'addresses disks' "$(dirty)" "without $device"
done
