# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2016
#
# The statuses that a command in a box may end with, and a script of sh for each. They are the command's own and
# blame nobody, whatever they are; "exec" and "run" are tested with the same table, with a terminal and without.

status_table=(
	'0 exit 0' '7 exit 7' '42 exit 42' '124 exit 124' '125 exit 125' '126 exit 126' '127 no-such-command 2>/dev/null'
	'130 kill -INT $$' '137 kill -KILL $$' '143 kill -TERM $$' '255 exit 255'
)
