# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# What "box" itself makes on the lab's host: the network, rules and hooks, and the golden image of
# "blank".
#
# Golden images are kept in $LAB_CACHE/pool between labs. Their names hold the digest of their recipe;
# the digest of their content is beside each and is checked before it is used. "box image mint" finds
# them in the pool and, if they are what the recipe wants, has nothing to do.

# The build's box knows this command.
box_knows() {
	[ -x "$LAB_BUILD/cli/box" ] && "$LAB_BUILD/cli/box" help "$1" >/dev/null 2>&1
}

lab_provision() {
	if [ -e "$LAB_STATE/provisioned" ]; then
		return 0
	fi
	if ! box_knows setup-host || ! box_knows image; then
		say "the box in $LAB_BUILD/cli has no setup-host or image yet: nothing is provisioned"
		return 0
	fi
	(lab_enter '' box setup-host) </dev/null >&2
	host_stop_libvirtd TERM # libvirtd looks for hooks when it starts
	host_start_libvirtd
	pool_restore
	(lab_enter registry box image mint blank) </dev/null >&2
	pool_save
	: >"$LAB_STATE/provisioned"
}

# The pool's folder as seen from outside the lab.
POOL=$LAB_STATE/var/lib/libvirt/images/box

pool_restore() {
	local sum name
	[ -d "$LAB_CACHE/pool" ] && [ -d "$POOL" ] || return 0
	for sum in "$LAB_CACHE"/pool/*.sha256; do
		[ -e "$sum" ] || continue
		name=$(basename "$sum" .sha256)
		if (cd "$LAB_CACHE/pool" && sha256sum --quiet --strict -c "$name.sha256") >/dev/null 2>&1; then
			cp --reflink=auto --sparse=always "$LAB_CACHE/pool/$name" "$POOL/$name"
			chmod 0444 "$POOL/$name"
		else
			say "cached '$name' is damaged: removed"
			rm -f "$LAB_CACHE/pool/$name" "$sum"
		fi
	done
	host_enter virsh -q -c qemu:///system pool-refresh box >/dev/null
}

pool_save() {
	local file name
	mkdir -p "$LAB_CACHE/pool"
	for file in "$POOL"/base-* "$POOL"/golden-* "$POOL"/seed-[0-9a-f]*; do
		name=${file##*/}
		# what tests/vm/hollow.sh makes is no image
		[[ -e $file && $name != *-00000000000000ff.* ]] || continue
		[ ! -e "$LAB_CACHE/pool/$name.sha256" ] || continue
		cp --reflink=auto --sparse=always "$file" "$LAB_CACHE/pool/.new.$$"
		mv "$LAB_CACHE/pool/.new.$$" "$LAB_CACHE/pool/$name"
		(cd "$LAB_CACHE/pool" && sha256sum "$name" >".new.$$" && mv ".new.$$" "$name.sha256")
	done
}
