#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# box new --user-data: what cloud-init would reject is refused before anything is made; what it takes is
# merged with the template's by its own rules, and run once; what fails in it is reported with the module and
# the last lines of the log, and such a box does not stay.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_root
require_command jq virsh
make_scratch
name=data-$$
template=data$$
export BOX_CPU=1 BOX_MEMORY=1GiB
own_cache
in_lab() { lab_run env XDG_CONFIG_HOME="$scratch/config" XDG_CACHE_HOME="$scratch/cache" "$@"; }
volumes() { lab_run virsh -q vol-list box | awk '{print $1}' | sort; }

folder=$scratch/config/box/templates/$template
mkdir -p "$folder"
echo 'user: dev' >"$folder/template.yaml"
cat >"$folder/user-data.yaml" <<-'END'
	#cloud-config
	write_files:
	  - {path: /etc/of-template, content: template}
	runcmd:
	  - [sh, -c, 'echo template >>/root/ran']
END
on_exit in_lab box image rm --force --quiet "$template"
assert_status 0 in_lab box image mint "$template"
before=$(volumes)

# ---- refused, with file and line ----

refused() {
	printf '%s\n' "$1" >"$scratch/bad"
	assert_status 1 in_lab box new --template "$template" --user-data "$scratch/bad" "$name"
	assert_contains "$err" "$scratch/bad:$2"
	assert_equal "$before" "$(volumes)"
}
refused 'packages: [x]' "1: cloud-init takes what begins with the line '#cloud-config'"
refused $'#cloud-config\nruncmd: [a\nb' 4
refused $'#cloud-config\nruncmd: []\nruncmd: []' 3
refused $'#cloud-config\nrunncmd: []' "2: cloud-init in a box has no key 'runncmd'; did you mean 'runcmd'?"
refused $'#cloud-config\nwrite_files: {path: /x}' 2

# ---- merged, and run once ----

cat >"$scratch/own" <<-'END'
	#cloud-config
	merge_how: 'list(append)+dict(recurse_list)'
	write_files:
	  - {path: /etc/of-user, content: user}
	timezone: Europe/Vienna
	runcmd:
	  - [sh, -c, 'echo user >>/root/ran']
END
on_exit lab_run box rm --force "$name"
assert_status 0 in_lab box new --template "$template" --user-data "$scratch/own" "$name"
ran() { lab_run box exec --user root "$name" -- cat /root/ran; }
assert_equal template "$(lab_run box exec "$name" -- cat /etc/of-template)"
assert_equal user "$(lab_run box exec "$name" -- cat /etc/of-user)"
assert_contains "$(lab_run box exec "$name" -- date +%Z)" CE
assert_equal $'template\nuser' "$(ran)"
assert_contains "$(volumes)" seed-box-
assert_status 0 lab_run box restart "$name"
assert_equal $'template\nuser' "$(ran)"
assert_status 0 lab_run box rm --force "$name"
assert_equal "$before" "$(volumes)"

# ---- a failure is told ----

cat >"$scratch/fails" <<-'END'
	#cloud-config
	runcmd:
	  - [sh, -c, 'echo the reason of it >&2; exit 3']
END
assert_status 1 in_lab box new --template "$template" --user-data "$scratch/fails" "$name"
assert_contains "$err" scripts_user
assert_contains "$err" 'the reason of it'
assert_equal "$before" "$(volumes)"
