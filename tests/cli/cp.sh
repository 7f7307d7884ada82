#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# box cp: what needs no guest. tests/vm/cp.sh has the rest.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
export LIBVIRT_DEFAULT_URI="test://$source_root/tests/cli/host.xml"
make_scratch
cd "$scratch"
touch file a:b

# refuse STATUS TEXT WORDS...: box cp WORDS ends so, with one line that begins so
refuse() {
	local status=$1 text="box: $2"
	shift 2
	assert_status "$status" box cp "$@"
	assert_silent "$out" stdout
	assert_equal "$text" "${err:0:${#text}}" "box cp $*"
}

# Which side is the box's.
refuse 2 'DST is missing: box cp SRC DST' web:x
refuse 2 "unexpected argument 'z'" web:x y z
refuse 2 'from box to box takes two steps' web:x asleep:y
refuse 2 'neither side is in a box' file other
refuse 2 'neither side is in a box' ./a:b other
refuse 2 'neither side is in a box' ./a:b /c:d
refuse 2 'an empty path' '' web:x
refuse 2 'an empty path' web:x ''
refuse 2 '' A:b other
assert_contains "$err" "a file here whose name has a colon is written with './'"
refuse 2 "--max-size: '5' has no unit" --max-size 5 web:x y
refuse 2 '--max-entries' --max-entries 0 web:x y
refuse 2 '--timeout' --timeout 0 web:x y

# A missing box, one that is not ours, and one that does not run.
for name in nosuch stranger; do
	refuse 1 "no such box: $name" "$name:x" y
	refuse 1 "no such box: $name" file "$name:"
done
refuse 1 "box 'asleep' is stopped; start it: box start asleep" asleep:x y
[ ! -e y ] || fail 'a copy that failed left something'

# Completion: boxes with their colon, and files; the path in the box is left alone.
assert_equal $':file\nasleep:\nweb:' "$(box __complete -- cp '')"
assert_equal $':file\nweb:' "$(box __complete -- cp file w)"
assert_equal '' "$(box __complete -- cp web : x)"
assert_equal $':file\nasleep:\nweb:' "$(box __complete -- cp web : x '')"
