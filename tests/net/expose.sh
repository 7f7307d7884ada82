#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Doors, with libvirt, dnsmasq and packets: box expose on running and stopped boxes, conflicts that are found
# before anything changes, who can use a door and who cannot, restarts, a reboot, kills.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
require_root
require_command virsh nft socat jq

if [ -z "${IN_LAB:-}" ]; then
	lab_run env IN_LAB=1 "$(readlink -f "$0")"
	exit
fi
. "$tests_dir/net/boxes.sh"
boxes_begin

# ask NS-COMMAND... ADDRESS PORT: what the server says, or nothing
ask() {
	timeout 5 socat -T 2 - "TCP:$1:$2,connect-timeout=1" </dev/null 2>/dev/null || :
}
in_lan() {
	nsenter --net="/run/netns/$BOX_LAB-lan" "$@"
}
doors_of() {
	box info "$1" --json | jq -c '[.doors[] | [.port, .host_port]]'
}
kernel_doors() {
	nft list map inet box doors | grep -oE '[0-9]+ : [0-9.]+ \. [0-9]+' || :
}

box_domain 3 web
box_domain 4 db
virsh -q start web
box_stand_in 3
box_serve 3 80
box_serve 3 81
box_admit 5
box_stand_in 5

# Asked wrong.
assert_status 2 box expose web
assert_contains "$err" 'PORT is missing: box expose BOX PORT [HOSTPORT]'
for port in 0 65536 http -1 80/tcp; do
	assert_status 2 box expose web -- "$port"
	assert_contains "$err" 'PORT'
	assert_status 2 box expose web 80 -- "$port"
	assert_contains "$err" 'HOSTPORT'
done
assert_status 2 box expose web 80 --list
assert_status 2 box expose web --list --remove 80
assert_status 2 box expose web --remove 65536
assert_status 1 box expose nosuch 80
assert_equal 'box: no such box: nosuch' "$err"
assert_status 0 box expose web --list
assert_silent "$out"
assert_contains "$err" "'web' has no doors"

# One opens, for the host itself alone.
assert_equal '' "$(ask 127.0.0.1 18080)" 'before'
assert_status 0 box expose web 80 18080
assert_equal '127.0.0.1:18080 -> port 80 of web' "$out"
assert_silent "$err"
assert_equal 'box 3' "$(ask 127.0.0.1 18080)" 'through the door'
assert_equal '' "$(ask 127.0.0.1 81)" 'a port without a door'
assert_equal '' "$(ask "$base.103" 80)" 'past the door'
for address in "$base.1" 10.20.30.1 203.0.113.2; do
	assert_equal '' "$(ask "$address" 18080)" "the host's own $address"
done
assert_equal '' "$(in_lan timeout 4 socat -T 1 - TCP:10.20.30.1:18080,connect-timeout=1 2>/dev/null </dev/null || :)" 'from the LAN'
assert_equal '' "$(in_lan timeout 4 socat -T 1 - TCP:"$base.103":80,connect-timeout=1 2>/dev/null </dev/null || :)" 'from the LAN, to the box'
assert_equal silent "$(in_box 5 "$probe" tcp "$base.1" 18080 500)" 'from a sibling, to the gateway'
assert_equal silent "$(in_box 5 "$probe" tcp "$base.103" 80 500)" 'from a sibling, to the box'
assert_equal silent "$(in_box 3 "$probe" tcp "$base.1" 18080 500)" 'from the box itself'
assert_equal '[[80,18080]]' "$(doors_of web)"
assert_status 0 box info web
assert_contains "$out" 'EXPOSED     127.0.0.1:18080 -> port 80'
assert_status 0 box expose web --list
assert_contains "$out" '80    127.0.0.1:18080  yes'
assert_status 0 box expose web --list --json
assert_equal '{"schema":1,"doors":[{"port":80,"address":"127.0.0.1","host_port":18080,"open":true}]}' \
	"$(jq -c . <<<"$out")"

# What stands in the way is told, and nothing has changed: another's door, one's own, a program.
before=$(virsh dumpxml --inactive web; virsh dumpxml --inactive db; kernel_doors)
assert_status 1 box expose db 22 18080
assert_contains "$err" "127.0.0.1:18080 is the door to port 80 of box 'web'; choose another HOSTPORT"
assert_status 1 box expose web 80 18081
assert_contains "$err" "port 80 of box 'web' has a door already, at 127.0.0.1:18080"
assert_status 1 box expose web 22 18080
assert_contains "$err" "127.0.0.1:18080 is the door to port 80 of box 'web'"
assert_status 1 box expose web 22 2222
assert_contains "$err" 'port 2222 of this host is in use by another program'
assert_status 1 box expose web --remove 22
assert_contains "$err" "port 22 of box 'web' has no door; its doors are to ports 80"
assert_equal "$before" "$(virsh dumpxml --inactive web; virsh dumpxml --inactive db; kernel_doors)" 'after refusals'

# A stopped box's door counts, and opens when it starts.
assert_status 0 box expose db 5432
assert_contains "$err" "'db' is stopped: the door opens when it starts"
assert_equal "18080 : $base.103 . 80" "$(kernel_doors)"
assert_status 0 box expose db --list --json
assert_equal false "$(jq '.doors[0].open' <<<"$out")"
assert_status 1 box expose web 22 5432
assert_contains "$err" "127.0.0.1:5432 is the door to port 5432 of box 'db'"
virsh -q start db
assert_contains "$(kernel_doors)" "5432 : $base.104 . 5432"
virsh -q destroy db
assert_lacks "$(kernel_doors)" 5432

# It follows a new name.
if box help rename >/dev/null 2>&1; then
	assert_status 0 box rename db store
	assert_equal '[[5432,5432]]' "$(doors_of store)"
	assert_status 0 box rename store db
fi

# Restarts: of the box, of libvirtd, of the tables, of the host.
virsh -q destroy web
box_stand_away 3
assert_equal '' "$(kernel_doors)"
virsh -q start web
box_stand_in 3
assert_equal 'box 3' "$(ask 127.0.0.1 18080)" 'after a restart of the box'
nft flush ruleset
assert_status 0 "$BOX_LIBEXEC/box-hook" apply
assert_equal 'box 3' "$(ask 127.0.0.1 18080)" 'after a flush and a repair'

# Failing, and killed, after each step: all or nothing, and the next command puts it right.
for step in metadata network look end; do
	assert_status 1 env BOX_FAULT=door.$step:fail box expose web 81 18081
	assert_equal '[[80,18080]]' "$(doors_of web)" "failed after $step"
	assert_equal "18080 : $base.103 . 80" "$(kernel_doors)" "failed after $step"
done
for step in metadata network look; do
	assert_status 137 env BOX_FAULT=door.$step:kill box expose web 81 18081
	assert_status 0 box expose web 82 18082
	assert_equal '[[80,18080],[82,18082]]' "$(doors_of web)" "killed after $step"
	assert_lacks "$(kernel_doors)" 18081
	assert_status 137 env BOX_FAULT=door.$step:kill box expose web --remove 82
	assert_status 1 box expose web --remove 82
	assert_contains "$err" "port 82 of box 'web' has no door"
	assert_equal "18080 : $base.103 . 80" "$(kernel_doors)" "killed after $step, removing"
done

# A hook that does not come: nothing is kept, and the reason is told.
mv /etc/libvirt/hooks/network.d/box "$scratch/hook"
assert_status 1 box expose web 81 18081
assert_contains "$err" "the host did not open 127.0.0.1:18081 for box 'web'"
mv "$scratch/hook" /etc/libvirt/hooks/network.d/box
assert_equal '[[80,18080]]' "$(doors_of web)"

# Shut.
assert_status 0 box expose web --remove 80
assert_equal '127.0.0.1:18080 -> port 80 of web: shut' "$out"
assert_equal '' "$(kernel_doors)"
assert_equal '' "$(ask 127.0.0.1 18080)" 'after it was shut'
assert_equal '[]' "$(doors_of web)"
assert_status 1 box expose web --remove 80
assert_contains "$err" "port 80 of box 'web' has no door; it has none"
