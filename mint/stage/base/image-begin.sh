#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# After somebody's image was unpacked: what a box needs and the image does not have, by the image's own apt;
# then without what would look for a cloud, for partitions, or for the disk that the image once had.
. "$(dirname "$(readlink -f "$0")")/guest.sh"

has() {
	# shellcheck disable=SC2016 # dpkg-query's own variable
	chroot "$root" dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

lend_host
# Ubuntu calls the kernel of virtual machines otherwise, and has Docker's client in its server's package.
# shellcheck disable=SC1091 # the guest's
id=$(. "$root/etc/os-release" && echo "$ID")
missing=()
while read -r package; do
	if [ "$id" = ubuntu ]; then
		case $package in
		linux-image-cloud-amd64) package=linux-image-virtual ;;
		docker-cli) continue ;;
		esac
	fi
	has "$package" || missing+=("$package")
done <"$BOX_MINT_WORK/include"
if [ ${#missing[@]} -gt 0 ]; then
	echo "bake: apt-get install ${missing[*]}" >&2
	guest apt-get -q update
	guest apt-get -q -y --no-install-recommends -o Dpkg::Options::=--force-unsafe-io \
		-o Dpkg::Options::=--force-confold install -- "${missing[@]}"
fi
rm -f "$root"/etc/cloud/cloud-init.disabled "$root"/etc/cloud/cloud.cfg.d/*azure* "$root"/etc/netplan/*.yaml
rm -f "$root"/etc/systemd/network/*cloud*

# The boot loader follows these links. Debian has them there, others in /boot or nowhere.
newest() {
	(cd "$root" && printf '%s\n' boot/"$1"-* | sort -V | tail -n 1)
}
kernel=$(newest vmlinuz)
version=${kernel#boot/vmlinuz-}
[ -e "$root/$kernel" ] || { echo 'the image has no kernel' >&2 && exit 1; }
guest update-initramfs -c -k "$version"
ln -sfn "$kernel" "$root/vmlinuz"
ln -sfn "boot/initrd.img-$version" "$root/initrd.img"
