#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# setup-host and teardown-host on a host without systemd: the second run changes nothing, whatever is left of a
# killed one is finished, what runs is not cut off, and nothing is left at the end.
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
on_exit sh -c 'box setup-host -q >/dev/null 2>&1'

# Everything that setup-host makes, down to inodes, times, and the kernel's handles of rules.
state() {
	find /etc/box /etc/libvirt/hooks /etc/systemd/system/box* /etc/systemd/system/*.d /run/box \
		! -name .lock -printf '%p %i %T@ %m %s\n' 2>/dev/null | sort || :
	nft -a list table inet box
	nft -a list table bridge box
	virsh net-dumpxml boxnet
	virsh net-dumpxml --inactive boxnet
	virsh net-info boxnet
	virsh pool-dumpxml box | grep -vE 'allocation|available'
	virsh pool-info box | grep -vE 'Allocation|Available'
	cat /proc/sys/net/ipv4/conf/boxnet/route_localnet
}

# What of it is there, a word each.
left() {
	find /etc/box /run/box /etc/libvirt/hooks -type f 2>/dev/null || :
	find /etc/systemd/system -name 'box*' 2>/dev/null || :
	nft list tables | grep -w box || :
	virsh -q net-list --all --name | xargs -n 1 | grep -x boxnet || :
	virsh -q pool-list --all --name | xargs -n 1 | grep -x box || :
	ls -d /sys/class/net/boxnet /proc/sys/net/ipv4/conf/boxnet 2>/dev/null || :
	ls -d /var/lib/libvirt/dnsmasq/boxnet.* 2>/dev/null || :
	! grep -qs '^State:.[^Z]' "/proc/$dnsmasq/status" || echo "dnsmasq $dnsmasq"
}

box setup-host -q >/dev/null 2>&1 # of this build
dnsmasq=$(cat /run/libvirt/network/boxnet.pid)
state >"$scratch/before"
assert_status 0 box setup-host
assert_equal "nothing to do: boxes get addresses from $base.0/24" "$out"
assert_equal "$(cat "$scratch/before")" "$(state)" 'a second run'
grep -q 'chain prerouting' "$scratch/before" || fail "the state says nothing: $(cat "$scratch/before")"

# Refusals leave everything as it is.
assert_status 1 env BOX_SUBNET=10.20.30.0/24 box setup-host
assert_contains "$err" "this host is set up with $base.0/24"
assert_status 2 env BOX_DNS=10.20.30.40 box setup-host
assert_contains "$err" 'is not public'
assert_equal "$(cat "$scratch/before")" "$(state)" 'after refusals'

# A box that runs keeps its host.
box_domain 3 web
virsh -q start web
state >"$scratch/running"
assert_status 1 box teardown-host --force
assert_contains "$err" "box 'web' runs; stop it first: box down web"
assert_equal "$(cat "$scratch/running")" "$(state)" 'after a refused teardown'
assert_status 2 box teardown-host
virsh -q destroy web

# Killed on the way down, at each step; the next one finishes. A box that is stopped keeps the pool.
for step in network pool host; do
	assert_status 137 env "BOX_FAULT=teardown.$step:kill" box teardown-host --force
	assert_status 0 box teardown-host --force
	assert_contains "$err" 'the storage pool stays: it holds 1 boxes'
	assert_equal box "$(left)" "after teardown, killed after $step"
	assert_status 0 box teardown-host --force
	# Up again, killed as well.
	assert_status 137 env "BOX_FAULT=setup.$step:kill" box setup-host
	assert_status 0 box setup-host
	assert_status 0 box setup-host
	assert_contains "$out" 'nothing to do'
	assert_status 0 "$BOX_LIBEXEC/box-hook" check
done

# The box has the address that it had, and starts behind its rules.
assert_contains "$(virsh net-dumpxml boxnet)" "<host mac='52:54:00:03:03:03' ip='$base.103'"
virsh -q start web
assert_contains "$(nft list set bridge box sources)" "\"bxt33333333\" . 52:54:00:03:03:03 . $base.103"
virsh -q destroy web
virsh -q start web

# The pool is not only ours: what is somebody else's keeps it, whole, even from a purge. The question says what
# a purge takes.
on_exit sh -c 'box setup-host -q >/dev/null 2>&1; box image mint --offline -q blank >/dev/null 2>&1'
assert_status 2 box teardown-host --purge </dev/null
assert_contains "$err" 'with all 1 boxes (1 running, which are powered off), their snapshots, and all images'
pool() { virsh -q vol-list box | awk '{print $1}' | sort; }
folder=$(virsh pool-dumpxml box | sed -n 's/.*<path>\(.*\)<.*/\1/p')
echo precious >"$folder/my-own.img"
assert_status 0 box teardown-host --purge --force
assert_contains "$err" "the storage pool stays: it holds 'my-own.img', which is not box's to delete"
assert_equal box "$(left)" 'after a purge of a pool with a stranger'
assert_equal precious "$(cat "$folder/my-own.img")"
assert_contains "$(pool)" golden-blank
assert_silent "$(virsh -q list --all)" 'boxes'
rm "$folder/my-own.img"
assert_status 0 box setup-host

# So does a layer whose domain is gone: it is somebody's work, which only a purge takes.
virsh -q vol-create-as box "box-$(box_uuid 4)-1.qcow2" 1M --format qcow2 >/dev/null
assert_status 0 box teardown-host --force
assert_contains "$err" "it holds 'box-$(box_uuid 4)-1.qcow2'"
assert_contains "$(pool)" "box-$(box_uuid 4)-1.qcow2"
assert_status 0 box setup-host
assert_status 0 box teardown-host --purge --force
assert_silent "$(left)" 'after a purge'
[ ! -e "$folder" ] || fail "the purge left the folder: $(ls -la "$folder")"
