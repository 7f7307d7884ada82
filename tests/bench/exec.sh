#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A command in a box: box exec against ssh through a door to the same guest, with a new connection for
# each command and over one that is kept (ControlMaster), and against QEMU's own agent in that guest, by
# virsh. Then 32 MiB each way, and a copy of a file, against scp and that agent.
# Functions are called by name; what is in single quotes is for the box.
# shellcheck disable=SC2317,SC2016
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/bench.sh"
require_root
require_command ssh scp ssh-keygen jq virsh qemu-ga
if [ -z "${BENCH_IN_LAB:-}" ]; then
	lab_run box image info blank >/dev/null 2>&1 || skip 'the lab has no image of blank'
	lab_run env BENCH_IN_LAB=1 "$(readlink -f "$0")"
	exit
fi
make_scratch
name=bench-exec-$$ port=22022 mib=32
on_exit box rm --quiet --force "$name"
box new --quiet "$name" >&2
ssh-keygen -q -t ed25519 -N '' -f "$scratch/key"
box exec "$name" -- sh -c 'mkdir -p -m 700 .ssh && cat >.ssh/authorized_keys' <"$scratch/key.pub"
box expose "$name" 22 "$port" >&2
cat >"$scratch/config" <<END
Host box
	HostName 127.0.0.1
	Port $port
	User dev
	IdentityFile $scratch/key
	StrictHostKeyChecking accept-new
	UserKnownHostsFile $scratch/known
	BatchMode yes
Match originalhost kept
	ControlPath $scratch/control
	HostName 127.0.0.1
	Port $port
	User dev
	IdentityFile $scratch/key
	StrictHostKeyChecking accept-new
	UserKnownHostsFile $scratch/known
	BatchMode yes
END
ssh_box() { ssh -F "$scratch/config" "$@"; }
ssh_box box true
ssh_box -o ControlMaster=yes -o ControlPersist=300 -N -f kept </dev/null >/dev/null 2>&1
on_exit ssh -F "$scratch/config" -O exit kept

# The machine's own qemu-ga with its libraries, on the port that every box has for it.
mkdir "$scratch/qga"
ldd "$(command -v qemu-ga)" | grep -oE '/[^ ]+' | xargs cp -Lt "$scratch/qga" "$(command -v qemu-ga)"
box cp --quiet "$scratch/qga" "$name:"
box exec --user root "$name" -- sh -c 'cd /home/dev/qga && ./ld-linux-x86-64.so.2 --library-path . ./qemu-ga \
	--daemonize --statedir=/run --pidfile=/run/qga.pid --logfile=/dev/null --path=/dev/virtio-ports/org.qemu.guest_agent.0'
qga() { virsh -q qemu-agent-command "$name" "$1"; }
wait_until 60 qga '{"execute": "guest-ping"}'
# qga_exec PATH ARGUMENT...: the command has ended, with status 0
qga_exec() {
	local pid state
	pid=$(qga "$(jq -cn '{execute: "guest-exec", arguments: {path: $ARGS.positional[0], arg: $ARGS.positional[1:]}}' \
		--args "$@")" | jq .return.pid)
	until state=$(qga "{\"execute\": \"guest-exec-status\", \"arguments\": {\"pid\": $pid}}") &&
		[[ $state == *'"exited":true'* ]]; do
		[ -n "$state" ] || return 1
	done
	[[ $state == *'"exitcode":0'* ]]
}
qga_file() { # NAME MODE: its handle
	qga "{\"execute\": \"guest-file-open\", \"arguments\": {\"path\": \"$1\", \"mode\": \"$2\"}}" | jq .return
}
qga_close() {
	qga "{\"execute\": \"guest-file-close\", \"arguments\": {\"handle\": $1}}"
}

# What no way in can save: the guest's own part of it.
bench_value 'true in the box itself, started by a shell' "$(box exec "$name" -- bash -c 'from=${EPOCHREALTIME/./}
	for i in {1..40}; do /bin/true; done; echo $(((${EPOCHREALTIME/./} - from) / 40))' | jq '. / 1000')" ms
ours() { box exec "$name" -- true </dev/null; }
theirs() { ssh_box box true </dev/null; }
bench_pair 15 ours -- theirs
bench_say 'exec of true' 'ssh, a connection each'
theirs() { ssh_box kept true </dev/null; }
bench_pair 31 ours -- theirs
bench_say 'exec of true' 'ssh over a live ControlMaster' 3
theirs() { qga_exec /bin/true; }
bench_pair 15 ours -- theirs
bench_say 'exec of true' "QEMU's agent: guest-exec and guest-exec-status"

amount="$((mib * 1048576))"
ours() { box exec "$name" -- head -c "$amount" /dev/zero >/dev/null; }
theirs() { ssh_box kept head -c "$amount" /dev/zero >/dev/null; }
bench_pair 5 ours -- theirs
bench_say "$mib MiB out of a command" 'ssh over a live ControlMaster'
ours() { head -c "$amount" /dev/zero | box exec "$name" -- sh -c 'cat >/dev/null'; }
theirs() { head -c "$amount" /dev/zero | ssh_box kept 'cat >/dev/null'; }
bench_pair 5 ours -- theirs
bench_say "$mib MiB into a command" 'ssh over a live ControlMaster'

head -c "$amount" /dev/urandom >"$scratch/file"
ours() { box cp --quiet "$scratch/file" "$name:ours"; }
theirs() { scp -q -F "$scratch/config" "$scratch/file" kept:theirs; }
bench_pair 5 ours -- theirs
bench_say "a file of $mib MiB into a box" 'scp over a live ControlMaster'

# QEMU's agent reads and writes pieces in base64: what libvirt takes as an answer, and what fits into one
# argument of virsh.
mib=8 piece=2097152
head -c $((mib * 1048576)) "$scratch/file" >"$scratch/part"
box cp --quiet "$scratch/part" "$name:part"
ours() { box cp --quiet "$name:part" - | cmp - "$scratch/part"; }
theirs() {
	local handle i
	handle=$(qga_file /home/dev/part r)
	for ((i = 0; i < mib * 1048576 / piece; i++)); do
		qga "{\"execute\": \"guest-file-read\", \"arguments\": {\"handle\": $handle, \"count\": $piece}}" |
			jq -r '.return."buf-b64"' | base64 -d
	done | cmp - "$scratch/part"
	qga_close "$handle"
}
bench_pair 3 ours -- theirs
bench_say "a file of $mib MiB out of a box" "QEMU's agent: guest-file-read"
mib=2
head -c $((mib * 1048576)) "$scratch/file" >"$scratch/part"
ours() { box cp --quiet "$scratch/part" "$name:ours"; }
theirs() {
	local handle piece
	handle=$(qga_file /home/dev/theirs w)
	base64 -w 98304 "$scratch/part" | while read -r piece; do
		qga "{\"execute\": \"guest-file-write\", \"arguments\": {\"handle\": $handle, \"buf-b64\": \"$piece\"}}"
	done
	qga_close "$handle"
}
bench_pair 3 ours -- theirs
bench_say "a file of $mib MiB into a box" "QEMU's agent: guest-file-write"
assert_equal "$(cksum <"$scratch/part")" "$(box exec "$name" -- sh -c 'cksum <theirs')" 'what the peer wrote'
bench_end
