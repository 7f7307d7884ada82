#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What is uploaded is whole or gone: an upload of blank's image that fails, and one that is killed, in the
# lab's real pool. The image comes from the cache, so nothing is built here.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_root
require_command jq virsh
make_scratch

# A warm image goes with its golden one.
volumes() { lab_run virsh vol-list box | awk 'NR > 2 && NF && $1 !~ /^warm-/ {print $1}' | sort; }
images() { lab_run box image list --json | jq -r '.images[] | select(.template == "blank" and .state == "current").state'; }

lab_run box image mint --offline --quiet blank >/dev/null 2>&1 || skip 'the image of blank is not in the cache'
on_exit lab_run box image mint --offline --quiet blank
# Images of other builds would keep the seed.
for other in $(lab_run box image list --json | jq -r '.images[] | select(.template == "blank" and .state != "current").name'); do
	lab_run box image rm --force --quiet "$other"
done
golden=$(lab_run box image list --json | jq -r '.images[] | select(.template == "blank" and .state == "current").name')
[[ $golden == golden-blank-* ]] || fail "no image of blank: '$golden'"
# Its seed goes with the last image that has it. There may be others, of other templates.
seed=$(lab_run box image info --json blank | jq -r .seed)
for other in $(lab_run box image list --json | jq -r '.images[] | select(.template != "blank").name'); do
	[ "$(lab_run box image info --json "$other" | jq -r .seed)" != "$seed" ] || seed=
done
assert_taken_back() {
	assert_lacks "$(volumes)" "$golden"
	[ -z "$seed" ] || assert_lacks "$(volumes)" "$seed"
}
whole=$(volumes)
assert_status 0 lab_run box image mint --offline blank
assert_contains "$out" '(was there)'

# Nothing is removed without a yes, and nothing is left after one.
assert_status 2 lab_run box image rm blank </dev/null
assert_contains "$err" 'refusing to remove'
assert_equal "$whole" "$(volumes)"

# Nor under another domain, whichever way its disk names it.
foreign=foreign-$$
foreign_on() { # TYPE SOURCE
	printf "<domain type='qemu'><name>%s</name><memory unit='MiB'>32</memory><os><type arch='x86_64'>hvm</type></os>
		<devices><disk type='%s'><source %s/><target dev='vda'/></disk></devices></domain>" \
		"$foreign" "$1" "$2" >"$scratch/foreign.xml"
	lab_run virsh -q define "$scratch/foreign.xml" >/dev/null
}
on_exit lab_run virsh -q undefine "$foreign"
folder=$(lab_run virsh pool-dumpxml box | sed -n 's/.*<path>\(.*\)<.*/\1/p')
for source in "file file='$folder/$golden.qcow2'" "volume pool='box' volume='$golden.qcow2'"; do
	foreign_on "${source%% *}" "${source#* }"
	assert_status 1 lab_run box image rm --force blank
	assert_contains "$err" 'in use'
	assert_contains "$(volumes)" "$golden.qcow2"
	lab_run virsh -q undefine "$foreign"
done

assert_status 0 lab_run box image rm --force blank
assert_taken_back

# One that fails takes back what has no manifest yet; the base, which has one, may stay.
assert_status 1 lab_run env BOX_FAULT=upload.golden:fail box image mint --offline blank
assert_contains "$err" 'fault injected after upload.golden'
assert_taken_back
assert_silent "$(images)"

# One that is killed leaves volumes that count for nothing, and the next one replaces them at once.
assert_status 137 lab_run env BOX_FAULT=upload.golden:kill box image mint --offline blank
assert_contains "$(volumes)" "$golden"
assert_silent "$(images)"
assert_status 0 lab_run box image mint --offline blank
assert_equal current "$(images)"
assert_equal "$whole" "$(volumes)" 'volumes of the pool'
assert_status 0 lab_run box image verify
assert_lacks "$out" BROKEN
