#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Install a payload over a base's tree, and write the difference: layer.tar, and removed, a list of paths
# ended by NUL bytes; what the template's verify command printed is in verified.
. "$(dirname "$(readlink -f "$0")")/../base/guest.sh"

lend_host
bake
# the command that must succeed; what it says of itself is kept
if [ -e "$BOX_MINT_WORK/verify" ]; then
	mapfile -d '' -t words <"$BOX_MINT_WORK/verify"
	echo "bake: ${words[*]}" >&2
	guest_run "${words[@]}" >"$BOX_MINT_WORK/verified"
fi
list_packages >"$BOX_MINT_WORK/packages"
clean
cd "$root"
find . -xdev -mindepth 1 -printf '%P\0' | LC_ALL=C sort -z >"$BOX_MINT_WORK/after"
LC_ALL=C comm -z -23 "$BOX_MINT_WORK/before" "$BOX_MINT_WORK/after" >"$BOX_MINT_WORK/removed"
find . -xdev -mindepth 1 -cnewer "$BOX_MINT_WORK/stamp" \
	-not -path './dev*' -not -path './proc*' -not -path './sys' -not -path './sys/*' \
	-not -path './run*' -not -path './tmp*' -print0 | LC_ALL=C sort -z |
	tar --null --no-recursion --files-from - --numeric-owner --xattrs --xattrs-include='*' \
		--create --file "$BOX_MINT_WORK/layer.tar"
