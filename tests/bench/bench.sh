# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# For benchmarks. Absolute times mean little on a shared machine: every figure is a ratio against a peer
# that is measured in the same run, alternately. Include it behind tests/lib.sh and make_scratch.
#
#   bench_pair RUNS OURS -- PEER    run the functions OURS and PEER alternately so many times, and
#                                   note what each run takes
#   bench_say WHAT PEER [GOAL]      the result of the last pair on stdout, one line of JSON for
#                                   tests/bench/report; PEER names the peer, GOAL is a number that
#                                   peer/ours should reach
#   bench_value WHAT VALUE UNIT     a figure that has no peer
#   bench_in_lab WORD...            run this script anew in the lab, with these words, unless it is there already; the
#                                   lab must have blank's image
#   bench_end                       fails if a goal was not reached: the last line of the script

bench_missed=()

bench_in_lab() {
	[ -z "${BENCH_IN_LAB:-}" ] || return 0
	lab_run box image info blank >/dev/null 2>&1 || skip 'the lab has no image of blank'
	lab_run env BENCH_IN_LAB=1 "$(readlink -f "$0")" "$@"
	exit
}

bench_now() { # microseconds
	echo "${EPOCHREALTIME/[.,]/}"
}

bench_once() { # FILE CMD...
	local file=$1 from
	shift
	from=$(bench_now)
	"$@" >"$scratch/bench.out" 2>"$scratch/bench.err" ||
		fail "$* failed: $(tail -n 5 "$scratch/bench.err")"
	echo $(($(bench_now) - from)) >>"$file"
}

bench_pair() {
	local runs=$1 ours=$2 peer=$4 i
	rm -f "$scratch/bench.ours" "$scratch/bench.peer"
	for ((i = 0; i < runs; i++)); do
		bench_once "$scratch/bench.ours" "$ours"
		bench_once "$scratch/bench.peer" "$peer"
	done
}

bench_spread() { # FILE: least, median, most, in milliseconds
	sort -n "$1" | jq -s '{min: .[0], median: .[length / 2 | floor], max: .[-1]} | map_values(. / 1000)'
}

bench_say() {
	local line
	line=$(jq -cn --arg what "$1" --arg peer "$2" --arg goal "${3:-}" \
		--argjson ours "$(bench_spread "$scratch/bench.ours")" \
		--argjson theirs "$(bench_spread "$scratch/bench.peer")" \
		--argjson runs "$(wc -l <"$scratch/bench.ours")" \
		'{bench: $what, unit: "ms", runs: $runs, ours: $ours, peer: $peer, theirs: $theirs,
		  ratio: ($theirs.median / $ours.median * 100 | round / 100)}
		 + if $goal == "" then {} else {goal: ($goal | tonumber)} end')
	echo "$line"
	jq -e 'has("goal") | not' <<<"$line" >/dev/null || jq -e '.ratio >= .goal' <<<"$line" >/dev/null ||
		bench_missed+=("$1 against $2: $(jq -r '"\(.ratio) times as quick, the goal is \(.goal)"' <<<"$line")")
}

bench_end() {
	[ ${#bench_missed[@]} = 0 ] || fail "${bench_missed[*]}"
}

bench_value() {
	jq -cn --arg what "$1" --argjson value "$2" --arg unit "$3" \
		'{bench: $what, unit: $unit, ours: {median: $value}}'
}
