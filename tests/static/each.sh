# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034
#
# Included by the scripts of this folder: look at each C file of the programs, as the build compiles it.
#
#   each_file TOOL CONFIG    calls look FILE, with the compiler's flags in the array flags, for every C file
#                            that is not a test's; two at a time. look prints what it finds and fails.
#
# A file that passed is not looked at again until it, a header of it, its flags, the tool's version, the calling
# script or CONFIG change: stamps are in $BOX_CACHE/static. So the first run takes minutes and the next seconds.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
require_command jq

build=${BOX_BUILD:-$source_root/build}
stamps=${BOX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/box-lab}/static
compiler=${CC_FOR_STATIC:-gcc}

# flags_of COMMAND FILE: the words of a compile command that say how, and not what and where to.
flags_of() {
	local word skip='' file=$2
	flags=()
	eval "set -- $1"
	while [ $# -gt 0 ] && [[ $1 != -* ]]; do
		shift
	done
	for word; do
		if [ -n "$skip" ]; then
			skip=
			continue
		fi
		case $word in
		-o | -c | -MF | -MQ | -MT) skip=1 ;;
		-MD | -Werror | -fdiagnostics-color=*) ;;
		*) flags+=("$word") ;;
		esac
	done
	# These define what that header redefines.
	case $file in
	*/base/error.c | */vmm/virt.c) ;;
	*) flags+=(-include "$tests_dir/static/returns.h" -Wno-unused-value) ;;
	esac
}

# look_once FILE COMMAND
look_once() {
	local key
	flags_of "$2" "$1"
	key=$({
		printf '%s\n' "$identity" "$1" "${flags[@]}"
		"$compiler" "${flags[@]}" -E -CC "$1" # comments too: some speak to the tool
	} | sha256sum)
	[ ! -e "$stamps/${key%% *}" ] || return 0
	if look "$1"; then
		: >"$stamps/${key%% *}"
	else
		echo "$1" >>"$failures"
	fi
}

each_file() {
	local number=0 file command
	identity="$1 $(cat "$0" "${BASH_SOURCE[0]}" - <<<"$2" | sha256sum)"
	make_scratch
	failures=$scratch/failures
	: >"$failures"
	mkdir -p "$stamps"
	cd "$build" || fail "no build folder '$build'"
	[ -e compile_commands.json ] || skip 'the build has no compile_commands.json'
	while IFS=$'\t' read -r file command; do
		number=$((number + 1))
		[ "$number" -le 2 ] || wait -n || :
		look_once "$file" "$command" &
	done < <(jq -r '[.[] | select(.file | test("(^|/)tests/") | not)] | unique_by(.file)[] | [.file, .command] | @tsv' compile_commands.json)
	wait
	[ "$number" -gt 50 ] || fail "only $number files were looked at"
	[ ! -s "$failures" ] || fail "in: $(sort "$failures" | tr '\n' ' ')"
	find "$stamps" -type f -mtime +30 -delete
	echo "looked at $number files"
}
