#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# C files are as clang-format writes them. Versions differ in what they write; 14 is the measure.
. "$(dirname "$(readlink -f "$0")")/files.sh"
format=$(command -v clang-format-14 || command -v clang-format) || {
	echo 'skipped: needs clang-format'
	exit 77
}
case $("$format" --version) in
*' version 14.'*) ;;
*)
	echo "skipped: needs clang-format 14, this is $("$format" --version)"
	exit 77
	;;
esac
looked=$(source_files -name '*.[ch]' | wc -l)
source_files -name '*.[ch]' | xargs -P 2 -n 20 "$format" --dry-run -Werror || {
	bad=1
	echo 'to mend it: clang-format -i FILE'
}
finish
