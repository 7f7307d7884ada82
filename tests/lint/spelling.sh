#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# No well-known misspelling in any text file; words that are none are in spelling-words.txt.
. "$(dirname "$(readlink -f "$0")")/files.sh"
command -v codespell >/dev/null || {
	echo 'skipped: needs codespell'
	exit 77
}
looked=$(source_files ! -path '*/corpus/*' | wc -l)
source_files ! -path '*/corpus/*' ! -path './tests/lint/spelling-words.txt' |
	xargs -n 100 codespell --ignore-words tests/lint/spelling-words.txt || bad=1
finish
