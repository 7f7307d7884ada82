#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# cppcheck finds nothing. What is not asked, and why: cppcheck.txt beside this.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_command cppcheck jq

build=${BOX_BUILD:-$source_root/build}
# What it knows of a file is kept, so that only what changed is looked at again.
cache=${BOX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/box-lab}/cppcheck
mkdir -p "$cache"
make_scratch
jq '[.[] | select(.file | test("(^|/)tests/") | not)] | unique_by(.file)' \
	"$build/compile_commands.json" >"$scratch/compile_commands.json"
nice cppcheck --project="$scratch/compile_commands.json" --enable=warning,portability,performance \
	--inline-suppr --suppressions-list="$source_root/tests/static/cppcheck.txt" --library=posix --library=gnu \
	--cppcheck-build-dir="$cache" --quiet --error-exitcode=1 --template=gcc -j 2
