#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The doctor against libvirt's test driver, which is a host that is not set up, and against none.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_command jq

export LIBVIRT_DEFAULT_URI=test:///default
assert_status 1 box doctor
assert_contains "$out" 'OK     libvirt'
assert_contains "$out" 'DIRTY  pool'
assert_contains "$out" 'box setup-host'

assert_status 1 box doctor --json
jq -e '.schema == 1 and .clean == false and (.checks | length > 4)
	and all(.checks[]; (.name | type == "string") and (.text | length > 0)
		and (.verdict | IN("OK", "DIRTY", "UNSEEN")))' <<<"$out" >/dev/null || fail "shape: $out"
for name in $(jq -r '.checks[].name' <<<"$out"); do
	grep -qxF "*$name*" "$source_root/docs/man/box-doctor.1.scd" || fail "the manual does not have '$name'"
done

# The emulator, when chosen, is told for what it is.
assert_status 1 env BOX_ACCEL=tcg box doctor
assert_contains "$out" 'BOX_ACCEL=tcg, which is no security boundary'

# A box whose agent cannot be reached. (tests/vm/way-in.sh has real ones.)
assert_status 1 box doctor --connect "test://$source_root/tests/cli/host.xml"
assert_contains "$out" "DIRTY  agents"
assert_contains "$out" "box 'web'"
assert_contains "$out" 'box virsh BOX -- console'

# No host at all: the rest is unseen, and the line says why.
assert_status 1 box doctor --connect qemu+unix:///system?socket=/nonexistent
assert_contains "$out" 'DIRTY   libvirt'
assert_contains "$out" 'UNSEEN  pool'
