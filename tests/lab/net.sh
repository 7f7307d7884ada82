# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Three network namespaces:
#
#    wan (the internet)            hv (the host under test)                lan (what nobody may reach)
#    203.0.113.1, .53, .80  <---->  wan0 203.0.113.2                       10.20.30.40  172.16.5.40
#    198.51.100.80 192.88.99.80     lan0 10.20.30.1 172.16.5.1 ...  <---->  192.168.77.40  100.64.7.40
#    DNS, HTTP                      forwards everything                    169.254.169.254
#
# hv's default route is wan; lan's default route is hv, so that without rules a box does reach lan
# and gets an answer: a probe that stays silent then means something. wan has no route to anybody's
# private addresses: what is not masqueraded gets no answer. The three are joined by veth pairs made
# inside them, so that no interface of the lab is ever seen in the machine's own network.
#
# nft counters in wan and lan ("lab counters") tell what arrived, whatever the sender saw.

net_namespaces() {
	local name
	for name in "$LAB-hv" "$LAB-wan" "$LAB-lan"; do
		[ ! -e "/run/netns/$name" ] ||
			die "network namespace '$name' exists and is not this lab's; choose another BOX_LAB"
		echo "$name" >>"$LAB_STATE/netns"
		ip netns add "$name"
		ip -n "$name" link set lo up
	done
}

# Add addresses to an interface. The second documentation network sits on wan's own side only.
net_addresses() {
	local ns=$1 dev=$2 address
	shift 2
	for address; do
		case $address in
		*:*) ip -n "$ns" addr add "$address" dev "$dev" nodad ;;
		*) ip -n "$ns" addr add "$address" dev "$dev" ;;
		esac
	done
}

net_links() {
	local hv=$LAB-hv wan=$LAB-wan lan=$LAB-lan
	ip -n "$hv" link add wan0 type veth peer name hv0 netns "$wan"
	ip -n "$hv" link add lan0 type veth peer name hv0 netns "$lan"
	net_addresses "$wan" hv0 "${WAN_ADDRESSES[@]}"
	net_addresses "$lan" hv0 "${LAN_ADDRESSES[@]}"
	net_addresses "$hv" wan0 "${HV_WAN_ADDRESSES[@]}"
	net_addresses "$hv" lan0 "${HV_LAN_ADDRESSES[@]}"
	ip -n "$hv" link set wan0 up
	ip -n "$hv" link set lan0 up
	ip -n "$wan" link set hv0 up
	ip -n "$lan" link set hv0 up
	ip -n "$hv" route add default via "$WAN_GATEWAY"
	ip -n "$hv" route add 169.254.169.254/32 dev lan0
	ip -n "$hv" -6 route add default via 2001:db8:77::1
	ip -n "$lan" route add default via "$LAN_GATEWAY"
	ip -n "$lan" -6 route add default via fd77::1
	nsenter --net="/run/netns/$hv" sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
}

# One named counter for each address, and one for what must not arrive anywhere: packets that still
# have a source in the range of box's own subnets, 10.88 to 10.127.
net_counters() {
	local ns addresses address name
	for ns in wan lan; do
		addresses=("${WAN_ADDRESSES[@]}")
		[ "$ns" = wan ] || addresses=("${LAN_ADDRESSES[@]}")
		{
			echo 'table inet lab {'
			for address in "${addresses[@]%/*}" box-subnets; do
				echo "	counter to-${address//[.:]/-} { }"
			done
			echo '	chain seen {'
			echo '		type filter hook prerouting priority -300; policy accept'
			echo '		ip saddr 10.64.0.0/10 counter name to-box-subnets'
			for address in "${addresses[@]%/*}"; do
				name=to-${address//[.:]/-}
				case $address in
				*:*) echo "		ip6 daddr $address counter name $name" ;;
				*) echo "		ip daddr $address counter name $name" ;;
				esac
			done
			echo '	}'
			echo '}'
		} | nsenter --net="/run/netns/$LAB-$ns" nft -f -
	done
}

# net_show_counters [--reset]: "lan 10-20-30-40 3" a line, packets since the lab's start or last reset.
net_show_counters() {
	local ns verb=list
	lab_ready || die "the lab '$LAB' is not up"
	[ "${1:-}" != --reset ] || verb=reset
	for ns in wan lan; do
		nsenter --net="/run/netns/$LAB-$ns" nft -j "$verb" counters table inet lab |
			jq -r --arg ns "$ns" '.nftables[].counter | select(.) |
				"\($ns) \(.name | sub("^to-"; "") | sub("^box"; "from-box")) \(.packets)"'
	done
}

# A server of the lab: its own session, no streams of ours, log in the state folder.
net_serve() {
	local ns=$1 log=$2
	shift 2
	setsid nsenter --net="/run/netns/$LAB-$ns" "$@" </dev/null >>"$LAB_STATE/log/$log" 2>&1 &
}

net_servers() {
	local port
	echo 'hello from wan' >"$LAB_STATE/www/index.html"
	net_serve wan dnsmasq.log dnsmasq --keep-in-foreground --conf-file=/dev/null --user=root \
		--pid-file --no-resolv --no-hosts --bind-interfaces --listen-address="$WAN_DNS" \
		--log-queries --log-facility=- --local=// --address=/#/ \
		--address="/example.test/$WAN_NAMED" --address=/example.test/2001:db8:77::80 \
		--address="/example.com/$WAN_NAMED" --address="/example.org/$WAN_NAMED" \
		--address=/rebind.test/10.20.30.40
	net_serve wan http.log /usr/bin/python3 -m http.server --bind :: --directory "$LAB_STATE/www" 80
	for port in "${LAN_TCP_PORTS[@]}"; do
		net_serve lan tcp.log socat "TCP-LISTEN:$port,fork,reuseaddr" "EXEC:sh $LAB_DIR/answer.sh lan"
	done
	net_serve lan udp.log socat "UDP-RECVFROM:$LAN_UDP_PORT,fork,reuseaddr" EXEC:cat
	net_serve hv tcp.log socat "TCP-LISTEN:$HV_TCP_PORT,fork,reuseaddr" "EXEC:sh $LAB_DIR/answer.sh hv"
	net_serve hv udp.log socat "UDP-RECVFROM:$HV_UDP_PORT,fork,reuseaddr" EXEC:cat
	net_wait wan tcp 80 && net_wait wan udp 53 && net_wait hv tcp "$HV_TCP_PORT"
	for port in "${LAN_TCP_PORTS[@]}"; do
		net_wait lan tcp "$port"
	done
	net_wait lan udp "$LAN_UDP_PORT" && net_wait hv udp "$HV_UDP_PORT"
}

# Wait until something listens there.
net_wait() {
	local ns=$1 kind=$2 port=$3 tries=0
	while [ -z "$(nsenter --net="/run/netns/$LAB-$ns" ss -Hnl --"$kind" "sport = :$port")" ]; do
		tries=$((tries + 1))
		[ "$tries" -lt 200 ] || die "nothing listens in $ns on $kind port $port; see $LAB_STATE/log"
		sleep 0.05
	done
}

# Fails unless nothing can leave: in each namespace only loopback, bridges, taps and the lab's own
# veth pairs; wan, where hv's traffic ends, has no default route.
net_assert_sealed() {
	local name bad peers
	for name in hv wan lan; do
		bad=$(ip -n "$LAB-$name" -d -j link | jq -r '.[] | select(
			(.ifname == "lo") or
			(.linkinfo.info_kind as $k | $k == "bridge" or $k == "tun" or $k == "vlan") or
			(.linkinfo.info_kind == "veth" and (.link_netnsid == null or
				(.ifname | IN("wan0", "lan0", "hv0")))) | not) | .ifname')
		[ -z "$bad" ] || die "$LAB-$name has an interface that is not the lab's: $bad"
		peers=$(ip -n "$LAB-$name" -j link | jq -r '[.[] | select(.link_netnsid)] | length')
		case $name-$peers in
		hv-2 | wan-1 | lan-1) ;;
		*) die "$LAB-$name has $peers links to other namespaces" ;;
		esac
	done
	[ -z "$(ip -n "$LAB-wan" route show default)$(ip -n "$LAB-wan" -6 route show default)" ] ||
		die "$LAB-wan has a default route"
	[ "$(ip -n "$LAB-hv" -j route show default | jq -r '.[0].gateway')" = "$WAN_GATEWAY" ] ||
		die "the default route of $LAB-hv is not $WAN_GATEWAY"
}
