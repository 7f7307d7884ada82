#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Minting that scripts can trust, with a template of the test's own on the plain base, which is in the cache
# once the lab has blank: nothing here needs a network. A mint that runs twice at once works once; one that is
# killed leaves nothing, and the next one gets there; list, info, verify, prune and rm do what they say.
set -euo pipefail
# What is in single quotes is for jq.
# shellcheck disable=SC2016
. "$(dirname "$0")/../lib.sh"
require_root
require_command jq virsh qemu-img
. "$tests_dir/vm/own-mint.sh"
mint() { in_lab box image mint "$@"; }
work() { find "$cache/work" -mindepth 1 -maxdepth 1; }
# state IMAGE: what the list says of it
state() { in_lab box image list --json | jq -r --arg n "$1" '.images[] | select(.name == $n) | .state'; }
# the name of the template's newest image
newest() { in_lab box image info --json "$name" | jq -r .name; }

in_lab box image prune --force --quiet # what earlier versions left would go below
before=$(pool)

# ---- two at once: one works, one waits ----

dev_template <<<'bake: [[cp, /usr/bin/env, /usr/local/bin/fifth]]
verify: [fifth, --version]'
mint --json --compress "$name" >"$scratch/one" 2>"$scratch/one.err" &
first=$!
status=0
mint --json --compress "$name" >"$scratch/two" 2>"$scratch/two.err" || status=$?
wait "$first" || fail "the first of two: $(cat "$scratch/one.err")"
assert_equal 0 "$status" "$(cat "$scratch/two.err")"
for one in one two; do
	jq -es 'all(.[]; has("event")) and (last | .event == "done" and .schema == 1)' "$scratch/$one" >/dev/null ||
		fail "not what the manual says: $(tail -n 3 "$scratch/$one")"
done
jq -es '[.[] | select(.event == "step-done" and .operation == "mint") | .name] ==
	["seed", "files", "payload", "check", "disk", "appliance", "compress", "commit"]' \
	"$scratch/one" "$scratch/two" >/dev/null || fail 'an image was made twice, or not at all'
[ "$(qemu-img check --output=json "$cache/images/$(newest).qcow2" | jq '."compressed-clusters"')" -gt 0 ] ||
	fail 'asked for a compressed image, and got another one'
jq -es 'any(.[]; .event == "note" and (.text | contains("waiting")))' "$scratch/one" "$scratch/two" >/dev/null ||
	fail 'nobody said that he waits'
old=$(newest)
assert_equal current "$(state "$old")"
info=$(in_lab box image info --json "$name")
assert_contains "$(jq -r .verified <<<"$info")" 'env (GNU coreutils)'
in_lab box image info --sbom "$name" | jq -e '.spdxVersion == "SPDX-2.3" and .dataLicense == "CC0-1.0" and
	.SPDXID == "SPDXRef-DOCUMENT" and (.packages | length) > 150 and
	([.packages[].SPDXID] | length == (unique | length)) and
	any(.packages[]; .name == "bash" and (.externalRefs[0].referenceLocator | startswith("pkg:deb/debian/bash@")))' \
	>/dev/null || fail 'this is no bill of materials'

# ---- nothing to do: at once ----

quickest=$(in_lab bash -c 'for i in 1 2 3 4 5 6 7 8; do
	begin=$EPOCHREALTIME; box image mint "$0" >/dev/null || exit; end=$EPOCHREALTIME
	echo $(((${end/./} - ${begin/./}) / 1000)); done' "$name" | sort -n | head -n 1)
[ "$quickest" -lt 100 ] || fail "an unchanged recipe took $quickest ms"
echo "an unchanged recipe: $quickest ms"

# ---- killed ----

# killed_at STEP SIGNAL PATTERN: what it started ends by itself, and what it made in the pool is whole or gone
killed_at() {
	dev_template <<<"bake: [[cp, /usr/bin/env, /usr/local/bin/fifth], [sh, -c, 'echo $1 >/opt/note']]
verify: [fifth, --version]"
	mint --json "$name" >"$scratch/events" 2>/dev/null &
	wait_until 400 grep -q "\"operation\":\"${1%.*}\",\"name\":\"${1#*.}\"" "$scratch/events"
	kill "-$2" "$(pgrep -o -f "$3 $name\$")" || fail "$1: there was nothing to kill"
	wait $! && fail "$1: it went on"
	wait_until 60 ended
	assert_equal "$old" "$(newest)"
}
# nothing runs that knows this test's cache, and nobody mints this name
ended() { ! pgrep -f "$scratch/cache/box/work|box-mint.* $name\$" >/dev/null; }
killed_at mint.payload KILL 'box-mint.*'
killed_at appliance.launch KILL 'image mint --json'
killed_at appliance.user TERM 'image mint --json'
assert_status 0 mint "$name"
assert_silent "$(work)" 'work folders'
new=$(newest)
assert_equal "current outdated" "$(state "$new") $(state "$old")"

# ---- verify ----

folder=$(lab_run virsh pool-dumpxml box | sed -n 's/.*<path>\(.*\)<.*/\1/p')
assert_status 0 in_lab box image verify "$new"
assert_contains "$out" "OK      $new.qcow2"
flip() { lab_run sh -c 'printf %b "$2" | dd of="$1" bs=1 seek=70000 conv=notrunc status=none' - "$folder/$new.qcow2" "$1"; }
byte=$(lab_run od -An -tu1 -j70000 -N1 "$folder/$new.qcow2")
flip "\\0$(printf %o $((255 - byte)))"
assert_status 1 in_lab box image verify "$new"
assert_contains "$out" "BROKEN  $new.qcow2: its content is not what was minted"
flip "\\0$(printf %o $((byte)))"
assert_status 0 in_lab box image verify "$new"

# ---- prune and rm ----

# A box's layer on the old image: it stays, whatever its template says.
lab_run virsh -q vol-create-as box "box-$name-1.qcow2" 1M --format qcow2 --backing-vol "$old.qcow2" \
	--backing-vol-format qcow2 >/dev/null
on_exit lab_run virsh -q vol-delete --pool box "box-$name-1.qcow2"
assert_status 0 in_lab box image prune --dry-run
assert_lacks "$out" "$name"
assert_status 1 in_lab box image rm --force "$old"
assert_contains "$err" 'in use'
lab_run virsh -q vol-delete --pool box "box-$name-1.qcow2" >/dev/null
whole=$(pool)
assert_status 0 in_lab box image prune --dry-run
assert_contains "$out" "would remove $old.qcow2 ("
assert_contains "$out" 'would free '
assert_lacks "$out" "$new"
assert_equal "$whole" "$(pool)"
assert_status 2 in_lab box image prune </dev/null
assert_equal "$whole" "$(pool)"
assert_status 0 in_lab box image prune --force
assert_contains "$out" "removed $old.qcow2"
assert_lacks "$(pool)" "$old"
assert_contains "$(pool)" "$new.qcow2"
assert_status 0 in_lab box image rm --force "$new"
assert_equal "$before" "$(pool)" 'volumes of the pool'
