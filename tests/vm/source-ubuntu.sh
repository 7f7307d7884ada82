#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A base made from a disk that looks like Ubuntu 24.04's: GPT, /boot and the ESP on partitions of their own, named by
# label in fstab, GRUB and shim, netplan, cloud-init told of other sources, a user 1000, services that phone home. Its
# packages are Debian's, as no other mirror answers where this is developed; os-release says ubuntu. What would be in
# a box's way is gone, and a box of it boots.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../platform/bootstrap.sh"
require_root
require_command jq mcopy mkfs.vfat mke2fs mmdebstrap sfdisk virsh
make_scratch
name=ubuntu$$
in_lab() { lab_run env XDG_CONFIG_HOME="$scratch/config" XDG_CACHE_HOME="$scratch/cache" "$@"; }

# ---- the disk, made once and kept ----

store=${BOX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/box-lab}/source

# What is in the way of a box, one file a line, with what Ubuntu has in it.
dress() {
	local root=$1
	sed -i -e 's/^ID=.*/ID=ubuntu/' -e 's/^VERSION_ID=.*/VERSION_ID="24.04"/' -e 's/^NAME=.*/NAME="Ubuntu"/' \
		"$root/usr/lib/os-release"
	cat >"$root/etc/fstab" <<-'END'
		LABEL=cloudimg-rootfs	/	 ext4	discard,commit=30,errors=remount-ro	0 1
		LABEL=BOOT	/boot	ext4	defaults	0 2
		LABEL=UEFI	/boot/efi	vfat	umask=0077	0 1
	END
	echo 'network: {version: 2, ethernets: {all: {match: {name: "en*"}, dhcp6: true}}}' \
		>"$root/etc/netplan/50-cloud-init.yaml"
	chmod 600 "$root/etc/netplan/50-cloud-init.yaml"
	echo 'datasource_list: [ Ec2, None ]' >"$root/etc/cloud/cloud.cfg.d/90_dpkg.cfg"
	echo 'datasource: {None: {metadata: {instance-id: installed}}}' >"$root/etc/cloud/cloud.cfg.d/99-installer.cfg"
	echo 'policy: disabled' >"$root/etc/cloud/ds-identify.cfg"
	touch "$root/etc/cloud/cloud-init.disabled"
	mkdir -p "$root/var/lib/cloud/seed/nocloud" "$root/root/.ssh" "$root/boot/grub"
	echo 'instance-id: seeded' >"$root/var/lib/cloud/seed/nocloud/meta-data"
	: >"$root/var/lib/cloud/seed/nocloud/user-data"
	: >"$root/root/.ssh/authorized_keys"
	echo 'do_symlinks = no' >"$root/etc/kernel-img.conf"
	printf '[Match]\nName=*\n[Network]\nDHCP=no\n' >"$root/etc/systemd/network/05-own.network"
	chroot "$root" useradd --create-home --uid 1000 ubuntu
	for unit in pollinate.service motd-news.timer; do
		printf '[Unit]\nDescription=%s\n' "$unit" >"$root/usr/lib/systemd/system/$unit"
	done
	rm -f "$root/vmlinuz" "$root/initrd.img"
	echo 'set root' >"$root/boot/grub/grub.cfg"
}

# file_system LABEL SECTOR MIB FOLDER: ext4 with what is in the folder, at that place of the disk
file_system() {
	mke2fs -q -F -t ext4 -L "$1" -d "$4" -E "offset=$(($2 * 512))" "$disk.new" "$3M"
}

make_disk() {
	local packages tree=$store/tree
	mkdir -p "$store"
	rm -rf "${store:?}"/*
	packages=$(sed -n '/recipe_base_packages\[\]/,/NULL/p' "$source_root/images/recipe.c" | grep -o '"[^"]*"' |
		tr -d '"' | paste -sd,)
	mkdir "$scratch/pack" "$scratch/pack/DEBIAN"
	printf '%s\n' 'Package: linux-image-virtual' 'Version: 1' 'Architecture: amd64' 'Maintainer: x <x@example.org>' \
		'Depends: linux-image-cloud-amd64' 'Description: the name that Ubuntu has for it' \
		>"$scratch/pack/DEBIAN/control"
	dpkg-deb -b "$scratch/pack" "$scratch/virtual.deb" >/dev/null
	# shellcheck disable=SC2016 # expanded by mmdebstrap's shell
	system_bootstrap trixie "$tree" --include="$packages,netplan.io,multipath-tools,unattended-upgrades" \
		--customize-hook='chroot "$1" apt-get -q -y install grub-pc grub-efi-amd64-signed shim-signed' \
		--customize-hook="copy-in $scratch/virtual.deb /tmp" \
		--customize-hook='chroot "$1" dpkg -i /tmp/virtual.deb && rm "$1/tmp/virtual.deb"'
	dress "$tree"
	mv "$tree/boot" "$store/boot"
	mkdir -p "$tree/boot" "$store/boot/efi"
	truncate -s 4G "$disk.new"
	sfdisk -q "$disk.new" <<-'END'
		label: gpt
		x14 : start=2048, size=8192, type=21686148-6449-6E6F-744E-656564454649
		x15 : start=10240, size=217088, type=C12A7328-F81F-11D2-BA4B-00A0C93EC93B
		x16 : start=227328, size=1048576, type=BC13C2FF-59E6-4262-A352-B275FD6F7172
		x1 : start=1275904, size=7081984
	END
	file_system BOOT 227328 512 "$store/boot"
	file_system cloudimg-rootfs 1275904 3456 "$tree"
	truncate -s 106M "$store/esp"
	mkfs.vfat -n UEFI "$store/esp" >/dev/null
	echo shim >"$scratch/bootx64.efi"
	mcopy -i "$store/esp" "$scratch/bootx64.efi" ::
	dd if="$store/esp" of="$disk.new" bs=1M seek=5 conv=notrunc,sparse status=none
	rm -rf "$tree" "${store:?}/boot" "$store/esp"
	mv "$disk.new" "$disk"
}
key=$(
	declare -f dress make_disk
	cat "$source_root/images/recipe.c"
)
key=$(sha256sum <<<"$key")
disk=$store/ubuntu-${key:0:16}.img
[ -e "$disk" ] || make_disk

# ---- the mint ----

mkdir -p "$scratch/config/box/templates/$name"
cat >"$scratch/config/box/templates/$name/template.yaml" <<-END
	user: ubuntu
	cpu: 1
	memory: 1GiB
	disk: 20GiB
	image: {file: $disk}
END
on_exit in_lab box image rm --force --quiet "$name"
assert_status 0 in_lab box image mint --timing "$name"
tree=$(echo "$scratch"/cache/box/images/base-image-*.tar)
tar -tf "$tree" | sed 's|^\./||' >"$scratch/names"
has() { grep -qxE "$1" "$scratch/names" || fail "the tree lacks $1"; }
lacks() { assert_silent "$(grep -xE "$1" "$scratch/names" || :)" 'in the tree'; }
has 'boot/vmlinuz-.+' # of a partition of its own
has vmlinuz
has etc/systemd/system/pollinate.service
lacks 'boot/(grub|efi)(/.*)?'
lacks 'etc/netplan/.*yaml'
lacks 'etc/cloud/(ds-identify.cfg|cloud-init.disabled|cloud.cfg.d/9(0_|9).*)'
lacks 'var/lib/cloud/.+'
lacks 'home/.+'
lacks 'root/.ssh/authorized_keys'
lacks 'etc/systemd/network/05-.*'
lacks 'usr/sbin/(grub-install|update-grub)'
assert_contains "$(tar -xOf "$tree" ./etc/kernel-img.conf)" 'do_symlinks = yes'
assert_contains "$(tar -xOf "$tree" ./etc/fstab)" '/dev/vda / ext4'

# ---- a box ----

on_exit lab_run box rm --force "$name"
assert_status 0 in_lab box new --cold --template "$name" "$name"
inside() { lab_run box exec --user root "$name" -- "$@"; }
assert_equal "$name" "$(inside hostname)"
assert_contains "$(lab_run box exec "$name" -- id)" 'uid=1000(ubuntu)'
assert_contains "$(inside cat /run/cloud-init/result.json)" NoCloud
assert_silent "$(inside dpkg --audit)" 'dpkg'
assert_contains "$(inside ip -4 -brief address)" 10.
assert_status 0 lab_run box rm --force "$name"

# Somebody's own disk: whom the box's user would displace is named.
cp --sparse=always "$disk" "$scratch/own.img"
offset=$((1275904 * 512))
debugfs -R 'dump /etc/passwd /dev/stdout' "$scratch/own.img?offset=$offset" 2>/dev/null |
	sed 's/^ubuntu:/maria:/' >"$scratch/passwd"
grep -q '^maria:' "$scratch/passwd" || fail 'no user 1000 on the disk'
debugfs -w -f - "$scratch/own.img?offset=$offset" >/dev/null 2>&1 <<-END
	rm /etc/passwd
	write $scratch/passwd /etc/passwd
END
sed -i "s|file: .*}|file: $scratch/own.img}|" "$scratch/config/box/templates/$name/template.yaml"
assert_status 1 in_lab box image mint "$name"
assert_contains "$err" "the image has a user of its own, 'maria'"
