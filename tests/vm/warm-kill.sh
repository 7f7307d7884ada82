#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A warming that is killed behind a step of its own: the next command takes the half-made box away, the next warming
# what is left of the image, and then there is one that works. Each step is a boot.
#
#   warm-kill.sh [STEP...]     default: save
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_root
require_command virsh jq
name=kill-$$
steps=("${@:-save}")
box() { lab_run box "$@"; }
volumes() { lab_run virsh -q vol-list box | awk '{ print $1 }' | sort; }
on_exit lab_run box rm --quiet --force "$name"
on_exit lab_run box image warm --quiet blank

assert_status 0 box image warm blank
warm=${out#blank: }
warm=${warm%.qcow2*}
stem=${warm%-*}- # what any warm image of this image, host and sizes is called
others=$(volumes | grep -v "^$stem")

for step in "${steps[@]}"; do
	BOX_FAULT=warm.$step:kill assert_status 137 box image warm --refresh blank
	assert_status 1 box start nosuch
	case $step in
	boot | rehearse | trim | save) assert_contains "$err" "removed the box of a command that was killed: 'warm-blank-1'" ;;
	esac
	# what counts is the record, and that is not there before all the others are
	assert_equal '' "$(volumes | grep "^$stem.*json" || true)" "a record after a kill at warm.$step"
	assert_equal "$others" "$(volumes | grep -v "^$stem")" "killed at warm.$step"
	# cut off at once: it has swept by then
	BOX_FAULT=new.define assert_status 1 box image warm blank
	assert_equal "$others" "$(volumes)" 'swept'
done
assert_status 0 box image warm blank
assert_equal 3 "$(volumes | grep -c "^$stem")"
assert_status 0 box new --timing "$name"
assert_contains "$err" 'timing wake.adopt'
