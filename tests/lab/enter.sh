# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# "lab run": become CMD inside the lab. No process of the lab's stays between the caller and CMD, so
# that streams, signals, exit status and process id are CMD's own.

# kvm or tcg. A device node is no proof: a nested or emulated host may offer /dev/kvm and not be able to
# run a guest. Wanted: the processor's flag, and sixteen bytes of guest code that really run.
lab_accel() {
	if [ ! -e "$LAB_STATE/accel" ]; then
		if kvm_runs; then echo kvm; else echo tcg; fi >"$LAB_STATE/accel"
	fi
	cat "$LAB_STATE/accel"
}

kvm_runs() {
	local status=0
	[ -w /dev/kvm ] || return 1
	grep -qE '^flags.*\b(vmx|svm)\b' /proc/cpuinfo || return 1
	# A boot sector: mov al,0x10; out 0xf4,al; hlt. QEMU's debug-exit device makes that status 33.
	{
		printf '\260\020\346\364\364\353\375'
		head -c 503 /dev/zero
		printf '\125\252'
	} >"$LAB_STATE/tmp/kvm-probe.img"
	timeout -k 1 20 qemu-system-x86_64 -accel kvm -cpu host -m 32 -display none -nodefaults \
		-no-reboot -device isa-debug-exit,iobase=0xf4 \
		-drive "file=$LAB_STATE/tmp/kvm-probe.img,format=raw,if=ide" </dev/null >/dev/null 2>&1 ||
		status=$?
	[ "$status" = 33 ]
}

# Helper programs live in several folders of the build tree; BOX_LIBEXEC is one folder.
lab_libexec() {
	local program
	for program in cli/box-main net/box-hook mint/box-mint agent/box-agent probe/box-probe vmm/box-copy; do
		ln -sfn "$LAB_BUILD/$program" "$LAB_STATE/libexec/.new.$$"
		mv -fT "$LAB_STATE/libexec/.new.$$" "$LAB_STATE/libexec/${program##*/}"
	done
}

# lab_enter REGISTRY CMD...: does not return. With REGISTRY non-empty CMD stays in the machine's own
# network and has the machine's resolver, in a mount namespace derived from the lab's.
lab_enter() {
	local registry=$1 holder enter
	shift
	holder=$(host_holder) || die "the lab '$LAB' is not up"
	mkdir -p "$LAB_CACHE/xdg" "$LAB_CACHE/libguestfs"
	lab_libexec
	export BOX_LAB=$LAB BOX_BUILD=$LAB_BUILD BOX_CACHE=$LAB_CACHE
	export PATH=$LAB_BUILD/cli:$PATH
	export LIBVIRT_DEFAULT_URI=qemu:///system
	export BOX_LIBEXEC=$LAB_STATE/libexec BOX_DATA=$LAB_ROOT BOX_DNS=$WAN_DNS
	export XDG_CACHE_HOME=$LAB_CACHE/xdg LIBGUESTFS_CACHEDIR=$LAB_CACHE/libguestfs
	export TMPDIR=$LAB_STATE/tmp
	if [ -z "${BOX_ACCEL:-}" ] && [ "$(lab_accel)" = tcg ]; then
		export BOX_ACCEL=tcg
	fi
	enter=(nsenter --mount="/proc/$holder/ns/mnt" --root="/proc/$holder/root")
	if [ -n "$registry" ]; then
		[ "$(stat -Lc %i /proc/self/ns/net)" != "$(stat -Lc %i "/run/netns/$LAB-hv")" ] ||
			die "run --registry does not work from inside the lab: its network has no registry"
		# shellcheck disable=SC2016 # expanded by that sh
		enter+=(-- unshare --mount --propagation private sh -c
			'mount --bind "$0" /etc/resolv.conf && exec "$@"' "$LAB_STATE/resolv.conf.machine")
	else
		enter+=(--net="/run/netns/$LAB-hv" --)
	fi
	exec "${enter[@]}" env -C "$PWD" -- "$@"
}
