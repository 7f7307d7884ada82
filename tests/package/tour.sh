# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# A stranger's way, as the README has it: each command of its blocks under a comment that names this file, with the
# package's program, and what it prints compared with what the README says. Included by life.sh and stranger.sh, which
# say how, and which purge the package themselves:
#
#   tour_shell COMMAND     run it where the package is installed; streams and exit status are its own
#   restart_libvirtd       after setup-host, which here no systemd does
#
# The host is not set up yet, and is torn down again.

# What differs from run to run.
tour_plain() {
	sed -E 's/[0-9a-f]{16}/DIGEST/g; s/10\.[0-9]+\.[0-9]+\.[0-9]+/ADDRESS/g; s/[0-9.]+\+deb13-cloud-amd64/KERNEL/; s/ +/ /g'
}

# tour_session COMMAND WANTED: what a person sees who types, in the shell that COMMAND gives, what WANTED has
# behind its prompts; each line is typed when the prompt is there.
tour_session() {
	local command=$1 seen='' part line
	coproc session { tour_shell "TERM=dumb script -qec '$command' /dev/null"; }
	# shellcheck disable=SC2154 # made by coproc
	exec {keys}>&"${session[1]}" {screen}<&"${session[0]}"
	while IFS= read -r line; do
		[[ $line == dev@*'$ '* ]] || continue
		IFS= read -r -t 120 -d '$' -u "$screen" part || fail "'$command' shows no prompt: $seen$part"
		seen+="$part\$"
		printf '%s\n' "${line#*'$ '}" >&"$keys"
	done <<<"$2"
	part=$(timeout 120 cat <&"$screen") || fail "'$command' does not end: $seen"
	exec {keys}>&- {screen}<&-
	wait "$session_PID" || fail "'$command' ended with status $?"
	tr -d '\r' <<<"$seen$part"
}

# tour_step COMMAND WANTED: sudo is for people, this is root
tour_step() {
	local out run=tour_shell
	[[ $1 != 'sudo apt '* ]] || return 0
	[[ $1 != 'box shell '* ]] || run=tour_session
	out=$("$run" "${1#sudo }" "$2" </dev/null 2>"$scratch/tour.err") || fail "'$1': $(cat "$scratch/tour.err")"
	assert_equal "$(tour_plain <<<"$2")" "$(tour_plain <<<"$out")" "'$1', as the README has it"
	[ "$1" != 'sudo box setup-host' ] || restart_libvirtd
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
	done < <(awk '/^<!--.*package\/tour/ {wanted = 1} /^```/ {if (in_block || wanted) in_block = !in_block; wanted = 0; next}
		in_block' "$source_root/README.md")
	tour_step "$command" "$wanted"
	[ "$steps" -ge 10 ] || fail "the README's tour has $steps commands"
	echo "a stranger's tour: $steps commands, and what each prints, as in the README"
}
