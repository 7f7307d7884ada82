#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --refresh makes images of other names, and a base of its own; a base with an agent in it is none. From an
# archive at hand, the tree of the plain base that the lab has, so no network is needed.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_root
require_command jq virsh
. "$tests_dir/vm/own-mint.sh"
tree=$(echo "$cache"/images/base-*.tar)

template "$name" <<<"user: dev
image: {file: $tree}"
assert_status 0 in_lab box image mint --offline "$name"
first=$(in_lab box image info --json "$name")
assert_status 0 in_lab box image mint --refresh --offline "$name"
second=$(in_lab box image info --json "$name")
[ "$(jq -r .name <<<"$first")" != "$(jq -r .name <<<"$second")" ] || fail 'an image was replaced'
[ "$(jq -r .backing <<<"$first")" != "$(jq -r .backing <<<"$second")" ] || fail 'a base was replaced'
assert_equal "$(jq -r .recipe <<<"$first")" "$(jq -r .recipe <<<"$second")"
assert_equal 'outdated current' "$(in_lab box image list --json | jq -r --arg t "$name" \
	'[.images[] | select(.template == $t)] | sort_by(.created) | map(.state) | join(" ")' | xargs)"

# ---- a base with an agent in it is none ----

template "$name-base" <<<"shared: true
image: {file: $tree}
bake: [[cp, /usr/bin/env, /usr/local/bin/grok]]"
template "$name-on" <<<"user: dev
base: $name-base"
assert_status 1 in_lab box image mint "$name-on"
assert_contains "$err" "'/usr/local/bin/grok' belongs to another template"
assert_silent "$(find "$cache/images" -name "*-$name-on-*")" 'the cache'

# ---- a link in an image leads into its tree, not into the host ----

lost=$name-lost
mkdir -p "$scratch/outside" "$scratch/link/var"
: >"$scratch/outside/mine"
ln -s "$scratch/outside" "$scratch/link/var/tmp"
cp -L "$tree" "$scratch/linked.tar"
tar --append --file "$scratch/linked.tar" --owner 0 --group 0 --directory "$scratch/link" ./var/tmp
template "$lost" <<<"user: dev
image: {file: $scratch/linked.tar}"
assert_status 0 in_lab box image mint --offline "$lost"
[ -e "$scratch/outside/mine" ] || fail 'the mint removed what is not in the tree'
base=$(in_lab box image info --json "$lost" | jq -r .backing)
assert_contains "$(tar --list --verbose --file "$cache/images/${base%.qcow2}.tar" ./var/tmp)" " -> $scratch/outside"

# ---- the pool has the image and not its base; another cache would make another build of both ----

lab_run virsh -q vol-delete --pool box "$base" >/dev/null
lab_run virsh -q vol-delete --pool box "${base%.qcow2}.json" >/dev/null
rm "$cache/images/${base%.qcow2}".* "$cache/images/golden-$lost-"*
assert_status 1 in_lab box image mint --offline "$lost"
assert_contains "$err" 'the storage pool has another build of'
assert_lacks "$(pool)" "${base%.qcow2}"
assert_status 1 in_lab box new --template "$lost" --cold "none-$$"
assert_contains "$err" "box image mint --refresh $lost"
