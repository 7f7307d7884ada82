#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A report, not a verdict: files and functions that deserve a hard look (docs/STYLE.md, "Size").
. "$(dirname "$(readlink -f "$0")")/files.sh"
looked=0
for file in $(source_files -name '*.c' ! -path './tests/*'); do
	looked=$((looked + 1))
	awk -v file="$file" '
		/^[a-z].*\(/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
		/^\{/ { start = NR }
		/^\}/ && start { if (NR - start - 1 > 70) print file ": " name ": " NR - start - 1 " lines"; start = 0 }
		END { if (NR > 500) print file ": " NR " lines" }' "$file"
done
finish
