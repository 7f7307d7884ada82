#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Snapshots with memory: the box goes on; a restore goes on where it was, as the same box; a fork goes on as
# another one; what was written later is in neither; and nothing is left of it.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_root
require_command jq virsh
a=live-a-$$
b=live-b-$$
c=live-c-$$
box() { lab_run box "$@"; }
in_a() { lab_run box exec "$a" -- "$@"; }
in_b() { lab_run box exec "$b" -- "$@"; }
volumes() { lab_run virsh -q vol-list box | awk '{ print $1 }' | sort; }
for name in "$a" "$b" "$c"; do
	on_exit lab_run box rm --quiet --force "$name"
done
assert_status 0 box image warm blank
before=$(volumes)

assert_status 0 box new "$a"
# a process that counts, a file on the disk, one in memory alone
assert_status 0 in_a tmux new-session -d -s counter 'while :; do echo >>/dev/shm/count; sleep 1; done'
assert_status 0 in_a sh -c 'echo early >~/file; echo early >/dev/shm/mark'
counted() { lab_run box exec "$1" -- sh -c 'wc -l </dev/shm/count'; }
later() { [ "$(counted "$1")" -gt "$2" ]; }
wait_until 60 later "$a" 1
id=$(in_a cat /etc/machine-id)
assert_status 0 box snapshot --live "$a" half
assert_equal half "$out"
assert_contains "$err" 'the snapshot has its memory'
at=$(counted "$a")
wait_until 60 later "$a" "$at"
assert_status 0 box snapshot "$a" --list --json
assert_equal 'true false' "$(jq -r '.snapshots[] | "\(.live) \(.quiesced)"' <<<"$out")"
assert_status 0 in_a sh -c 'echo late >~/file; echo late >/dev/shm/mark; echo secret >/dev/shm/secret'

# A fork: what was before is there, what came later is not, and it is somebody else.
assert_status 0 box new "$b" --from "$a/half" --timing
assert_contains "$err" 'timing wake.restore'
assert_lacks "$err" 'booted'
assert_equal early "$(in_b cat /dev/shm/mark)"
assert_equal early "$(in_b sh -c 'cat ~/file')"
assert_status 1 in_b cat /dev/shm/secret
assert_contains "$(in_b tmux list-sessions)" counter
wait_until 60 later "$b" "$at"
assert_equal "$b" "$(in_b hostname)"
[ "$(in_b cat /etc/machine-id)" != "$id" ] || fail 'the fork has the machine-id of its source'
assert_contains "$(in_b curl -sS -m 20 http://example.test/)" 'hello from wan'
assert_contains "$(in_a curl -sS -m 20 http://example.test/)" 'hello from wan'
assert_contains "$(box info "$b")" 'its own, verified'
# the source went on meanwhile
assert_equal late "$(in_a cat /dev/shm/mark)"

# Restored: the same box, back there; running before, and stopped before.
restored() {
	assert_equal "$a: restored to half, where it was" "$out"
	assert_equal early "$(in_a cat /dev/shm/mark)"
	assert_equal early "$(in_a sh -c 'cat ~/file')"
	assert_status 1 in_a cat /dev/shm/secret
	assert_equal "$id" "$(in_a cat /etc/machine-id)"
	assert_equal "$a" "$(in_a hostname)"
	at=$(counted "$a")
	wait_until 60 later "$a" "$at"
	assert_contains "$(in_a curl -sS -m 20 http://example.test/)" 'hello from wan'
}
assert_status 0 box restore --force "$a" half
restored
assert_status 0 box down --force "$a"
assert_status 0 box restore --force "$a" half
restored

# A stopped box has no memory; a label that is taken is taken.
assert_status 1 box snapshot --live "$a" half
assert_contains "$err" 'half'
assert_status 0 box down --force "$a"
assert_status 1 box snapshot --live "$a" other
assert_contains "$err" 'does not run, so it has no memory'

# Memory that is damaged: refused with the reason, and the disk is what there is.
memory=$(volumes | grep '^live-.*mem$')
lab_run truncate -s -1 "/var/lib/libvirt/images/box/$memory"
lab_run virsh -q pool-refresh box >/dev/null
assert_status 0 box restore --force "$a" half
assert_contains "$err" 'box: warning: its memory is not restored, only its disk: '
assert_contains "$err" 'and was made with'
assert_equal "$a: restored to half" "$out"
BOX_FAULT=new.define assert_status 1 box new x$$ --from "$a/half"
assert_contains "$err" 'box: warning: its memory image cannot be used, so the box is booted: '

# The source goes, the fork does not mind; the memory goes with its label.
assert_status 0 box snapshot "$a" --remove half
assert_lacks "$(volumes)" live-
assert_status 0 box rm --force "$a"
assert_equal early "$(in_b cat /dev/shm/mark)"
# a fork of a fork
assert_status 0 box snapshot --live "$b" again
assert_status 0 box new "$a" --from "$b/again"
assert_equal early "$(in_a cat /dev/shm/mark)"
assert_equal "$a" "$(in_a hostname)"

# Killed in the middle: the next command makes it whole or undoes it, and nothing is left over.
for step in intend create pivot record; do
	BOX_FAULT=snapshot.$step:kill assert_status 137 lab_run box snapshot --live "$b" cut
	assert_status 1 box start nosuch
	assert_equal "$b" "$(in_b hostname)" "after kill at snapshot.$step"
	if box snapshot "$b" --list | grep -q '^cut '; then
		assert_status 0 box snapshot "$b" --remove cut
	fi
done
# So is a fork: not there before it is recorded, whole from then on.
for step in start ready identity record; do
	BOX_FAULT=new.$step:kill assert_status 137 lab_run box new "$c" --from "$b/again"
	assert_status 1 box start nosuch
	assert_status "$([ "$step" = record ] && echo 0 || echo 1)" box info "$c"
done
assert_equal early "$(lab_run box exec "$c" -- cat /dev/shm/mark)"
assert_status 0 box rm --force "$c"

# And while libvirtd is at it: it goes on, and the next command waits for that before it judges. When libvirtd is
# killed as well, it is over.
in_job() { ! lab_run virsh -q domjobinfo "$b" | grep -q 'Job type: *None'; }
memories() { volumes | grep -c '^live-.*\.mem$' || true; }
lab=$tests_dir/lab/lab
for victim in box libvirtd; do
	"$lab" run -- box snapshot --live "$b" cut >/dev/null 2>&1 &
	pid=$!
	wait_until 60 in_job
	if [ "$victim" = box ]; then
		kill -KILL "$pid"
	else
		"$lab" kill-libvirtd
		wait "$pid" && fail 'a snapshot without libvirtd'
		"$lab" start-libvirtd
	fi
	assert_status 1 box start nosuch
	assert_lacks "$err" 'cannot recover'
	assert_lacks "$(lab_run virsh -q domjobinfo "$b")" ounded
	assert_equal "$b" "$(in_b hostname)" "after the death of $victim"
	if box snapshot "$b" --list | grep -q '^cut '; then
		assert_status 0 box snapshot "$b" --remove cut
	fi
	assert_equal "$(box snapshot "$b" --list --json | jq '[.snapshots[] | select(.live)] | length')" "$(memories)" 'memories'
done
assert_status 0 box rm --force "$a" "$b"
assert_equal "$before" "$(volumes)"
