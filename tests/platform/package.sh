#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The source package builds where there is nothing but what the README installs: dpkg-dev, and by "apt build-dep"
# what debian/control says. It runs its tests, and lintian has nothing to say.
#
# That system is bootstrapped once and kept, as for debian13.sh; a compiler's cache is put into it.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/bootstrap.sh"
require_root
require_command mmdebstrap unshare apt-get ip lintian

cache=${BOX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/box-lab}/platform
key=$(cat "$source_root/debian/control" "$tests_dir/platform/bootstrap.sh" "$0" | sha256sum)
system=$cache/package-${key:0:16}
mkdir -p "$cache"
exec {lock}>"$cache/package.lock"
flock -w 900 "$lock" || fail 'another run uses it'

if [ ! -d "$system" ]; then
	rm -rf "$cache"/package-*
	# shellcheck disable=SC2016 # expanded by mmdebstrap's shell
	system_bootstrap bookworm "$system" \
		--customize-hook='chroot "$1" apt-get -q -y install dpkg-dev' \
		--customize-hook='mkdir "$1/tmp/box"' \
		--customize-hook="copy-in $source_root/debian /tmp/box" \
		--customize-hook='chroot "$1" apt-get -q -y build-dep /tmp/box' \
		--customize-hook='chroot "$1" apt-get -q -y install ccache' \
		--customize-hook='rm -r "$1/tmp/box"'
fi
make_scratch
rm -rf "$cache/package/build"
# shellcheck disable=SC2016 # expanded in there
system_run "$system" "$cache/package" '
	mkdir /build/box
	cd /build/box
	tar -cf - -C /src --exclude=./.git --exclude="./build*" --exclude=./out . | tar -xf -
	DEB_BUILD_OPTIONS=terse nice dpkg-buildpackage -us -uc </dev/null >/build/log 2>&1 || {
		tail -n 60 /build/log
		exit 1
	}
	grep -E "^(Ok|Fail|Skipped):" /build/log'
lintian --allow-root --fail-on error,warning --tag-display-limit 0 \
	--suppress-tags bad-distribution-in-changes-file "$cache"/package/build/box_*_amd64.changes </dev/null
find "$cache/package/build" -maxdepth 1 -type f -printf '%f\n' | sort
