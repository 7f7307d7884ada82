#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# redefine.sh BOX ELEMENT: restart the box without this element of its domain
# redefine.sh BOX          restart it as it was before
#
# For mutations that cannot be made while the box runs. The probe is put back into it.
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
box restart --quiet "$box"
box exec --user root "$box" -- install -m 0700 /dev/stdin /tmp/box-probe <"$BOX_LIBEXEC/box-probe"
