#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# box drill with real boxes: a box of the user's beside a peer, two throw-away boxes, its report, what
# somebody without root sees; and that nothing of it stays, whatever ends it.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
require_root
require_command jq setpriv
make_scratch
lab_run virsh -q vol-list box 2>/dev/null | grep golden-blank >/dev/null ||
	skip 'the lab has no golden image of blank'

drill_boxes() {
	lab_run virsh -q list --all --name | grep '^drill-' || :
}

nothing_left() {
	assert_silent "$(drill_boxes)" "boxes after $1"
	assert_silent "$(lab_run virsh -q vol-list box | grep -E '(lock|box)-' | grep -v "$uuid" || :)" \
		"volumes after $1"
}

no_drill_boxes() {
	[ -z "$(drill_boxes)" ]
}

two_drill_boxes() {
	[ "$(drill_boxes | wc -l)" = 2 ]
}

lab_run box rm --force drilled >/dev/null 2>&1 || :
on_exit lab_run box rm --force drilled
# It and the drill's own two start from memory: what holds, holds for those.
assert_status 0 lab_run box image warm --quiet blank
assert_status 0 lab_run box new --quiet --timing drilled
assert_contains "$err" 'timing wake.adopt'
uuid=$(lab_run virsh -q domuuid drilled)

# ---- beside a box of the user's ----

assert_status 0 lab_run box drill --json --record "$scratch/report" drilled
assert_contains "$err" 'NO security boundary'
jq . <<<"$out" >"$scratch/out"
for want in '.schema == 1' '.broken == 0' '.unknown == 0' '.holds > 60' '.host.root' \
	'.probes_milliseconds < 60000' '[.claims[] | select(.verdict != "holds")] == []' \
	'[.controls[] | select(.good | not)] == []' '.boxes[0].name == "drilled"'; do
	[ "$(jq "$want" "$scratch/out")" = true ] || fail "not so: $want: $(jq -c "del(.controls) |
		(.claims |= map(select(.verdict != \"holds\") | {id, verdict, reason}))" "$scratch/out")"
done
echo "drill: $(jq -c '{probes_milliseconds, holds}' "$scratch/out")"
nothing_left 'a drill of a box'
assert_silent "$(lab_run box exec drilled -- sh -c 'ls /tmp | grep box-probe || :')" 'the probe in the box'
assert_equal '[]' "$(lab_run box expose --list --json drilled | jq -c .doors)" 'doors of the box'
assert_equal running "$(lab_run virsh -q domstate drilled)"

# The report is what was printed, signed off; and it is remembered.
assert_equal "$(jq -cS . "$scratch/out")" "$(jq -cS . "$scratch/report")" 'the report'
assert_equal "$(jq -r .signed_off.sha256 "$scratch/report")" \
	"$(jq -c 'del(.signed_off)' "$scratch/report" | sha256sum | cut -d' ' -f1)" 'its digest'
assert_equal root "$(jq -r .signed_off.by "$scratch/report")"
lab_run box info drilled | grep -q '^DRILL .* 0 broken' || fail 'box info does not tell of the drill'
lab_run box doctor | grep -q 'drill.* 0 broken' || fail 'box doctor does not tell of the drill'

# ---- two boxes of its own; quick ----

start=$(date +%s%3N)
# What it is for: an answer within 15 s, the boots aside, on a machine that has processors to spare; in proportion
# on one that has had more to do than that.
limit=$(awk -v n="$(nproc)" '{ more = $1 / n; print int(15000 * (more > 1 ? more : 1)) }' /proc/loadavg)
assert_status 0 lab_run box drill --quick --record "$scratch/quick"
assert_contains "$out" ' hold, 0 broken, 0 unknown'
assert_equal "$(grep -c '^holds' <<<"$out")" "$(tail -1 <<<"$out" | cut -d' ' -f1)"
[ "$(jq --argjson limit "$limit" '.quick and .probes_milliseconds < $limit' "$scratch/quick")" = true ] ||
	fail "the probes of a quick drill took $(jq .probes_milliseconds "$scratch/quick") ms, over $limit"
echo "drill --quick: $(jq -c '{probes_milliseconds, holds}' "$scratch/quick"), boots and all $(($(date +%s%3N) - start)) ms"
nothing_left 'a quick drill'

# They come from memory: both pass that step. What dies there is gone after the next command.
BOX_FAULT=wake.restore:kill assert_status 1 lab_run box drill --quick
assert_status 1 lab_run box start nosuch
assert_equal 2 "$(grep -c "removed the half-made box 'drill-" <<<"$err")" 'boxes from memory'
nothing_left 'a drill whose boxes were killed'

# ---- asked wrong ----

assert_status 2 lab_run box drill --only no-such-claim
assert_contains "$err" "no claim 'no-such-claim'"
assert_status 2 lab_run box drill --only rage-10
assert_contains "$err" "did you mean 'range-10'?"
assert_status 1 lab_run box drill nosuch
assert_contains "$err" 'no such box: nosuch'

# ---- interrupted, killed ----

# A shell makes what it starts in the background ignore INT.
for signal in INT:130 TERM:143 KILL:137; do
	env --default-signal=INT "$tests_dir/lab/lab" run -- box drill >"$scratch/out" 2>&1 &
	pid=$! status=0
	wait_until 60 two_drill_boxes
	kill -"${signal%:*}" "$pid"
	wait "$pid" || status=$?
	assert_equal "${signal#*:}" "$status" "SIG${signal%:*}"
	wait_until 120 no_drill_boxes
	nothing_left "SIG${signal%:*}"
done

# ---- without root ----

assert_status 3 lab_run_nobody "$(getent group libvirt | cut -d: -f3)" env HOME=/ \
	box drill --only range-10,peer-tcp,peer-name,rules-intact,port-flag --json
for row in range-10:unknown peer-tcp:holds peer-name:holds rules-intact:unknown port-flag:holds; do
	assert_equal "${row#*:}" "$(jq -r --arg id "${row%:*}" '.claims[] | select(.id == $id).verdict' <<<"$out")" "$row"
done
nothing_left 'a drill without root'
