#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A box from a warm image against one that boots, of the same image in the same run, each to the end of its first
# command: the quickest of each.
#
#   warm-ratio.sh [ROUNDS]     default 3 warm ones for a cold one; fails when warm is not ten times as quick
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_root
rounds=${1:-3}
limit=10
on_exit lab_run box rm --force ratio-warm

now() { date +%s%N; }
# taken OPTIONS...: milliseconds until a command has answered in a new box, which is removed
taken() {
	local begin
	begin=$(now)
	assert_status 0 lab_run box new "$@" ratio-warm
	assert_status 0 lab_run box exec ratio-warm -- true
	echo $((($(now) - begin) / 1000000))
	assert_status 0 lab_run box rm --force ratio-warm
}
assert_status 0 lab_run box image warm blank
cold=$(taken --cold)
warm=$cold
for ((round = 0; round < rounds; round++)); do
	one=$(taken)
	[ "$one" -ge "$warm" ] || warm=$one
done
echo "new to first exec: cold $cold ms, warm $warm ms, ratio $((cold / warm))"
[ $((cold / warm)) -ge "$limit" ] || fail "warm is $((cold / warm)) times as quick, and $limit are wanted"
