#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# unpack.sh ROOT ARCHIVE: the archive goes into the tree. Without device nodes, which nobody can make in a user
# namespace: /dev is mounted, here and in a guest.
set -euo pipefail
exec tar --numeric-owner --xattrs --xattrs-include='*' --anchored --exclude='./dev/*' \
	--extract --file "$2" --directory "$1"
