#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A base made from the image of a disk instead of a mirror: libguestfs finds out what is in it, and a box of it
# boots. The image is Debian's, the plain base that the lab has; nothing is missing in it, so no network is
# needed. What is wrong in such a file is refused.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_root
require_command jq qemu-img virsh
. "$tests_dir/vm/own-mint.sh"
disk=$(echo "$cache"/images/base-*.qcow2)
before=$(there)
refused() {
	assert_status 1 in_lab box image mint "$name"
	assert_contains "$err" "$1"
	assert_equal "$before" "$(there)" 'the cache'
}

# ---- a local disk ----

digest=$(sha256sum "$disk" | cut -d ' ' -f 1)
template "$name" <<<"user: dev
image: {file: $disk, sha256: ${digest//[0-7]/8}}"
refused "and the template wants ${digest//[0-7]/8}"
# a disk that stands on a file of this machine
qemu-img create -q -f qcow2 -b "$disk" -F qcow2 "$scratch/thin.qcow2"
template "$name" <<<"user: dev
image: {file: $scratch/thin.qcow2}"
refused 'it names another file'
head -c 2000000 /dev/zero >"$scratch/nothing.img"
template "$name" <<<"user: dev
image: {file: $scratch/nothing.img}"
refused 'holds no operating system'

template "$name" <<<"user: dev
cpu: 1
memory: 1GiB
disk: 20GiB
image: {file: $disk, sha256: $digest}
bake: [[cp, /usr/bin/env, /usr/local/bin/fifth]]
verify: [fifth, --version]"
assert_status 0 in_lab box image mint --timing "$name"
info=$(in_lab box image info --json "$name")
assert_equal "$disk" "$(jq -r .source <<<"$info")"
assert_equal image "$(jq -r .release <<<"$info")"
assert_equal "$digest" "$(jq -r .source.sha256 "$cache/images/$(jq -r '.backing | sub("qcow2$"; "json")' <<<"$info")")"
on_exit lab_run box rm --force "$name"
assert_status 0 in_lab box new --cold --template "$name" "$name"
assert_contains "$(lab_run box exec "$name" -- fifth --version)" 'env (GNU coreutils)'
assert_equal "$name" "$(lab_run box exec "$name" -- hostname)"
assert_status 0 lab_run box rm --force "$name"
