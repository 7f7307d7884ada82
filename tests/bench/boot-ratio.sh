#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A box with an agent and its tools is usable as soon as a plain one: cold boots of codex and of blank with the
# same resources, in turn, the quickest of each. What an image holds must not slow its boot.
#
#   boot-ratio.sh [ROUNDS]     default 3; fails when codex takes more than 1.2 times as long
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_root
require_command jq
rounds=${1:-3}
limit=120 # percent
export BOX_CPU=2 BOX_MEMORY=2GiB
make_scratch
for template in blank codex; do
	lab_run box image info --json "$template" >/dev/null 2>&1 || skip "the lab has no image of $template"
	on_exit lab_run box rm --force "ratio-$template"
done

# boot TEMPLATE: a box is made and removed; the milliseconds of its boot are added to its list
boot() {
	assert_status 0 lab_run box new --cold --timing --template "$1" "ratio-$1"
	awk '$2 == "timing" && ($3 == "new.start" || $3 == "new.ready") {ms += $4} END {printf "%d\n", ms}' \
		<<<"$err" >>"$scratch/$1"
	assert_status 0 lab_run box rm --force "ratio-$1"
}
for ((round = 0; round < rounds; round++)); do
	boot blank
	boot codex
done
blank=$(sort -n "$scratch/blank" | head -n 1)
codex=$(sort -n "$scratch/codex" | head -n 1)
percent=$((codex * 100 / blank))
echo "boot to usable: blank $blank ms, codex $codex ms, ratio $percent %"
[ "$percent" -le "$limit" ] || fail "codex takes $percent % of blank's time, and $limit are allowed"
