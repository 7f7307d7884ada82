#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# build.sh SOURCE BUILD: build in BUILD with $CC, warnings being errors, and run what needs no privilege.
# Plain sh and nothing of tests/lib.sh: it runs in bare systems.
set -eu
source=$1
build=$2
[ -e "$build/build.ninja" ] || meson setup "$build" "$source" -Dwerror=true >"$build.log" 2>&1 || {
	tail -n 40 "$build.log"
	exit 1
}
nice ninja -C "$build" >"$build.log" 2>&1 || {
	grep -B 2 -A 20 FAILED "$build.log" | head -n 80
	exit 1
}
meson test -C "$build" --no-rebuild --suite unit --suite golden --suite fuzz --print-errorlogs \
	>"$build.log" 2>&1 || {
	tail -n 80 "$build.log"
	exit 1
}
grep -E '^(Ok|Fail|Skipped):' "$build.log"
