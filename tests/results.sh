# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Included by "check": stages with their times, and what the tests said. Results are read from meson's
# JSON log, one object a line, never from what it prints.

passed=0
failed=0
skipped=0
skips=()
failures=()

stage_begin() {
	stage_name=$1
	stage_start=${EPOCHREALTIME/./}
	printf '== %s\n' "$1"
}

stage_end() {
	local tenths=$(((${EPOCHREALTIME/./} - stage_start) / 100000))
	printf '== %s: %d.%d s\n' "$stage_name" $((tenths / 10)) $((tenths % 10))
}

# result_add passed|failed|skipped NAME [REASON]
result_add() {
	case $1 in
	passed) passed=$((passed + 1)) ;;
	failed)
		failed=$((failed + 1))
		failures+=("$2${3:+: $3}")
		;;
	skipped)
		skipped=$((skipped + 1))
		skips+=("$2: ${3:-no reason given}")
		;;
	esac
}

# results_read JSON STATUS STAGE OUTPUT: count meson's results. A run that failed without a failed test, or
# that left no log of tests it should have run, is a failure of its own.
results_read() {
	local json=$1 status=$2 stage=$3 output=$4 before=$failed kind name seconds reason count=0
	while IFS=$'\t' read -r kind name seconds reason; do
		count=$((count + 1))
		result_add "$kind" "$name" "$reason"
		case $kind in
		failed) printf '   FAILED  %s (%s s): %s\n' "$name" "$seconds" "$reason" ;;
		skipped) printf '   skipped %s: %s\n' "$name" "$reason" ;;
		esac
	done < <([ ! -e "$json" ] || jq -r '
		def kind: if . == "OK" or . == "EXPECTEDFAIL" then "passed"
			elif . == "SKIP" then "skipped" else "failed" end;
		def last_line: [((.stdout // "") + "\n" + (.stderr // "")) | splits("\n") |
			select(. != "")];
		[(.result | kind), (.name | sub("^.* / "; "")), (.duration * 10 | round / 10),
		 (if .result == "SKIP" then
			(last_line | (map(select(startswith("skipped: ")))[0] // .[-1] // "no reason given") |
				sub("^skipped: "; ""))
		  elif .result == "FAIL" then "exit status \(.returncode)"
		  else .result | ascii_downcase end)] | @tsv' "$json")
	if [ "$failed" != "$before" ]; then
		results_show "$json"
	elif [ "$status" != 0 ]; then
		tail -n 40 "$output"
		result_add failed "$stage" "meson test ended with status $status"
	fi
	echo "   $count tests"
}

# What the failed tests wrote, the end of it.
results_show() {
	jq -r 'select(.result | IN("OK", "EXPECTEDFAIL", "SKIP") | not) |
		"--- \(.name | sub("^.* / "; ""))",
		(((.stdout // "") + (.stderr // "")) | split("\n") | .[-60:][])' "$1"
}

# The closing words. Returns 0 if nothing failed and something passed.
results_close() {
	local text
	for text in "${skips[@]}"; do
		echo "skipped: $text"
	done
	for text in "${failures[@]}"; do
		echo "failed: $text"
	done
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}
