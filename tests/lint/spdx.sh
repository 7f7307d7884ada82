#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# C files name their licence on line 1, scripts on line 1 or, below #!, on line 2.
. "$(dirname "$(readlink -f "$0")")/files.sh"
tag='SPDX-License-Identifier: GPL-2.0-or-later'
looked=0
for file in $(source_files -name '*.[ch]'); do
	looked=$((looked + 1))
	[ "$(head -n 1 "$file")" = "/* $tag */" ] || complain "$file: line 1 is not /* $tag */"
done
for file in $(script_files); do
	looked=$((looked + 1))
	grep -qxF "# $tag" <(head -n 2 "$file") || complain "$file: line 1 or 2 is not # $tag"
done
finish
