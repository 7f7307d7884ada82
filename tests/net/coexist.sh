#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Boxes beside another firewall, coexist.sh NAME: its real rules, made by its own programs, in the lab. While they
# are as it makes them, boxes may lack something, and doctor says so; isolation holds. After "doctor --fix" boxes
# have what they need, and isolation holds still. NAME: one of the functions with_NAME below.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
. "$tests_dir/net/software.sh"
name=$1
require_root
require_command virsh nft dhclient jq iptables

case $name in
docker) package=docker.io ;;
ufw) package=ufw ;;
firewalld-*) package=firewalld ;;
*) package= ;;
esac
if [ -z "${IN_LAB:-}" ]; then
	[ -z "$package" ] || software_fetch "$package"
	lab_run env IN_LAB=1 "$(readlink -f "$0")" "$name"
	exit
fi
[ -z "$package" ] || software_lay "$package" "$name"
. "$tests_dir/net/boxes.sh"
boxes_begin
waiting=()

# ---- what is looked at ----

# What a box gets: "lease", "dns", "egress". Words that are missing do not work.
box_gets() {
	local got=
	cat >"$scratch/dhclient.conf" <<-'END'
		timeout 4;
	END
	rm -f "$scratch/lease"
	in_box 5 timeout 8 dhclient -1 -cf "$scratch/dhclient.conf" -lf "$scratch/lease" -pf "$scratch/pid" \
		-sf /bin/true eth0 >/dev/null 2>&1 || true
	[ ! -s "$scratch/pid" ] || kill "$(cat "$scratch/pid")" 2>/dev/null || true
	rm -f "$scratch/pid"
	! grep -q "fixed-address $base.105;" "$scratch/lease" 2>/dev/null || got+='lease '
	case $(in_box 5 "$probe" dns "$base.1" example.test 1 2500) in
	*'NOERROR 192.88.99.80'*) got+='dns ' ;;
	esac
	[ "$(in_box 5 "$probe" tcp 203.0.113.80 80 2500)" != open ] || got+='egress '
	echo "${got% }"
}

# The probe is to hear nothing; probes wait side by side until heard_nothing.
expect_silent() {
	local what=$1
	shift
	{
		local said
		said=$("$@" 2>&1) || true
		# A kernel that had no answer to its ARP says so, for a while without asking again.
		[ "$said" = silent ] || [ "$what $said" = 'a sibling unreachable' ] || echo "$what: $said"
	} >"$scratch/heard.${#waiting[@]}" &
	waiting+=($!)
}

heard_nothing() {
	wait "${waiting[@]}"
	waiting=()
	assert_equal '' "$(cat "$scratch"/heard.*)" "$1: heard"
	rm "$scratch"/heard.*
}

# What has to be shut is shut, seen from a box and from outside.
assert_confined() {
	local address port
	for address in 10.20.30.40 172.16.5.40 192.168.77.40 100.64.7.40 169.254.169.254; do
		expect_silent "TCP to $address" in_box 5 "$probe" tcp "$address" 80 500
	done
	for address in "$base.1" 203.0.113.2 10.20.30.1; do
		for port in 22 2222; do
			expect_silent "the host's $address" in_box 5 "$probe" tcp "$address" "$port" 500
		done
	done
	expect_silent 'a sibling' in_box 5 "$probe" tcp "$base.106" 80 500
	expect_silent 'ARP for a sibling' in_box 5 "$probe" arp eth0 "$base.106" 500
	expect_silent 'the LAN to a box' nsenter --net="/run/netns/$BOX_LAB-lan" "$probe" tcp "$base.106" 80 500
	heard_nothing "$1"
	assert_status 0 "$BOX_LIBEXEC/box-hook" check
}

# doctor_says VERDICT: about firewalls
doctor_says() {
	local status=0
	box doctor --json >"$scratch/doctor" || status=$?
	assert_equal "$1" "$(jq -r '.checks[] | select(.name == "firewalls").verdict' "$scratch/doctor")" \
		"doctor: $(cat "$scratch/doctor")"
	[ "$1" = OK ] || assert_equal 1 "$status" 'the exit status of doctor'
}

# broken WORDS: with the rules as they are boxes get these, and doctor says whose fault it is and mends it.
broken() {
	assert_equal "$1" "$(box_gets)" "before"
	assert_confined before
	doctor_says DIRTY
	assert_contains "$(jq -r '.checks[] | select(.name == "firewalls").text' "$scratch/doctor")" "$2"
	box doctor --fix >/dev/null || true
	mended
	nft list ruleset >"$scratch/once" 2>/dev/null
	box doctor --fix >/dev/null || true
	assert_equal "$(rules_only <"$scratch/once")" "$(nft list ruleset 2>/dev/null | rules_only)" 'a second --fix'
}

mended() {
	doctor_says OK
	assert_equal 'lease dns egress' "$(box_gets)" "$name: after --fix"
	assert_confined "$name: after --fix"
}

# What was told is taken back with the rest: nothing names boxnet any more. A box that is stopped keeps the pool.
forgotten() {
	local n
	box_domain 7 keeper
	for n in 5 6; do
		box_stand_away $n
		/etc/libvirt/hooks/qemu.d/box "box$n" release end - <"$scratch/$n.xml"
	done
	on_exit sh -c 'box setup-host -q >/dev/null'
	box teardown-host --force >/dev/null
	assert_lacks "$(nft list ruleset 2>/dev/null)" boxnet
}

rules_only() {
	sed -E 's/packets [0-9]+ bytes [0-9]+//'
}

# ---- the others ----

# Tables that are not ours go at the end; nothing else of the lab has any.
drop_tables() {
	nft -j list tables | jq -r '.nftables[].table | select(. and .name != "box") | "\(.family) \(.name)"' |
		while read -r family table; do nft delete table "$family" "$table"; done
}

with_ufw() {
	cp -L /usr/share/ufw/ufw.conf /usr/share/ufw/iptables/*.rules /etc/ufw/ # as the package does
	ufw --force enable
	on_exit ufw --force disable
	broken '' ufw
	ufw reload
	mended
	forgotten
	assert_lacks "$(ufw show added)" boxnet
}

with_docker() {
	require_command dockerd
	mkdir -p "$scratch"/docker/{run,data}
	# It looks for the kernel's groups, and makes some only for a container; the lab does not show any.
	mount -t tmpfs none /sys/fs/cgroup
	if [ -e /proc/self/cgroup ] && grep -q :devices: /proc/self/cgroup; then
		mkdir /sys/fs/cgroup/devices
		mount -t cgroup -o ro,devices none /sys/fs/cgroup/devices
	else
		mount -t cgroup2 -o ro none /sys/fs/cgroup
	fi
	sysctl -qw net.ipv4.ip_forward=0 # when Docker has to turn it on it also has FORWARD drop
	on_exit sysctl -qw net.ipv4.ip_forward=1
	on_exit sh -c 'ip link del docker0 2>/dev/null'
	on_exit sh -c "umount -l '$scratch/docker/data' 2>/dev/null"
	PATH=/usr/sbin:/usr/bin:/sbin:/bin start_daemon dockerd dockerd --data-root "$scratch/docker/data" \
		--exec-root "$scratch/docker/run" --pidfile "$scratch/docker/pid" --host "unix://$scratch/docker/sock" \
		--storage-driver vfs
	wait_until 60 sh -c 'iptables -w -S DOCKER-USER && iptables -w -S FORWARD | grep -qx -- "-P FORWARD DROP"'
	broken 'lease dns' Docker
	iptables -w -F DOCKER-USER # as after the next boot
	iptables -w -A DOCKER-USER -j RETURN
	assert_status 0 "$BOX_LIBEXEC/box-hook" apply
	mended
	forgotten
}

with_firewalld() {
	mkdir -p /run/dbus
	ln -sf org.fedoraproject.FirewallD1.server.policy.choice \
		/usr/share/polkit-1/actions/org.fedoraproject.FirewallD1.policy # as the package does
	start_daemon dbus dbus-daemon --system --nofork --nopidfile
	wait_until 10 test -S /run/dbus/system_bus_socket
	sed -i "s/^FirewallBackend=.*/FirewallBackend=$1/" /etc/firewalld/firewalld.conf
	start_daemon firewalld firewalld --nofork --nopid
	wait_until 60 firewall-cmd --state
	broken '' firewalld
	firewall-cmd --complete-reload
	mended
	forgotten
	assert_lacks " $(firewall-cmd --get-zones) " ' box '
	assert_lacks " $(firewall-cmd --get-policies) " ' boxes '
}

with_firewalld_nftables() {
	with_firewalld nftables
}

with_firewalld_iptables() {
	with_firewalld iptables
}

# A namespace behind the host's interface DEV, at ADDRESS, its peer; it answers on TCP 80. Sets $other.
make_other() {
	unshare --net sleep 600 </dev/null >/dev/null 2>&1 &
	other=$!
	on_exit kill "$other"
	wait_until 5 sh -c "test \$(readlink /proc/self/ns/net) != \$(readlink /proc/$other/ns/net)"
	ip link add "$1" type veth peer name eth0 netns "$other"
	on_exit sh -c "ip link del $1 2>/dev/null"
	in_other ip link set lo up
	in_other ip link set eth0 up
	in_other ip addr add "$2/24" dev eth0
	in_other ip route add default via "${2%.*}.1"
	in_other socat TCP-LISTEN:80,fork,reuseaddr SYSTEM:'echo other' </dev/null >/dev/null 2>&1 &
	on_exit kill $!
	wait_until 5 in_other sh -c '[ -n "$(ss -Hnlt sport = :80)" ]'
}

in_other() {
	nsenter --net="/proc/$other/ns/net" "$@"
}

# Neither reaches the other, while the host reaches it.
assert_apart() {
	assert_equal open "$("$probe" tcp "$1" 80 1000)" 'the host to the other'
	expect_silent 'a box to the other' in_box 5 "$probe" tcp "$1" 80 500
	for address in "$base.105" "$base.106"; do
		expect_silent "the other to $address" in_other "$probe" tcp "$address" 80 500
	done
	heard_nothing "$1"
}

# A network of libvirt's own, with the rules that it makes for one, and a guest in it.
with_libvirt() {
	cat >"$scratch/other.xml" <<-'END'
		<network><name>other</name><forward mode='nat'/><bridge name='virbr7'/>
		<ip address='192.168.150.1' netmask='255.255.255.0'><dhcp><range start='192.168.150.2'
		end='192.168.150.9'/></dhcp></ip></network>
	END
	virsh -q net-create "$scratch/other.xml"
	on_exit virsh -q net-destroy other
	assert_contains "$(iptables -S LIBVIRT_FWI)" '-o virbr7 -j REJECT'
	make_other vnet7 192.168.150.5
	ip link set vnet7 master virbr7 up
	wait_until 30 sh -c "[ \"\$('$probe' tcp 192.168.150.5 80 500)\" = open ]" # the bridge has STP
	assert_apart 192.168.150.5
	mended
}

# A VPN that leads to all private addresses, the boxes' own among them.
with_vpn() {
	make_other wg7 10.200.0.5
	ip addr add 10.200.0.1/24 dev wg7
	ip link set wg7 up
	ip route add 10.0.0.0/8 via 10.200.0.5
	ip route add 172.16.0.0/12 via 10.200.0.5
	ip route add 192.168.0.0/16 via 10.200.0.5
	in_other ip addr add 172.30.1.1/32 dev lo
	in_other ip addr add 192.168.240.1/32 dev lo
	for address in 10.200.0.5 172.30.1.1 192.168.240.1; do
		assert_apart "$address"
	done
	mended
	assert_status 1 box doctor
	assert_contains "$out" "the boxes' subnet $base.0/24 is used by the host as well: wg7 has a route to 10.0.0.0/8"
}

# Bridged frames go through iptables as well, which drops; nobody whom we know did that.
with_iptables() {
	sysctl -qw net.bridge.bridge-nf-call-iptables=1 net.bridge.bridge-nf-call-arptables=1 ||
		skip 'this kernel has no br_netfilter'
	on_exit sysctl -qw net.bridge.bridge-nf-call-iptables=0 net.bridge.bridge-nf-call-arptables=0
	iptables -P FORWARD DROP
	assert_equal 'lease dns' "$(box_gets)" before
	assert_confined before
	doctor_says DIRTY
	iptables -I FORWARD -i boxnet -j ACCEPT # as doctor says
	iptables -I FORWARD -o boxnet -j ACCEPT
	mended
	nft add table inet mine
	nft add chain inet mine forward '{ type filter hook forward priority 0; policy drop; }'
	assert_equal 'lease dns' "$(box_gets)" 'a chain by hand'
	doctor_says DIRTY
	assert_contains "$(cat "$scratch/doctor")" "the chain forward of nftables' table inet mine drops by policy"
	nft add rule inet mine forward iifname '{ lo, boxnet }' accept
	nft add rule inet mine forward oifname boxnet accept
	mended
}

box_admit 5
box_stand_in 5
box_admit 6
box_stand_in 6
box_serve 6 80
assert_equal 'lease dns egress' "$(box_gets)" 'without another firewall'
on_exit drop_tables
"with_${name//-/_}"
