#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Operations on a box's layers, broken after each of their steps: chain-crash.c. Its pool is a file system
# of 24 MiB over the lab's own.
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
mount -t tmpfs -o size=24m,mode=0711 tmpfs "$bare_folder"
back() {
	umount -l "$bare_folder"
	virsh -q pool-refresh box
}
on_exit back
on_exit bare_gone web
on_exit bare_gone api
bare_pool
virsh -q pool-refresh box >/dev/null
"$BOX_BUILD/tests/vm/chain-crash" "$@"
