#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A real Debian guest from a golden image, through its life: made, entered, looked at, stopped, started,
# removed; its seed and its network as it sees them; and that nothing of it is left at the end.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_root
require_command jq virsh
name=first-$$
box() { lab_run box "$@"; }
in_box() { lab_run box exec "$name" -- "$@"; }
on_exit lab_run box rm --force "$name"

# The first box of an image warms it: that stays.
volumes() { lab_run virsh -q vol-list box | awk '$1 !~ /^warm-/ { print $1 }' | sort; }
before=$(volumes)

assert_status 0 box new "$name" --timing --disk 24GiB
assert_equal "$name: usable; get in with: box shell $name" "$out"
assert_contains "$err" 'NO security boundary'
assert_contains "$err" 'box: timing new.ready'
assert_status 1 box new "$name"
assert_contains "$err" "the name '$name' is taken"

# Who one is in it, and the exact statuses.
assert_equal dev "$(in_box id -un)"
assert_equal /home/dev "$(in_box pwd)"
assert_equal root "$(in_box sudo -n id -un)"
assert_equal root "$(lab_run box exec --user root "$name" -- id -un)"
assert_equal "$name" "$(in_box hostname)"
assert_status 7 in_box sh -c 'exit 7'
assert_silent "$out$err" 'exit 7'
assert_equal "$(printf 'a b\nc')" "$(in_box printf '%s\n%s' 'a b' c)"

# What it looks like from outside.
json=$(box list --json)
assert_equal running "$(jq -r ".boxes[] | select(.name == \"$name\") | .state" <<<"$json")"
assert_equal blank "$(jq -r ".boxes[] | select(.name == \"$name\") | .template" <<<"$json")"
address=$(jq -r ".boxes[] | select(.name == \"$name\") | .ipv4" <<<"$json")
assert_equal "$address" "$(in_box sh -c 'ip -4 -o addr show scope global | sed "s/.* inet \([0-9.]*\).*/\1/" | head -n 1')"
assert_contains "$(box info "$name")" 'ISOLATION   on the stack'
assert_equal '[25769803776,true,true,"mint","dev"]' "$(box info "$name" --json |
	jq -c '[.disk_bytes, .confined, .address_reserved, .origin, .user]')"
assert_equal 25769803776 "$(in_box lsblk -bdno SIZE /dev/vda | xargs)"
xml=$(box virsh "$name" -- dumpxml 2>/dev/null)
assert_contains "$xml" 'urn:box:domain'
assert_contains "$xml" "<port isolated='yes'/>"
assert_lacks "$xml" '<graphics'
assert_lacks "$xml" '<hostdev'
assert_lacks "$xml" '<filesystem'

# The seed: label and files as a guest reads them; the identity is SMBIOS's, not the seed's.
seed=$(in_box sudo sh -c 'mkdir -p /tmp/seed && mount -o ro /dev/disk/by-label/CIDATA /tmp/seed &&
	ls /tmp/seed && cat /tmp/seed/user-data; umount /tmp/seed')
assert_contains "$seed" $'meta-data\nnetwork-config\nuser-data'
assert_contains "$seed" '#cloud-config'
assert_lacks "$seed" "$name"

# Internet, not LAN, not the host; and no packet of it arrived in the LAN.
assert_contains "$(in_box curl -sS -m 20 http://example.test/)" 'hello from wan'
"$tests_dir/lab/lab" counters --reset >/dev/null
assert_status 28 in_box curl -sS -m 3 http://192.168.77.40/
assert_contains "$("$tests_dir/lab/lab" counters)" 'lan 192-168-77-40 0'

# Stopped, started: each twice, since a box in the wanted state is a success. A file and the address stay.
in_box sh -c 'echo kept >note; sync'
assert_status 0 box down "$name"
assert_equal "$name: stopped" "$out"
assert_status 0 box down "$name"
assert_equal "$name: was stopped" "$out"
assert_status 125 in_box true
assert_contains "$err" 'fault=box-stopped'
assert_status 0 box start "$name"
assert_equal "$name: started" "$out"
assert_status 0 box start "$name"
assert_equal "$name: was running" "$out"
assert_equal kept "$(in_box cat note)"
assert_equal "$address" "$(box info "$name" --json | jq -r .ipv4)"

# Somebody moves it off the stack: that is warned of, done, and seen.
assert_status 0 box virsh "$name" -- attach-interface {} network boxnet --config
assert_contains "$err" "can move box '$name' off the isolation stack"
assert_status 0 box down --force "$name"
assert_contains "$(box list)" 'stopped,unconfined'
assert_contains "$(box info "$name")" UNCONFINED

# Gone, with all that was its own.
assert_status 2 box rm "$name" </dev/null
assert_contains "$err" 'terminal'
assert_status 0 box rm --force "$name"
assert_status 125 in_box true
assert_contains "$err" "no such box: $name"
assert_equal "$before" "$(volumes)"
assert_lacks "$(lab_run virsh net-dumpxml boxnet)" "ip='$address'"

# What was asked wrong or cannot be, leaves nothing.
assert_status 1 box new --template nonesuch x1
assert_contains "$err" 'nonesuch'
assert_status 2 box new Not_A_Name
assert_contains "$err" "cannot be a box's name"
assert_status 2 box new --memory 2048 x1
assert_contains "$err" 'write 2048MiB or 2048GiB'
assert_status 2 box new --memory 900TiB x1
assert_contains "$err" "this host has"
assert_status 2 box new --cpu 500 x1
assert_contains "$err" "this host has"
assert_status 2 box new --disk 1MiB x1
assert_contains "$err" 'a disk can only grow'
assert_status 1 box rm --force no-such-box
assert_contains "$err" 'no such box: no-such-box'
assert_equal "$before" "$(volumes)"
