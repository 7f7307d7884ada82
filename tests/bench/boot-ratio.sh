#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A box with an agent and its tools is usable as soon as a plain one: cold boots of codex and of blank with the
# same resources, in turn. What an image holds must not slow its boot: codex may take 1.2 times as long.
#
#   boot-ratio.sh [ROUNDS]     default 3
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_root
. "$(dirname "$0")/bench.sh"
require_command jq
rounds=${1:-3}
export BOX_CPU=2 BOX_MEMORY=2GiB
make_scratch
for template in blank codex; do
	lab_run box image info --json "$template" >/dev/null 2>&1 || skip "the lab has no image of $template"
	on_exit lab_run box rm --force "ratio-$template"
done

# boot TEMPLATE FILE: a box is made and removed; the microseconds of its boot are added to the list
boot() {
	assert_status 0 lab_run box new --cold --timing --template "$1" "ratio-$1"
	awk '$2 == "timing" && ($3 == "new.start" || $3 == "new.ready") {ms += $4} END {printf "%d\n", ms * 1000}' \
		<<<"$err" >>"$2"
	assert_status 0 lab_run box rm --force "ratio-$1"
}
for ((round = 0; round < rounds; round++)); do
	boot codex "$scratch/bench.ours"
	boot blank "$scratch/bench.peer"
done
bench_say 'cold boot of codex to usable' 'cold boot of blank' 0.83
bench_end
