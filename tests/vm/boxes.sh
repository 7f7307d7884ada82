#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The life of a real box: made, looked at, entered, shut down, started, removed without a trace.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
. "$tests_dir/vm/hollow.sh"
require_root
require_command virsh jq
make_scratch
assert_status 0 lab_run box image list --json
jq -e '.images[] | select(.template == "blank")' <<<"$out" >/dev/null || skip 'the lab has no image of blank'
hollow_nothing_left 'earlier tests'

# Refused before anything is made.
assert_status 1 lab_run box new --template nosuch web
assert_contains "$err" "no such template: 'nosuch'"
assert_status 2 lab_run box new Web_1
assert_status 2 lab_run box new --memory 2 web
assert_contains "$err" '--memory'
assert_status 2 lab_run box new --cpu 500 web
assert_contains "$err" 'this host has'
assert_status 2 lab_run box new --disk 1MiB web
assert_contains "$err" 'a disk can only grow'
printf '#cloud-config\nruncmd: [\n' >"$scratch/bad.yaml"
assert_status 1 lab_run box new --user-data "$scratch/bad.yaml" web
assert_contains "$err" "$scratch/bad.yaml"
hollow_nothing_left 'refusals'

# A box with user-data of its own, which proves that the first boot is over when new returns.
cat >"$scratch/user-data" <<'END'
#cloud-config
write_files:
  - path: /etc/proof
    content: first boot
runcmd:
  - [sh, -c, 'sleep 3; touch /etc/proof-of-the-end']
END
assert_status 0 lab_run box new web --cpu 1 --memory 768MiB --disk 6GiB --user-data "$scratch/user-data"
assert_equal 'web: usable; get in with: box shell web' "$out"
assert_contains "$err" 'NO security boundary'
assert_status 0 lab_run box exec web -- sh -c 'id -un; hostname; cat /etc/proof; ls /etc/proof-of-the-end'
assert_equal $'dev\nweb\nfirst boot\n/etc/proof-of-the-end' "$out"
assert_status 7 lab_run box exec web -- sh -c 'exit 7'

# What is said of it.
assert_status 0 lab_run box list --json
assert_equal '["web","running",true,"blank",0]' \
	"$(jq -c '.boxes[0] | [.name, .state, .confined, .template, .snapshots]' <<<"$out")"
assert_status 0 lab_run box info web --json
assert_equal '[1,805306368,6442450944,true,true,"mint","dev"]' "$(jq -c '[.cpus, .memory_bytes, .disk_bytes,
	.confined, .address_reserved, .origin, .user]' <<<"$out")"
address=$(jq -r .ipv4 <<<"$out")
assert_status 0 lab_run box exec web -- sh -c 'ip -4 -br a show dev "$(ip -br l | awk "/^en/ {print \$1}")"'
assert_contains "$out" "$address/24"
assert_status 0 lab_run box exec web -- lsblk -bdno SIZE /dev/vda
assert_equal 6442450944 "$(xargs <<<"$out")"
assert_status 1 lab_run box new web
assert_contains "$err" "the name 'web' is taken"

# The shape that the guest sees, and the one that libvirt runs.
assert_status 0 lab_run virsh dumpxml web
assert_contains "$out" "<port isolated='yes'/>"
assert_lacks "$out" '<graphics'
assert_lacks "$out" '<hostdev'
assert_lacks "$out" '<filesystem'

# A file survives the way down and up, and so does the address.
assert_status 0 lab_run box exec web -- sh -c 'echo kept >note; sync'
assert_status 0 lab_run box down web
assert_equal 'web: stopped' "$out"
assert_status 0 lab_run box down web
assert_equal 'web: was stopped' "$out"
assert_equal 'shut off' "$(lab_run virsh -q domstate web)"
assert_status 0 lab_run box start all
assert_equal 'web: started' "$out"
assert_status 0 lab_run box start web
assert_equal 'web: was running' "$out"
assert_status 0 lab_run box exec web -- cat note
assert_equal kept "$out"
assert_status 0 lab_run box info web --json
assert_equal "$address" "$(jq -r .ipv4 <<<"$out")"

# Somebody moves it off the stack: it is seen.
lab_run box virsh web -- attach-interface {} network boxnet --config >"$scratch/out" 2>"$scratch/err"
assert_contains "$(cat "$scratch/err")" 'can move box '
assert_status 0 lab_run box down --force web
assert_status 0 lab_run box list
assert_contains "$out" 'stopped,unconfined'
assert_status 0 lab_run box info web
assert_contains "$out" 'UNCONFINED'

assert_status 0 lab_run box rm --force web
assert_equal 'web: removed' "$out"
hollow_nothing_left 'rm'
assert_status 1 lab_run box info web
assert_equal 'box: no such box: web' "$err"
