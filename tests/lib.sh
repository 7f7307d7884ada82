# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# What every test script includes:  . "$(dirname "$0")/../lib.sh"
#
#   require_command NAME...      else skip: exit 77 with the reason, which "check" prints
#   require_root                 likewise
#   skip REASON                  likewise
#   on_exit CMD ARG...           run at the end, however the script ends, last one first
#   wait_until SECONDS CMD...    until CMD succeeds; fails, naming CMD, when the time is up
#   fail TEXT                    say where and why, exit 1
#   assert_equal WANT GOT [WHAT]         assert_contains TEXT PART      assert_lacks TEXT PART
#   assert_status STATUS CMD...  CMD ends with exactly that status; its stdout is in $out and
#                                its stderr in $err afterwards, whatever CMD wrote
#   assert_silent TEXT [WHAT]    TEXT is empty
#   lab_run CMD...               in the lab (tests/lab/lab run)
#   lab_run_nobody GROUP CMD...  likewise, as the user nobody, with that group or "" for none beside its own; needs
#                                $scratch
#   make_scratch                 sets $scratch, a fresh folder that goes away at the end
#   own_cache                    sets $cache, a mint's cache in $scratch that has the base of blank's image, for
#                                mints with XDG_CACHE_HOME=$scratch/cache: they touch nobody else's

tests_dir=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
source_root=$(dirname "$tests_dir")
export source_root

exit_commands=()
run_exit_commands() {
	local status=$? i
	set +e
	trap - EXIT
	for ((i = ${#exit_commands[@]} - 1; i >= 0; i--)); do
		eval "${exit_commands[i]}" </dev/null >&2
	done
	exit "$status"
}
trap run_exit_commands EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

on_exit() {
	exit_commands+=("$(printf '%q ' "$@")")
}

skip() {
	echo "skipped: $*" >&2
	exit 77
}

# The caller's line is what a reader wants: the first frame outside this file.
fail() {
	local i=0
	while [ "${BASH_SOURCE[i]:-}" = "${BASH_SOURCE[0]}" ]; do
		i=$((i + 1))
	done
	echo "${BASH_SOURCE[i]:-$0}:${BASH_LINENO[i - 1]:-?}: $*" >&2
	exit 1
}

# With -e it fails when nothing comes out, as later versions do; 1.6 takes an empty input for a success.
jq() {
	local text status=0
	case ${1:-} in
	-e*)
		text=$(command jq "$@") || status=$?
		[ -n "$text" ] || return 4
		printf '%s\n' "$text"
		return "$status"
		;;
	esac
	command jq "$@"
}

require_command() {
	local name
	for name; do
		type -P "$name" >/dev/null || skip "needs the program '$name'"
	done
}

require_root() {
	[ "$(id -u)" = 0 ] || skip 'needs root'
}

wait_until() {
	local seconds=$1 end
	shift
	end=$((SECONDS + seconds))
	until "$@" </dev/null >/dev/null 2>&1; do
		[ "$SECONDS" -le "$end" ] || fail "not within $seconds s: $*"
		sleep 0.05
	done
}

assert_equal() {
	[ "$1" = "$2" ] || fail "${3:+$3: }wanted '$1', got '$2'"
}

assert_contains() {
	case $1 in
	*"$2"*) ;;
	*) fail "wanted the part '$2' in: $1" ;;
	esac
}

assert_lacks() {
	case $1 in
	*"$2"*) fail "unwanted part '$2' in: $1" ;;
	esac
}

assert_silent() {
	[ -z "$1" ] || fail "${2:+$2: }wanted nothing, got: $1"
}

# The streams go through files: a command substitution would lose the end of the output and would wait
# for children that keep it open.
assert_status() {
	local want=$1 got=0 folder
	shift
	folder=$(mktemp -d)
	"$@" >"$folder/out" 2>"$folder/err" || got=$?
	out=$(cat "$folder/out")
	err=$(cat "$folder/err")
	rm -rf "$folder"
	[ "$got" = "$want" ] || fail "wanted status $want, got $got: $*: stdout: $out: stderr: $err"
}

make_scratch() {
	scratch=$(mktemp -d)
	on_exit rm -rf "$scratch"
}

lab_run() {
	"$tests_dir/lab/lab" run -- "$@"
}

# The tree may be where only root can go, as in /root: a user without rights has it, and the build, in $scratch.
lab_run_nobody() {
	local group=$1
	shift
	chmod 0711 "$scratch"
	mkdir -p "$scratch/tree/source" "$scratch/tree/build" "$scratch/tree/libexec"
	# shellcheck disable=SC2016 # expanded in there
	lab_run unshare --mount --propagation private bash -euc '
		tree=$1 group=$2
		shift 2
		mount --bind "$BOX_DATA" "$tree/source"
		mount --bind "$BOX_BUILD" "$tree/build"
		for program in "$BOX_LIBEXEC"/box-*; do
			built=$(readlink "$program")
			ln -sfn "$tree/build${built#"$BOX_BUILD"}" "$tree/libexec/${program##*/}"
		done
		export BOX_DATA=$tree/source BOX_BUILD=$tree/build BOX_LIBEXEC=$tree/libexec
		groups=--clear-groups
		[ -z "$group" ] || groups=--groups=$group
		exec setpriv --reuid=nobody --regid=nogroup "$groups" --bounding-set=-all --no-new-privs \
			env PATH="$tree/build/cli:$PATH" "$@"
	' bash "$scratch/tree" "$group" "$@"
}

own_cache() {
	local shared base
	shared=$(lab_run sh -c 'echo "$XDG_CACHE_HOME"')/box/images
	base=$(lab_run box image info --json blank | jq -r '.backing | sub(".qcow2$"; "")') ||
		skip 'the lab has no image of blank'
	[ -e "$shared/$base.json" ] || skip 'the base of blank is not in the cache'
	cache=$scratch/cache/box
	mkdir -p "$cache/images"
	ln -s "$shared/$base".* "$cache/images"
}
