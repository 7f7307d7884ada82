#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Scripts pass shellcheck (.shellcheckrc has the settings).
. "$(dirname "$(readlink -f "$0")")/files.sh"
command -v shellcheck >/dev/null || {
	echo 'skipped: needs shellcheck'
	exit 77
}
looked=$(script_files | wc -l)
script_files | xargs -P 2 -n 8 shellcheck || bad=1
finish
