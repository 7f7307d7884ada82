# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# A template "hollow" whose golden image is an empty disk: everything about its boxes is real, but their
# guests never boot. For tests of what happens before a guest is usable, and of what is left behind.
# Include it behind tests/lib.sh and make_scratch.
#
#   hollow_set_up          host set up, template and image there; taken away at the end
#   hollow_new NAME...     box new of it
#   hollow_box NAME...     a box that is there and runs, though its guest never becomes usable
#   hollow_pending         what is there of boxes and locks: domains, volumes, reservations, taps
#   hollow_nothing_left    all of that is gone

hollow_golden=golden-hollow-00000000000000ff

hollow_set_up() {
	export XDG_CONFIG_HOME=$scratch/config
	mkdir -p "$XDG_CONFIG_HOME/box/templates/hollow"
	printf 'user: dev\ncpu: 1\nmemory: 256MiB\ndisk: 1GiB\n' \
		>"$XDG_CONFIG_HOME/box/templates/hollow/template.yaml"
	lab_run box setup-host --quiet >/dev/null 2>&1 || fail 'box setup-host failed'
	qemu-img create -q -f qcow2 "$scratch/disk" 64M
	head -c 4096 /dev/zero >"$scratch/seed"
	hollow_manifest >"$scratch/manifest"
	on_exit hollow_away
	hollow_upload base-none-00000000000000ff.qcow2 disk
	hollow_upload "$hollow_golden.qcow2" disk
	hollow_upload seed-00000000000000ff.iso seed
	hollow_upload "$hollow_golden.json" manifest
}

hollow_upload() {
	lab_run virsh -q vol-create-as box "$1" "$(stat -c %s "$scratch/$2")" >/dev/null
	lab_run virsh -q vol-upload --pool box "$1" "$scratch/$2"
	lab_run virsh -q pool-refresh box >/dev/null
}

hollow_manifest() {
	local zeros
	zeros=$(printf '%064d' 0)
	cat <<-END
	{ "schema": 1, "kind": "golden", "template": "hollow", "release": "none", "user": "dev",
	  "volume": "$hollow_golden.qcow2", "backing": "base-none-00000000000000ff.qcow2",
	  "sha256": "$zeros", "recipe": "$zeros", "bytes": 1, "virtual_bytes": 67108864,
	  "seed": { "volume": "seed-00000000000000ff.iso", "sha256": "$zeros" },
	  "source": { "location": "none" }, "agent": { "version": "0", "sha256": "$zeros" },
	  "tool": "0", "created": "2026-01-02T03:04:05Z", "packages": [] }
	END
}

hollow_away() {
	local name
	for name in "$hollow_golden.json" "$hollow_golden.qcow2" seed-00000000000000ff.iso base-none-00000000000000ff.qcow2; do
		lab_run virsh -q vol-delete --pool box "$name" >/dev/null
	done
}

hollow_new() {
	lab_run box new --cold --template hollow "$@"
}

# A fault keeps it; taking the operation out of its metadata makes it a finished one.
hollow_box() {
	BOX_FAULT=new.start:kill assert_status 137 hollow_new "$@"
	hollow_finished "$1"
}
hollow_finished() {
	lab_run sh -c 'virsh -q metadata "$0" urn:box:domain | grep -v "<operation" |
		virsh -q metadata "$0" urn:box:domain --key box --set "$(cat)" --config --live >/dev/null
		for lock in $(virsh -q vol-list box | awk "/^ *lock-/ {print \$1}"); do
			virsh -q vol-delete --pool box "$lock" >/dev/null; done' "$1"
}

hollow_pending() {
	lab_run sh -c 'virsh -q list --all --name
		virsh -q vol-list box | awk "{print \$1}" | grep -E "^(box|lock|seed-box)-"
		virsh net-dumpxml boxnet | grep "<host "
		ip -o link | grep -o "bxt[0-9a-f]*"' | sed '/^$/d'
}

hollow_nothing_left() {
	assert_equal '' "$(hollow_pending)" "left behind${1:+ after $1}"
}
