#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A template on Debian 12: bootstrapped, minted, and a box of it boots, answers, and is at its own address. The
# base stays in the lab's cache, so only the first run needs the registry.
set -euo pipefail
# What is in single quotes is for the box.
# shellcheck disable=SC2016
. "$(dirname "$0")/../lib.sh"
require_root
require_command jq virsh mmdebstrap
make_scratch
name=twelve$$
export XDG_CONFIG_HOME=$scratch/config
mkdir -p "$XDG_CONFIG_HOME/box/templates/$name"
printf 'user: dev\ncpu: 1\nmemory: 1GiB\ndisk: 20GiB\nimage: debian:12\n' >"$XDG_CONFIG_HOME/box/templates/$name/template.yaml"

in_lab() { lab_run env XDG_CONFIG_HOME="$XDG_CONFIG_HOME" "$@"; }
clean_up() {
	local image
	lab_run box rm --force --quiet "$name"
	image=$(in_lab box image info --json "$name" | jq -r .name)
	in_lab box image rm --force --quiet "$image"
	lab_run sh -c 'rm -f "$XDG_CACHE_HOME/box/images/$1."*' sh "$image"
}
on_exit clean_up

assert_status 0 "$tests_dir/lab/lab" run --registry -- env XDG_CONFIG_HOME="$XDG_CONFIG_HOME" box image mint --timing "$name"
grep -E '^box: timing (mint|mint-base|appliance)[a-z.-]*\.(total|bootstrap) ' <<<"$err" || true
assert_equal '["bookworm","current"]' "$(in_lab box image info --json "$name" | jq -c '[.release, .state]')"
assert_status 0 in_lab box new --cold --template "$name" "$name"
assert_equal '12 bookworm dev' "$(lab_run box exec "$name" -- sh -c '. /etc/os-release; echo "$VERSION_ID $VERSION_CODENAME $(id -un)"')"
assert_equal "$name" "$(lab_run box exec "$name" -- hostname)"
address=$(lab_run box info --json "$name" | jq -r .ipv4)
assert_contains "$(lab_run box exec "$name" -- ip -4 -o addr)" " $address/24"
