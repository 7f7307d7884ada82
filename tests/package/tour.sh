# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# A stranger's way, as the README has it: each command of its tour, with the package's program, and what it
# prints compared with what the README says. Included by life.sh; the host is not set up yet, and is torn down again.

# What differs from run to run.
tour_plain() {
	sed -E 's/[0-9a-f]{16}/DIGEST/g; s/10\.[0-9]+\.[0-9]+\.[0-9]+/ADDRESS/g; s/[0-9.]+\+deb13-cloud-amd64/KERNEL/; s/ +/ /g'
}

# tour_step COMMAND WANTED: sudo is for people, this is root
tour_step() {
	local out
	out=$(bash -c "${1#sudo }" </dev/null 2>"$scratch/tour.err") || fail "'$1': $(cat "$scratch/tour.err")"
	assert_equal "$(tour_plain <<<"$2")" "$(tour_plain <<<"$out")" "'$1', as the README has it"
	[ "$1" != 'sudo box setup-host' ] || restart_libvirtd # which here no systemd does
}

tour() {
	local line command='' wanted='' steps=0
	while IFS= read -r line; do
		if [[ $line == '$ '* ]]; then
			[ -z "$command" ] || tour_step "$command" "$wanted"
			command=${line#'$ '}
			wanted=
			steps=$((steps + 1))
		else
			wanted+=${wanted:+$'\n'}$line
		fi
	done < <(awk '/^## / {in_tour = /minute/} in_tour && /^```/ {if (block++) exit; next} in_tour && block' \
		"$source_root/README.md")
	tour_step "$command" "$wanted"
	[ "$steps" -ge 7 ] || fail "the README's tour has $steps commands"

	# And what follows it: the proof from inside, and the way back.
	assert_status 0 box drill --quick
	assert_contains "$out" ' 0 broken, 0 unknown'
	assert_status 0 box teardown-host --force
	assert_contains "$out" 'nothing of box is left on this host'
	echo "a stranger's tour: $steps commands as in the README, a drill, and the way back"
}
