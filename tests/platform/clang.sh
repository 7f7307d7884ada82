#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# It builds with clang without a warning, and passes its unit tests.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_command clang

build=${BOX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/box-lab}/platform/clang
mkdir -p "$(dirname "$build")"
exec {lock}>"$build.lock"
flock -w 600 "$lock" || fail 'another run builds there'
# Kept between runs, for this tree: ninja rebuilds what changed.
grep -qxF "$source_root" "$build.source" 2>/dev/null || rm -rf "$build"
echo "$source_root" >"$build.source"
cc=clang
! command -v ccache >/dev/null || cc='ccache clang'
CC=$cc sh "$tests_dir/platform/build.sh" "$source_root" "$build"
