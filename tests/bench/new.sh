#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What "box new" of an image that is there costs by itself: its --timing without what waits for libvirt to start
# the machine and for the guest in it (box(1) says which steps these are). Warm boxes, since a boot adds nothing.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
. "$tests_dir/bench/bench.sh"
require_root
require_command jq
runs=5 limit=300
bench_in_lab
make_scratch
name=bench-new-$$
on_exit box rm --quiet --force "$name"

# own: of --timing on standard input, milliseconds
own() {
	awk '$2 == "timing" && $3 == "total" { sum += $4; seen = 1 }
		$2 == "timing" && $3 ~ /^(wake\.restore|wake\.adopt|new\.ready|new\.identity)$/ { sum -= $4; warm += $3 ~ /^wake/ }
		END { if (!seen || warm != 2) exit 1; printf "%.1f\n", sum }'
}
box image warm --quiet blank >&2
for ((i = 0; i < runs; i++)); do
	assert_status 0 box new --timing "$name"
	own <<<"$err" >>"$scratch/own" || fail "no such steps: $err"
	assert_status 0 box rm --force "$name"
done
median=$(sort -n "$scratch/own" | sed -n "$((runs / 2 + 1))p")
bench_value 'box new of an image that is there, without the start and the guest' "$median" ms
awk -v is="$median" -v limit="$limit" 'BEGIN { exit is > limit }' || fail "it takes $median ms, and $limit are allowed"
