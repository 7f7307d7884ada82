# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# system_bootstrap SUITE FOLDER OPTION...: a root file system of that Debian in FOLDER, by mmdebstrap with those
# options, from the mirror that this machine's apt uses; the log is FOLDER.log. Where no mirror answers the test
# that wants it is skipped. Nothing of the mirror is in the tree. Include tests/lib.sh first.
system_bootstrap() {
	local suite=$1 folder=$2 mirror options
	shift 2
	mirror=${BOX_MIRROR:-}
	if [ -z "$mirror" ]; then
		mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | head -n 1)
		mirror=${mirror:-http://deb.debian.org/debian}
	else
		mirror=$mirror/debian
	fi
	options=$(apt-config dump | grep -E '^Acquire::(Check-|https?::)' || :)
	rm -rf "$folder.new"
	mmdebstrap --quiet --variant=minbase --aptopt="$options" "$@" \
		"$suite" "$folder.new" "deb ${mirror%/} $suite main" </dev/null >"$folder.log" 2>&1 || {
		rm -rf "$folder.new"
		tail -n 5 "$folder.log" | sed 's|[a-z]*://[^ ]*|MIRROR|g' >&2
		skip "the Debian called $suite cannot be bootstrapped: no mirror answers"
	}
	mv "$folder.new" "$folder"
}
