#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Warm images: a box that starts from memory is a box like any other, and nobody's twin; what does not fit or is
# broken ends in a boot with one warning; what is cut off leaves nothing.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_root
require_command jq python3 virsh
a=warm-a-$$
b=warm-b-$$
box() { lab_run box "$@"; }
in_a() { lab_run box exec --user root "$a" -- "$@"; }
in_b() { lab_run box exec --user root "$b" -- "$@"; }
volumes() { lab_run virsh -q vol-list box | awk '{ print $1 }' | sort; }
on_exit lab_run box rm --force "$a" "$b"

# Made once; then it is there.
assert_status 0 box image warm blank
assert_status 0 box image warm blank
assert_contains "$out" '(was there)'
warm=${out#blank: }
warm=${warm%.qcow2 *}
before=$(volumes)
for suffix in qcow2 mem json; do
	assert_contains "$before" "$warm.$suffix"
done
assert_lacks "$(lab_run box list --json)" warm-blank
memory=/var/lib/libvirt/images/box/$warm.mem
# what follows the header: no byte of it is ever written
stream() { lab_run sh -c "tail -c +100000 $memory | sha256sum"; }
untouched=$(stream)

# Two siblings from one memory.
assert_status 0 box new "$a" --timing
assert_contains "$err" 'box: timing wake.restore'
assert_contains "$err" 'box: timing wake.adopt'
assert_contains "$err" 'box: timing adopt.identity.ssh-host-keys'
assert_lacks "$err" 'it could not start'
assert_status 0 box new "$b"
assert_equal "$untouched" "$(stream)"

# They agree on when they were booted, so they are siblings indeed; and in nothing else.
cat_both() {
	assert_status 0 in_a "$@"
	of_a=$out
	assert_status 0 in_b "$@"
	of_b=$out
	[ -n "$of_a" ] || fail "nothing from: $*"
}
cat_both cat /proc/sys/kernel/random/boot_id
assert_equal "$of_a" "$of_b" 'one boot'
differ() {
	cat_both "$@"
	[ "$of_a" != "$of_b" ] || fail "the same in both: $*: $of_a"
}
differ head -c 32 /dev/urandom
differ hostname
differ cat /etc/hostname
differ cat /etc/machine-id
differ cat /var/lib/cloud/data/instance-id
differ cat /etc/ssh/ssh_host_ed25519_key.pub
differ sha256sum /var/lib/systemd/random-seed
differ cat /var/lib/box/identity
differ sh -c 'cat /sys/class/net/e*/address'
differ sh -c 'ip -4 -o addr show scope global | sed "s/.*inet \([0-9.]*\).*/\1/"'
differ sh -c 'rm -f /tmp/k && ssh-keygen -q -t ed25519 -N "" -f /tmp/k && cat /tmp/k.pub'
for name in "$a" "$b"; do
	assert_equal "$name" "$(lab_run box exec "$name" -- hostname)"
	assert_contains "$(box info "$name")" 'its own, verified'
	info=$(lab_run box list --json | jq -r ".boxes[] | select(.name == \"$name\") | .ipv4")
	assert_contains "$(lab_run box exec "$name" -- ip -4 -o addr)" " $info/"
	assert_contains "$(lab_run box exec "$name" -- curl -sS -m 20 http://example.test/)" 'hello from wan'
	# the clock is the host's, not that of the saved memory
	now=$(date +%s)
	then=$(lab_run box exec "$name" -- date +%s)
	[ $((now - then)) -lt 60 ] || fail "the clock is behind: $then, $now"
	[ $((then - now)) -lt 60 ] || fail "the clock is ahead: $then, $now"
done

wan=$(in_a sh -c 'getent ahostsv4 example.test | sed "s/ .*//;q"')

# What is written into one's memory is not in the other, nor in what is made after it. The host reads all of it: neither
# a file nor a page that a guest has forgotten.
# in_memory BOX TEXT: status 0 if it is there, 1 if not, others: it could not be read
in_memory() {
	python3 - "$(lab_run cat "/run/libvirt/qemu/$1.pid")" "$2" <<'END'
import sys
pid, text = sys.argv[1], sys.argv[2].encode()
step, seen, found = 1 << 26, 0, False
with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
    for line in maps:
        bounds, flags = line.split()[:2]
        begin, end = (int(x, 16) for x in bounds.split("-"))
        if flags == "rw-p" and end - begin >= 1 << 28:  # the guest's
            for at in range(begin, end, step):
                memory.seek(at)
                found = found or text in memory.read(min(step, end - at))
            seen += end - begin
sys.exit(2 if seen < 1 << 28 else 0 if found else 1)
END
}
# it is spelt so that only the file has it, not the command
assert_status 0 in_a sh -c 'printf "%s-of-%s\n" the-secret "$1" >/dev/shm/secret' sh "$a"
assert_status 1 in_b cat /dev/shm/secret
assert_status 0 in_memory "$a" "the-secret-of-$a"
assert_status 1 in_memory "$b" "the-secret-of-$a"
# as whom both were booted is still in it, so it was read
assert_status 0 in_memory "$b" warm-blank-1
assert_equal "$untouched" "$(stream)"

# One is restarted: it boots from its own disk, as whom it was.
id=$(in_a cat /etc/machine-id)
key=$(in_a cat /etc/ssh/ssh_host_ed25519_key.pub)
assert_status 0 box restart "$a"
assert_equal "$id" "$(in_a cat /etc/machine-id)"
assert_equal "$key" "$(in_a cat /etc/ssh/ssh_host_ed25519_key.pub)"
assert_equal "$a" "$(in_a hostname)"
assert_status 0 box rm --force "$a" "$b"

# A larger disk grows while it runs.
assert_status 0 box new "$a" --disk 24GiB --timing
assert_contains "$err" 'timing wake.grow'
assert_equal 25769803776 "$(in_a lsblk -bdno SIZE /dev/vda)"
[ "$(in_a df --output=size -B1 / | tail -n 1)" -gt 23622320128 ] || fail 'the file system did not grow'
assert_status 0 box rm --force "$a"

# run
assert_status 7 lab_run box run --timing -- sh -c 'hostname; exit 7'
assert_contains "$err" 'timing wake.restore'
assert_equal "$before" "$(volumes)"

# Cut off at each step: a kill leaves nothing after the next command. Between restoring and the new identity it is
# still the saved machine, and mute.
for step in restore adopt grow; do
	BOX_FAULT=wake.$step:kill assert_status 137 lab_run box new "$a"
	if [ "$step" = restore ]; then
		assert_contains "$(in_a hostname)" warm-blank
		# not even the gateway answers it
		assert_status 7 in_a curl -sS -m 20 --resolve example.test:80:"$wan" http://example.test/
		assert_contains "$err" 'Could not connect'
		assert_contains "$(in_a ip neigh show)" FAILED
	else
		assert_equal "$a" "$(in_a hostname)"
		assert_status 0 in_a curl -sS -m 20 --resolve example.test:80:"$wan" http://example.test/
	fi
	assert_status 1 box start nosuch
	assert_contains "$err" "removed the half-made box '$a'"
	assert_equal "$before" "$(volumes)" "killed at wake.$step"
done

assert_equal "$untouched" "$(stream)"
