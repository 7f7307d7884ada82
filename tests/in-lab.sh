#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# in-lab.sh TEST: run one of meson's tests in lab number $BOX_SLOT of "check" and leave meson's JSON log as
# lab-TEST-full.json. A line on descriptor 3 says how it went. A test that fails may have left its lab in any state: the next one gets a fresh one.
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")/.." || exit 1
name=$1
export BOX_LAB=$BOX_LAB$BOX_SLOT

status=0
meson test -C "$BOX_BUILD" --no-rebuild --setup full --logbase "lab-${name//\//-}" --num-processes 1 "$name" || status=$?
printf '   %-6s %s (%d s)\n' "$([ "$status" = 0 ] && echo ended || echo FAILED)" "$name" "$SECONDS" >&3
[ "$status" != 0 ] || exit 0
tests/lab/lab down
tests/lab/lab up
exit 1
