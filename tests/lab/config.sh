# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034
#
# Names, folders and addresses of the lab. Addresses of wan are from the documentation ranges
# (RFC 5737, RFC 3849), which product code counts as public; none of lan's touches 10.88-10.127,
# where box looks for its own subnet.

LAB=${BOX_LAB:-lab}
LAB_STATE=/var/lib/box-lab/$LAB
LAB_ROOT=$(readlink -f "$LAB_DIR/../..")
LAB_BUILD=$(readlink -m "${BOX_BUILD:-$LAB_ROOT/build}")
LAB_CACHE=${BOX_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/box-lab}

WAN_GATEWAY=203.0.113.1 # hv's default route
HV_WAN=203.0.113.2 # the host's own public address
WAN_DNS=203.0.113.53
# Names in wan have an address of the retired 6to4 relay range (RFC 7526): dnsmasq's protection against
# rebinding, which boxnet has, counts the documentation ranges as private and drops answers with them.
WAN_NAMED=192.88.99.80
WAN_ADDRESSES=(203.0.113.1/24 203.0.113.53/24 203.0.113.80/24 198.51.100.80/32 "$WAN_NAMED/32"
	2001:db8:77::1/64 2001:db8:77::80/64)
HV_WAN_ADDRESSES=(203.0.113.2/24 2001:db8:77::2/64)

# hv has .1 of each of lan's networks; 169.254.169.254 is on the link.
LAN_ADDRESSES=(10.20.30.40/24 172.16.5.40/24 192.168.77.40/24 100.64.7.40/24 169.254.169.254/32
	fd77::40/64)
HV_LAN_ADDRESSES=(10.20.30.1/24 172.16.5.1/24 192.168.77.1/24 100.64.7.1/24 fd77::1/64)
LAN_GATEWAY=10.20.30.1

LAN_TCP_PORTS=(22 80 443) # each answers one line; see answer.sh
LAN_UDP_PORT=7 # echo
HV_TCP_PORT=2222 # a service of the host itself, on every address
HV_UDP_PORT=7

say() {
	printf 'lab: %s\n' "$*" >&2
}

die() {
	say "$*"
	exit 125
}

[[ $LAB =~ ^[a-z][a-z0-9-]{0,10}$ ]] ||
	die "BOX_LAB='$LAB': a lab's name is a lower-case letter and up to ten letters, digits or dashes"
