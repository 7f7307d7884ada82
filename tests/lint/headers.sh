#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each header compiles on its own, twice: it includes what it needs, and has a guard.
. "$(dirname "$(readlink -f "$0")")/files.sh"
command -v "${CC:-cc}" >/dev/null || {
	echo 'skipped: needs a C compiler'
	exit 77
}
build=${BOX_BUILD:-build}
flags=$(pkg-config --cflags libvirt libxml-2.0 libnftnl libmnl libguestfs yaml-0.1 libarchive libcurl \
	jansson cmocka)
export build flags

# shellcheck disable=SC2086,SC2317 # flags is a list; xargs calls it
check_header() {
	printf '#include "%s"\n#include "%s"\n' "$1" "$1" |
		${CC:-cc} -std=gnu17 -D_GNU_SOURCE -DGOLDEN_DIR='"x"' -Wall -Wextra -Werror -iquote . -iquote "$build" $flags \
			-fsyntax-only -x c - || {
		echo "$1 does not compile on its own"
		return 1
	}
}
export -f check_header

looked=$(source_files -name '*.h' | wc -l)
source_files -name '*.h' | xargs -P 2 -I{} bash -c 'check_header {}' || bad=1
finish
