#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gcc -fanalyzer finds nothing, but for what is excluded here, with the reason:
#
#   malloc-leak   it loses count of what "*ret = x; x = EMPTY" hands over: valgrind and the sanitizers of
#                 "check --all" see what really happens
#
# Without optimisation, as it is meant to be used: optimised, an initialisation that only a cleanup reads is gone
# before it looks.
set -euo pipefail
. "$(dirname "$0")/each.sh"
require_command gcc
gcc -fanalyzer -fsyntax-only -x c /dev/null 2>/dev/null || skip 'this gcc has no -fanalyzer'

look() {
	nice timeout 120 gcc "${flags[@]}" -O0 -U_FORTIFY_SOURCE -fanalyzer -Wno-analyzer-malloc-leak -Werror \
		-S -o /dev/null "$1"
}
each_file "$(gcc --version)" ''
