#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Snapshot, restore and clone of a stopped box cost the same whatever the disk: box's own time by --timing, the
# quickest of some rounds, at 1 and 20 GiB in turn, beside virt-clone and virsh on plain domains with disks of the
# same size and content in the same run.
#
#   snapshots.sh [ROUNDS]      default 5; fails above 150 ms, or when 20 GiB take twice as long as 1 GiB
#
# BENCH_FILL: how much of each disk has been written, in percent (default 10).
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
. "$tests_dir/vm/hollow.sh"
require_root
require_command jq qemu-img qemu-io virsh virt-clone
rounds=${1:-5} fill=${BENCH_FILL:-10} limit=150
peers=/var/lib/libvirt/images/peers
make_scratch
hollow_set_up

clean_up() {
	lab_run sh -c 'box rm --force small large
		for name in plain-1 plain-20 copy-1 copy-20; do
			virsh -q undefine "$name" --snapshots-metadata
		done
		virsh -q pool-destroy peers; virsh -q pool-undefine peers; rm -rf "$0"' "$peers" >/dev/null 2>&1
}
on_exit clean_up

# fill_disk FILE GIB: the same bytes into each, from its beginning
fill_disk() {
	local mib=$(($2 * 1024 * fill / 100)) at
	for ((at = 0; at < mib; at += 64)); do
		echo "write -q -P $((at / 64 % 250 + 1)) ${at}M 64M"
	done | lab_run qemu-io -f qcow2 "$1" >/dev/null
}

# own OPERATION COMMAND...: box's own milliseconds in the steps of the operation
own() {
	local operation=$1 got=0
	shift
	lab_run "$@" >/dev/null 2>"$scratch/timing" || got=$?
	awk -v operation="$operation." '$2 == "timing" && index($3, operation) == 1 { ms += $4; n++ }
		END { if (!n) exit 1; print ms }' "$scratch/timing" ||
		fail "no timing in what '$*' said, status $got: $(cat "$scratch/timing")"
}

# wall COMMAND...: milliseconds of a command in the lab
wall() {
	lab_run bash -c 'begin=$EPOCHREALTIME; "$@" >/dev/null 2>&1 || exit 1; end=$EPOCHREALTIME
		awk -v b="$begin" -v e="$end" "BEGIN { print (e - b) * 1000 }"' bash "$@" || fail "failed: $*"
}

least() {
	sort -n | head -n 1
}

# peer GIB: a plain domain whose disk has that size and content
peer() {
	lab_run sh -c 'mkdir -p "$0" && qemu-img create -q -f qcow2 "$0/plain-$1.qcow2" "$1G"' "$peers" "$1"
	fill_disk "$peers/plain-$1.qcow2" "$1"
	lab_run virsh -q define /dev/stdin >/dev/null <<-XML
	<domain type='qemu'>
	  <name>plain-$1</name><memory unit='MiB'>32</memory><vcpu>1</vcpu>
	  <os><type arch='x86_64' machine='q35'>hvm</type></os>
	  <devices><disk type='file' device='disk'>
	    <driver name='qemu' type='qcow2'/><source file='$peers/plain-$1.qcow2'/>
	    <target dev='vda' bus='virtio'/>
	  </disk></devices>
	</domain>
	XML
}

# prepare NAME GIB: a stopped box and its peer
prepare() {
	hollow_box "$1" --disk "$2GiB"
	lab_run virsh -q destroy "$1" >/dev/null
	fill_disk "$(lab_run virsh -q domblklist "$1" | awk '$1 == "vda" {print $2}')" "$2"
	peer "$2"
}

# measure NAME GIB ROUND: lines "WHAT GIB MS"
measure() {
	echo "snapshot $2 $(own snapshot box snapshot "$1" "s$3" --timing)"
	echo "restore $2 $(own restore box restore "$1" "s$3" --force --timing)"
	# what follows is the guest's boot: it fails after the last step before that, and is undone
	echo "clone $2 $(BOX_FAULT=new.seed own new box new clone --from "$1/s1" --timing)"
	echo "virsh-snapshot $2 $(wall virsh snapshot-create-as "plain-$2" "s$3")"
	echo "virsh-revert $2 $(wall virsh snapshot-revert "plain-$2" "s$3")"
}

prepare small 1
prepare large 20
sync # what was written is not to be written out beside what is measured
for ((i = 1; i <= rounds; i++)); do
	measure small 1 "$i"
	measure large 20 "$i"
done >"$scratch/all"
for gib in 1 20; do
	echo "virt-clone $gib $(wall virt-clone -o "plain-$gib" -n "copy-$gib" -f "$peers/copy-$gib.qcow2")"
done >>"$scratch/all"

value() {
	awk -v what="$1" -v gib="$2" '$1 == what && $2 == gib { print $3 }' "$scratch/all" | least
}
# say WHAT PEER: the pair for tests/bench/report, at 20 GiB
say() {
	jq -cn --arg bench "$1 of a stopped box of 20 GiB (least; its own time)" --arg peer "$2" --argjson runs "$rounds" \
		--argjson ours "$(value "$1" 20)" --argjson theirs "$(value "$2" 20)" '{$bench, unit: "ms", $runs,
		ours: {median: $ours}, $peer, theirs: {median: $theirs}, ratio: ($theirs / $ours * 100 | round / 100)}'
}
say snapshot virsh-snapshot
say restore virsh-revert
say clone virt-clone
failed=
printf '%-16s %10s %10s   (%s %% of the disk is written; least of %s)\n' ms '1 GiB' '20 GiB' "$fill" "$rounds"
for what in snapshot restore clone virsh-snapshot virsh-revert virt-clone; do
	small=$(value "$what" 1)
	large=$(value "$what" 20)
	printf '%-16s %10.0f %10.0f\n' "$what" "$small" "$large"
	case $what in
	vir*) ;;
	*) awk -v s="$small" -v l="$large" -v max="$limit" 'BEGIN { exit !(s <= max && l <= max && l <= 2 * s + 20) }' ||
		failed="$failed $what" ;;
	esac
done
[ -z "$failed" ] || fail "more than $limit ms, or not the same for both sizes:$failed"
