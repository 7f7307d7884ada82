#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# system.sh SYSTEM TOP CACHE DNS ACCEL: run by stranger.sh as process 1 of new namespaces: arrange the folders of a
# booted system over that root file system (TOP has upper, work and root of an overlay), say "ready" in TOP/state,
# and stay. CACHE is where the lab keeps images: the bases in it, which come from a mirror, need not be fetched again.
set -eu
system=$1
top=$2
cache=$3
dns=$4
accel=$5

mount -t overlay overlay -o "lowerdir=$system,upperdir=$top/upper,workdir=$top/work" "$top/root"
cd "$top/root"
mount -t proc proc proc
mount -t sysfs sysfs sys
# Nodes of its own: libvirt changes the owner of those that a guest has.
mount -t tmpfs -o mode=755 tmpfs dev
mkdir dev/net dev/pts dev/shm
while read -r name major minor; do
	mknod -m 666 "dev/$name" c "$major" "$minor"
done <<-END
	null 1 3
	zero 1 5
	full 1 7
	random 1 8
	urandom 1 9
	tty 5 0
	net/tun 10 200
END
[ "$accel" = tcg ] || mknod -m 666 dev/kvm c 10 232 # one that does not work is worse than none
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=755 tmpfs run
mkdir -m 1777 run/lock
cat /etc/resolv.conf >run/resolv.conf.machine
echo "nameserver $dns" >etc/resolv.conf
echo bare >etc/hostname
hostname bare
echo '127.0.0.1 localhost bare' >etc/hosts
# Without it dpkg waits for the disk at each file, and what is made here is thrown away.
echo force-unsafe-io >etc/dpkg/dpkg.cfg.d/unsafe
mkdir -p root/.cache/shared root/.cache/box/images
mount --bind "$cache" root/.cache/shared
for base in root/.cache/shared/base-*; do
	[ -e "$base" ] || continue
	ln -s "../../shared/${base##*/}" root/.cache/box/images
done
# Not chroot: libvirt enters a guest's mount namespace anew, and would come out in the machine's own folders.
mkdir old
exec 3>"$top/state"
pivot_root . old
cd /
umount -l old
rmdir old
echo ready >&3
# Process 1 collects what others leave, as a shell does by itself.
exec bash -c 'exec 3>&-; while :; do sleep 1000 & wait "$!"; done'
