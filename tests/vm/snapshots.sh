#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Snapshots, restoring, renaming, of boxes that run and boxes that do not: contents, layers, messages.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
require_root
require_command virsh qemu-img qemu-io jq
if [ "${1:-}" != inside ]; then
	exec "$tests_dir/lab/lab" run -- env BOX_READY_TIMEOUT=1s "$0" inside
fi
. "$tests_dir/vm/bare.sh"
bare_pool
for name in web copy foreign apart lost; do
	on_exit bare_gone "$name"
done

# layers COUNT: as many as the box web has
layers() {
	assert_equal "$1" "$(bare_layers "$uuid" | grep -c . || true)" "layers of web: $(bare_layers)"
}

uuid=$(bare_box web)

# ---- a stopped box ----

bare_put web 0 1
assert_status 0 box snapshot web one
assert_equal one "$out"
assert_lacks "$err" warning
bare_put web 0 2
assert_status 0 box snapshot web two
bare_put web 0 3
layers 3
assert_status 0 box restore web one --force
assert_equal 'web: restored to one' "$out"
bare_get web 0 1
layers 3 # the fresh one, one's and two's
assert_status 0 box restore web two --force
bare_get web 0 2
assert_status 0 box snapshot web
assert_contains "$out" manual-
manual=$out
assert_status 0 box snapshot web --list
assert_contains "$out" "$manual"
assert_status 0 box snapshot web --list --json
assert_equal "one two $manual" "$(jq -r '[.snapshots[].label] | join(" ")' <<<"$out")"
assert_equal 'true 1' "$(jq -r '[(.snapshots | all(.quiesced and .present)), .schema] | join(" ")' <<<"$out")"
assert_status 0 box snapshot web --remove "$manual"
assert_equal "web/$manual: removed" "$out"

# Merging up: two's layer goes into the top.
bare_put web 1 11
assert_status 0 box snapshot web --remove two
layers 2
bare_get web 0 2
bare_get web 1 11
assert_status 0 box snapshot web --remove one
layers 1
bare_get web 0 2
bare_get web 2 0
assert_status 0 box snapshot web --list
assert_equal '' "$out"
assert_contains "$err" "no snapshots of 'web' yet"

# ---- a running box; its guest has no agent ----

assert_status 0 box snapshot web cold
virsh -q start web >/dev/null
bare_put web 3 33
assert_status 0 box snapshot web hot
assert_equal hot "$out"
assert_contains "$err" "warning: 'web' was running and its file systems were not at rest (the agent in the box has not answered"
assert_contains "$err" 'as after a power cut'
bare_put web 3 34
assert_status 0 box snapshot web hotter
bare_put web 3 35
assert_lacks "$(virsh -q dumpxml --inactive web)" backingStore
# under the top: committed down; cold's own layer takes hot's in
assert_status 0 box snapshot web --remove cold
layers 3
bare_get web 3 35
# next to the top: pulled up
assert_status 0 box snapshot web --remove hotter
layers 2
bare_get web 3 35
assert_equal running "$(bare_state web)"
virsh -q destroy web >/dev/null
virsh -q start web >/dev/null # on what the merges left
bare_get web 3 35
assert_status 1 box restore web hot --force # it has no agent, so it never becomes usable
assert_contains "$err" "box 'web' was restored to 'hot' and started: box 'web' runs, but did not become usable"
assert_equal running "$(bare_state web)"
bare_get web 3 33
virsh -q destroy web >/dev/null

# ---- clones share layers: the source and its snapshots may go ----

hot=$(virsh -q dumpxml web | grep -o 'layer="[^"]*"' | cut -d'"' -f2)
copy_uuid=$(bare_box copy)
virsh -q vol-delete --pool box "box-$copy_uuid-1.qcow2" >/dev/null
virsh -q vol-create-as box "box-$copy_uuid-1.qcow2" 64M --format qcow2 --backing-vol "$hot" \
	--backing-vol-format qcow2 >/dev/null
bare_get copy 3 33
assert_status 0 box snapshot web --remove hot
assert_contains "$err" "the layer of snapshot 'hot' is kept without a name: a clone stands on it"
bare_get web 3 33
assert_status 0 box rm web --force
assert_equal "$hot" "$(bare_layers "$uuid")"
bare_get copy 3 33
assert_status 0 box snapshot copy own
bare_put copy 4 44
assert_status 0 box restore copy own --force
bare_get copy 3 33
assert_status 0 box rm copy --force
assert_equal '' "$(bare_layers)"

# ---- rename ----

uuid=$(bare_box web)
bare_put web 0 1
assert_status 0 box snapshot web one
assert_status 0 box rename web copy
assert_equal 'renamed web to copy' "$out"
assert_status 1 box info web
assert_contains "$err" 'no such box: web'
assert_contains "$(virsh -q dumpxml copy)" ';h=copy<'
assert_contains "$(virsh -q dumpxml copy)" copy-console.log
assert_lacks "$(virsh -q dumpxml copy)" web
bare_put copy 0 2
assert_status 0 box restore copy one --force
bare_get copy 0 1
assert_status 0 box rename copy web

# ---- what is refused, and changes nothing ----

now() {
	virsh -q dumpxml --inactive web
	bare_layers "$uuid"
}
before=$(now)
refused() {
	local status=$1 text=$2
	shift 2
	assert_status "$status" box "$@"
	assert_contains "$err" "$text"
	assert_equal "$before" "$(now)" "after box $*"
}
refused 1 "box 'web' has a snapshot 'one' already; choose another label, or remove that one: box snapshot web --remove one" \
	snapshot web one
refused 2 "'a/b' cannot be a snapshot's label" snapshot web a/b
refused 2 "'a/b' cannot be a snapshot's label" snapshot web --remove a/b
refused 2 'a LABEL, --list and --remove exclude each other' snapshot web x --list
refused 1 "box 'web' has no snapshot 'x'; it has one" restore web x --force
refused 1 "box 'web' has no snapshot 'x'; it has one" snapshot web --remove x
refused 2 'refusing to roll web back to one and lose what was written since: standard input is no terminal' \
	restore web one
refused 2 LABEL restore web
refused 2 "'Web' cannot be a box's name" rename web Web
refused 2 "'all'" rename web all
refused 1 "the name 'web' is taken" rename web web
refused 1 'no such box: nosuch' snapshot nosuch

# A domain that is not ours, another pool's box, one whose memory was saved.
virsh -q dumpxml web | sed "s/<name>web/<name>foreign/; /urn:box/,/<.box:box>/d; s/$uuid/$(cat /proc/sys/kernel/random/uuid)/" |
	virsh -q define /dev/stdin >/dev/null
refused 1 'no such box: foreign' snapshot foreign
refused 1 'no such box: foreign' restore foreign x --force
refused 1 'no such box: foreign' rename foreign y
refused 1 'no such box: foreign' new --from foreign y
refused 1 "box 'web' has no snapshot 'x'; it has one" new --from web/x y
refused 1 "box 'web' has no snapshot 'one/two'" new --from web/one/two y
refused 2 '--from and --user-data exclude each other' new --from web --user-data /dev/null y
virsh -q undefine foreign >/dev/null
apart_uuid=$(bare_box apart)
virsh -q dumpxml apart | sed 's|/images/box/|/images/elsewhere/|' | virsh -q define /dev/stdin >/dev/null
assert_status 1 box snapshot apart
assert_contains "$err" "box 'apart': its disk '/var/lib/libvirt/images/elsewhere/box-$apart_uuid-1.qcow2' is no volume of the pool"
assert_status 1 box new --from apart y
assert_contains "$err" "is no volume of the pool"
# and what it stands on cannot be known, so nothing of anybody's is deleted
refused 1 "cannot tell which layers box 'apart' needs" snapshot web --remove one
bare_gone apart

virsh -q start web >/dev/null
refused 1 "stop it first" rename web other
virsh -q managedsave web >/dev/null
refused 1 "box 'web' was saved with its memory" snapshot web two
refused 1 "box 'web' was saved with its memory" restore web one --force
virsh -q managedsave-remove web >/dev/null
assert_status 0 box rm web --force
assert_equal '' "$(bare_layers)"

# ---- QEMU has moved to the new layer, and libvirtd never heard of it ----

qmp() {
	virsh -q qemu-monitor-command lost "$1"
}
uuid=$(bare_box lost)
virsh -q start lost >/dev/null
BOX_FAULT=snapshot.create:kill assert_status 137 box snapshot lost one
layer=$bare_folder/box-$uuid-2.qcow2
chown --reference="$bare_folder/box-$uuid-1.qcow2" "$layer" # as libvirtd would have done
node=$(qmp '{"execute": "query-named-block-nodes"}' |
	jq -r '[.return[] | select(.drv == "qcow2")][0]."node-name"')
qmp "{\"execute\": \"blockdev-add\", \"arguments\": {\"driver\": \"qcow2\", \"node-name\": \"over\",
	\"backing\": null, \"file\": {\"driver\": \"file\", \"filename\": \"$layer\"}}}" >/dev/null
qmp "{\"execute\": \"blockdev-snapshot\", \"arguments\": {\"node\": \"$node\", \"overlay\": \"over\"}}" >/dev/null
bare_put lost 5 55
assert_status 1 box snapshot lost two
assert_contains "$err" "its QEMU goes on in layer 'box-$uuid-2.qcow2', of which libvirtd does not know"
virsh -q destroy lost >/dev/null
assert_status 0 box snapshot lost two
bare_get lost 5 55
assert_equal 'one two' "$(box snapshot lost --list --json | jq -r '[.snapshots[].label] | join(" ")')"
assert_status 0 box rm lost --force
assert_equal '' "$(bare_layers)"
