#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# micro-guest.sh OUT AGENT [PROGRAM...]: an initramfs with busybox, the guest agent and the few modules it
# needs, for QEMU to boot with a kernel of /boot in a few seconds; and these programs of the machine with
# their libraries, in place of busybox's. Prints the kernel's path. Exits 77 with the reason when something
# of the machine is missing.
set -eu
out=$1 agent=$2
shift 2

skip() { echo "skipped: $*" >&2; exit 77; }

busybox=$(command -v busybox) || skip "no busybox; install busybox-static"
kernel=
for k in /boot/vmlinuz-*; do
	[ ! -r "$k" ] || [ ! -d "/lib/modules/${k#/boot/vmlinuz-}" ] || kernel=$k
done
[ -n "$kernel" ] || skip "no kernel in /boot with its modules; install linux-image-cloud-amd64"
version=${kernel#/boot/vmlinuz-}
command -v cpio >/dev/null || skip "no cpio"

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
mkdir -p "$root/bin" "$root/dev" "$root/proc" "$root/sys" "$root/etc/ssh" "$root/run" "$root/tmp" "$root/root" \
	"$root/home/dev" "$root/usr/lib/box" "$root/usr/bin" "$root/sbin" "$root/mnt" "$root/modules" "$root/var/lib"
cp "$busybox" "$root/bin/busybox"
cp "$agent" "$root/usr/lib/box/box-agent"
"$busybox" --list | while read -r applet; do
	[ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
done

for program; do
	path=$(command -v "$program") || skip "no $program"
	rm -f "$root/bin/$program"
	cp "$path" "$root/bin/"
	ldd "$path" | grep -oE '/[^ ]+' | while read -r library; do
		mkdir -p "$root${library%/*}"
		cp -L "$library" "$root$library"
	done
done

# In the order in which they must be loaded.
for module in virtio_pci virtio_console virtio_blk virtio_net; do
	modprobe -S "$version" --show-depends "$module"
done | while read -r verb path _; do
	[ "$verb" != insmod ] || [ -e "$root/modules/${path##*/}" ] || {
		cp "$path" "$root/modules/"
		echo "insmod /modules/${path##*/}" >>"$root/modules/load"
	}
done

cat >"$root/etc/passwd" <<'END'
root:x:0:0:root:/root:/bin/sh
dev:x:1000:1000:dev:/home/dev:/bin/sh
END
cat >"$root/etc/group" <<'END'
root:x:0:
tty:x:5:
wheel:x:10:dev
dev:x:1000:
END
cat >"$root/etc/profile" <<'END'
export FROM_PROFILE=yes
echo "a profile that talks"
END
echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
echo micro >"$root/etc/hostname"

cat >"$root/init" <<'END'
#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts
mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /dev/pts
mount -t tmpfs run /run
chown 1000:1000 /home/dev
ip link set lo up
hostname micro
. /modules/load
[ ! -b /dev/vda ] || mount -t ext4 /dev/vda /mnt
/usr/lib/box/box-agent identity --boot && echo "identity: done"
while :; do
	/usr/lib/box/box-agent serve
	echo "agent ended: $?"
done
END
chmod 755 "$root/init"
(cd "$root" && find . | cpio --quiet -o -H newc) | gzip -1 >"$out"
echo "$kernel"
