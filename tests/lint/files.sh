# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Included by the lint scripts: the files they read, as paths from the source root, which is made the
# working directory. From the file system and not from git, so that a release tarball can be checked.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."

# source_files FIND-TEST...: files of the tree that are ours, e.g. source_files -name '*.c'
source_files() {
	find . \( -path ./.git -o -path './build*' -o -path ./out -o -name .cache \) -prune -o \
		-type f \( "$@" \) -print | sed 's|^\./||' | sort
}

# Scripts of the tree: by name, or by their first line.
script_files() {
	source_files -true | while read -r file; do
		case $file in
		*.sh) echo "$file" ;;
		*.[ch] | *.md | *.build | *.xml | *.yaml | *.json | *.qcow2 | COPYING | */corpus/*) ;;
		*) ! head -c 40 "$file" | head -n 1 | grep -aqE '^#!/bin/(ba)?sh' || echo "$file" ;;
		esac
	done
}

bad=0
complain() {
	echo "$*"
	bad=1
}

# A lint that looked at nothing proves nothing.
finish() {
	[ "${looked:-0}" -gt 0 ] || complain 'nothing was looked at'
	echo "looked at $looked"
	exit "$bad"
}
