#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Help comes from the table, on stdout, with status 0, before any precondition.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_command jq

assert_status 0 box
assert_silent "$err" stderr
overview=$out
assert_contains "$overview" 'usage: box COMMAND'
for words in help --help -h; do
	assert_status 0 box "$words"
	assert_equal "$overview" "$out" "box $words"
done

assert_status 0 box --version
assert_equal 'box' "${out%% *}"
version=$out
for words in -V version 'help --version' 'version -V'; do
	# shellcheck disable=SC2086 # words are words
	assert_status 0 box $words
	assert_equal "$version" "$out" "box $words"
done
assert_equal "${version#box }" "$(box version --json | jq -r 'select(.schema == 1).version')"

box help --json | jq -e '.schema == 1 and (.commands | length > 0)' >/dev/null || fail 'help --json'
for name in $(box help --json | jq -r '.commands[].name'); do
	assert_contains "$overview" "  $name "
	assert_status 0 box help "$name"
	page=$out
	assert_contains "$page" "usage: box $name"
	# Nothing is looked at before --help: no host, no arity, no other option.
	assert_status 0 box "$name" --no-such-option --connect nowhere:///x --help
	assert_equal "$page" "$out" "box $name --help"
	assert_silent "$err" stderr
	assert_status 0 box "$name" -h
	assert_equal "$page" "$out" "box $name -h"
done
assert_lacks "$overview" '__'

# An answer that cannot be written is a failure.
assert_status 1 sh -c 'box help >/dev/full'
assert_contains "$err" 'No space left'
