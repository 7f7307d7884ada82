#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a person names and is no file: box says so at once, and neither waits for it nor takes it for one.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
make_scratch
export XDG_CONFIG_HOME=$scratch/config LIBVIRT_DEFAULT_URI="test://$source_root/tests/cli/host.xml"
folder=$XDG_CONFIG_HOME/box/templates/odd
mkdir -p "$folder" "$XDG_CONFIG_HOME/box/templates/sound"
echo 'user: dev' >"$XDG_CONFIG_HOME/box/templates/sound/template.yaml"
mkfifo "$scratch/pipe"

# refused TEXT WORDS...: that box WORDS fails at once with this text
refused() {
	local text=$1
	shift
	assert_status 1 timeout 20 box "$@"
	assert_contains "$err" "$text"
}

# A template: it does not hide the others.
odd_template() {
	refused "$1" templates
	assert_contains "$out" sound
	refused "$1" new --template odd web
	rm -r "${folder:?}"/*
}
mkfifo "$folder/template.yaml"
odd_template "'$folder/template.yaml' is a pipe; it has to be a file"
mkdir "$folder/template.yaml"
odd_template "'$folder/template.yaml' is a folder; it has to be a file"
ln -s /dev/zero "$folder/template.yaml"
odd_template "'$folder/template.yaml' is a device; it has to be a file"
truncate -s 1G "$folder/template.yaml"
odd_template "template.yaml is larger than"
echo 'user: dev' >"$folder/template.yaml"
mkfifo "$folder/user-data.yaml"
odd_template "'$folder/user-data.yaml' is a pipe; it has to be a file"

# User-data. What a command gives through a pipe is taken: here its text is found wrong.
refused "'$scratch/pipe' is a pipe into which nobody writes" new --template sound --user-data "$scratch/pipe" web
refused "'/dev/zero' is a device" new --template sound --user-data /dev/zero web
refused "'$scratch' is a folder" new --template sound --user-data "$scratch" web
refused "cloud-init in a box has no key 'runncmd'" new --template sound --user-data <(printf '#cloud-config\nrunncmd: []\n') web
