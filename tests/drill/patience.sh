#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Who of a drill has nothing to do for longer than libvirt's daemon bears with a silent client still removes its box.
# So it is while the first box of an image boots, with the keeper of the other one and with the drill itself.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
require_root
lab_run virsh -q vol-list box 2>/dev/null | grep golden-blank >/dev/null ||
	skip 'the lab has no golden image of blank'
make_scratch

silence=40 # seconds; a question each 5, and the fifth without an answer is the last
on_exit lab_run box rm --force --quiet patient
mkfifo "$scratch/orders"
lab_run box __drill-box --quiet patient <"$scratch/orders" >"$scratch/out" 2>"$scratch/err" &
keeper=$!
exec {orders}>"$scratch/orders"
wait_until 300 grep -qx '1 ready' "$scratch/out"
sleep "$silence" # the daemon is the one that waits
exec {orders}>&-
wait "$keeper" || fail "the keeper ended with status $?: $(cat "$scratch/err")"
assert_status 1 lab_run virsh -q domstate patient
