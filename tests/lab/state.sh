# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# What belongs to a lab, and how it goes away.
#
# $LAB_STATE holds everything on disk, and is made first. Nothing is mounted outside the lab's
# private mount namespace, except the names of network namespaces below /run/netns, which are
# written to $LAB_STATE/netns before they are made. So a lab consists of its folder, those names, and
# processes; and a process belongs to the lab if one of these holds:
#   - its environment has BOX_LAB_ID=<the random id of this lab> (the lab's own programs, CMD);
#   - it lives in one of the lab's network namespaces (QEMU, libvirt's dnsmasq: libvirt gives them
#     an environment of its own making);
#   - it lives in the lab's mount namespace.
# No list of process ids is kept, so none can be stale, and a program whose start was interrupted is
# found as well.
#
# Only one "up" or "down" works on a lab at a time. The lock is a file with the owner's pid and
# start time, not a held flock: children inherit descriptors, and an orphan of a killed "up" would
# hold it. flock guards only the few lines that read and write that file.

# The start time of a process in clock ticks, which with its id names it once and for all.
pid_start() {
	local stat fields
	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
	read -ra fields <<<"${stat##*) }" # the name, in brackets, may hold anything
	echo "${fields[19]}"
}

lab_owner_alive() {
	local pid start
	[ -e "$LAB_STATE/owner" ] && read -r pid start <"$LAB_STATE/owner" || return 1
	[ "$pid" != "$$" ] && [ "$(pid_start "$pid")" = "$start" ]
}

# shellcheck disable=SC2094 # nothing is written to a folder
lab_lock() {
	local tries=0 got
	while :; do
		(umask 066 && mkdir -p "$LAB_STATE") # 0711: guests' processes may pass, not look
		got=
		{
			flock 9
			# The folder may have gone between mkdir and flock: then the lock is of no use.
			if [ "$(stat -Lc %i /proc/self/fd/9)" = "$(stat -c %i "$LAB_STATE" 2>/dev/null)" ] &&
				! lab_owner_alive; then
				echo "$$ $(pid_start $$)" >"$LAB_STATE/owner"
				got=1
			fi
		} 9<"$LAB_STATE"
		[ -z "$got" ] || return 0
		tries=$((tries + 1))
		[ "$tries" -lt 3000 ] ||
			die "another command works on the lab '$LAB': process $(cat "$LAB_STATE/owner")"
		sleep 0.1
	done
}

state_create() {
	local folder
	cat /proc/sys/kernel/random/uuid >"$LAB_STATE/id.new"
	mv "$LAB_STATE/id.new" "$LAB_STATE/id"
	for folder in run/lock run/netns var/lib var/log var/cache www libexec log tmp; do
		mkdir -p "$LAB_STATE/$folder"
	done
	chmod 1777 "$LAB_STATE/run/lock" "$LAB_STATE/tmp"
}

# Every program this shell starts from here on is known as the lab's.
lab_id_export() {
	BOX_LAB_ID=$(cat "$LAB_STATE/id" 2>/dev/null) || return 1
	export BOX_LAB_ID
}

lab_ready() {
	[ -e "$LAB_STATE/ready" ] && lab_id_export && host_holder >/dev/null
}

# Inode numbers of the lab's namespaces, as "net:123" and "mnt:456".
lab_namespaces() {
	local name holder mnt
	for name in hv wan lan; do
		! grep -qxF "$LAB-$name" "$LAB_STATE/netns" 2>/dev/null ||
			stat -Lc 'net:%i' "/run/netns/$LAB-$name" 2>/dev/null || :
	done
	if holder=$(host_holder) && mnt=$(stat -Lc 'mnt:%i' "/proc/$holder/ns/mnt" 2>/dev/null); then
		echo "$mnt"
	fi
	return 0
}

# Processes of the lab, "pid start" a line, this shell left out.
lab_processes() {
	local id own namespaces pid
	id=$(cat "$LAB_STATE/id" 2>/dev/null) || return 0
	own=$(stat -Lc 'net:%i' /proc/self/ns/net
		stat -Lc 'mnt:%i' /proc/self/ns/mnt)
	# Never a namespace that this very shell is in: that would be the machine's own.
	namespaces=$(lab_namespaces | grep -vxF "$own") || :
	{
		grep -lzxF "BOX_LAB_ID=$id" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3 || :
		if [ -n "$namespaces" ]; then
			{
				stat -Lc 'net:%i %n' /proc/[0-9]*/ns/net 2>/dev/null || :
				stat -Lc 'mnt:%i %n' /proc/[0-9]*/ns/mnt 2>/dev/null || :
			} | awk -v wanted="$namespaces" '
				BEGIN { n = split(wanted, a, "\n"); for (i = 1; i <= n; i++) is[a[i]] = 1 }
				$1 in is { split($2, p, "/"); print p[3] }'
		fi
	} | sort -un | while read -r pid; do
		[ "$pid" = "$$" ] || [ "$pid" = "$BASHPID" ] ||
			echo "$pid $(pid_start "$pid" || echo gone)"
	done
}

# End every process of the lab, those that appear meanwhile included. Two looks in a row have to find
# none: in the midst of an execve a process shows no environment at all.
lab_kill() {
	local pid start left tries=0 empty=0
	while [ "$empty" -lt 2 ]; do
		left=$(lab_processes | grep -v ' gone$') && empty=0 || empty=$((empty + 1))
		while read -r pid start; do
			[ -z "$pid" ] || [ "$(pid_start "$pid")" != "$start" ] ||
				kill -KILL "$pid" 2>/dev/null || :
		done <<<"$left"
		tries=$((tries + 1))
		[ "$tries" -lt 300 ] || die "these processes do not end (pid, start): $left"
		sleep 0.05
	done
}

# Take everything away. The id and the owner's file go last, so that a killed "down" can be repeated.
lab_clear() {
	local name
	rm -f "$LAB_STATE/ready"
	lab_kill
	for name in hv wan lan; do
		if grep -qxF "$LAB-$name" "$LAB_STATE/netns" 2>/dev/null && [ -e "/run/netns/$LAB-$name" ]; then
			ip netns del "$LAB-$name"
		fi
	done
	rm -f "$LAB_STATE/netns"
	if grep -qF " $LAB_STATE/" /proc/self/mountinfo; then
		die "something is mounted below '$LAB_STATE': it is left alone"
	fi
	find "$LAB_STATE" -xdev -mindepth 1 -maxdepth 1 ! -name id ! -name owner \
		-exec rm -rf --one-file-system {} +
	if [ "${FUNCNAME[1]}" = lab_down ]; then
		rm -f "$LAB_STATE/id" "$LAB_STATE/owner"
		rmdir "$LAB_STATE"
		rmdir --ignore-fail-on-non-empty "${LAB_STATE%/*}"
	fi
}
