#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Operations on a box's layers, broken after each of their steps: chain-crash.c. Its pool is a file system
# in memory over the lab's own: as large as box wants it for a new box, and little of that is ever used.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
require_root
require_command virsh qemu-img qemu-io
if [ "${1:-}" != inside ]; then
	exec "$tests_dir/lab/lab" run -- env BOX_READY_TIMEOUT=1s "$0" inside "$@"
fi
shift
. "$tests_dir/vm/bare.sh"
mkdir -p "$bare_folder"
mount -t tmpfs -o size=1536m,mode=0711 tmpfs "$bare_folder"
back() {
	umount -l "$bare_folder"
	virsh -q pool-refresh box
}
on_exit back
on_exit bare_gone web
on_exit bare_gone api
on_exit bare_gone copy
bare_pool
virsh -q pool-refresh box >/dev/null
PATH=$tests_dir/lab:$PATH "$BOX_BUILD/tests/vm/chain-crash" "$@"

# Full from the start: said before anything is begun.
bare_box web >/dev/null
mount -o remount,size=24m "$bare_folder"
head -c 64M /dev/zero >"$bare_folder/ballast" 2>/dev/null || true
before=$(virsh -q dumpxml web)
assert_status 1 box snapshot web one
assert_contains "$err" "the storage pool 'box' is too full: "
assert_contains "$err" 'free some (box image prune, box rm)'
assert_equal "$before" "$(virsh -q dumpxml web)" 'a snapshot in a full pool'
assert_status 1 box new --from web copy
assert_contains "$err" "the storage pool 'box' is too full for a new box: "
assert_equal "$before" "$(virsh -q dumpxml web)" 'a clone in a full pool'
rm -f "$bare_folder/ballast"
