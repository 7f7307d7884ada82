# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# The host under test: network namespace hv, and a private mount namespace in which /etc, /run,
# /var/lib/libvirt, /var/log/libvirt and /var/cache/libvirt are folders of the lab, and /sys is that of
# hv (libvirt reads /sys/class/net). /etc is a copy as a whole, so that what "box setup-host" writes
# (hooks, units, sysctl) stays in the lab too. Cgroups are not visible inside: libvirt would leave its
# groups behind on the machine.
#
# A small process, the holder, keeps the mount namespace alive; $LAB_STATE/holder has its pid.

host_copy_etc() {
	local etc=$LAB_STATE/etc
	cp -aT --one-file-system /etc "$etc"
	cat /etc/resolv.conf >"$LAB_STATE/resolv.conf.machine" # for "run --registry"
	rm -f "$etc/resolv.conf"
	echo "nameserver $WAN_DNS" >"$etc/resolv.conf"
	rm -rf "$etc/box" "$etc/libvirt/hooks" "$etc/libvirt/qemu" "$etc/libvirt/storage" \
		"$etc/libvirt/secrets" "$etc/libvirt/nwfilter"
	mkdir -p "$etc/box" "$etc/libvirt/hooks"
	mkdir -p "$LAB_STATE/var/lib/libvirt/images"
	chmod 0711 "$LAB_STATE/var/lib/libvirt/images"
	# No polkit and no AppArmor profiles of the machine: access is by the socket's group alone.
	cat >"$etc/libvirt/libvirtd.conf" <<-END
		unix_sock_group = "libvirt"
		unix_sock_ro_perms = "0777"
		unix_sock_rw_perms = "0770"
		auth_unix_ro = "none"
		auth_unix_rw = "none"
	END
	{
		echo 'security_driver = "none"'
		echo 'namespaces = []' # libvirt's own /dev for each QEMU cannot keep what mounts.sh hides
	} >"$etc/libvirt/qemu.conf"
}

# Start the holder: mounts.sh arranges the folders in a new mount namespace and stays as a sleeper.
host_mounts() {
	local tries=0
	setsid nsenter --net="/run/netns/$LAB-hv" unshare --mount --propagation private \
		sh "$LAB_DIR/mounts.sh" "$LAB_STATE" "$LAB" "$(lab_accel)" </dev/null >>"$LAB_STATE/log/mounts.log" 2>&1 &
	while ! host_holder >/dev/null; do
		tries=$((tries + 1))
		if [ "$tries" -ge 200 ] || ! kill -0 $! 2>/dev/null; then
			cat "$LAB_STATE/log/mounts.log" >&2
			die "the mount namespace could not be made"
		fi
		sleep 0.05
	done
}

# The holder's pid, if it is alive and really the lab's.
host_holder() {
	local pid
	pid=$(cat "$LAB_STATE/holder" 2>/dev/null) &&
		grep -qzxF "BOX_LAB_ID=$(cat "$LAB_STATE/id")" "/proc/$pid/environ" 2>/dev/null &&
		echo "$pid"
}

# host_enter CMD...: run CMD on the lab's host with a daemon's environment, nothing of ours. --root: a
# mount namespace alone would lead out of a chroot, to the machine's own folders.
host_enter() {
	local holder
	holder=$(host_holder) || die "the lab '$LAB' is not up"
	nsenter --mount="/proc/$holder/ns/mnt" --root="/proc/$holder/root" --net="/run/netns/$LAB-hv" \
		env -i -C / PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
		LANG=C.UTF-8 BOX_LAB_ID="$BOX_LAB_ID" "$@"
}

# What libvirt found out about QEMU (several seconds' work) is kept between labs; libvirt itself checks
# that it still fits the programs, the kernel and the processor.
host_start_libvirt() {
	local found=$LAB_STATE/var/cache/libvirt/qemu/capabilities kept=$LAB_CACHE/capabilities
	if [ -d "$kept" ]; then
		mkdir -p "$found"
		cp "$kept"/*.xml "$found"
	fi
	host_enter virtlogd -d </dev/null >>"$LAB_STATE/log/virtlogd.log" 2>&1
	host_start_libvirtd
	rm -rf "$kept.$$"
	mkdir -p "$LAB_CACHE"
	cp -r "$found" "$kept.$$"
	rm -rf "$kept"
	mv -T "$kept.$$" "$kept" 2>/dev/null || rm -rf "$kept.$$" # another lab was quicker
}

host_start_libvirtd() {
	local tries=0
	lab_id_export || die "the lab '$LAB' is not up"
	if host_libvirtd_pid >/dev/null; then
		return 0
	fi
	host_enter "$LAB_DIR/reaper.py" libvirtd -d --timeout 0 </dev/null >>"$LAB_STATE/log/libvirtd.log" 2>&1
	until host_enter virsh -c qemu:///system -q version >/dev/null 2>&1; do
		tries=$((tries + 1))
		if [ "$tries" -ge 300 ]; then
			tail -n 20 "$LAB_STATE/log/libvirtd.log" >&2
			die "libvirtd does not answer"
		fi
		sleep 0.1
	done
}

# The pid of the lab's libvirtd, if it is alive and in the lab's mount namespace.
host_libvirtd_pid() {
	local holder pid
	holder=$(host_holder) && pid=$(cat "$LAB_STATE/run/libvirtd.pid" 2>/dev/null) &&
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" = libvirtd ] &&
		[ "$(stat -Lc %i "/proc/$pid/ns/mnt")" = "$(stat -Lc %i "/proc/$holder/ns/mnt")" ] &&
		echo "$pid"
}

# host_stop_libvirtd TERM|KILL: boxes go on running.
host_stop_libvirtd() {
	local pid start tries=0
	lab_ready || die "the lab '$LAB' is not up"
	pid=$(host_libvirtd_pid) || return 0
	start=$(pid_start "$pid") || return 0
	kill -"$1" "$pid"
	while [ "$(pid_start "$pid")" = "$start" ]; do
		tries=$((tries + 1))
		[ "$tries" -lt 300 ] || die "libvirtd (pid $pid) does not end"
		sleep 0.1
	done
}

lab_status() {
	local pid
	lab_ready || {
		say "'$LAB' is not up"
		exit 1
	}
	net_assert_sealed
	pid=$(host_libvirtd_pid) || die "libvirtd does not run: lab start-libvirtd"
	echo "lab '$LAB' is up, sealed (no interface or route leaves it); state in $LAB_STATE"
	echo "libvirtd $pid, $(host_enter virsh -q list --all | grep -c . || :) domains," \
		"$(lab_processes | wc -l) processes in all; accelerator $(lab_accel)"
	net_show_counters | sed 's/^/packets at /'
}
