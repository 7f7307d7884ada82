#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The last of a base layer's bootstrap: units, software beside Debian's packages, clean-up, and the file
# system, made from the tree by mke2fs without any emulation.
#
#   BOX_MINT_IMAGE     the empty raw disk to fill
#   BOX_MINT_RELEASE   Debian's codename; "image": it was made from somebody's image
. "$(dirname "$(readlink -f "$0")")/guest.sh"

stage=$(dirname "$(readlink -f "$0")")
lines() {
	grep -v '^#' "$1"
}

lend_host
# Node.js is fetched meanwhile: the pipe says when it is there
if [ -p "$BOX_MINT_WORK/node.ready" ]; then
	read -r word <"$BOX_MINT_WORK/node.ready"
	[ "$word" = 'done' ]
	inside 'tar --extract --file - --directory / --no-same-owner --keep-directory-symlink' <"$BOX_MINT_WORK/node.tar"
fi
bake
lines "$stage/masked-units" | inside 'while read -r unit; do ln -sfn /dev/null "/etc/systemd/system/$unit"; done'
lines "$stage/masked-generators" | inside '
	mkdir -p /etc/systemd/system-generators
	while read -r generator; do ln -sfn /dev/null "/etc/systemd/system-generators/$generator"; done'
# a door to port 22 starts the server; no box needs it before
chroot "$root" systemctl --quiet disable ssh.service
chroot "$root" systemctl --quiet enable ssh.socket systemd-networkd.service systemd-resolved.service
inside 'rm -rf /etc/systemd/system/ssh*.wants'

# somebody's image keeps the sources that it has
if [ "$BOX_MINT_RELEASE" != image ]; then
	inside 'rm -f /etc/apt/sources.list; cat >/etc/apt/sources.list.d/debian.sources' <<X
Types: deb
URIs: http://deb.debian.org/debian
Suites: $BOX_MINT_RELEASE $BOX_MINT_RELEASE-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://deb.debian.org/debian-security
Suites: $BOX_MINT_RELEASE-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
X
fi
list_packages >"$BOX_MINT_WORK/packages"
clean
# systemd compares these with /usr to see whether it has to bring caches up to date; they are
inside 'touch -r /usr /etc/.updated /var/.updated'

# The mounts that the bootstrap needs inside (/proc, /sys, /dev) are left out by a bind that does not
# follow them. extlinux knows neither 64-bit block numbers nor checksums of metadata.
# uninit_bg lets a file system that grows in a box leave its tables of inodes for later.
view=$(mktemp -d)
trap 'umount "$view" && rmdir "$view"' EXIT
mount --bind "$root" "$view"
mke2fs -q -F -t ext4 -L box -m 1 -O '^64bit,^metadata_csum,^orphan_file,uninit_bg' \
	-E lazy_itable_init=1,nodiscard -d "$view" "$BOX_MINT_IMAGE"
# mke2fs makes no index of large folders; the check makes them
e2fsck -fyD "$BOX_MINT_IMAGE" >/dev/null
