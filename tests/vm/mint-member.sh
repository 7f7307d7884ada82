#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An ordinary member of the group libvirt mints: the tree is made in a user namespace, with owners of the member's
# own range; one that was killed is cleared away by the next. Without a range it says what is missing.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
require_root
require_command virsh jq setpriv newuidmap flock
group=$(getent group libvirt | cut -d: -f3)
[ -n "$group" ] || skip 'needs the group libvirt'
make_scratch
chmod 0711 "$scratch"
own_cache
name=member$$
home=$scratch/home
mkdir -p "$home/.cache/box/images" "$home/.config/box/templates/$name" "$scratch/tree"/{source,build,libexec}
cp "$cache"/images/* "$home/.cache/box/images"
cat >"$home/.config/box/templates/$name/template.yaml" <<-'END'
	user: dev
	bake: [[cp, /usr/bin/env, /usr/local/bin/fifth], [chown, games, /usr/local/bin/fifth], [sleep, 1]]
	verify: [fifth, --version]
END
chown -R nobody "$home"
touch "$scratch/none"
printf 'nobody:100000:65536\n' >"$scratch/range"

# as_member RANGE CMD...: as nobody, with that /etc/subuid. (lab_run_nobody gives no way to newuidmap, which is setuid.)
as_member() {
	# shellcheck disable=SC2016 # expanded in there
	lab_run unshare --mount --propagation private bash -euc '
		scratch=$1 group=$2 range=$3
		shift 3
		tree=$scratch/tree
		mount --bind "$BOX_DATA" "$tree/source"
		mount --bind "$BOX_BUILD" "$tree/build"
		for file in /etc/subuid /etc/subgid; do
			[ -e "$file" ] || touch "$file"
			mount --bind "$scratch/$range" "$file"
		done
		for program in "$BOX_LIBEXEC"/box-*; do
			built=$(readlink "$program")
			ln -sfn "$tree/build${built#"$BOX_BUILD"}" "$tree/libexec/${program##*/}"
		done
		export BOX_DATA=$tree/source BOX_BUILD=$tree/build BOX_LIBEXEC=$tree/libexec
		exec setpriv --reuid=nobody --regid=nogroup --groups="$group" env -C / -u LIBGUESTFS_CACHEDIR \
			-u XDG_CACHE_HOME -u XDG_CONFIG_HOME HOME="$scratch/home" TMPDIR=/tmp PATH="$tree/build/cli:$PATH" "$@"
	' bash "$scratch" "$group" "$@"
}
work() { find "$home/.cache/box/work" -mindepth 1; }
on_exit lab_run env XDG_CONFIG_HOME="$home/.config" box image rm --force --quiet "$name"

assert_status 1 as_member none box image mint "$name"
assert_contains "$err" "in /etc/subuid and /etc/subgid"
assert_silent "$(work)" 'work folders'

# Killed in the midst of it, with all that could clean up: files of other owners lie there, and the next one takes
# them away.
as_member range box image mint --json "$name" >"$scratch/events" 2>&1 &
mint=$!
wait_until 200 grep -q 'bake: sleep' "$scratch/events"
mapfile -t pids < <(pgrep -f "box-mint.* $name\$")
for pid in "${pids[@]}"; do
	mapfile -t -O "${#pids[@]}" pids < <(pgrep -P "$pid")
done
kill -KILL "${pids[@]}"
wait "$mint" && fail 'it went on'
of_others() { find "$home/.cache/box/work" -uid +99999 | grep -q .; }
of_others || fail 'nothing was left'
wait_until 30 flock --nonblock "$home"/.cache/box/work/*/lock true
assert_status 0 as_member range box image mint "$name"
assert_silent "$(work)" 'work folders'
assert_equal current "$(lab_run env XDG_CONFIG_HOME="$home/.config" box image info --json "$name" | jq -r .state)"

# The owners are those inside.
assert_status 0 as_member range box image info --json "$name"
assert_equal nobody "$(stat -c %U "$home/.cache/box/images/golden-$name"-*.qcow2)"
box=mm-$$
on_exit lab_run box rm --force --quiet "$box"
assert_status 0 as_member range box new --cold --cpu 1 --template "$name" "$box"
assert_equal 'games root dev' "$(as_member range box exec "$box" -- sh -c 'stat -c %U /usr/local/bin/fifth /usr/bin/env "$HOME" | xargs')"
