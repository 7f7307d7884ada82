#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The manual pages say what the command table says, in both directions.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_command jq
require_command scdoc

man=$source_root/docs/man
table=$(box help --json)

# section PAGE NAME: the lines of that section
section() {
	awk -v name="# $2" '/^# /{on = ($0 == name); next} on' "$man/$1.scd"
}

# options PAGE SECTION: the long options that it explains, sorted
options() {
	section "$1" "$2" | grep -oE '^(\*-[a-zA-Z]\*, )?\*--[a-z-]+\*' | grep -oE -- '--[a-z-]+' | sort
}

# field COMMAND FIELD: a text of the table
field() {
	jq -r --arg n "$1" --arg f "$2" '.commands[] | select(.name == $n)[$f] // empty' <<<"$table"
}

check_page() {
	local name=$1 page=box-$1.1 args want
	[ -f "$man/$page.scd" ] || fail "box $name has no page docs/man/$page.scd"
	assert_equal "box-$name(1)" "$(head -1 "$man/$page.scd")" "$page, first line"
	assert_equal "box-$name - $(field "$name" summary)" "$(section "$page" NAME | sed '/^$/d')" "$page, NAME"
	args=$(field "$name" arguments)
	assert_equal "box $name [OPTIONS]${args:+ $args}" \
		"$(section "$page" SYNOPSIS | sed '/^$/d; s/\\//g; s/[*_]//g' | head -1)" "$page, SYNOPSIS"
	want=$(jq -r --arg n "$name" '.commands[] | select(.name == $n).options[]
		| select(.general | not) | "--" + .name' <<<"$table" | sort)
	assert_equal "$want" "$(options "$page" OPTIONS)" "$page, OPTIONS"
	[ -n "$(section "$page" EXAMPLES)" ] || fail "$page has no EXAMPLES"
	[ "$(grep -n '^# EXAMPLES' "$man/$page.scd" | cut -d: -f1)" -lt \
		"$(grep -n '^# DESCRIPTION' "$man/$page.scd" | cut -d: -f1)" ] ||
		fail "$page: examples come first"
	check_values "$name" "$page"
}

# The value of an option is called the same, and so is its letter.
check_values() {
	local line
	while read -r line; do
		section "$2" OPTIONS | sed 's/[*_]//g' | grep -qxF -- "$line" ||
			fail "$2: OPTIONS has no line '$line'"
	done < <(jq -r --arg n "$1" '.commands[] | select(.name == $n).options[]
		| select(.general | not)
		| (if .letter then "-" + .letter + ", " else "" end) + "--" + .name
			+ (if .argument then " " + .argument else "" end)' <<<"$table")
}

for name in $(jq -r '.commands[].name' <<<"$table"); do
	check_page "$name"
done
for file in "$man"/box-*.1.scd; do
	name=${file##*/box-}
	name=${name%.1.scd}
	[ -n "$(field "$name" name)" ] || fail "$file is about a command that does not exist"
done

# box(1) lists each command under its group with its line, and the general options.
want=$(jq -r '.commands | group_by(.group)[] | .[] | "\(.group)|\(.name)|\(.summary)"' <<<"$table" | sort)
got=$(section box.1 COMMANDS | awk '/^## /{group = substr($0, 4)}
	/^\*box-/{name = $0; sub(/^\*box-/, "", name); sub(/\*\(1\).*/, "", name)}
	/^\t/{print group "|" name "|" substr($0, 2)}' | sort)
assert_equal "$want" "$got" 'box.1, COMMANDS'
want=$(jq -r '[.commands[].options[] | select(.general) | "--" + .name] | unique[]' <<<"$table" | sort)
assert_equal "$want" "$(options box.1 'GENERAL OPTIONS')" 'box.1, GENERAL OPTIONS'

# Every page is built, every built page exists, and scdoc takes them all.
for file in "$man"/*.scd; do
	page=${file##*/}
	page=${page%.scd}
	grep -qF "'$page'," "$source_root/docs/meson.build" || fail "docs/meson.build does not list $page"
	scdoc <"$file" >/dev/null || fail "$page is no good scdoc"
done
# A page that is referred to exists, unless it is another program's.
for page in $(grep -ohE '\*box[a-z-]*\*\([0-9]\)' "$man"/*.scd | tr -d '*' | sort -u); do
	page=${page%%(*}.$(grep -oE '[0-9]' <<<"${page##*(}")
	[ -f "$man/$page.scd" ] || fail "a page refers to $page, which does not exist"
done
# box-isolation(7) tells every counter of the rules, and none that is not there.
want=$(grep -oE 'counter drop_[a-z0-9_]+' "$source_root"/tests/golden/rules/*.nft | grep -oE 'drop_[a-z0-9_]+' | sort -u)
got=$(grep -oE 'drop_[a-z0-9_]+' "$man/box-isolation.7.scd" | sort -u)
assert_equal "$want" "$got" 'box-isolation.7, counters'
# The example of a whole drill counts as many claims as box-isolation(7) tells, which a unit test compares with the table.
want=$(awk '/^# CLAIMS/{on = 1; next} /^# /{on = 0} on' "$man/box-isolation.7.scd" | grep -cE '^\*[a-z0-9-]+\*$')
got=$(section box-drill.1 EXAMPLES | grep -oE '^[0-9]+ hold, 0 broken' | cut -d' ' -f1)
assert_equal "$want" "$got" 'box-drill.1, number of claims'
# box-template(5) has every key of a template and none that is not there.
want=$(grep -oE '^	\{ "[a-z0-9]+", YML_' "$source_root/images/template-keys.c" | grep -oE '[a-z0-9]+"' | tr -d '"' | sort -u)
got=$(awk '/^# KEYS/{on = 1; next} /^# /{on = 0} on' "$man/box-template.5.scd" | grep -E '^\*[a-z0-9]+\*' |
	grep -oE '\*[a-z0-9]+\*' | tr -d '*' | sort -u)
got=$(printf '%s\n' "$got" path text | sort -u) # of the mapping "context"
assert_equal "$want" "$got" 'box-template.5, keys'
