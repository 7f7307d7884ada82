#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the everyday commands cost by themselves: the start of the program, and a list of 10, 100, 200
# and 1000 boxes against "virsh list --all", which reads less of each.
# Functions are called by name.
# shellcheck disable=SC2317
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/bench.sh"
. "$tests_dir/vm/bare.sh"
require_root
require_command virsh jq qemu-img
make_scratch

ours() { "$BOX_BUILD/cli/box" --version; }
theirs() { virsh --version; }
bench_pair 41 ours -- theirs
bench_say 'box --version' 'virsh --version'

prefix=bench-$$
made=0
more() { # TOTAL: define boxes until there are so many
	while [ "$made" -lt "$1" ]; do
		made=$((made + 1))
		bare_xml "$prefix-$made" "$(cat /proc/sys/kernel/random/uuid)" >"$scratch/$made.xml"
		echo "define $scratch/$made.xml"
	done >"$scratch/script"
	in_lab "virsh -q <'$scratch/script' >/dev/null"
}
in_lab() {
	"$tests_dir/lab/lab" run -- sh -c "$1"
}
away() {
	seq "$made" | sed "s/^/undefine $prefix-/" >"$scratch/script"
	in_lab "virsh -q <'$scratch/script' >/dev/null"
}
on_exit away
# The way into the lab costs both the same: many calls for one.
ours() { in_lab 'for i in 1 2 3 4 5; do box list; done'; }
theirs() { in_lab 'for i in 1 2 3 4 5; do virsh list --all; done'; }
for boxes in 10 100 200 1000; do
	more "$boxes"
	bench_pair 7 ours -- theirs
	bench_say "box list of $boxes boxes, five times" 'virsh list --all, five times'
done
