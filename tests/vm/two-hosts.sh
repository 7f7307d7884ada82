#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# One libvirtd, two hosts of clients: the far one has its own name, machine-id, boot and process ids, so nothing of
# its processes can be seen from here. On one box one of them waits, or refuses and says who holds it; what
# the other left half done is made whole by whoever may.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
require_root
require_command virsh qemu-img qemu-io jq unshare
if [ "${1:-}" != inside ]; then
	exec "$tests_dir/lab/lab" run -- env BOX_READY_TIMEOUT=1s "$0" inside
fi
. "$tests_dir/vm/bare.sh"
make_scratch
bare_pool
for name in web api; do
	on_exit bare_gone "$name"
done
locks() { virsh -q vol-list box | awk '$1 ~ /^lock-.*@far$/ { print $1 }'; }
unlock() { locks | xargs -r -n 1 virsh -q vol-delete --pool box; }
on_exit unlock
bare_box web >/dev/null
bare_box api >/dev/null

tr -d - </proc/sys/kernel/random/uuid >"$scratch/machine-id"
cp /proc/sys/kernel/random/uuid "$scratch/boot-1"
cp /proc/sys/kernel/random/uuid "$scratch/boot-2"
boot=1
# far CMD...: on the other host
far() {
	unshare --uts --mount --pid --fork --kill-child --mount-proc sh -c 'hostname far
		mount --bind "$0/machine-id" /etc/machine-id
		mount --bind "$0/boot-$1" /proc/sys/kernel/random/boot_id
		shift; "$@"; exit $?' "$scratch" "$boot" "$@"
}
assert_status 0 far hostname
assert_equal far "$out"
labels() {
	box snapshot "$1" --list --json | jq -r '[.snapshots[].label] | join(" ")'
}
next_command() {
	assert_status 1 "$@" box start no-such-box
}
busy="box 'web' is busy: root@far (pid "

# It stands still in the middle: who holds the box, since when; other boxes are free, and nobody mends it.
bare_put web 0 1
BOX_FAULT=snapshot.create:stop far box snapshot web one >"$scratch/out" 2>&1 &
pid=$!
stopped() {
	pgrep -x -f 'box snapshot web one' >"$scratch/held" && grep -q '^State:.*T' "/proc/$(cat "$scratch/held")/status"
}
wait_until 60 stopped
before=$(virsh -q dumpxml web)
begin=$SECONDS
assert_status 1 box snapshot web two
[ $((SECONDS - begin)) -ge 9 ] || fail 'it did not wait'
assert_contains "$err" "$busy"
assert_contains "$err" ") works on it since 20"
assert_contains "$err" '; if that process is gone: virsh vol-delete --pool box lock-'
assert_status 0 box snapshot api meanwhile
next_command
assert_lacks "$err" web
assert_equal "$before" "$(virsh -q dumpxml web)" 'what the other host works on'

# It goes on while this one waits: both are done.
(sleep 2 && kill -CONT "$(cat "$scratch/held")") &
assert_status 0 box snapshot web two
wait "$pid" || fail "$(cat "$scratch/out")"
assert_equal 'one two' "$(labels web)"
bare_get web 0 1

# It is dead: that cannot be known from here, so this one refuses, with the command that says so.
bare_put web 0 3
BOX_FAULT=snapshot.switch:kill assert_status 137 far box snapshot web three
next_command
assert_lacks "$err" web
assert_status 1 box restore web one --force
assert_contains "$err" "$busy"
command=${err##*: }
assert_equal 'virsh vol-delete --pool box' "${command% *}"
$command >/dev/null
next_command
assert_equal 'one two three' "$(labels web)" 'finished by another host'
bare_get web 0 3

# After its next boot that host itself knows that its process is dead.
BOX_FAULT=restore.create:kill assert_status 137 far box restore web one --force
boot=2
next_command far
assert_contains "$err" "finished or undid the restoring of box 'web'"
bare_get web 0 3
assert_equal '' "$(locks)" 'locks'
assert_status 0 box restore web one --force
bare_get web 0 1

# Both at once on one box, many times: each is done, or refused since the other was busy with it.
many() { # PREFIX CMD...
	local prefix=$1 i
	shift
	for i in {1..6}; do
		if "$@" box snapshot web "$prefix$i" >/dev/null 2>"$scratch/err.$prefix"; then
			echo "$prefix$i"
		else
			grep -q "^box: box 'web' is busy: " "$scratch/err.$prefix" || cat "$scratch/err.$prefix"
		fi
	done
}
many here env >"$scratch/here" &
pid=$!
many far far >"$scratch/far"
wait "$pid"
assert_equal "$(sort "$scratch/here" "$scratch/far" <(printf 'one\ntwo\nthree\n') | xargs)" \
	"$(labels web | tr ' ' '\n' | sort | xargs)" 'labels of both hosts'
assert_equal "$(($(wc -w <<<"$(labels web)") + 1))" "$(bare_layers "$(virsh -q domuuid web)" | wc -l)" 'layers of web'
bare_get web 0 1
