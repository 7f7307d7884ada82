#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The drill's mutations with two real guests in the lab: mutate-real.sh [WORD...], parts of names of mutations.
# The guests are small ones that boot in seconds (micro-pair.sh); BOX_DRILL_BOXES="A B" names two others,
# which run, for a closer look.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
. "$(dirname "$(readlink -f "$0")")/micro-pair.sh"
require_root
require_command virsh cpio
make_scratch
lab_run virsh -q net-info boxnet >/dev/null 2>&1 || lab_run box setup-host --quiet

# Names of this run alone: see the last mutation.
read -r a b <<<"${BOX_DRILL_BOXES:-micro-a-$$ micro-b-$$}"
[ -n "${BOX_DRILL_BOXES:-}" ] || micro_pair "$a" "$b"
for name in "$a" "$b"; do
	lab_run box exec --user root "$name" -- install -m 0700 /dev/stdin /tmp/box-probe <"$BOX_BUILD/probe/box-probe"
done
iface=$(lab_run box exec --user root "$a" -- ip route show default | sed -n '1s/.* dev \([^ ]*\).*/\1/p')
lab_run "$BOX_BUILD/tests/drill/mutate-real" "$a" "$b" "$iface" "$@"
