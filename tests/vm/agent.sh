#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The way in, against a real guest kernel: agent-*.c have the tests, micro-guest.sh makes the guest.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
require_command qemu-system-x86_64 mkfs.ext4
make_scratch

here=$tests_dir/vm
status=0
kernel=$("$here/micro-guest.sh" "$scratch/initramfs" "$BOX_BUILD/agent/box-agent") || status=$?
[ "$status" = 0 ] || exit "$status"
# The boot, and everything else, takes seconds; a machine that does other things too may need more. A GiB each
# way, with digests of it in the guest, takes minutes.
timeout $(($# > 0 ? 900 : 280)) "$BOX_BUILD/tests/vm/agent-guest" "$@" "$kernel" "$scratch/initramfs"
