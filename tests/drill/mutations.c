/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Most rules stand in front of another that drops the same packet for a coarser reason: the stack is
 * made so. Taking one away then leaves the packet stopped but not counted where it has to be, and the
 * drill says unknown; taking the second one away, too, turns the claim broken. Both are here.
 */
#include "tests/drill/mutations.h"

#include "base/macro.h"

/* clang-format off */
/* The port flags out of the way; and br_netfilter, by which rules of routing see bridged packets. */
#define FLAGS_OFF \
	"bridge link set dev {a_tap} isolated off", "bridge link set dev {b_tap} isolated off", \
	"sysctl -eqw net.bridge.bridge-nf-call-iptables=0"
#define FILTER_ON { "sysctl -eqw net.bridge.bridge-nf-call-iptables=1" }

/* A table of somebody else's with a chain for destination NAT. */
#define EVIL_NAT(hook, priority) \
	"nft add table ip evil", \
	"nft add chain ip evil nat { type nat hook " hook " priority " priority " ; }"
#define NO_EVIL { "nft delete table ip evil" }

#define ALL_RANGES                                                                         \
	"range-10 range-172-16 range-192-168 range-cgnat range-link-local range-metadata " \
	"range-protocol range-benchmark range-reserved "
#define HOST_OTHERS "host-addresses host-services host-broadcast "
#define PEER_DIRECT "peer-tcp peer-udp peer-icmp peer-arp peer-broadcast "

const struct mutation mutations[] = {
	{ .name = "nothing" },

	/* ---- the port flag and the bridge's forwarding ---- */
	{
		.name = "port flags off",
		.host = { FLAGS_OFF },
		.mend_host = FILTER_ON,
		.broken = "port-flag",
	},
	{
		.name = "rule between boxes removed",
		.without = { "drop_box_to_box" },
		.broken = "rules-intact",
	},
	{
		.name = "port flags off, and rule between boxes removed",
		.without = { "drop_box_to_box", "drop_to_box" },
		.host = { FLAGS_OFF },
		.mend_host = FILTER_ON,
		.broken = PEER_DIRECT "port-flag rules-intact",
	},
	{
		.name = "frames of other protocols let through between boxes",
		.without = { "drop_box_to_box", "drop_to_box", "drop_ethertype" },
		.host = { FLAGS_OFF },
		.mend_host = FILTER_ON,
		.broken = PEER_DIRECT "peer-raw port-flag rules-intact",
	},
	{
		.name = "multicast frames let through between boxes",
		.without = { "drop_box_to_box", "drop_to_box", "drop_multicast_frame" },
		.host = { FLAGS_OFF },
		.mend_host = FILTER_ON,
		.broken = PEER_DIRECT "peer-multicast port-flag rules-intact",
	},
	{
		.name = "tagged frames let through between boxes",
		.without = { "drop_box_to_box", "drop_to_box", "drop_vlan", "drop_qinq", "drop_ethertype" },
		.host = { FLAGS_OFF },
		.mend_host = FILTER_ON,
		.broken = PEER_DIRECT "peer-raw peer-vlan port-flag rules-intact",
	},
	{
		.name = "flooding to boxes",
		.without = { "drop_flood" },
		.broken = "peer-flood rules-intact",
	},

	/* ---- routed between boxes ---- */
	{
		.name = "rule between boxes by the gateway removed",
		.without = { "drop_box_to_box_routed" },
		.broken = "rules-intact",
		.unknown = "peer-routed",
		.either = "door-peer", /* of its nine packets one is not counted; one sent twice makes up */
	},
	{
		.name = "boxes routed to one another",
		.without = { "drop_box_to_box_routed", "drop_lan_10_8" },
		.broken = "peer-routed range-10 door-peer rules-intact",
	},

	/* ---- the host ---- */
	{
		.name = "rule of the gateway removed",
		.without = { "drop_host_gateway" },
		.broken = "rules-intact",
		.unknown = "host-gateway-tcp host-gateway-udp host-gateway-icmp",
	},
	{
		.name = "rule of the host's other addresses removed",
		.without = { "drop_host" },
		.broken = HOST_OTHERS "door-peer rules-intact",
	},
	{
		.name = "both rules of the host removed",
		.without = { "drop_host", "drop_host_gateway" },
		.broken = "host-gateway-tcp host-gateway-udp host-gateway-icmp " HOST_OTHERS
			"door-peer rules-intact",
	},
	{
		.name = "accept added at the top of input",
		.host = { "nft insert rule inet box input iifname {bridge} accept" },
		.broken = "host-gateway-tcp host-gateway-udp host-gateway-icmp " HOST_OTHERS
			"door-peer rules-intact",
	},
	{
		.name = "rule of routed loopback removed",
		.without = { "drop_loopback_127_8" },
		.broken = "rules-intact",
		.unknown = "host-loopback",
	},
	{
		.name = "routed loopback reaches the host",
		.without = { "drop_loopback_127_8", "drop_host" },
		.broken = "host-loopback " HOST_OTHERS "door-peer rules-intact",
	},
	{
		.name = "packets past the bridge",
		.without = { "drop_tap" },
		.broken = "host-past-bridge rules-intact",
	},

	/* ---- ranges ---- */
#define RANGE_GONE(counter_, broken_) \
	{ .name = counter_ " removed", .without = { counter_ }, .broken = broken_ " rules-intact" }
	RANGE_GONE("drop_lan_10_8", "range-10"),
	RANGE_GONE("drop_lan_172_16_12", "range-172-16"),
	RANGE_GONE("drop_lan_192_168_16", "range-192-168"),
	RANGE_GONE("drop_cgnat_100_64_10", "range-cgnat"),
	RANGE_GONE("drop_link_local_169_254_16", "range-link-local range-metadata"),
	RANGE_GONE("drop_protocol_192_0_0_24", "range-protocol"),
	RANGE_GONE("drop_benchmark_198_18_15", "range-benchmark"),
	RANGE_GONE("drop_reserved_240_4", "range-reserved"),
	RANGE_GONE("drop_this_network_0_8", "range-this-network"),
	{
		.name = "rule of multicast removed",
		.without = { "drop_multicast_224_4" },
		.broken = "rules-intact",
		.unknown = "range-multicast",
	},
	{
		.name = "multicast reaches the host",
		.without = { "drop_multicast_224_4", "drop_host" },
		.broken = "range-multicast " HOST_OTHERS "door-peer rules-intact",
	},
	{
		.name = "rules reordered: the internet before the ranges",
		.host = { "nft insert rule inet box forward iifname {bridge} ct state new,established,related accept" },
		.broken = ALL_RANGES "peer-routed door-peer rules-intact",
	},
	{
		.name = "accept added at the top of forward, for everybody",
		.host = { "nft insert rule inet box forward accept" },
		.broken = ALL_RANGES "peer-routed outside-to-box door-outside door-peer rules-intact",
	},
	{
		.name = "tables flushed",
		.host = { "nft flush chain inet box forward" },
		.broken = ALL_RANGES "peer-routed outside-to-box door-outside door-peer rules-intact",
	},

	/* ---- spoofing ---- */
	{
		.name = "rule of MAC addresses removed",
		.without = { "drop_spoof_mac" },
		.broken = "rules-intact",
		.unknown = "spoof-mac",
	},
	{
		.name = "MAC set widened",
		.host = { "nft add element bridge box taps { {a_tap} . {b_mac} }",
			"nft add element bridge box sources { {a_tap} . {b_mac} . {b_ip} }" },
		.broken = "spoof-mac rules-intact",
		.either = "door-open", /* the bridge takes the box's port for the peer's */
	},
	{
		.name = "address set widened",
		.host = { "nft add element bridge box sources { {a_tap} . {a_mac} . {b_ip} }" },
		.broken = "spoof-ip spoof-arp rules-intact",
		.either = "door-open", /* the host takes the box for its peer */
	},
	{
		.name = "rule of source addresses removed",
		.without = { "drop_spoof_ip" },
		.broken = "spoof-ip rules-intact",
	},
	{
		.name = "rule of ARP removed",
		.without = { "drop_spoof_arp" },
		.broken = "rules-intact",
		.unknown = "spoof-arp",
	},
	{
		.name = "ARP let in",
		.without = { "drop_spoof_arp", "drop_ethertype", "drop_to_host" },
		.broken = "peer-raw spoof-arp rules-intact",
		.either = "door-open host-to-box",
	},
	{
		.name = "DHCP servers let in",
		.without = { "drop_dhcp_server" },
		.broken = "rogue-dhcp rules-intact",
	},

	/* ---- IPv6 ---- */
	{
		.name = "rule of IPv6 removed",
		.without = { "drop_ipv6_bridge" },
		.broken = "rules-intact",
		.unknown = "rogue-ra ipv6-peer ipv6-host ipv6-internet",
	},
	{
		.name = "IPv6 let in",
		.without = { "drop_ipv6_bridge", "drop_ethertype", "drop_multicast_frame",
			"drop_to_host" },
		.broken = "peer-raw rogue-ra ipv6-peer ipv6-host ipv6-internet rules-intact",
	},
	{
		.name = "a box with a public IPv6 address",
		.box = { "ip -6 addr add 2001:db8::5/64 dev {a_if}" },
		.mend_box = { "ip -6 addr del 2001:db8::5/64 dev {a_if}" },
		.broken = "ipv6-address",
	},

	/* ---- inbound ---- */
	{
		.name = "rule of the host to boxes removed",
		.without = { "drop_host_to_box" },
		.broken = "host-to-box door-only-one rules-intact",
	},
	{
		.name = "connection tracking's accept misplaced",
		.host = { "nft insert rule inet box output oifname {bridge} ct state new,established accept" },
		.broken = "host-to-box door-only-one rules-intact",
	},
	{
		.name = "rule of outsiders to boxes removed",
		.without = { "drop_outside_to_box" },
		.broken = "outside-to-box door-outside rules-intact",
	},

	/* ---- doors ---- */
	{
		.name = "doors lead nowhere",
		.no_chain = "doors",
		.broken = "door-open rules-intact",
	},
	{
		.name = "a door widened to every address of the host",
		.host = { EVIL_NAT("output", "-150"),
			"nft add rule ip evil nat fib daddr type local tcp dport {door} dnat to {b_ip}:{box_port}" },
		.mend_host = NO_EVIL,
		.broken = "door-loopback-only",
		.unknown = "door-gone",
	},
	{
		.name = "a removed door that still leads somewhere",
		.without = { "drop_door_closed" },
		.host = { EVIL_NAT("output", "-150"),
			"nft add rule ip evil nat ip daddr 127.0.0.1 tcp dport {door} dnat to {b_ip}:{box_port}",
			"nft insert rule inet box input iifname {bridge} ip saddr {b_ip} tcp sport {box_port} accept" },
		.mend_host = NO_EVIL,
		.broken = "door-gone rules-intact",
	},
	{
		.name = "a door opened to the outside",
		.without = { "drop_outside_to_box" },
		.host = { EVIL_NAT("prerouting", "-150"),
			"nft add rule ip evil nat iifname != {bridge} tcp dport {door} dnat to {b_ip}:{box_port}" },
		.mend_host = NO_EVIL,
		.broken = "outside-to-box door-outside rules-intact",
	},

	/* ---- the internet and names ---- */
	{
		.name = "a container engine that drops what is forwarded",
		.host = { "nft add table ip engine",
			"nft add chain ip engine FORWARD { type filter hook forward priority 0 ; policy drop ; }" },
		.mend_host = { "nft delete table ip engine" },
		.broken = "egress-public",
		.unknown = "*",
	},
	{
		.name = "forwarding switched off",
		.host = { "sysctl -qw net.ipv4.ip_forward=0" },
		.mend_host = { "sysctl -qw net.ipv4.ip_forward=1" },
		.broken = "egress-public",
		.unknown = "*",
	},
	{
		.name = "boxes not hidden behind the host's address",
		.no_chain = "source_nat",
		.broken = "egress-public egress-hidden door-open rules-intact",
		.unknown = "*",
	},
	{
		.name = "a resolver that is not pinned",
		.where = MUTATION_STANDIN,
		.names = "--server=10.20.30.40 --all-servers",
		.broken = "dns-pinned",
	},
	{
		.name = "a resolver that lies about public names",
		.where = MUTATION_STANDIN,
		.names = "--address=/example.com/",
		.broken = "dns-public",
		.unknown = "dns-pinned",
	},
	{
		.name = "names of boxes registered",
		.where = MUTATION_STANDIN,
		.names = "--host-record={b_name},{b_ip}",
		.broken = "peer-name peer-reverse",
	},

	/* ---- nothing can be said ---- */
	{
		.name = "a dead name server",
		.where = MUTATION_STANDIN,
		.names = "dead",
		.unknown = "dns-public dns-pinned peer-name peer-reverse range-10 peer-tcp spoof-mac "
			"ipv6-host host-gateway-tcp host-to-box *",
	},
	{
		.name = "a box whose network is down",
		.box = { "ip link set {a_if} down" },
		.mend_box = { "ip link set {a_if} up", "ip route replace default via {gw}" },
		.unknown = "egress-public dns-public dns-pinned peer-name peer-reverse range-10 range-metadata "
			"peer-tcp peer-raw spoof-mac ipv6-host host-gateway-tcp host-loopback *",
	},
	{
		.name = "no probe in the box",
		.where = MUTATION_STANDIN,
		.no_tool = true,
		.unknown = "egress-public dns-public dns-pinned peer-name peer-reverse range-10 range-metadata "
			"peer-tcp peer-raw spoof-mac ipv6-host host-gateway-tcp host-loopback *",
	},

	/* ---- real boxes, their host and their domains ---- */
	{
		.name = "the hook disabled",
		.where = MUTATION_REAL,
		.host = { "chmod 0644 /etc/libvirt/hooks/qemu.d/box" },
		.mend_host = { "chmod 0755 /etc/libvirt/hooks/qemu.d/box" },
		.broken = "hook",
	},
	{
		.name = "libvirt's name server stopped",
		.where = MUTATION_REAL,
		.host = { "xargs -a /run/libvirt/network/boxnet.pid kill -STOP" },
		.mend_host = { "xargs -a /run/libvirt/network/boxnet.pid kill -CONT" },
		.unknown = "dns-public dns-pinned peer-name peer-reverse range-10 peer-tcp spoof-mac "
			"ipv6-host host-gateway-tcp host-to-box *",
	},
	{
		.name = "a second network device",
		.where = MUTATION_REAL,
		.host = { "virsh -q attach-interface {a_name} network boxnet --model virtio --live "
			"--mac 52:54:00:77:77:77" },
		.mend_host = { "virsh -q detach-interface {a_name} network --live --mac 52:54:00:77:77:77" },
		.broken = "one-nic",
	},
	{
		.name = "a file of the host as a device",
		.where = MUTATION_REAL,
		.host = { "virsh -q attach-device {a_name} {tests}/channel-file.xml --live" },
		.mend_host = { "virsh -q detach-device {a_name} {tests}/channel-file.xml --live" },
		.broken = "no-host-device",
	},
	{
		.name = "a port of the host that listens for the box",
		.where = MUTATION_REAL,
		.host = { "virsh -q attach-device {a_name} {tests}/channel-tcp.xml --live" },
		.mend_host = { "virsh -q detach-device {a_name} {tests}/channel-tcp.xml --live" },
		.broken = "no-host-listener no-host-device",
	},
	{
		.name = "two boxes with one name",
		.where = MUTATION_REAL,
		.box = { "hostname {b_name}" },
		.mend_box = { "hostname {a_name}" },
		.broken = "identity",
	},
	{
		.name = "a login in a fresh image",
		.where = MUTATION_REAL,
		.peer = { "cp /etc/hostname /root/.netrc" },
		.mend_peer = { "rm /root/.netrc" },
		.broken = "image-credentials",
	},
	{
		.name = "a key in the seed",
		.where = MUTATION_REAL,
		.peer = { "mv /dev/disk/by-label/CIDATA /dev/disk/by-label/CIDATA.was",
			"ln -s /etc/ssh/ssh_host_ed25519_key /dev/disk/by-label/CIDATA" },
		.mend_peer = { "mv /dev/disk/by-label/CIDATA.was /dev/disk/by-label/CIDATA" },
		.broken = "seed-credentials",
	},
	{
		.name = "a command that takes any machine",
		.where = MUTATION_REAL,
		.program = "/bin/true",
		.broken = "ownership",
	},
	{
		.name = "memory that may be merged",
		.where = MUTATION_REAL,
		.host = { "{tests}/redefine.sh {a_name} memoryBacking" },
		.mend_host = { "{tests}/redefine.sh {a_name}" },
		.broken = "no-page-merging",
	},
	/* Last: dnsmasq puts the name into the lease too, where it outlives the record. */
	{
		.name = "names registered in libvirt's network",
		.where = MUTATION_REAL,
		.host = { "virsh -q net-update boxnet add dns-host "
			"<host\tip='{b_ip}'><hostname>{b_name}</hostname></host> --live" },
		.mend_host = { "virsh -q net-update boxnet delete dns-host "
			"<host\tip='{b_ip}'><hostname>{b_name}</hostname></host> --live" },
		.broken = "peer-name peer-reverse",
	},
};
/* clang-format on */
const size_t mutation_count = ARRAY_LEN(mutations);
