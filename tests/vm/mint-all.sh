#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# One command makes all images there are; a second one has nothing to do. What the cache has already is not made
# again: "mint-all.sh --empty" begins with an empty one, in a lab of its own, and may take a quarter of an hour.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_root
require_command jq
limit=
templates='blank claude codex grok'
if [ "${1:-}" = --empty ]; then
	limit=900
	make_scratch
	export BOX_LAB=mintall BOX_CACHE=$scratch/cache
	on_exit "$tests_dir/lab/lab" down
	"$tests_dir/lab/lab" up --bare
	lab_run box setup-host --quiet
fi

before=$(lab_run box image list --json | jq -r '.images[] | select(.state == "current") | .template' | sort | xargs)
begin=$SECONDS
# shellcheck disable=SC2086 # a list of words
assert_status 0 "$tests_dir/lab/lab" run --registry -- box image mint --timing $templates
took=$((SECONDS - begin))
echo "minted '$templates' in $took s; there were '$before'"
grep -E '^box: timing (mint|appliance|upload|mint-base)' <<<"$err" || true
[ -z "$limit" ] || [ "$took" -le "$limit" ] || fail "it took $took s, and $limit are allowed"
for template in $templates; do
	assert_equal current "$(lab_run box image info --json "$template" | jq -r .state)"
	lab_run box image info --json "$template" |
		jq -r '"\(.template): base \(.base_bytes / 1048576 | floor) MiB, own layer \(.bytes / 1048576 | floor) MiB; \(.verified)"'
done

# shellcheck disable=SC2086 # a list of words
assert_status 0 lab_run box image mint --offline $templates
for template in $templates; do
	assert_contains "$out" "$template: golden-$template-"
done
assert_equal 4 "$(grep -c '(was there)$' <<<"$out")"
