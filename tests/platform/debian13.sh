#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# It builds on Debian 13, with its gcc and its libraries, without a warning, and passes its unit tests there.
#
# The system is bootstrapped once, from the mirror that this machine's apt uses, and kept; each run has it
# under an overlay, with no network but loopback, and with the tree read-only.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/bootstrap.sh"
require_root
require_command mmdebstrap unshare apt-get ip

cache=${BOX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/box-lab}/platform
packages=$(
	awk '/^# lint/ { exit } !/^#/ && NF' "$tests_dir/packages" | sed 's/.*|//'
	printf '%s\n' ccache
)
key=$(sha256sum <<<"$packages")
system=$cache/debian13-${key:0:16}
mkdir -p "$cache"
exec {lock}>"$cache/debian13.lock"
flock -w 900 "$lock" || fail 'another run uses it'

if [ ! -d "$system" ]; then
	rm -rf "$cache"/debian13-*
	system_bootstrap trixie "$system" --include="$(tr '\n' ',' <<<"$packages")" \
		--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*'
fi
make_scratch
mkdir -p "$cache/debian13-build" "$cache/debian13-ccache"
# shellcheck disable=SC2016 # expanded in there
unshare --mount --net --pid --fork --propagation private bash -c '
	set -eu
	ip link set lo up
	scratch=$1 system=$2 source=$3 cache=$4
	mount -t tmpfs tmpfs "$scratch"
	mkdir "$scratch/upper" "$scratch/work" "$scratch/root"
	mount -t overlay overlay -o "lowerdir=$system,upperdir=$scratch/upper,workdir=$scratch/work" "$scratch/root"
	cd "$scratch/root"
	mkdir -p src build ccache
	mount --bind "$source" src
	mount -o remount,ro,bind src
	mount --bind "$cache/debian13-build" build
	mount --bind "$cache/debian13-ccache" ccache
	mount -t proc proc proc
	mount --rbind /dev dev
	cp "$source/tests/platform/build.sh" tmp/build.sh
	exec chroot . env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 CCACHE_DIR=/ccache \
		CC="ccache gcc" sh /tmp/build.sh /src /build/box
' bash "$scratch" "$system" "$source_root" "$cache"
