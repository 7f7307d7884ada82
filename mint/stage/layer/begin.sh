#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Before a payload is installed over a base's tree: remember what is there. What is changed later has a
# later change time (ctime), which nothing can set back.
. "$(dirname "$(readlink -f "$0")")/../base/guest.sh"

(cd "$root" && find . -xdev -mindepth 1 -printf '%P\0') | LC_ALL=C sort -z >"$BOX_MINT_WORK/before"
stamp=$BOX_MINT_WORK/stamp
: >"$stamp"
# the clock of file times ticks slowly: go on when it has moved past the stamp
probe=$BOX_MINT_WORK/probe
tries=0
until : >"$probe" && [ "$probe" -nt "$stamp" ]; do
	tries=$((tries + 1))
	[ "$tries" -lt 100000 ] || { echo 'the clock stands still' >&2 && exit 1; }
done
