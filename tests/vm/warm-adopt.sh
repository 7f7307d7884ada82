#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A restored guest that does not take its identity, and a person who does not wait for it: the box is booted
# with one warning, and the other one is gone. The guest's own file system says no, nothing is played.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_root
require_command jq virsh
lab=$tests_dir/lab/lab
name=adopt-$$
make_scratch
in_box() { lab_run box exec "$name" -- "$@"; }
volumes() { lab_run virsh -q vol-list box | awk '{ print $1 }' | sort; }
on_exit lab_run box rm --quiet --force "$name"
assert_status 0 lab_run box image warm blank
before=$(volumes)

# Stops "box new" when the memory is restored and nobody has told the guest who it is; its pid is in $pid.
new_stopped() {
	BOX_FAULT=wake.restore:stop "$lab" run -- box new --timing "$name" </dev/null >"$scratch/out" 2>"$scratch/err" &
	pid=$!
	wait_until 120 is_stopped
}
is_stopped() { [ "$(ps -o stat= -p "$pid" | cut -c 1)" = T ]; }

# The new one has nothing of the failed adoption, neither on its disk nor in its memory.
new_stopped
assert_contains "$(in_box hostname)" warm-blank
first=$(in_box sha256sum /proc/sys/kernel/random/uuid /proc/sys/kernel/random/boot_id)
assert_status 0 lab_run box exec --user root "$name" -- sh -c 'echo mark >/var/lib/mark && chattr +i /etc/hostname'
boot=$(in_box cat /proc/sys/kernel/random/boot_id)
kill -CONT "$pid"
wait "$pid" || fail "$(cat "$scratch/err")"
assert_equal 1 "$(grep -c 'warning: it could not start' "$scratch/err")" 'one warning'
assert_contains "$(cat "$scratch/err")" 'box: warning: it could not start from its memory image, and was booted: '
assert_contains "$(cat "$scratch/err")" "'hostname'"
assert_contains "$(cat "$scratch/err")" 'Operation not permitted'
assert_equal "$name" "$(in_box hostname)"
[ "$(in_box cat /proc/sys/kernel/random/boot_id)" != "$boot" ] || fail 'it was not booted'
assert_status 1 in_box test -e /var/lib/mark
assert_contains "$(in_box curl -sS -m 20 http://example.test/)" 'hello from wan'
assert_status 0 lab_run box rm --force "$name"
# the memory image is none the worse
assert_equal "$before" "$(volumes)"

# Interrupted in the middle of it.
new_stopped
# One boot, and yet not the same random numbers, even before anybody has told the guest who it is.
second=$(in_box sha256sum /proc/sys/kernel/random/uuid /proc/sys/kernel/random/boot_id)
assert_equal "$(sed -n 2p <<<"$first")" "$(sed -n 2p <<<"$second")" 'one boot'
[ "$(sed -n 1p <<<"$first")" != "$(sed -n 1p <<<"$second")" ] || fail 'two siblings begin with the same random numbers'
kill -TERM "$pid"
kill -CONT "$pid"
status=0
wait "$pid" || status=$?
assert_equal 143 "$status"
assert_equal "$before" "$(volumes)"
assert_lacks "$(lab_run virsh -q list --all --name)" "$name"

# And it goes on from memory.
assert_status 0 lab_run box new --timing "$name"
assert_contains "$err" 'timing wake.adopt'
assert_lacks "$err" 'it could not start'
