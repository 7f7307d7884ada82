#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Clones of a real Debian guest: two of one snapshot, alive side by side, have the files of the one who
# logged in and nothing else in common: every part of the identity differs, also from the source's. The
# source's user-data is not run again, its doors are not theirs, and they outlive it.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
require_root
require_command virsh jq
box() { lab_run box "$@"; }
source=src-$$ one=one-$$ two=two-$$
on_exit lab_run box rm --force "$source" "$one" "$two"
make_scratch
# The first box of an image warms it: that stays.
volumes() { lab_run virsh -q vol-list box | awk '$1 !~ /^warm-/ { print $1 }' | sort; }
leases() { lab_run virsh net-dumpxml boxnet | grep -c '<host ' || true; }
before=$(volumes) before_leases=$(leases)

# what NAME: "ITEM VALUE" lines of all that makes a machine itself, as its guest sees it
what() {
	box exec --user root "$1" -- sh -c '
		echo hostname $(hostname)
		echo etc-hostname $(cat /etc/hostname)
		echo machine-id $(cat /etc/machine-id)
		for key in /etc/ssh/ssh_host_*_key.pub; do
			echo $(basename $key) $(cut -d" " -f2 $key)
		done
		echo random-seed $(sha256sum </var/lib/systemd/random-seed)
		echo random $(head -c 16 /dev/urandom | sha256sum)
		echo boot-id $(cat /proc/sys/kernel/random/boot_id)
		echo instance-id $(cat /var/lib/cloud/data/instance-id)
		echo dmi $(cat /sys/class/dmi/id/product_uuid)
		device=$(ip -o route show default | sed "s/.* dev \([^ ]*\).*/\1/")
		echo dhcp-id $(networkctl --no-pager status $device | sed -n "s/.*Client ID: *//p")
		echo mac $(cat /sys/class/net/$device/address)
		echo address $(ip -4 -o addr show dev $device | sed "s/.* inet \([0-9.]*\).*/\1/")' | sort
}

# What the DHCP server knows a box by is its MAC (the rules see to it that it is its own).
leased() {
	local mac address
	mac=$(awk '/^mac/ {print $2}' "$scratch/$1")
	address=$(awk '/^address/ {print $2}' "$scratch/$1")
	# virsh's own choice by MAC finds nothing in libvirt 9.0
	assert_contains "$(lab_run virsh -q net-dhcp-leases boxnet | grep -F "$mac" || true)" " $address/"
}

differ() {
	local item rest
	assert_equal "$(cut -d' ' -f1 "$scratch/$1")" "$(cut -d' ' -f1 "$scratch/$2")" "items of $1 and $2"
	while read -r item rest; do
		[ -n "${rest:- }" ] || fail "$1 has no $item"
		! grep -qxF "$item $rest" "$scratch/$2" || fail "$1 and $2 have the same $item: $rest"
	done <"$scratch/$1"
}

in_common() {
	assert_equal token-of-the-user "$(box exec "$1" -- cat .config/agent/login)" "login file of $1"
	assert_equal 600 "$(box exec "$1" -- stat -c %a .config/agent/login)"
	assert_equal ran "$(box exec "$1" -- cat /etc/user-data-ran)" "how often user-data ran in $1"
}

cat >"$scratch/user-data" <<'END_OF_DATA'
#cloud-config
runcmd:
  - [sh, -c, 'echo ran >>/etc/user-data-ran']
END_OF_DATA
assert_status 0 box new "$source" --cpu 1 --memory 768MiB --user-data "$scratch/user-data"
box exec "$source" -- sh -c 'umask 077; mkdir -p .config/agent; echo token-of-the-user >.config/agent/login'
assert_status 0 box expose "$source" 8080
what "$source" >"$scratch/source"

# Running: at rest, since its agent answers, and it says so.
assert_status 0 box snapshot "$source" logged-in
assert_equal logged-in "$out"
assert_contains "$err" "'$source' was running; its file systems were at rest"
box exec "$source" -- sh -c 'echo later >.config/agent/login'
assert_status 0 box down "$source"

# Both at once, since each boots: it is another machine.
lab_run box new "$two" --from "$source/logged-in" >"$scratch/out" 2>&1 &
other=$!
assert_status 0 box new "$one" --from "$source/logged-in" --disk 24GiB
assert_equal "$one: usable; get in with: box shell $one" "$out"
wait "$other" || fail "$(cat "$scratch/out")"
what "$one" >"$scratch/one"
what "$two" >"$scratch/two"
cat "$scratch/one" "$scratch/two"
differ source one
differ source two
differ one two
leased one
leased two
assert_contains "$(cat "$scratch/one")" "hostname $one"
for name in "$one" "$two"; do
	in_common "$name"
	assert_status 0 box info "$name" --json
	assert_equal "true $source/logged-in clone 0 0" "$(jq -r '[.identity_verified, .source, .origin,
		(.doors | length), (.snapshots | length)] | join(" ")' <<<"$out")"
	assert_contains "$(box info "$name")" IDENTITY
done
assert_equal 25769803776 "$(box exec "$one" -- lsblk -bdno SIZE /dev/vda | xargs)"
size=$(box exec "$one" -- df -B1 --output=size / | tail -n 1)
[ "$size" -gt 23000000000 ] || fail "the file system of $one did not grow with its disk: $size"

# The source goes; they live on. One goes back in its own time, running, and is usable when that returns.
assert_status 0 box rm --force "$source"
in_common "$two"
assert_status 0 box snapshot "$one" own
box exec "$one" -- sh -c 'echo mistake >.config/agent/login; sync'
id=$(box exec "$one" -- cat /etc/machine-id)
assert_status 0 box restore "$one" own --force
assert_equal "$one: restored to own, running again" "$out"
in_common "$one"
assert_equal "$id" "$(box exec "$one" -- cat /etc/machine-id)" 'machine-id after going back'

assert_status 0 box rm --force "$one" "$two"
assert_equal "$before" "$(volumes)" volumes
assert_equal "$before_leases" "$(leases)" reservations
assert_silent "$(lab_run sh -c 'ip -o link | grep bxt || true')" taps
assert_silent "$(lab_run nft list ruleset | grep '"bxt[0-9a-f]' || true)" 'elements of sets'
