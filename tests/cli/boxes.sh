#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# list, info, start, down, restart, rm, virsh: what needs no guest. tests/vm has the rest.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_command jq
export LIBVIRT_DEFAULT_URI="test://$source_root/tests/cli/host.xml"
empty=test:///default # its one domain is not ours

# list
assert_status 0 box list --connect "$empty"
assert_silent "$out" stdout
assert_equal 'box: no boxes yet' "$err"
assert_status 0 box list --connect "$empty" --json
assert_equal '{"schema":1,"boxes":[]}' "$(jq -c . <<<"$out")"
assert_silent "$err" stderr
assert_status 0 box ls
assert_equal 'asleep web' "$(awk 'NR > 1 {print $1}' <<<"$out" | paste -sd' ')"
assert_equal 'NAME STATE TEMPLATE SNAPSHOTS IPV4' "$(head -1 <<<"$out" | xargs)"
assert_lacks "$out" stranger
assert_status 0 box list --json
assert_equal '["asleep","web"]' "$(jq -c '[.boxes[].name]' <<<"$out")"
assert_equal 'confined,ipv4,name,snapshots,state,template,uuid' \
	"$(jq -r '.boxes[0] | keys | join(",")' <<<"$out")"
assert_equal '["stopped","running"]' "$(jq -c '[.boxes[].state]' <<<"$out")"
assert_status 0 box status
assert_contains "$err" "'box status' is deprecated; use: box list"
assert_status 2 box list web
assert_contains "$err" "unexpected argument 'web'"

# info
assert_status 0 box info web
assert_contains "$out" 'NAME        web'
assert_contains "$out" 'STATE       running'
assert_contains "$out" 'ISOLATION   UNCONFINED' # the test driver's box has no network card
assert_contains "$out" '    --from web/logged-in'
assert_status 0 box info asleep --json
assert_equal 'asleep stopped' "$(jq -r '.name + " " + .state' <<<"$out")"
assert_equal '[]' "$(jq -c .doors <<<"$out")"
assert_status 0 box info asleep
assert_contains "$out" 'ORIGIN      clone of web/logged-in'
assert_contains "$out" 'SNAPSHOTS  (none); take one: box snapshot asleep'

# What cannot be read: a damaged mark ends every command, and each says how to go on; of a newer mark
# what is not understood is not told as if it were known.
make_scratch
sed -e "s|<box:address>10.88.0.2<|<box:address>garbage<|" -e '/<box:created>2026-01-03/d' \
	-e '/<box:origin source/d' -e '/<name>asleep/,$ s|schema="1"|schema="9"|' \
	"$source_root/tests/cli/host.xml" >"$scratch/host.xml"
for verb in info 'rm --force'; do
	# shellcheck disable=SC2086 # words are words
	assert_status 1 box $verb --connect "test://$scratch/host.xml" web
	assert_contains "$err" "box 'web': the address in a box's metadata: 'garbage' is not an IPv4 address"
	assert_contains "$err" "to give it up: virsh undefine --managed-save web (its layers"
	assert_contains "$err" 'box-01234567-89ab-4cde-8f01-23456789abcd-*'
done
assert_status 1 box doctor --connect "test://$scratch/host.xml"
assert_contains "$out" "box 'asleep' is UNCONFINED: it was moved off the isolation stack; the metadata of box 'web' cannot be read"
assert_contains "$out" "repair: virsh edit web mends it; to give it up: virsh undefine --managed-save web (its layers"
assert_contains "$out" "; for the unconfined: box virsh BOX -- edit {}"
assert_status 0 box info --connect "test://$scratch/host.xml" asleep
assert_contains "$out" 'CREATED     unknown'
assert_contains "$out" 'ORIGIN      unknown'
assert_contains "$out" 'NEWER       a newer version of box made it'
assert_status 0 box info --connect "test://$scratch/host.xml" asleep --json
assert_equal '["",""]' "$(jq -c '[.created, .origin]' <<<"$out")"

# A missing box and a domain that is not ours get one refusal, everywhere; nothing is asked first.
for verb in info 'rm' 'rm --force' virsh; do
	for name in nosuch stranger; do
		# shellcheck disable=SC2086 # words are words
		set -- $verb "$name"
		[ "$verb" != virsh ] || set -- "$@" -- dominfo
		assert_status 1 box "$@"
		assert_equal "box: no such box: $name" "$err"
		assert_silent "$out" stdout
	done
done

# rm asks, and never takes all.
assert_status 2 box rm web </dev/null
assert_contains "$err" 'refusing to remove web with all snapshots'
assert_status 2 box rm --no-input web asleep
assert_contains "$err" 'box rm --force web asleep'
assert_status 0 box info web # still there

# What is not set up says what to do, and nothing was changed.
for verb in start down restart; do
	assert_status 1 box "$verb" web
	assert_contains "$err" "this host is not set up: it has no storage pool 'box'; run: box setup-host"
	assert_status 2 box "$verb"
	assert_contains "$err" 'BOX'
done

# virsh: {} is the domain, else it comes last; the command is shown; risky ones are warned of.
assert_status 0 box virsh web -- domstate
assert_equal "box: virsh -c $LIBVIRT_DEFAULT_URI domstate web" "$err"
assert_equal running "$(xargs <<<"$out")"
assert_status 0 box virsh web -- domstate {} --reason
assert_contains "$err" 'domstate web --reason'
assert_status 1 box virsh web -- attach-device /nonexistent.xml
assert_contains "$err" "box: warning: 'attach-device' can move box 'web' off the isolation stack"
assert_contains "$err" 'attach-device /nonexistent.xml web'
assert_status 2 box virsh web
