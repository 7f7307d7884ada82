#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in the lab's new mount namespace: put the lab's folders in place, say so, then hold it open.
set -eu
state=$1
lab=$2
accel=$3

put() {
	mkdir -p "$state$1"
	mount --bind "$state$1" "$1"
}

# Names of the lab's namespaces, one by one: what tests add with "ip netns add" stays in here.
for name in hv wan lan; do
	: >"$state/run/netns/$lab-$name"
	mount --bind "/run/netns/$lab-$name" "$state/run/netns/$lab-$name"
done
put /var/lib/libvirt
mkdir -p "$state/var/log/libvirt/qemu" # virtlogd does not make it
put /var/log/libvirt
put /var/cache/libvirt
put /etc
umount -l /sys
mount -t sysfs sysfs /sys
mount --rbind "$state/run" /run
# /var/lock is /run/lock on Debian and Ubuntu; elsewhere it would be a folder of the machine's.
[ "$(readlink -f /var/lock)" = /run/lock ] || mount --bind /run/lock /var/lock
# A KVM that is there and cannot run a guest makes libvirt ask QEMU anew, for seconds, at every turn.
if [ "$accel" = tcg ] && [ -e /dev/kvm ]; then
	: >"$state/run/no-kvm"
	chmod 0 "$state/run/no-kvm"
	mount --bind "$state/run/no-kvm" /dev/kvm
fi
echo $$ >"$state/holder.new"
mv "$state/holder.new" "$state/holder"
exec sleep infinity
