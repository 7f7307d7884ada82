#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What every other test in the lab relies on: it is sealed, its servers answer, what reaches lan is
# counted, and "lab run" hands over streams, status and signals as they are.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
require_root
require_command virsh nft dnsmasq socat curl jq
lab=$tests_dir/lab/lab
make_scratch

# Streams and status.
assert_status 0 lab_run printf 'a\nb'
assert_equal $'a\nb' "$out"
assert_silent "$err" 'stderr of a command that wrote none'
for status in 0 1 7 77 124 125 126 127 255; do
	assert_status "$status" lab_run sh -c "echo out; echo err >&2; exit $status"
	assert_equal out "$out"
	assert_equal err "$err"
done
assert_status 127 lab_run /no/such/program
head -c 300000 /dev/urandom >"$scratch/random"
lab_run cat <"$scratch/random" >"$scratch/copy"
cmp "$scratch/random" "$scratch/copy" || fail 'stdin to stdout is not byte-exact'
assert_status 0 lab_run sh -c 'printf "%s|" "$@"' sh 'a b' '' $'new\nline' '* ~ \ "'
assert_equal $'a b||new\nline|* ~ \\ "|' "$out"
assert_status 0 lab_run pwd
assert_equal "$PWD" "$out"

# The process is the command itself: a signal to it ends it and says so.
"$lab" run -- sleep 100 &
pid=$!
wait_until 10 grep -qx sleep "/proc/$pid/comm"
kill -TERM "$pid"
status=0
wait "$pid" || status=$?
assert_equal 143 "$status" 'after SIGTERM'

# libvirt is the lab's own, and is still there after it was killed.
assert_status 0 lab_run virsh uri
assert_equal qemu:///system "${out%%$'\n'*}"
assert_status 0 lab_run virsh net-list --all --name
assert_lacks "$out" default
"$lab" kill-libvirtd
assert_status 1 lab_run virsh uri
assert_contains "$err" 'Failed to connect socket'
"$lab" start-libvirtd
assert_status 0 lab_run virsh uri
"$lab" restart-libvirtd
assert_status 0 lab_run virsh uri

# Servers of wan; and a name with a private answer, as DNS rebinding uses.
assert_status 0 lab_run curl -sS -m 10 http://example.test/
assert_equal 'hello from wan' "$out"
assert_status 0 lab_run getent ahostsv4 rebind.test
assert_contains "$out" 10.20.30.40
assert_status 2 lab_run getent ahostsv4 unknown.test

# Every address of lan answers, and counts.
"$lab" counters --reset >/dev/null
for address in 10.20.30.40 172.16.5.40 192.168.77.40 100.64.7.40 169.254.169.254; do
	assert_status 0 lab_run curl -sS -m 10 "http://$address/"
	assert_contains "$out" "lan $address from "
	assert_contains "$("$lab" counters | grep -v ' 0$')" "lan ${address//./-} "
done
assert_status 0 lab_run curl -sS -m 10 http://203.0.113.2:2222/
assert_contains "$out" 'hv 203.0.113.2 from '

# Sealed: says so, and an interface that leads out is noticed.
assert_status 0 "$lab" status
assert_contains "$out" 'is up, sealed'
name=${BOX_LAB:-lab}
ip netns add "$name-outside"
on_exit ip netns del "$name-outside"
ip -n "$name-hv" link add out0 type veth peer name out1 netns "$name-outside"
assert_status 125 "$lab" status
assert_contains "$err" "has an interface that is not the lab's: out0"
ip -n "$name-hv" link del out0
ip -n "$name-wan" route add default via 203.0.113.2
assert_status 125 "$lab" status
assert_contains "$err" "$name-wan has a default route"
ip -n "$name-wan" route del default
assert_status 0 "$lab" status
assert_status 2 ip -n "$name-wan" route get 192.0.2.1
assert_contains "$err" 'Network is unreachable'

# The machine's own network for a mint, with the lab's libvirt.
assert_status 0 "$lab" run --registry -- sh -c 'virsh uri && cat /etc/resolv.conf && stat -Lc %i /proc/self/ns/net'
assert_contains "$out" qemu:///system
assert_contains "$out" "$(cat /etc/resolv.conf)"
assert_contains "$out" "$(stat -Lc %i /proc/self/ns/net)"
