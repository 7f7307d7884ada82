#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Random operations on snapshots, clones and boxes without an operating system, a third of them killed.
# BOX_MODEL_OPERATIONS and BOX_MODEL_SEED as chain-model.c has them; "check --all" and soak differ
# in the number alone.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
require_root
require_command virsh qemu-img qemu-io

lab_run env BOX_READY_TIMEOUT=1s bash -c '. "$1"; bare_pool; shift; exec "$@"' bash "$tests_dir/vm/bare.sh" \
	"$BOX_BUILD/tests/vm/chain-model" "${BOX_MODEL_OPERATIONS:-${1:-500}}" ${BOX_MODEL_SEED:+"$BOX_MODEL_SEED"}
