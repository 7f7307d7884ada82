#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A warm image that is cut short, overwritten, of another format, or spoken of by another record: no box starts
# from it, the reason is said, and it is made anew. Nothing boots here to its end: a fault ends what would.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_root
require_command virsh jq
name=broken-$$
pool=/var/lib/libvirt/images/box
box() { lab_run box "$@"; }
on_exit lab_run box rm --force "$name"

volumes() { lab_run virsh -q vol-list box | awk '{ print $1 }' | sort; }
assert_status 0 box image warm blank
warm=${out#blank: }
warm=$pool/${warm%.qcow2*}
all_of_it=$(basename "${warm%-*}")- # what any warm image of this image, host and sizes is called
lab_run mkdir "$pool.kept"
on_exit lab_run rm -rf "$pool.kept"
for suffix in qcow2 mem json; do
	lab_run cp -p --sparse=always "$warm.$suffix" "$pool.kept/$suffix"
done
put_back() {
	local suffix
	for suffix in qcow2 mem json; do
		lab_run cp -p --sparse=always "$pool.kept/$suffix" "$warm.$suffix"
	done
	lab_run virsh -q pool-refresh box >/dev/null
}
on_exit put_back
before=$(volumes)

# said PART [WARNING]: what "box new" says of it; both that box and the warming are cut off at once
said() {
	lab_run virsh -q pool-refresh box >/dev/null
	BOX_FAULT=new.define assert_status 1 box new "$name"
	assert_contains "$err" "box: warning: ${2:-the warm image is made anew}: "
	assert_contains "$err" "$1"
	assert_contains "$err" "$(basename "$warm")"
	assert_lacks "$(volumes)" "$(basename "$warm").json"
	put_back
	assert_equal "$before" "$(volumes)" "$1"
}
# poke OFFSET BYTES: overwrite a part of the memory image
poke() {
	lab_run sh -c 'printf "$1" | dd of="$2" bs=1 seek="$0" conv=notrunc status=none' \
		"$1" "$2" "$warm.mem"
}

lab_run truncate -s -4096 "$warm.mem"
said 'and was made with'
lab_run truncate -s 10 "$warm.mem"
said 'has 10 bytes'
poke 0 XXXX
said "this is no memory image of libvirt's"
poke 12 Part
said 'was never finished'
poke 16 '\003'
said 'the memory image has format 3, and only format 2 is known'
poke 23 '\377'
said 'is corrupt'
poke 20 '\001'
said 'is another one than its record speaks of'
lab_run sed -i 's/"schema": 1/"schema": 2/' "$warm.json"
said 'is of schema 2, and only 1 is known'
lab_run sed -i 's/"bytes": [0-9]*/"bytes": 3/' "$warm.json"
said 'a size is missing'
lab_run sed -i 's/"key": "./"key": "z/' "$warm.json"
said "'key' is no digest"
lab_run truncate -s 3 "$warm.json"
said '.json'
lab_run rm "$warm.mem"
said "cannot find the volume"
lab_run rm "$warm.qcow2"
said "cannot find the volume"

# What "box image" says of it: whole, one byte of the memory another, a record that is none.
short=$(basename "$warm")
assert_status 0 box image verify blank
assert_contains "$out" "OK      $short.qcow2"
assert_contains "$(box image info blank)" "WARM        $short: "
assert_equal "$short.qcow2 true" "$(box image info --json blank | jq -r '.warm[] | "\(.volume) \(.readable)"')"
[ "$(box image list --json | jq '.images[] | select(.state == "current" and .template == "blank").warm_bytes')" -gt 100000000 ] ||
	fail 'what the warm image takes is not in the list'
# nothing of it would be pruned, since its image is the present one
assert_lacks "$(box image prune --dry-run)" "$short"
poke 100000000 XXXXXXXX
assert_status 1 box image verify blank
assert_contains "$out" "BROKEN  $short.qcow2: '$short.mem' is not what was saved"
assert_contains "$out" "OK      golden-blank-"
put_back
lab_run truncate -s 3 "$warm.json"
lab_run virsh -q pool-refresh box >/dev/null
assert_contains "$(box image info blank)" ', damaged: '
assert_status 1 box image verify blank
assert_contains "$out" "BROKEN  $short.qcow2: "
put_back

# What only QEMU can find out: its stream behind the header. The box is booted then, and the image is not tried
# again.
length=$(lab_run jq .data_length "$warm.json")
poke $((92 + length)) XXXXXXXX
BOX_FAULT=new.start assert_status 1 box new "$name"
assert_contains "$err" 'box: warning: it could not start from its memory image, and was booted: cannot restore box'
assert_equal 1 "$(grep -c 'box: warning: it' <<<"$err")" 'one warning'
assert_contains "$err" 'fault injected after new.start'
assert_lacks "$(volumes)" "$(basename "$warm").json"
put_back

# A warming cut off at each step, by a failure and by a kill.
lab_run rm "$warm.json"
lab_run virsh -q pool-refresh box >/dev/null
for step in define disk start; do
	BOX_FAULT=new.$step assert_status 1 box image warm blank
	assert_contains "$err" "cannot warm the image 'golden-blank-"
	assert_lacks "$(volumes)" box-
	assert_lacks "$(volumes)" "$all_of_it"
	BOX_FAULT=new.$step:kill assert_status 137 box image warm blank
	assert_status 1 box start nosuch
	assert_contains "$err" "removed the half-made box 'warm-blank-1'"
	assert_lacks "$(volumes)" box-
done
# the layer of the killed one is a leftover, and goes with the next warming
BOX_FAULT=new.define assert_status 1 box image warm blank
assert_lacks "$(volumes)" "$all_of_it"
put_back

# Other sizes, and a smaller disk: booted, and it is said.
BOX_FAULT=new.define assert_status 1 box new "$name" --cpu 1
assert_contains "$err" 'box: no warm image has these sizes: the box is booted'
BOX_FAULT=new.define assert_status 1 box new "$name" --memory 1GiB
assert_contains "$err" 'box: no warm image has these sizes: the box is booted'
BOX_FAULT=new.define assert_status 1 box new "$name" --disk 10GiB
assert_contains "$err" "box: with a smaller disk than its memory image's the box is booted"
BOX_FAULT=new.define assert_status 1 box new "$name" --cold
assert_lacks "$err" booted
assert_equal "$before" "$(volumes)"
