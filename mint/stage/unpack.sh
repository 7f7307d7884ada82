#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# unpack.sh ROOT ARCHIVE: the archive goes into the tree. Where nobody can make device nodes, as in a user
# namespace, those in it stay away: mmdebstrap mounts its own there, and a guest's /dev is its kernel's.
set -euo pipefail
words=(--numeric-owner --xattrs --xattrs-include='*')
probe=$1/.node
if mknod -m 0 "$probe" c 1 3 2>/dev/null; then
	rm "$probe"
else
	words+=(--anchored --exclude='./dev/*' --exclude='dev/*')
fi
exec tar "${words[@]}" --extract --file "$2" --directory "$1"
