#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What must not be in an image ends its mint, with nothing left: credentials in a payload, in the template's own
# files and in its seed, another template's program, a program that does not work; so does a full disk. The
# template is the test's own, on the plain base, which is in the cache once the lab has blank: nothing here
# needs a network.
set -euo pipefail
# What is in single quotes is for jq.
# shellcheck disable=SC2016
. "$(dirname "$0")/../lib.sh"
require_root
require_command jq virsh
. "$tests_dir/vm/own-mint.sh"
mint() { in_lab box image mint "$@"; }
work() { find "$cache/work" -mindepth 1 -maxdepth 1; }

before=$(pool)

# ---- refused, with nothing left ----

refused() {
	assert_status 1 mint "$name"
	assert_contains "$err" "cannot mint '$name'"
	assert_contains "$err" "$1"
	assert_silent "$(there)" 'the cache'
	assert_silent "$(work)" 'work folders'
	assert_equal "$before" "$(pool)" 'volumes of the pool'
}

token=ghp_$(printf '%036d' 7)
dev_template <<<"bake: [[sh, -c, 'echo machine example.test >/root/.netrc']]"
refused "'/root/.netrc' looks like a file of passwords"
dev_template <<<"bake: [[sh, -c, 'head -c 3000000 /dev/zero >/opt/data; echo x=$token >>/opt/data']]"
refused "'/opt/data' looks like a GitHub token"
dev_template <<<"context: {path: notes, text: 'use $token'}"
refused "'/home/dev/notes', which the template gives, looks like a GitHub token"
dev_template <<<''
printf '#cloud-config\nwrite_files: [{path: /etc/x, content: %s}]\n' "$token" \
	>"$scratch/config/box/templates/$name/user-data.yaml"
refused "the user-data of template '$name' holds what looks like a GitHub token"
rm "$scratch/config/box/templates/$name/user-data.yaml"
dev_template <<<'bake: [[cp, /usr/bin/env, /usr/local/bin/codex]]'
refused "'/usr/local/bin/codex' belongs to another template"
dev_template <<<"verify: [sh, -c, 'echo no such luck >&2; exit 3']"
refused "'sh -c echo no such luck >&2; exit 3' failed: no such luck"

# ---- a disk that is full in the middle ----

# The cache is a small file system of this command's own; what it stands on is linked in.
dev_template <<<"bake: [[sh, -c, 'head -c 200000000 /dev/urandom >/opt/large']]"
mkdir "$scratch/small"
assert_status 0 in_lab unshare --mount --propagation private sh -euc '
	mount -t tmpfs -o size=150m tmpfs "$1/small"
	mkdir -p "$1/small/box/images"
	ln -s "$XDG_CACHE_HOME"/box/images/base-* "$1/small/box/images"
	export XDG_CACHE_HOME=$1/small
	status=0
	box image mint "$2" 2>"$1/full" || status=$?
	echo "$status" >"$1/status"
	find "$1/small/box" ! -type d ! -type l ! -name "*.lock" >"$1/left"
	ls "$1/small/box/work" >>"$1/left"' - "$scratch" "$name"
assert_equal 1 "$(cat "$scratch/status")"
assert_contains "$(cat "$scratch/full")" 'No space left on device'
assert_silent "$(cat "$scratch/left")" 'the small cache'
assert_equal "$before" "$(pool)" 'volumes of the pool'
