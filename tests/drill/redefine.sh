#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# redefine.sh BOX ELEMENT: start the box anew without this element of its domain
# redefine.sh BOX          start it as it was before
#
# For mutations that cannot be made while the box runs. The probe is put back into it, and a guest that has
# its lease a little after its agent (micro-pair.sh) is waited for.
set -eu
box=$1 element=${2:-} saved=${TMPDIR:-/tmp}/redefine-$1.xml

if [ -n "$element" ]; then
	virsh -q dumpxml --inactive "$box" >"$saved"
	sed "/<$element>/,/<\/$element>/d" "$saved" >"$saved.new"
	virsh -q define "$saved.new" >/dev/null
else
	virsh -q define "$saved" >/dev/null
	rm -f "$saved" "$saved.new"
fi
virsh -q destroy "$box"
virsh -q start "$box" >/dev/null
# shellcheck disable=SC2016 # the box's variable
timeout 120 box exec --user root "$box" -- sh -c 'i=0
	until ip route show default | grep -q .; do
		i=$((i + 1)) && [ $i -lt 300 ] && sleep 0.2 || exit 1
	done'
box exec --user root "$box" -- install -m 0700 /dev/stdin /tmp/box-probe <"$BOX_LIBEXEC/box-probe"
