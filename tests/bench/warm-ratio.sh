#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A box from a warm image against one that boots, of the same image in the same run: "box new" alone, and until
# its first command has answered.
#
#   warm-ratio.sh [ROUNDS]     default 1: three warm ones for each cold one; fails below 20 times as quick
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
. "$tests_dir/bench/bench.sh"
require_root
require_command jq
rounds=${1:-1}
goal=20
bench_in_lab "$rounds"
make_scratch
name=ratio-$$
on_exit box rm --quiet --force "$name"

# one WHO OPTIONS...: a box is made and removed; what "new" took, and that and its first command together
one() {
	local who=$1 begin=$EPOCHREALTIME made
	shift
	assert_status 0 box new --timing "$@" "$name"
	made=$EPOCHREALTIME
	assert_status 0 box exec "$name" -- true
	awk -v from="$begin" -v to="$made" 'BEGIN { printf "%d\n", (to - from) * 1e6 }' >>"$scratch/new.$who"
	awk -v from="$begin" -v to="$EPOCHREALTIME" 'BEGIN { printf "%d\n", (to - from) * 1e6 }' >>"$scratch/exec.$who"
	assert_status 0 box rm --force "$name"
}
# say WHAT FILE
say() {
	cp "$scratch/$2.ours" "$scratch/bench.ours"
	cp "$scratch/$2.peer" "$scratch/bench.peer"
	bench_say "$1" 'the same with --cold' "${3:-}"
}
box image warm --quiet blank >&2
for ((round = 0; round < rounds; round++)); do
	for _ in 1 2 3; do
		one ours
	done
	one peer --cold
done
say 'box new, until usable' new "$goal"
say 'box new and its first box exec' exec
bench_end
