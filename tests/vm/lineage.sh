#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a box stands on and what is its own: depth of the chain, bytes of the box and of each snapshot, a --from that can be
# pasted; which boxes stand on which image; and how to move on from an image that is not the newest.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
. "$tests_dir/vm/hollow.sh"
require_root
require_command jq qemu-img qemu-io virsh
make_scratch
hollow_set_up

disk() { lab_run virsh -q domblklist "$1" | awk '$1 == "vda" {print $2}'; }
write() { # FROM MIB
	lab_run qemu-io -f qcow2 -c "write -q -P 7 $1M $2M" "$(disk old)" >/dev/null
}
info() { # FILTER
	assert_status 0 lab_run box info old --json
	jq -r "$1" <<<"$out"
}

on_exit lab_run box rm --quiet --force old
hollow_box old
lab_run virsh -q destroy old >/dev/null
assert_equal '2 true 0' "$(info '"\(.depth) \(.image_current) \(.snapshots | length)"')"
write 0 8
assert_status 0 lab_run box snapshot --quiet old eight
write 100 3
assert_status 0 lab_run box snapshot --quiet old three
write 200 1
assert_equal 4 "$(info .depth)" 'a layer for each snapshot'
# qcow2 adds its tables
mib() { info ".snapshots[] | select(.label == \"$1\") | .own_bytes / 1048576 | floor"; }
assert_equal 8 "$(mib eight)"
assert_equal 3 "$(mib three)"
assert_equal 1 "$(info '.own_bytes / 1048576 | floor')"
assert_status 0 lab_run box info old
assert_contains "$out" '--from old/eight'
assert_contains "$out" '--from old/three'
assert_contains "$out" '(depth 4)'
assert_lacks "$out" 'to move on'

# Another image of the template comes: new boxes stand on it, the old one keeps its own and says how to move on.
second=golden-hollow-00000000000000fe
hollow_manifest | sed "s/2026-01-02/2026-02-03/; s/$hollow_golden/$second/" >"$scratch/manifest"
on_exit lab_run virsh -q vol-delete --pool box "$second.qcow2"
on_exit lab_run virsh -q vol-delete --pool box "$second.json"
hollow_upload "$second.qcow2" disk
hollow_upload "$second.json" manifest
on_exit lab_run box rm --quiet --force new
hollow_box new
on() { # VOLUME: the boxes that stand on it
	lab_run box image list --json | jq -r --arg v "$1.qcow2" '.images[] | select(.volume == $v) | .boxes | join(" ")'
}
assert_equal old "$(on "$hollow_golden")"
assert_equal new "$(on "$second")"
assert_equal false "$(info .image_current)"
assert_status 0 lab_run box info old
assert_contains "$out" "a new box of 'hollow' would stand on $second.qcow2"
assert_contains "$out" 'to move on: box new --template hollow NAME'
assert_status 0 lab_run box image list
assert_contains "$(grep 00000000000000ff <<<"$out")" ' old'
assert_contains "$(grep 00000000000000fe <<<"$out")" ' new'
assert_status 1 lab_run box image rm "$hollow_golden" --force
assert_contains "$err" 'old'

# An image of a later version of box: neither it nor a seed goes, and it is said.
later=golden-later-00000000000000fd
for name in "$later.qcow2" "$later.json" seed-00000000000000fd.iso; do
	on_exit lab_run sh -c 'virsh -q vol-delete --pool box "$0" 2>/dev/null' "$name"
done
hollow_manifest | sed 's/"schema": 1/"schema": 2/' >"$scratch/manifest"
hollow_upload "$later.qcow2" disk
hollow_upload "$later.json" manifest
hollow_upload seed-00000000000000fd.iso seed
assert_status 0 lab_run box image prune --dry-run
assert_contains "$err" '1 manifests are of a newer version of box: their images and all seeds are kept; update box'
assert_lacks "$out" "$later"
assert_lacks "$out" seed-

# An image without its base is no image.
base='base-none-00000000000000ff'
lab_run virsh -q vol-delete --pool box "$base.qcow2" >/dev/null
BOX_FAULT=new.0 assert_status 1 lab_run box new --cold --template hollow none
assert_contains "$err" "the image '"
assert_contains "$err" "' cannot be used: its base '$base.qcow2' is gone from the storage pool; make it anew: box image mint --refresh hollow"
hollow_upload "$base.qcow2" disk

# A domain that is no box runs on an overlay of its own, somewhere else, over a layer of a box: that stays.
overlay=/var/lib/libvirt/images/mine-$$.qcow2
layer=$(lab_run qemu-img info --output=json "$(disk old)" | jq -r '."full-backing-filename"')
on_exit lab_run sh -c 'virsh -q destroy mine; rm -f "$0"' "$overlay"
lab_run qemu-img create -q -f qcow2 -b "$layer" -F qcow2 "$overlay"
cat >"$scratch/mine.xml" <<END
<domain type='qemu'><name>mine</name><memory unit='MiB'>32</memory><os><type arch='x86_64'>hvm</type></os>
  <devices><disk type='file'><driver name='qemu' type='qcow2'/><source file='$overlay'/><target dev='vda' bus='virtio'/></disk></devices></domain>
END
lab_run virsh -q create "$scratch/mine.xml" >/dev/null
assert_status 0 lab_run box snapshot --quiet old beneath
left=${layer##*/}
# shellcheck disable=SC2016 # expanded in there
on_exit lab_run sh -c 'virsh -q vol-list box | awk "{ print \$1 }" | grep "^$0-" | xargs -n 1 virsh -q vol-delete --pool box' "${left%-*}"

# A box whose metadata is damaged needs all its layers; clones that stand on them are in order.
on_exit lab_run box rm --quiet --force clone
BOX_FAULT=new.start:kill assert_status 137 lab_run box new --cold clone --from old/eight
hollow_finished clone
lab_run virsh -q destroy clone >/dev/null
meta() { lab_run virsh -q metadata old urn:box:domain; }
meta >"$scratch/whole"
damage() {
	lab_run sh -c 'virsh -q metadata old urn:box:domain --key box --set "$(cat)" --config >/dev/null'
}
sed 's|<address>[^<]*|<address>garbage|' "$scratch/whole" | damage
assert_status 1 lab_run box info old
assert_contains "$err" 'garbage'
assert_status 0 lab_run box snapshot --quiet clone fine
assert_status 0 lab_run box rm --force clone
damage <"$scratch/whole"
assert_status 0 lab_run box restore --quiet --force old eight
assert_status 0 lab_run box rm --quiet --force old
assert_contains "$(lab_run virsh -q vol-list box)" "$left"

# What "virsh undefine" leaves of a box is seen by the doctor alone, and never removed; what something stands on is not told.
strays() { # verdict, volumes
	lab_run box doctor --json >"$scratch/doctor" || true
	jq -r '.checks[] | select(.name == "strays") | [.verdict, .volumes[].name] | join(" ")' "$scratch/doctor"
}
assert_equal OK "$(strays)" 'a layer under a domain that is no box, and runs'
on_exit lab_run box rm --quiet --force lost
hollow_box lost
lab_run virsh -q destroy lost >/dev/null
assert_status 0 lab_run box snapshot --quiet lost one
on_exit lab_run box rm --quiet --force kept
BOX_FAULT=new.start:kill assert_status 137 lab_run box new --cold kept --from lost/one
hollow_finished kept
uuid=$(lab_run virsh -q domuuid lost)
mac=$(lab_run virsh -q domiflist lost | awk '{ print $5 }')
for volume in "live-$uuid-7.mem" "live-$uuid-7.json" "seed-box-$uuid.iso" "live-mine.mem"; do
	lab_run virsh -q vol-create-as box "$volume" 4096 >/dev/null
	on_exit lab_run sh -c 'virsh -q vol-delete --pool box "$0" 2>/dev/null' "$volume"
done
assert_equal OK "$(strays)" 'volumes of a box that is there'
lab_run virsh -q undefine lost
lab_run virsh -q net-update boxnet delete ip-dhcp-host "<host mac='$mac'/>" --live --config >/dev/null
wanted="DIRTY box-$uuid-2.qcow2 live-$uuid-7.json live-$uuid-7.mem seed-box-$uuid.iso"
assert_equal "$wanted" "$(strays)"
lab_run box doctor --fix >"$scratch/told" || true
assert_contains "$(cat "$scratch/told")" "volume 'box-$uuid-2.qcow2' ("
assert_contains "$(cat "$scratch/told")" '; and 1 more; repair: look: virsh vol-info --pool box VOLUME;'
assert_equal "$wanted" "$(strays)" 'after --fix'
for volume in ${wanted#* }; do # as it is told
	lab_run virsh -q vol-info --pool box "$volume" >/dev/null
	lab_run virsh -q vol-delete --pool box "$volume" >/dev/null
done
assert_equal OK "$(strays)" 'a layer under a clone'
assert_status 0 lab_run box rm --quiet --force kept
assert_equal OK "$(strays)" 'at the end'
assert_lacks "$(lab_run virsh -q vol-list box)" "box-$uuid"
# With that domain stopped nobody can tell any more that its overlay, outside the pool, stands on a layer.
lab_run virsh -q destroy mine >/dev/null
assert_contains "$(strays)" "DIRTY box-"
assert_contains "$(strays)" "$left"
