#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# "lab down" leaves nothing, whatever state "up" was killed in: after each of its steps, and at moments in
# between. Compared before and after: network namespaces, mounts, processes, files. The lab is its own
# (BOX_LAB=downtest), so it can run beside others.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
require_root
require_command nft dnsmasq socat libvirtd virtlogd jq
lab=$(dirname "$0")/lab
export BOX_LAB=downtest
state=/var/lib/box-lab/$BOX_LAB
on_exit "$lab" down

# What a lab could leave. Other labs and tests may run on this machine at the same time, so only what
# could be this lab's is looked at.
leftovers() {
	ls -d "/run/netns/$BOX_LAB-"* "$state" 2>/dev/null || :
	grep -F "$BOX_LAB" /proc/self/mountinfo || :
	if [ -n "${1:-}" ]; then
		grep -lzxF "BOX_LAB_ID=$1" /proc/[0-9]*/environ 2>/dev/null || :
	fi
	# Anything that still lives in a namespace the lab made.
	if [ -n "${2:-}" ]; then
		stat -Lc '%i %n' /proc/[0-9]*/ns/net /proc/[0-9]*/ns/mnt 2>/dev/null |
			grep -E "^($2) " || :
	fi
}

# check_down WHAT: take the lab down as it is now and look. Descriptors hold its namespaces meanwhile, so
# that their numbers cannot be given to somebody else's.
check_down() {
	local id namespaces left file fd fds=()
	id=$(cat "$state/id" 2>/dev/null) || id=
	namespaces=
	for file in /run/netns/"$BOX_LAB"-{hv,wan,lan} "/proc/$(cat "$state/holder" 2>/dev/null)/ns/mnt"; do
		if [ "$(stat -Lfc %T "$file" 2>/dev/null)" = nsfs ] && { exec {fd}<"$file"; } 2>/dev/null; then
			fds+=("$fd")
			namespaces+=${namespaces:+|}$(stat -Lc %i "/proc/self/fd/$fd")
		fi
	done
	"$lab" down || fail "$1: lab down failed"
	left=$(leftovers "$id" "$namespaces")
	for fd in "${fds[@]}"; do
		exec {fd}<&-
	done
	[ -z "$left" ] || fail "$1: left behind: $left"
	echo "ok: $1"
}

# killed_up WHEN: start "up" and kill it, it alone, its children go on; WHEN is a step's name or seconds.
# Sets $status: 137 if it was killed, 0 if it was done before.
killed_up() {
	local pid
	status=0
	if [[ $1 = [a-z]* ]]; then
		BOX_LAB_KILL_AT=$1 "$lab" up --bare </dev/null >/dev/null 2>&1 &
		pid=$!
	else
		"$lab" up --bare </dev/null >/dev/null 2>&1 &
		pid=$!
		sleep "$1" # the moment itself is what is tested
		kill -KILL "$pid" 2>/dev/null || :
	fi
	wait "$pid" 2>/dev/null || status=$?
}

for step in state namespaces links counters servers etc mounts libvirt; do
	killed_up "$step"
	[ "$status" = 137 ] || fail "up was to be killed after '$step': status $status"
	check_down "killed after $step"
done
for seconds in 0.02 0.05 0.1 0.2 0.3 0.4 0.5 0.7 0.9 1.2; do
	killed_up "$seconds"
	check_down "killed after $seconds s (status $status)"
done

# Killed, then up again without a down in between.
killed_up servers
"$lab" up --bare 2>/dev/null || fail "up after a killed up"
"$lab" status >/dev/null || fail "status after a killed up"
check_down 'up after a killed up'

# A whole lab, with a process of a user in it and one that hides from its environment.
"$lab" up --bare 2>/dev/null
setsid "$lab" run -- sleep 1000 </dev/null >/dev/null 2>&1 &
setsid "$lab" run -- env -i sleep 1000 </dev/null >/dev/null 2>&1 &
wait_until 10 sh -c "test \$(stat -Lc %i /proc/[0-9]*/ns/net 2>/dev/null |
	grep -cx $(stat -Lc %i "/run/netns/$BOX_LAB-hv")) -ge 6"
check_down 'with users inside'

# A second "down", and one where nothing ever was.
check_down 'nothing there'

# A namespace of that name that is somebody else's is refused and left alone.
ip netns add "$BOX_LAB-wan"
on_exit ip netns del "$BOX_LAB-wan"
status=0
text=$("$lab" up --bare 2>&1) || status=$?
assert_equal 125 "$status" 'up beside a foreign namespace'
assert_contains "$text" "'$BOX_LAB-wan' exists and is not this lab's"
"$lab" down
[ -e "/run/netns/$BOX_LAB-wan" ] || fail "down took a namespace that is not the lab's"
