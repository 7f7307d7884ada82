#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A layer on a base that is there: "box image mint" of a template with two commands against virt-customize doing
# the same work on the same base: a user, the two commands, the guest agent. Ours also writes and proves the seed,
# records the packages and stores the result in the pool.
# Functions are called by name.
# shellcheck disable=SC2317
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/bench.sh"
require_root
require_command jq qemu-img virt-customize
make_scratch
name=bench$$
own_cache
in_lab() { lab_run env XDG_CONFIG_HOME="$scratch/config" XDG_CACHE_HOME="$scratch/cache" "$@"; }
base=$(echo "$cache"/images/*.qcow2)
run=0

clean_up() {
	local image
	for image in $(in_lab box image list --json | jq -r --arg t "$name" '.images[] | select(.template == $t).name'); do
		in_lab box image rm --force --quiet "$image"
	done
}
on_exit clean_up
mkdir -p "$scratch/config/box/templates/$name"

# Each run is a new recipe, or there would be nothing to do.
ours() {
	run=$((run + 1))
	cat >"$scratch/config/box/templates/$name/template.yaml" <<-END
		user: dev
		bake: [[cp, /usr/bin/env, /usr/local/bin/tool], [sh, -c, 'echo $run >/opt/note']]
		verify: [tool, --version]
	END
	in_lab box image mint --quiet "$name"
}
theirs() {
	rm -f "$scratch/peer.qcow2"
	qemu-img create -q -f qcow2 -b "$base" -F qcow2 "$scratch/peer.qcow2"
	in_lab env LIBGUESTFS_BACKEND=direct LIBGUESTFS_BACKEND_SETTINGS=force_tcg virt-customize --quiet --no-network \
		--add "$scratch/peer.qcow2" --run-command 'useradd --create-home --shell /bin/bash dev' \
		--run-command 'cp /usr/bin/env /usr/local/bin/tool' --run-command "echo $run >/opt/note" \
		--run-command '/usr/local/bin/tool --version' --mkdir /usr/lib/box --upload "$BOX_BUILD/agent/box-agent:/usr/lib/box/box-agent"
}
bench_pair 3 ours -- theirs
bench_say 'layer of an image' 'virt-customize, the same work'
bench_end
