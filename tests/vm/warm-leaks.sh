#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Boxes that start from memory, one after another, leave nothing: no volume, reservation, element of a set, tap, record,
# channel, domain, process, or descriptor of a daemon; and libvirtd does not grow with their number. Their leases end
# by themselves, ten minutes later.
#
#   warm-leaks.sh [COUNT]      default 12
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_root
require_command jq virsh nft
count=${1:-12}
name=leaks-$$
make_scratch
on_exit lab_run box rm --quiet --force "$name"

# One line for each thing that a box can leave. What goes on by itself (counters, times) is not in it.
state() {
	lab_run sh -c '
		virsh -q list --all --name | sed "s/^/domain /"
		virsh -q vol-list box | awk "{ print \"volume\", \$1 }" | sort
		virsh net-dumpxml boxnet | grep "<host " | sed "s/^/reservation /"
		virsh -q net-port-list boxnet | sed "s/^/port /"
		ip -o link | grep -o "bxt[0-9a-f]*" | sed "s/^/tap /"
		ls /run/box/ports | sed "s/^/running /"
		ls /var/lib/libvirt/qemu | grep ^domain- | sed "s/^/folder /"
		ls /var/lib/libvirt/qemu/channel/target | sed "s/^/channel /"
		bridge fdb show br boxnet | grep bxt | sed "s/^/fdb /"
		for pid in $(pgrep -f "^[^ ]*qemu-system.* -name guest="); do
			[ "$(readlink "/proc/$pid/ns/net")" != "$(readlink /proc/self/ns/net)" ] || echo "process $pid"
		done
		jq -r "now as \$now | .[] | select(.\"expiry-time\" < \$now - 120) | \"lease that is over \" + .\"ip-address\"" \
			/var/lib/libvirt/dnsmasq/boxnet.status
		for table in inet bridge; do
			nft -j list table $table box | jq -r ".nftables[] | .set // .map | select(.) |
				.name as \$n | .elem[]? | \"element $table \" + \$n + \" \" + ((try .elem.val catch null) // . | tostring)"
		done' | sed '/^[a-z]* *$/d'
}
# what this lab's daemons have open, by kind and how many
descriptors() {
	lab_run sh -c 'for daemon in libvirtd virtlogd; do
		for fd in /proc/"$(cat /run/$daemon.pid)"/fd/*; do
			echo "$daemon $(readlink "$fd" | sed "s/:.*//; s/[0-9]//g")"
		done; done' | sort | uniq -c
}
# Not more of any kind than before; they are closed a moment after a guest has ended.
nothing_more() {
	descriptors >"$scratch/open-after"
	awk 'NR == FNR { before[$2 $3] = $1; next } $1 > before[$2 $3] { print; more = 1 } END { exit more }' \
		"$scratch/open-before" "$scratch/open-after"
}
# KiB that libvirtd has of its own
libvirtd_memory() {
	lab_run sh -c 'awk "/^RssAnon:/ { print \$2 }" /proc/"$(cat /run/libvirtd.pid)"/status'
}
# Each of them from memory: one that booted would show nothing.
make_one() {
	if [ $(($1 % 2)) = 0 ]; then
		assert_status 0 lab_run box run --timing -- true
		assert_contains "$err" 'timing wake.adopt'
	else
		assert_status 0 lab_run box new "$name" --timing
		assert_contains "$err" 'timing wake.adopt'
		assert_status 0 lab_run box rm --force "$name" --timing
	fi
}

assert_status 0 lab_run box image warm blank
make_one 0
make_one 1
state >"$scratch/before"
descriptors >"$scratch/open-before"
memory=$(libvirtd_memory)
grep -q '^volume warm-blank-.*mem$' "$scratch/before" || fail 'there is no warm image'
for ((i = 0; i < count; i++)); do
	make_one "$i"
done
state >"$scratch/after"
diff "$scratch/before" "$scratch/after" >&2 || fail "left behind by $count boxes"
wait_until 30 nothing_more
# What it needs once, and a part of what one definition takes for each of them: a domain that is kept has ten times that.
grown=$(($(libvirtd_memory) - memory))
[ "$grown" -le $((8192 + 32 * count)) ] || fail "libvirtd has grown by $grown KiB with $count boxes"
echo "libvirtd has grown by $grown KiB with $count boxes"
