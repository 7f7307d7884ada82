#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An ordinary member of the group libvirt, with no other rights on the host, leads a box through its whole life:
# what is root's business is done by libvirtd and by the hook that it runs. What does need root says so.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
require_root
require_command virsh jq setpriv curl
make_scratch
group=$(getent group libvirt | cut -d: -f3)
[ -n "$group" ] || skip 'needs the group libvirt'
name=member-$$

# The scratch folder is on the machine; the lab sees the same /tmp.
home=$scratch/home
mkdir "$home"
chown nobody "$home"

member() {
	lab_run_nobody "$group" env -C "$home" -u XDG_CACHE_HOME HOME="$home" TMPDIR=/tmp "$@"
}

for one in "$name" "clone-$$" "moved-$$"; do
	on_exit lab_run sh -c "box rm --force $one >/dev/null 2>&1"
done
assert_status 0 lab_run box image list --json
jq -e '.images[] | select(.template == "blank")' <<<"$out" >/dev/null || skip 'the lab has no image of blank'

# Nobody in particular, without the group, gets nothing.
assert_status 1 lab_run_nobody '' box list
assert_contains "$err" 'ermission denied'
assert_equal 'uid=65534(nobody)' "$(member id | cut -d' ' -f1)"
assert_status 1 member sh -c 'nft list tables'

# The host is root's.
for command in setup-host 'teardown-host --force'; do
	# shellcheck disable=SC2086 # two words
	assert_status 1 member box $command
	assert_contains "$err" "changes the host and must be run as root"
done
assert_status 0 member box doctor --json
assert_equal '["tables","hooks","forwarding","firewalls","dns"]' \
	"$(jq -c '[.checks[] | select(.verdict == "UNSEEN") | select(.text == "only root can see this").name]' <<<"$out")"

# A life.
assert_status 0 member box new "$name" --cpu 1
assert_status 0 member box list --json
assert_equal "$(jq -c . <<<"[\"$name\",\"running\",true]")" "$(jq -c '.boxes[0] | [.name, .state, .confined]' <<<"$out")"
assert_equal dev "$(member box exec "$name" -- id -un)"
echo there >"$home/file"
assert_status 0 member box cp "$home/file" "$name:back"
assert_status 0 member box cp "$name:back" "$home/back"
assert_equal there "$(cat "$home/back")"
assert_equal nobody "$(stat -c %U "$home/back")"

# Its rules are in force, though nobody of its owner's could load any.
assert_status 0 lab_run sh -c '"$BOX_LIBEXEC/box-hook" check'
assert_contains "$(member box exec "$name" -- curl -sS -m 20 http://example.test/)" 'hello from wan'
assert_status 28 member box exec "$name" -- curl -sS -m 3 http://10.20.30.40/

# A door, opened and shut.
assert_status 0 member box expose "$name" 8000 18000
assert_contains "$(lab_run nft list map inet box doors)" ' . 8000'
assert_status 0 member box expose "$name" --remove 8000
assert_lacks "$(lab_run nft list map inet box doors)" ' . 8000'

# Frozen, stopped, cloned, renamed, removed.
assert_status 0 member box snapshot "$name" first
assert_status 0 member box down "$name"
assert_status 0 member box new "clone-$$" --from "$name/first" --cpu 1
assert_equal there "$(member box exec "clone-$$" -- cat back)"
assert_status 0 member box restore --force "$name" first
assert_status 0 member box rename "$name" "moved-$$"
assert_status 0 member box virsh "moved-$$" -- domstate
assert_status 0 member box rm --force "clone-$$" "moved-$$"
assert_status 0 lab_run box list --json
assert_equal '[]' "$(jq -c .boxes <<<"$out")"
