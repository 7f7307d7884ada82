#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every program that is installed is hardened: loaded anywhere, its tables of addresses read-only before it
# starts, no executable stack, its stack frames guarded. What the flags in meson.build are for is looked
# for in what came out.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_command readelf

build=${BOX_BUILD:-$source_root/build}
! grep -q '"name": "b_sanitize",[^}]*"value": "[^n]' "$build/meson-info/intro-buildoptions.json" ||
	skip 'a build with sanitizers'
grep -qE '"name": "optimization",[^}]*"value": "[^0]' "$build/meson-info/intro-buildoptions.json" ||
	skip 'a build without optimization'

look() { # PROGRAM: what is wrong with it, a line each
	local header dynamic symbols
	header=$(readelf -hlW "$1")
	dynamic=$(readelf -dW "$1")
	symbols=$(readelf -sW "$1")
	grep -qE 'Type: +DYN' <<<"$header" || echo 'is loaded at a fixed address'
	grep -q GNU_RELRO <<<"$header" || echo 'has no relro'
	grep -qE 'BIND_NOW|FLAGS_1.*NOW' <<<"$dynamic" || echo 'binds lazily'
	grep -qE 'GNU_STACK.* RW ' <<<"$header" || echo 'has an executable stack'
	grep -q '__stack_chk_fail' <<<"$symbols" || echo 'has no stack protector'
}

for program in cli/box cli/box-exec cli/box-main net/box-hook mint/box-mint agent/box-agent probe/box-probe vmm/box-copy; do
	[ -x "$build/$program" ] || fail "$program is not built"
	assert_silent "$(look "$build/$program")" "$program"
done
symbols=$(readelf -sW "$build/cli/box-main")
grep -q '__[a-z]*_chk@' <<<"$symbols" || fail 'box-main: nothing is fortified'
for program in agent/box-agent probe/box-probe; do
	! readelf -lW "$build/$program" | grep -q INTERP || fail "$program needs a loader: it is for any guest"
done

# It must be able to say no: a program without any of it.
command -v "${CC:-cc}" >/dev/null || exit 0
make_scratch
echo 'int main(void) { return 0; }' >"$scratch/bad.c"
"${CC:-cc}" -no-pie -Wl,-z,norelro,-z,lazy,-z,execstack -fno-stack-protector -o "$scratch/bad" "$scratch/bad.c" 2>/dev/null
assert_equal 5 "$(look "$scratch/bad" | wc -l)" 'complaints about a program without any'
