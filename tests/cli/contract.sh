#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The run contract where no guest is needed: box itself is the cause, says so in one line, and the
# status tells what it was. tests/vm has the part with a guest.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
export LIBVIRT_DEFAULT_URI="test://$source_root/tests/cli/host.xml"

# fault STATUS KIND DETAIL WORDS...: box WORDS ends so, with one fault line and nothing on stdout
fault() {
	local status=$1 line="box: fault=$2 detail=\"$3" words
	shift 3
	assert_status "$status" box "$@"
	assert_silent "$out" stdout
	words=${err%%$'\n'*}
	assert_equal "$line" "${words:0:${#line}}" "box $*"
	assert_equal 1 "$(grep -c '^box: fault=' <<<"$err")" "fault lines of box $*"
	[ "$status" = 2 ] || assert_equal "$words" "$err" "box $*: more than the fault line"
}

# A missing box and a domain that is not ours are told alike.
for verb in shell root 'exec --quiet' tmux; do
	# shellcheck disable=SC2086 # words are words
	for name in nosuch stranger 'bad name' $'\e[2J'; do
		set -- $verb "$name"
		[ "${verb%% *}" != exec ] || set -- "$@" -- true
		fault 125 box-missing 'no such box: ' "$@"
		assert_lacks "$err" $'\e'
	done
done
missing=$(box exec nosuch -- true 2>&1 || true)
assert_equal "${missing//nosuch/stranger}" "$(box exec stranger -- true 2>&1 || true)" 'the same refusal'

fault 125 box-stopped "box 'asleep' is stopped; start it: box start asleep\"" exec asleep -- true
fault 125 box-stopped "box 'asleep' is stopped" shell asleep
fault 126 agent-unreachable "" exec web -- true
fault 126 agent-unreachable "cannot connect to libvirt at 'qemu+unix:///system?socket=/nonexistent'" \
	exec --connect 'qemu+unix:///system?socket=/nonexistent' web -- true
fault 2 usage 'CMD is missing: box exec BOX -- CMD...' exec web
fault 2 usage 'BOX is missing: box exec BOX -- CMD...' exec -- true
fault 2 usage "unexpected argument 'ls'" exec web ls -- -l
fault 2 usage "'-l' comes after the first word of the command to run" exec web ls -l
fault 2 usage "unknown option '--timout'; did you mean '--timeout'?" exec --timout 5 web -- true
fault 2 usage '--timeout' exec --timeout soon web -- true
fault 2 usage "'a.b' is no name for a session" tmux web a.b
fault 2 usage 'tmux needs a terminal' tmux web

# run: what is missing is told apart, before anything is made.
export BOX_DATA=$source_root
fault 125 image-missing "no such template: 'nosuch'" run --template nosuch -- true
fault 2 usage '--from and --template exclude each other' run --template blank --from web -- true
fault 2 usage '--name' run --name 'Not a name' -- true
fault 126 start-failed "this host is not set up: it has no storage pool 'box'" run -- true
fault 2 usage "'-l' comes after the first word" run ls -l

# new: what is wrong in the words is told before the host is looked at, and by the plain rules.
new() { # STATUS TEXT WORDS...
	local status=$1 text=$2
	shift 2
	assert_status "$status" box new "$@"
	assert_silent "$out" stdout
	assert_contains "$err" "$text"
	assert_lacks "$err" 'fault='
}
make_scratch
printf 'packages: [\n' >"$scratch/bad.yaml"
new 2 'Bad_Name' Bad_Name
new 2 'all' all
new 2 "given twice: 'x' and --name y" x --name y
new 2 '--from and --template exclude each other' --from web --template blank x
new 2 '--from and --user-data exclude each other' --from web --user-data "$scratch/bad.yaml" x
new 1 "no such template: 'nosuch'" --template nosuch x
new 1 'bad.yaml' --user-data "$scratch/bad.yaml" x
new 1 'run: box setup-host' x
