#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A command in a box: box exec against ssh through a door to the same guest, with a new connection for
# each command and over one that is kept (ControlMaster). Then 32 MiB each way, and a copy of a file.
# Functions are called by name.
# shellcheck disable=SC2317
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/bench.sh"
require_root
require_command ssh scp ssh-keygen jq
if [ -z "${BENCH_IN_LAB:-}" ]; then
	lab_run box image info blank >/dev/null 2>&1 || skip 'the lab has no image of blank'
	lab_run env BENCH_IN_LAB=1 "$(readlink -f "$0")"
	exit
fi
make_scratch
name=bench-exec-$$ port=22022 mib=32
on_exit box rm --quiet --force "$name"
box new --quiet --cpu 1 "$name" >&2
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

ours() { box exec "$name" -- true </dev/null; }
theirs() { ssh_box box true </dev/null; }
bench_pair 15 ours -- theirs
bench_say 'exec of true' 'ssh, a connection each'
theirs() { ssh_box kept true </dev/null; }
bench_pair 31 ours -- theirs
bench_say 'exec of true' 'ssh over a live ControlMaster' 3

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
