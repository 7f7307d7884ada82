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
