#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# After somebody's image was unpacked: what a box needs and the image does not have, by the image's own apt;
# then without what would look for a cloud, for partitions, or for the disk that the image once had.
. "$(dirname "$(readlink -f "$0")")/guest.sh"

has() {
	# shellcheck disable=SC2016 # dpkg-query's own variable
	chroot "$root" dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

# The box's user is the first of a system. Ubuntu's archives, not its disks, have one who would be in the way.
first=$(inside 'cat /etc/passwd' | awk -F: '$3 == 1000 {print $1}')
if [ "$first" = ubuntu ]; then
	chroot "$root" userdel --remove ubuntu
elif [ -n "$first" ]; then
	echo "the image has a user of its own, '$first', whose number 1000 is that of a box's user: take it out of the image" >&2
	exit 1
fi

lend_host
# A boot loader of the disk that the image once had would fail at each of its own upgrades, and at each of the
# kernel's, or take the place of the one that a box has.
# shellcheck disable=SC2016 # dpkg-query's own variables
mapfile -t loaders < <(chroot "$root" dpkg-query -W -f '${db:Status-Status} ${Package}\n' 'grub*' 'shim*' 2>/dev/null |
	sed -n 's/^installed //p')
if [ ${#loaders[@]} -gt 0 ]; then
	guest apt-get -q -y --allow-remove-essential purge -- "${loaders[@]}"
fi
inside 'rm -rf /boot/grub /boot/efi'

# Ubuntu calls the kernel of virtual machines otherwise, and has Docker's client in its server's package.
# shellcheck disable=SC2016 # the guest's own variable
id=$(inside '. /etc/os-release && echo "$ID"')
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

# Of what the image's maker told cloud-init and the network, nothing counts: what comes by name after the files of a
# box would win over them. Nor does what cloud-init did there, or got to read.
# An empty list of keys is none.
inside '
	rm -f /etc/cloud/cloud-init.disabled /etc/cloud/ds-identify.cfg /etc/netplan/*.yaml
	find /etc/cloud/cloud.cfg.d -name "*.cfg" ! -name 05_logging.cfg ! -name 90-box.cfg -delete
	find /etc/systemd/network -mindepth 1 ! -name 10-box.network -delete
	rm -rf /var/lib/cloud/*
	find /root -path "*/.ssh/authorized_keys" -empty -delete'

# What would tell Ubuntu's servers of each box, or looks for hardware and hosts that no box has.
inside 'for unit; do
	[ ! -e "/usr/lib/systemd/system/$unit" ] || ln -sfn /dev/null "/etc/systemd/system/$unit"
done' apport.service apport-autoreport.path apport-autoreport.timer fwupd-refresh.timer iscsid.socket \
	lxd-agent.service motd-news.timer multipathd.service multipathd.socket open-iscsi.service pollinate.service \
	secureboot-db.service ua-timer.timer ubuntu-advantage.service unattended-upgrades.service \
	update-notifier-download.timer update-notifier-motd.timer

# The boot loader follows these links. Debian has them there, others in /boot or nowhere; from here on each new
# kernel sets them.
inside 'printf "%s\n" "do_symlinks = yes" "image_dest = /" "link_in_boot = no" >/etc/kernel-img.conf'
kernel=$(inside 'cd / && printf "%s\n" boot/vmlinuz-*' | sort -V | tail -n 1)
version=${kernel#boot/vmlinuz-}
inside 'test -e "/$1"' "$kernel" || { echo 'the image has no kernel' >&2 && exit 1; }
guest update-initramfs -c -k "$version"
inside 'ln -sfn "$1" /vmlinuz; ln -sfn "boot/initrd.img-$2" /initrd.img' "$kernel" "$version"
