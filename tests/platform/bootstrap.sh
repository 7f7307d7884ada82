# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# system_bootstrap SUITE FOLDER OPTION...: a root file system of that Debian in FOLDER, by mmdebstrap with those
# options, from the mirror that this machine's apt uses; the log is FOLDER.log. Where no mirror answers the test
# that wants it is skipped. Nothing of the mirror is in the tree. Include tests/lib.sh first.
system_bootstrap() {
	local suite=$1 folder=$2 mirror options
	shift 2
	mirror=${BOX_MIRROR:-}
	if [ -z "$mirror" ]; then
		mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | head -n 1)
		mirror=${mirror:-http://deb.debian.org/debian}
	else
		mirror=$mirror/debian
	fi
	options=$(apt-config dump | grep -E '^Acquire::(Check-|https?::)' || :)
	rm -rf "$folder.new"
	mmdebstrap --quiet --variant=minbase --aptopt="$options" "$@" \
		"$suite" "$folder.new" "deb ${mirror%/} $suite main" </dev/null >"$folder.log" 2>&1 || {
		rm -rf "$folder.new"
		tail -n 5 "$folder.log" | sed 's|[a-z]*://[^ ]*|MIRROR|g' >&2
		skip "the Debian called $suite cannot be bootstrapped: no mirror answers"
	}
	mv "$folder.new" "$folder"
}

# system_run SYSTEM KEPT COMMAND WORDS...: that line of sh with these words as its $1 and so on, in that root file
# system under an overlay: with no network but loopback, the tree read-only in /src, KEPT/build in /build and a
# compiler's cache. Needs root and $scratch.
system_run() {
	local system=$1 kept=$2
	shift 2
	mkdir -p "$kept/build" "$kept/ccache"
	# shellcheck disable=SC2016,SC2154 # expanded in there; of tests/lib.sh
	unshare --mount --net --pid --fork --propagation private bash -c '
		set -eu
		ip link set lo up
		scratch=$1 system=$2 source=$3 kept=$4
		shift 4
		mount -t tmpfs tmpfs "$scratch"
		mkdir "$scratch/upper" "$scratch/work" "$scratch/root"
		mount -t overlay overlay -o "lowerdir=$system,upperdir=$scratch/upper,workdir=$scratch/work" "$scratch/root"
		cd "$scratch/root"
		mkdir -p src build ccache
		mount --bind "$source" src
		mount -o remount,ro,bind src
		mount --bind "$kept/build" build
		mount --bind "$kept/ccache" ccache
		mount -t proc proc proc
		mount --rbind /dev dev
		command=$1
		shift
		exec chroot . env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 CCACHE_DIR=/ccache \
			CC="ccache gcc" sh -euc "$command" sh "$@"
	' bash "$scratch" "$system" "$source_root" "$kept" "$@"
}
