#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Asked wrong: status 2, the word and the nearest name on stderr, nothing on stdout.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"

# usage TEXT WORDS...: that box WORDS is refused with this text as its first line
usage() {
	local text=$1
	shift
	assert_status 2 box "$@"
	assert_silent "$out" stdout
	assert_equal "$text" "${err%%$'\n'*}"
	assert_contains "$err" "box: try 'box help"
}

usage "box: unknown command 'vresion'; did you mean 'version'?" vresion
usage "box: unknown command 'HELPP'; did you mean 'help'?" HELPP
usage "box: unknown command 'frobnicate'" frobnicate
usage "box: unknown command ''" ''
usage "box: unknown command '\\x1b]52;c;'" $'\e]52;c;'
usage 'box: options come after the command: box COMMAND --quiet' --quiet version
usage "box: unknown option '--qiet'; did you mean '--quiet'?" version --qiet
usage "box: unknown option '--jsn'; did you mean '--json'?" version --jsn=1
usage "box: unknown option '-x'" version -x
usage "box: unknown option '--force'" version --force
usage "box: option '--quiet' takes no value" version --quiet=yes
usage "box: option '--connect' needs a value: --connect URI" version --connect
usage "box: option '--connect' needs a value: --connect URI" version --connect --quiet
usage "box: option '--connect' needs a value: --connect URI" version --connect=
usage "box: unexpected argument 'more': box version" version more
usage "box: unexpected argument '--quiet': box version" version -- --quiet
usage 'box: bash|zsh|fish is missing: box completion bash|zsh|fish' completion
usage "box: no completion for 'tcsh': bash, zsh or fish" completion tcsh
usage "box: unknown command 'vresion'; did you mean 'version'?" help vresion

# Closed standard descriptors are no trouble.
assert_status 0 sh -c 'box version <&- 2>&-'
assert_contains "$out" 'box '
