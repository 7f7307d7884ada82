#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# life.sh PACKAGE NEWER [tour]: run by debian.sh on the lab's host in a mount namespace of its own, where
# /usr and dpkg's records are overlays: what is installed is seen here alone. /etc, /run and libvirt's folders
# are the lab's, and so is libvirtd. Nothing of the build tree is used.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../vm/bare.sh"
. "$(dirname "$0")/tour.sh"
[ -n "${BOX_LAB_ID:-}" ] || fail 'this is no lab'
package=$1
newer=$2
tour=${3:-}
lab_root=/var/lib/box-lab/$BOX_LAB
unset BOX_LIBEXEC BOX_DATA BOX_BUILD
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export DEBIAN_FRONTEND=noninteractive

make_scratch
mount -t tmpfs tmpfs "$scratch"
on_exit umount -l "$scratch"
for folder in /usr /var/lib/dpkg /var/cache /var/log /var/lib/systemd; do
	upper=$scratch/${folder//\//_}
	mkdir -p "$upper/new" "$upper/work"
	mount -t overlay overlay -o "lowerdir=$folder,upperdir=$upper/new,workdir=$upper/work" "$folder"
done

hook=/etc/libvirt/hooks/qemu.d/box
pool=/var/lib/libvirt/images/box

# All that a package and a host that is set up could leave: files, objects of libvirt, tables. Not the folders
# that libvirt makes for any network or pool and keeps, nor what this test makes systemd-analyze do.
everything() {
	find /usr /etc /run /var/lib -xdev \( -path /var/lib/dpkg -o -path /var/lib/box-lab -o -path /run/lock \
		-o -path '/run/libvirt/*' -o -path /run/systemd \) -prune -o -print 2>/dev/null |
		grep -vxE '/etc/ld.so.cache|/etc/libvirt/(qemu(/networks)?|storage)(/autostart)?|/var/lib/libvirt/dnsmasq' |
		sed 's/^/file /'
	find /var/lib/libvirt -name '*box*' | sed 's/^/named /'
	find /var/lib/dpkg/info -name 'box.*' | sed 's/^/dpkg /'
	virsh -q net-list --all --name | sed 's/^/net /'
	virsh -q pool-list --all --name | sed 's/^/pool /'
	nft list tables | sed 's/^/nft /'
	ip -br link show type bridge | sed 's/ .*//; s/^/bridge /'
}

dpkg_run() {
	dpkg "$@" </dev/null >"$scratch/dpkg.log" 2>&1 || {
		cat "$scratch/dpkg.log" >&2
		fail "dpkg $*"
	}
}

# assert_nothing_left WHEN
assert_nothing_left() {
	assert_equal '' "$(comm -13 "$scratch/before" <(everything | sort -u))" "left $1"
	assert_equal '' "$(comm -23 "$scratch/before" <(everything | sort -u))" "missing $1"
}

# A new hook is found by a libvirtd that starts after it. It is the lab's, outside of the overlays.
restart_libvirtd() {
	stop_libvirtd
	start_libvirtd
}
stop_libvirtd() {
	local pid
	pid=$(cat /run/libvirtd.pid)
	kill "$pid"
	wait_until 60 libvirtd_gone "$pid"
}
libvirtd_gone() {
	[ ! -e "/proc/$1" ]
}
start_libvirtd() {
	local holder
	holder=$(cat "$lab_root/holder")
	nsenter --mount="/proc/$holder/ns/mnt" --root="/proc/$holder/root" env -C / \
		libvirtd -d --timeout 0 </dev/null >/dev/null 2>&1
	wait_until 60 virsh -q version
}

tour_shell() {
	bash -c "$1"
}

set_up() {
	assert_status 0 box setup-host
	assert_contains "$out" 'this host is set up: boxes get addresses from'
	cmp -s "$hook" /usr/libexec/box/box-hook || fail 'the hook is not the program that was installed'
	nft list table inet box >/dev/null || fail 'no rules'
}

rmdir /etc/box 2>/dev/null || : # the lab makes it
everything | sort -u >"$scratch/before"

# Install: the program works, nothing is set up by it.
dpkg_run -i "$package"
assert_equal /usr/bin/box "$(command -v box)"
assert_status 0 box version
assert_status 0 box templates
assert_contains "$out" claude
assert_status 1 box new web
assert_contains "$err" 'run: box setup-host'
if [ -e "$hook" ] || [ -e /etc/box/net.conf ]; then
	fail 'the package sets the host up by itself'
fi
man -w box box-new box-template >/dev/null || fail 'no manual'
man --warnings box-isolation 2>&1 >/dev/null | assert_silent "$(cat)" 'man box-isolation'
bash -c '. /usr/share/bash-completion/completions/box && complete -p box' >/dev/null

[ "$tour" != tour ] || tour

# Set up. AppArmor's profile of libvirtd is not in force in a lab; that it would let the hooks run, and that
# guests may have their disks where the pool is, is read from the profiles of this distribution.
set_up
restart_libvirtd
assert_status 0 box setup-host
assert_contains "$out" 'nothing to do'
grep -qE '^ */etc/libvirt/hooks/\*\* +r?m?ix,' /etc/apparmor.d/usr.sbin.libvirtd ||
	fail 'AppArmor would not let libvirtd run the hooks'
grep -qE '/var/lib/libvirt/images/|\*\*\.qcow2|/\*\*.img' /etc/apparmor.d/usr.lib.libvirt.virt-aa-helper ||
	fail 'AppArmor would not let virt-aa-helper read the disks'
systemd-analyze --man=no verify /usr/share/box/net/systemd/box-isolation.service >"$scratch/verify" 2>&1 ||
	fail "systemd does not take the unit: $(cat "$scratch/verify")"
assert_status 0 box list
box doctor >"$scratch/doctor" || :
assert_lacks "$(grep DIRTY "$scratch/doctor" || :)" hook
# Upgrade: hooks and rules are the new program's, nobody has to do anything, and what the administrator has is kept.
mkdir -p /etc/box/templates/own
echo 'user: admin' >/etc/box/templates/own/template.yaml
kept=$(sha256sum /etc/box/net.conf)
dpkg_run -i "$newer"
assert_equal "$kept" "$(sha256sum /etc/box/net.conf)" 'the configuration'
assert_equal 'user: admin' "$(cat /etc/box/templates/own/template.yaml)"
assert_equal admin "$(box templates --json | jq -r '.templates[] | select(.name == "own") | .user')"
assert_silent "$(grep -F 'not up to date' "$scratch/dpkg.log" || :)" 'upgrade'
for copy in "$hook" /etc/libvirt/hooks/network.d/box; do
	cmp -s "$copy" /usr/libexec/box/box-hook || fail "$copy is of the old version"
	[ "$(stat -c %a "$copy")" = 755 ] || fail "$copy has the wrong mode"
done
assert_status 0 "$hook" check
assert_status 0 box setup-host
assert_contains "$out" 'nothing to do'

# Remove: what isolates boxes stays, and works without the package.
dpkg_run -r box
assert_contains "$(cat "$scratch/dpkg.log")" 'stay isolated'
assert_equal 'user: admin' "$(cat /etc/box/templates/own/template.yaml)"
[ ! -e /usr/libexec/box ] || fail '/usr/libexec/box is still there'
[ -x "$hook" ] || fail 'the hooks went with the package'
nft delete table inet box
assert_status 1 "$hook" check
assert_status 0 "$hook" apply
assert_status 0 "$hook" check
virsh -q net-destroy boxnet
virsh -q net-start boxnet >/dev/null || fail 'boxnet does not start without the package'

# Purge with boxes: neither they nor what isolates them is taken.
touch "$pool/box-00000000-0000-0000-0000-000000000000-1.qcow2"
dpkg_run --purge box
assert_contains "$(cat "$scratch/dpkg.log")" 'there are boxes'
assert_status 0 "$hook" check
if [ ! -e /etc/box/net.conf ] || [ ! -d "$pool" ]; then
	fail 'purge took what boxes need'
fi
rm "$pool"/box-*

# Installed again, it goes on where it was; purged without teardown, nothing is left.
dpkg_run -i "$package"
assert_status 0 box setup-host
dpkg_run --purge box
assert_nothing_left 'after a purge of a host that was set up'

# As the manual has it: teardown, then purge.
dpkg_run -i "$package"
set_up
assert_status 0 box teardown-host --force
assert_contains "$out" 'nothing of box is left on this host'
dpkg_run --purge box
assert_nothing_left 'after teardown and purge'

# With a box and images: they go only when that is asked for, and then all of it goes.
dpkg_run -i "$package"
set_up
bare_pool
bare_box kept >/dev/null
assert_status 2 box teardown-host --purge --no-input
virsh -q dominfo kept >/dev/null || fail 'a question that nobody answered took a box'
assert_status 0 box teardown-host --purge --force
assert_contains "$out" 'nothing of box is left on this host'
assert_silent "$(virsh -q list --all --name | grep -x kept || :)" 'the box'
assert_silent "$(find /run/box /var/lib/libvirt/images/box /etc/box 2>/dev/null)" 'folders'
assert_silent "$(nft list tables | grep -w box || :)" 'tables'
dpkg_run --purge box
assert_nothing_left 'after teardown with its boxes, and purge'

# Where libvirt does not run: also nothing.
dpkg_run -i "$package"
set_up
virsh -q net-destroy boxnet
virsh -q pool-destroy box
stop_libvirtd
dpkg_run -i "$newer"
assert_contains "$(cat "$scratch/dpkg.log")" 'run: box setup-host'
cmp -s "$hook" /usr/libexec/box/box-hook || fail 'the hook is of the old version'
dpkg_run --purge box
start_libvirtd
assert_nothing_left 'after a purge without libvirtd'
echo "installed, set up, upgraded, removed, purged: nothing is left"
