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
system_run "$system" "$cache/debian13" 'exec sh /src/tests/platform/build.sh /src /build/box'
