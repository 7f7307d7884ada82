# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# Debian's own packages of other firewalls, for a test in the lab. They are not installed: their daemons would
# begin to guard this machine. They are unpacked, and laid over /usr and /etc in a mount namespace of the
# test's own, where their programs believe that they are.
#
#   software_fetch NAME    outside the lab: the package and what it needs, into the cache; skips without apt
#   software_lay NAME [WORD...]   inside: becomes this script again, with the words, in that mount namespace
#   start_daemon PROCESS-NAME CMD...   until the end of the script

software_cache=${BOX_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/box-lab}/software

software_fetch() {
	local name=$1 made=$software_cache/.new.$$ deb folder
	[ ! -d "$software_cache/$name" ] || return 0
	require_command apt-get dpkg-deb
	mkdir -p "$made/debs/partial" "$made/root/usr"
	on_exit rm -rf "$made"
	timeout 300 apt-get -y -qq -o "Dir::Cache::archives=$made/debs" -o APT::Sandbox::User=root \
		--download-only --no-install-recommends --reinstall install "$name" \
		>"$made/log" 2>&1 || skip "apt-get cannot download '$name': $(tail -n 1 "$made/log")"
	for deb in "$made"/debs/*.deb; do
		dpkg-deb -x "$deb" "$made/root"
	done
	# Where /lib is a link to /usr/lib, packages of before have files in /lib.
	for folder in bin sbin lib; do
		[ ! -d "$made/root/$folder" ] || cp -a "$made/root/$folder/." "$made/root/usr/$folder/"
	done
	rm -rf "$made/debs" "$made/log"
	mv -T "$made" "$software_cache/$name" 2>/dev/null || rm -rf "$made" # another test was quicker
}

software_lay() {
	local root=$software_cache/$1/root state=$TMPDIR/software.$$
	shift
	if [ -n "${SOFTWARE_LAID:-}" ]; then
		on_exit rm -rf "$SOFTWARE_LAID"
		return 0
	fi
	mkdir -p "$root/etc" "$state"/{usr,etc,work-usr,work-etc}
	# shellcheck disable=SC2016 # expanded by that sh
	SOFTWARE_LAID=$state exec unshare --mount --propagation private sh -ec '
		root=$1 state=$2
		shift 2
		for at in usr etc; do
			mount -t overlay none -o \
				"lowerdir=$root/$at:/$at,upperdir=$state/$at,workdir=$state/work-$at" "/$at"
		done
		exec "$@"' sh "$root" "$state" "$(readlink -f "$0")" "$@"
}

# Its log is $scratch/NAME.log. It is ended by its pid, and seen to be gone.
start_daemon() {
	local name=$1
	shift
	setsid "$@" </dev/null >"$scratch/$name.log" 2>&1 &
	on_exit sh -c "kill $! 2>/dev/null; for i in \$(seq 100); do kill -0 $! 2>/dev/null || break; sleep 0.1; done
		kill -KILL $! 2>/dev/null"
}
