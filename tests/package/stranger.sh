#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# stranger.sh PACKAGE: what somebody meets who has a bare Debian 12 and this package. Run by debian.sh, in whose lab's
# network it goes on.
#
# The system is what mmdebstrap calls minbase: what is essential, and apt. It is bootstrapped once and kept, with apt's
# lists and what apt fetches for the package; each run has it under an overlay. There apt installs the package with all
# that it recommends, then the README's tour is done with that, with libvirt and QEMU and configuration as Debian has
# them, and apt purges it. Two things are not as on a real machine: nobody starts daemons, so this does; and the
# network is the lab's, but for the mint.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../platform/bootstrap.sh"
. "$(dirname "$0")/tour.sh"
require_root
require_command mmdebstrap unshare apt-get apt-config dpkg-deb ps
package=$1
lab=$tests_dir/lab/lab
lab_cache=${BOX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/box-lab}
cache=$lab_cache/package

make_scratch
key=$({
	dpkg-deb -f "$package" Depends Recommends
	cat "$tests_dir/platform/bootstrap.sh"
} | sha256sum)
system=$cache/debian12-${key:0:16}
mkdir -p "$cache"
if [ ! -d "$system" ]; then
	rm -rf "$cache"/debian12-*
	cp "$package" "$scratch/box.deb"
	# shellcheck disable=SC2016 # expanded by mmdebstrap's shell
	system_bootstrap bookworm "$system" --skip=cleanup/apt \
		--customize-hook="copy-in $scratch/box.deb /tmp" \
		--customize-hook='chroot "$1" apt-get -q -y -o APT::Install-Recommends=true --download-only install /tmp/box.deb' \
		--customize-hook='rm "$1/tmp/box.deb"'
fi

# The overlay is on the cache's file system: it holds an image, which a /tmp in memory may have no room for.
top=$cache/stranger
on_exit rm -rf --one-file-system "$top"
rm -rf --one-file-system "$top"
mkdir -p "$top/upper/root" "$top/work" "$top/root" "$lab_cache/xdg/box/images"
cp "$package" "$top/upper/root/"
chmod 0700 "$top/upper/root"
deb=./$(basename "$package")
accel=$(lab_run sh -c 'echo "${BOX_ACCEL:-}"')
dns=$(lab_run sh -c 'echo "$BOX_DNS"')

"$lab" net -- unshare --mount --pid --uts --fork --kill-child --propagation private \
	bash "$tests_dir/package/system.sh" "$system" "$top" "$lab_cache/xdg/box/images" "$dns" "$accel" \
	</dev/null >"$scratch/system.log" 2>&1 &
unshare_pid=$!
disown # its end by a signal is no news
on_exit kill -KILL "$unshare_pid" # which ignores gentler signals; its child goes with it
wait_until 30 grep -qx ready "$top/state"
holder=$(ps -o pid= --ppid "$unshare_pid" | tr -d ' ')
[ -n "$holder" ] || fail "the system did not start: $(cat "$scratch/system.log")"

# Whoever enters that mount namespace, as libvirt does, must be in that system and not in the machine's folders.
assert_equal bare "$(nsenter -t "$holder" --mount cat /etc/hostname)" 'the root of the mount namespace'

inside() {
	nsenter -t "$holder" --mount --pid --uts --net -- env -i -C /root \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb \
		DEBIAN_FRONTEND=noninteractive BOX_DNS="$dns" ${accel:+BOX_ACCEL="$accel"} "$@"
}

# In the machine's own network, with its resolver: for the mint alone, which makes nothing in the network.
online() {
	# shellcheck disable=SC2016 # expanded by that sh
	nsenter -t "$holder" --mount --pid --uts -- env -i -C /root \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 ${accel:+BOX_ACCEL="$accel"} \
		unshare --mount --propagation private sh -c 'mount --bind /run/resolv.conf.machine /etc/resolv.conf && exec "$@"' \
		sh "$@"
}

apt_run() {
	inside apt-get -q -y "$@" </dev/null >"$scratch/apt.log" 2>&1 || {
		tail -n 40 "$scratch/apt.log" >&2
		fail "apt-get $*"
	}
}

tour_shell() {
	case $1 in
	'box image mint '*) online bash -c "$1" ;;
	*) inside bash -c "$1" ;;
	esac
}

libvirtd_answers() {
	inside virsh -q version
}
libvirtd_gone() {
	! inside test -e "/proc/$1"
}
restart_libvirtd() {
	local pid
	if pid=$(inside cat /run/libvirtd.pid 2>/dev/null); then
		inside kill "$pid"
		wait_until 60 libvirtd_gone "$pid"
	fi
	inside libvirtd -d --timeout 0 </dev/null >>"$scratch/libvirtd.log" 2>&1
	wait_until 60 libvirtd_answers
}

# What the host is: each file with its kind, mode, owner and target, what is in the files of /etc, accounts, and what
# is in libvirt and the kernel. Not what apt and dpkg keep of their own doings, and not libvirt's: its logs, and that
# the host forwards (box-teardown-host(1)).
everything() {
	# shellcheck disable=SC2016 # expanded in there
	inside bash -euc '
		find / /run -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /var/lib/dpkg -o -path /var/lib/apt \
			-o -path /var/cache/apt -o -path /var/log \) -prune -o -printf "file %p %y %m %U:%G %l\n"
		find /etc -type f -exec sha256sum {} + | sed "s/^/content /"
		find /var/log -path /var/log/libvirt -prune -o -printf "log %p %y %m %U:%G\n"
		ls /var/lib/dpkg/info | sed "s/^/dpkg /"
		dpkg-query -W -f "package \${Package} \${db:Status-Abbrev}\n"
		getent passwd | sed "s/^/user /"
		getent group | sed "s/^/group /"
		for kind in net pool nwfilter secret; do virsh -q "$kind-list" | sed "s/^/$kind /"; done
		virsh -q list --all --name | sed "s/^/domain /"
		ls /sys/class/net | sed "s/^/link /"
		ls /etc/systemd/system /run/systemd/system 2>/dev/null | sed "s/^/unit /"
		ps -e -o comm= | sed "s/^/process /"'
	nsenter -t "$holder" --net nft list ruleset | sed 's/^/nft /'
}
host_now() {
	everything | sort -u >"$scratch/$1"
}

# What others make when they are first asked for something: the user's images; folders that libvirt makes for any
# network or pool; the appliance of libguestfs, which all its programs share.
others_own='/root/\.cache/box/.*|/etc/libvirt/storage(/autostart)?|/var/lib/libvirt/dnsmasq|/var/tmp/\.guestfs-0(/.*)?'

# assert_as_before WHEN
assert_as_before() {
	host_now after
	assert_equal '' "$(comm -13 "$scratch/before" "$scratch/after" | grep -vE "^file ($others_own) " || :)" "left $1"
	assert_equal '' "$(comm -23 "$scratch/before" "$scratch/after")" "missing $1"
}

# All that apt would install with the package comes first, so that what is compared is the package's own doing.
install_others() {
	local others
	others=$(inside apt-get -s install "$deb" | awk '$1 == "Inst" && $2 != "box" {print $2}')
	[ -n "$others" ] || fail 'the package wants nothing else'
	# shellcheck disable=SC2086 # a list of words
	apt_run install --no-install-recommends $others
	inside virtlogd -d </dev/null >"$scratch/virtlogd.log" 2>&1
	restart_libvirtd
}

install_others
host_now before
apt_run install "$deb"
assert_contains "$(cat "$scratch/apt.log")" '0 upgraded, 1 newly installed'
echo "a bare Debian 12: $(inside dpkg -l | grep -c ^ii) packages in all"
tour
apt_run purge box
assert_as_before 'after the tour, teardown and purge'
apt_run install "$deb"
inside box setup-host --quiet >"$scratch/setup.log" 2>&1
inside mkdir -p /etc/box/templates/own
restart_libvirtd
apt_run purge box
assert_as_before 'after a purge of a host that was set up'
echo "installed on a bare Debian 12, used as the README has it, purged in $SECONDS s: nothing of box is left"
