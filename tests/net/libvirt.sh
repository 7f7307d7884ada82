#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# boxnet as libvirt, dnsmasq and the hook really make it, in the lab: leases by reservation alone, names
# of siblings, rebinding, doors of a running domain, starts that are refused, flushed tables. Boxes are
# network namespaces behind taps' names; one domain is real, without a system to boot.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
require_root
require_command virsh nft dnsmasq dhclient jq

if [ -z "${IN_LAB:-}" ]; then
	# The rest runs inside, as one process: it makes namespaces that go with it.
	lab_run env IN_LAB=1 "$(readlink -f "$0")"
	exit
fi

virsh net-info boxnet >/dev/null 2>&1 || skip 'this lab has no boxnet: its box has no setup-host'
hook=/etc/libvirt/hooks/qemu.d/box
probe=$BOX_BUILD/probe/box-probe
make_scratch

uuid_of() {
	echo "$1$1$1$1$1$1$1$1-89ab-4def-8123-456789abcdef"
}

# domain_xml DIGIT NAME: a box's domain; its tap is bxt and eight times the digit.
domain_xml() {
	cat <<-END
		<domain type='qemu'><name>$2</name><uuid>$(uuid_of "$1")</uuid>
		<metadata><box:box xmlns:box='urn:box:domain' schema='1'>
		<box:address>$base.$((100 + $1))</box:address></box:box></metadata>
		<memory unit='MiB'>32</memory><vcpu>1</vcpu>
		<os><type arch='x86_64' machine='q35'>hvm</type></os>
		<devices><interface type='network'><mac address='52:54:00:0$1:0$1:0$1'/>
		<source network='boxnet'/><target dev='bxt$1$1$1$1$1$1$1$1'/><model type='virtio'/>
		<port isolated='yes'/></interface></devices></domain>
	END
}

# A namespace with one end of a veth pair on boxnet: port TAP MAC. Sets $holder.
make_port() {
	unshare --net sleep 600 </dev/null &
	holder=$!
	on_exit kill "$holder"
	wait_until 5 sh -c "test \$(readlink /proc/self/ns/net) != \$(readlink /proc/$holder/ns/net)"
	ip link add "$1" type veth peer name eth0 netns "$holder"
	on_exit ip link del "$1"
	ip link set "$1" master boxnet up
	bridge link set dev "$1" isolated on
	inside ip link set lo up
	inside ip link set eth0 address "$2"
	inside ip link set eth0 up
}

inside() {
	nsenter --net="/proc/$holder/ns/net" "$@"
}

# Ask for a lease as a client that lies about its name and shares its id with others. $lease: what it got.
ask_lease() {
	cat >"$scratch/dhclient.conf" <<-END
		send host-name "gateway";
		send dhcp-client-identifier "shared-by-clones";
		timeout 3;
	END
	rm -f "$scratch/lease"
	inside timeout 8 dhclient -1 -cf "$scratch/dhclient.conf" -lf "$scratch/lease" \
		-pf "$scratch/pid" -sf /bin/true eth0 >/dev/null 2>&1 || true
	[ ! -s "$scratch/pid" ] || kill "$(cat "$scratch/pid")" 2>/dev/null || true
	rm -f "$scratch/pid"
	lease=$(awk '$1 == "fixed-address" { sub(";", "", $2); print $2 }' "$scratch/lease" 2>/dev/null || true)
}

reserve() {
	virsh -q net-update boxnet "$1" ip-dhcp-host \
		"<host mac='52:54:00:0$2:0$2:0$2' ip='$base.$((100 + $2))'/>" --live --config
}

asks() {
	inside "$probe" dns "$base.1" "$1" "$2" 2000
}

base=$(ip -4 -json addr show dev boxnet | jq -r '.[0].addr_info[0].local')
base=${base%.1}
[ "$(cat /sys/class/net/boxnet/address)" = 02:62:6f:78:00:01 ] ||
	fail 'the bridge has not the MAC that the rules know'

# Two boxes, let in by the hook as libvirt would call it.
for n in 1 2; do
	domain_xml $n "twin$n" >"$scratch/$n.xml"
	"$hook" "twin$n" prepare begin - <"$scratch/$n.xml"
	on_exit sh -c "$hook twin$n release end - <$scratch/$n.xml"
	reserve add $n
	on_exit virsh -q net-update boxnet delete ip-dhcp-host \
		"<host mac='52:54:00:0$n:0$n:0$n'/>" --live --config
	make_port "bxt$n$n$n$n$n$n$n$n" "52:54:00:0$n:0$n:0$n"
	ask_lease
	assert_equal "$base.$((100 + n))" "$lease" "the lease of box $n, which shares its client id"
	inside ip addr add "$lease/24" dev eth0
	inside ip route add default via "$base.1"
done

# Seen from the second: the internet, its names, and nothing about the first.
assert_equal open "$(inside "$probe" tcp 203.0.113.80 80 2000)" egress
assert_equal silent "$(inside "$probe" tcp 10.20.30.40 80 300)" 'the LAN'
assert_equal silent "$(inside "$probe" tcp "$base.1" 22 300)" 'the gateway'
assert_contains "$(asks example.test 1)" 'NOERROR 192.88.99.80'
assert_equal 'open NOERROR' "$(asks rebind.test 1)" 'a private answer is dropped'
for name in twin1 TWIN1 gateway "$(uname -n)" localhost boxnet; do
	assert_equal 'open NXDOMAIN' "$(asks "$name" 1)" "the name $name"
done
for name in twin1.local twin1.boxnet twin1.lan twin1.internal gateway.local; do
	assert_lacks "$(asks "$name" 1)" "$base"
done
for last in 1 101 102; do
	assert_equal 'open NXDOMAIN' \
		"$(asks "$last.$(echo "$base" | awk -F. '{ print $3 "." $2 "." $1 }').in-addr.arpa" 12)" \
		"who is $base.$last"
done

# What the server counts for all boxes is no box's business: cachesize.bind and the like have no answer.
cat >"$scratch/chaos.py" <<-'END'
	import socket, sys
	s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	s.settimeout(3)
	s.sendto(b"\0\1\1\0\0\1\0\0\0\0\0\0\x09cachesize\x04bind\0\0\x10\0\3", (sys.argv[1], 53))
	print(s.recv(512)[7])
END
assert_equal 0 "$(inside python3 "$scratch/chaos.py" "$base.1")" 'answers about the name server itself'

# The host has no address but the gateway's, as far as a box can ask.
assert_equal 'open 02:62:6f:78:00:01' "$(inside "$probe" arp eth0 "$base.1" 1000)" 'ARP for the gateway'
assert_equal silent "$(inside "$probe" arp eth0 10.20.30.1 300)" "ARP for the host's LAN address"

# The bridge learns from frames that it does not forward, past bridge prerouting: with one of them a box would draw
# its sibling's frames to its own port, where they are dropped. Without our chain it does.
draw_sibling() {
	inside python3 - <<-'END'
		import socket
		s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
		s.bind(("eth0", 0))
		s.send(bytes.fromhex("0180c2000003525400010101") + b"\x88\xb5" + bytes(46))
	END
	wait_until 5 sh -c "bridge fdb show br boxnet | grep -q '^52:54:00:01:01:01 dev $1 '"
}
draw_sibling bxt11111111
nft flush chain bridge box input
draw_sibling bxt22222222
"$BOX_LIBEXEC/box-hook" apply >/dev/null

# A NIC without a reservation, put there by hand: no lease, no answer, nothing.
make_port raw9 52:54:00:09:09:09
ask_lease
assert_equal '' "$lease" 'a lease for a raw NIC'
inside ip addr add "$base.109/24" dev eth0
assert_equal silent "$(inside "$probe" dns "$base.1" example.test 1 500)"
assert_equal silent "$(inside "$probe" arp eth0 "$base.1" 300)"

# A real domain. Tables that somebody flushed are there again before its tap is.
domain_xml 3 twin3 >"$scratch/3.xml"
virsh -q define "$scratch/3.xml"
on_exit virsh -q undefine twin3
nft flush ruleset
virsh -q start twin3
on_exit sh -c 'virsh -q destroy twin3 2>/dev/null || true'
assert_status 0 "$BOX_LIBEXEC/box-hook" check
assert_contains "$(nft list set bridge box sources)" \
	"\"bxt33333333\" . 52:54:00:03:03:03 . $base.103"
assert_contains "$(bridge -d link show dev bxt33333333)" 'isolated on'

# A door of a running domain: its metadata, then an update of the network that changes nothing.
door() {
	virsh metadata twin3 urn:box:domain --key box --live --config --set \
		"<box schema='1'><address>$base.103</address>$1</box>" >/dev/null
	reserve modify 1
}
door "<door port='80' host='18080'/>"
assert_contains "$(nft list map inet box doors)" "18080 : $base.103 . 80"
door ''
assert_lacks "$(nft list map inet box doors)" 18080

# Starts that are refused, with the reason in libvirt's error; and nothing is left in the sets.
virsh -q destroy twin3
assert_lacks "$(nft list set bridge box sources)" bxt33333333
virsh metadata twin3 urn:box:domain --key box --config --set \
	"<box schema='1'><address>$base.101</address></box>" >/dev/null
assert_status 1 virsh start twin3
assert_contains "$err" "the address '$base.101' is that of the running box $(uuid_of 1)"
virsh metadata twin3 urn:box:domain --key box --config --set \
	"<box schema='1'><address>192.168.1.9</address></box>" >/dev/null
assert_status 1 virsh start twin3
assert_contains "$err" "is not one of this host's network"
virsh metadata twin3 urn:box:domain --key box --config --set \
	"<box schema='1'><address>$base.103</address><door port='1' host='2222'/></box>" >/dev/null
assert_status 1 virsh start twin3
assert_contains "$err" 'port 2222 of this host is in use'
assert_lacks "$(nft list set bridge box sources)" bxt33333333
