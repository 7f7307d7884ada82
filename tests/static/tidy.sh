#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# clang-tidy finds nothing. What is not asked, and why: .clang-tidy in the source root.
set -euo pipefail
. "$(dirname "$0")/each.sh"
require_command clang-tidy

look() {
	local out
	out=$(nice clang-tidy --quiet "$1" -- "${flags[@]}" -Wno-unknown-warning-option \
		-Wno-ignored-optimization-argument -Wno-unused-command-line-argument 2>/dev/null) || {
		printf '%s\n' "$out"
		return 1
	}
}
each_file "$(clang-tidy --version)" "$(cat "$source_root/.clang-tidy")"
