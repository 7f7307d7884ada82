#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The part of the model test that uses live guests: random operations on boxes that run, from memory, against the
# simplest model there is, and what the guests themselves read on their disks and in their memory after every step.
# Some snapshots are cut off by SIGKILL. chain-model.c has the long run, on disks alone.
#
#   model-live.sh [OPERATIONS [SEED]]     default 16; BOX_MODEL_SEED as well
set -euo pipefail
# What is in single quotes is for the box.
# shellcheck disable=SC2016
. "$(dirname "$0")/../lib.sh"
require_root
require_command jq virsh
operations=${1:-16} seed=${2:-${BOX_MODEL_SEED:-$(date +%s)}}
echo "model-live $operations $seed"
RANDOM=$seed
box() { lab_run box "$@"; }
lab_run box image info blank >/dev/null 2>&1 || skip 'the lab has no image of blank'
assert_status 0 box image warm blank

# What there is of others' things: volumes, domains, reservations, ports, lines of rules that name a tap.
present() {
	lab_run sh -c 'virsh -q vol-list box | awk "{ print \$1 }" | sort; virsh -q list --all --name | sort
		virsh net-dumpxml boxnet | grep "<host " || true; ls /run/box/ports; nft list ruleset | grep "\"bxt[0-9a-f]" || true'
}
before=$(present)

declare -A now=() frozen=() live=() # by box; by "box label"
next=0
away() {
	lab_run sh -c 'virsh -q list --all --name | grep ^model-live- | xargs -r box rm --quiet --force'
}
on_exit away

new_name() {
	next=$((next + 1))
	name=model-live-$next
}
# pick WORD...: one of them into $picked; empty if there are none. (A subshell has a RANDOM of its own.)
pick() {
	picked=
	[ $# = 0 ] || picked=${*:$((RANDOM % $# + 1)):1}
}
pick_label() { # live: one of those; "BOX LABEL" into $picked
	local key keys=()
	for key in "${!frozen[@]}"; do
		[ "$1" != live ] || [ "${live[$key]}" = live ] || continue
		keys+=("$key")
	done
	pick "${keys[@]}"
}

# Every box has what the model says, and those snapshots. The disk itself is read, not what the guest remembers of it.
check() {
	local name labels
	for name in "${!now[@]}"; do
		assert_equal "${now[$name]} ${now[$name]} $name" \
			"$(box exec "$name" -- sh -c 'echo "$(dd if=marker iflag=direct status=none) $(cat /dev/shm/marker) $(hostname)"')" "$1: $name"
		labels=$(printf '%s\n' "${!frozen[@]}" | sed -n "s/^$name //p" | sort | xargs)
		assert_equal "$labels" "$(box snapshot "$name" --list --json 2>/dev/null | jq -r '.snapshots[].label' | sort | xargs)" \
			"$1: snapshots of $name"
	done
}

do_new() {
	new_name
	assert_status 0 box new --quiet --cpu 1 "$name"
	now[$name]=0
	box exec "$name" -- sh -c 'echo 0 | tee marker >/dev/shm/marker'
}

do_write() { # BOX
	now[$1]=$RANDOM
	box exec "$1" -- sh -c 'echo "$1" | tee marker >/dev/shm/marker' sh "${now[$1]}"
}

# A third of them is cut off, and the next command makes it whole or undoes it.
do_snapshot() { # BOX live|no
	local label steps=(intend create pivot record) words=()
	next=$((next + 1))
	label=s$next
	[ "$2" = no ] || words=(--live)
	if [ $((RANDOM % 3)) = 0 ]; then
		what+=" cut off"
		pick "${steps[@]}"
		BOX_FAULT=snapshot.$picked:kill assert_status 137 box snapshot "${words[@]}" "$1" "$label"
		assert_status 1 box start no-such-box
		box snapshot "$1" --list --json 2>/dev/null | jq -e --arg l "$label" 'any(.snapshots[]; .label == $l)' >/dev/null ||
			return 0
		# Its memory may not have come as far: then it is a plain one.
		[ "$2" = no ] || set -- "$1" "$(box snapshot "$1" --list --json | jq -r --arg l "$label" \
			'.snapshots[] | select(.label == $l) | if .live then "live" else "no" end')"
	else
		assert_status 0 box snapshot --quiet "${words[@]}" "$1" "$label"
	fi
	frozen["$1 $label"]=${now[$1]}
	live["$1 $label"]=$2
}

do_restore() { # BOX LABEL, live
	assert_status 0 box restore --quiet --force "$1" "$2"
	assert_contains "$out" 'where it was'
	now[$1]=${frozen[$1 $2]}
}

do_fork() { # BOX LABEL, live
	new_name
	assert_status 0 box new --quiet "$name" --from "$1/$2"
	assert_lacks "$err" 'booted'
	now[$name]=${frozen[$1 $2]}
}

do_forget() { # BOX LABEL
	assert_status 0 box snapshot --quiet "$1" --remove "$2"
	unset "frozen[$1 $2]" "live[$1 $2]"
}

do_remove() { # BOX
	local key
	assert_status 0 box rm --quiet --force "$1"
	unset "now[$1]"
	for key in "${!frozen[@]}"; do
		[ "${key% *}" != "$1" ] || unset "frozen[$key]" "live[$key]"
	done
}

one_operation() {
	local dice=$((RANDOM % 20)) name
	pick "${!now[@]}"
	name=$picked
	case $dice in
	[0-5]) what="write $name" && do_write "$name" ;;
	[67]) what="snapshot $name" && do_snapshot "$name" no ;;
	[89] | 1[01]) what="snapshot --live $name" && do_snapshot "$name" live ;;
	1[2-8])
		pick_label "$([ "$dice" -gt 16 ] || echo live)"
		# shellcheck disable=SC2086 # a box and its label
		[ -z "$picked" ] || one_with_label $picked
		;;
	*) [ ${#now[@]} -lt 2 ] || { what="remove $name" && do_remove "$name"; } ;;
	esac
}
one_with_label() { # BOX LABEL, as the dice of the caller fell
	if [ "$dice" -gt 16 ]; then
		what="forget $1 $2" && do_forget "$1" "$2"
	elif [ "$dice" -gt 14 ] && [ ${#now[@]} -lt 2 ]; then
		what="fork $1 $2" && do_fork "$1" "$2"
	else
		what="restore $1 $2" && do_restore "$1" "$2"
	fi
}

do_new
for ((i = 1; i <= operations; i++)); do
	what=
	while [ -z "$what" ]; do # what cannot be now is none
		one_operation
	done
	echo "$i: $what"
	check "operation $i, $what"
done
for name in "${!now[@]}"; do
	do_remove "$name"
done
assert_equal "$before" "$(present)" 'left at the end'
