#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gcc -fanalyzer finds nothing, but for what is excluded here, with the reason:
#
#   use-of-uninitialized-value, malloc-leak   it does not know __attribute__((cleanup)), by which this code
#       frees: valgrind and the sanitizers of "check --all" see what really happens
#   possible-null-dereference, null-dereference, null-argument   of a pointer that was asserted, or whose
#       constructor filled err: it does not follow the second half of "if (f(&p, err) < 0)"
#   fd-leak, file-leak                        likewise _cleanup_close_
set -euo pipefail
. "$(dirname "$0")/each.sh"
require_command gcc
gcc -fanalyzer -fsyntax-only -x c /dev/null 2>/dev/null || skip 'this gcc has no -fanalyzer'

exclude=()
for warning in use-of-uninitialized-value malloc-leak possible-null-dereference null-dereference null-argument \
	possible-null-argument fd-leak file-leak; do
	exclude+=("-Wno-analyzer-$warning")
done
look() {
	nice timeout 120 gcc "${flags[@]}" -w -Wanalyzer-too-complex -Wno-analyzer-too-complex -fanalyzer \
		"${exclude[@]}" -Werror -S -o /dev/null "$1"
}
each_file "$(gcc --version)" "${exclude[*]}"
