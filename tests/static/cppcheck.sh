#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# cppcheck finds nothing. What is not asked, and why: cppcheck.txt beside this.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_command cppcheck jq

build=${BOX_BUILD:-$source_root/build}
# What it knows of a file is kept, so that only what changed is looked at again: under a key of all that
# decides what it says.
key=$({
	cppcheck --version
	cat "$tests_dir/static/cppcheck.txt" "${BASH_SOURCE[0]}"
} | sha256sum)
caches=${BOX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/box-lab}/cppcheck
cache=$caches/${key:0:16}
mkdir -p "$cache"
find "$caches" -mindepth 1 -maxdepth 1 ! -name "${key:0:16}" -mtime +7 -exec rm -rf {} +
make_scratch
# It does not know -iquote, and without our headers it does not know our macros.
jq '[.[] | select(.file | test("(^|/)tests/") | not)] | unique_by(.file) |
	map(.command |= gsub("-iquote "; "-I"))' \
	"$build/compile_commands.json" >"$scratch/compile_commands.json"
nice cppcheck --project="$scratch/compile_commands.json" --enable=warning,portability,performance \
	--inline-suppr --suppressions-list="$source_root/tests/static/cppcheck.txt" --library=posix --library=gnu \
	--cppcheck-build-dir="$cache" --quiet --error-exitcode=1 --template=gcc -j 2
