#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The scripts load in their shells and offer what "box __complete" offers.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_command jq

# What the table holds, completion offers, and nothing else.
names=$(box help --json | jq -r '.commands[] | .name, .alias // empty' | sort)
offered=$(box __complete -- '' | cut -f1 | grep -v '^--' | sort)
assert_equal "$names" "$offered" 'commands'
for name in $(box help --json | jq -r '.commands[].name'); do
	options=$(box help --json | jq -r --arg n "$name" \
		'.commands[] | select(.name == $n).options[] | "--" + .name' | sort)
	offered=$(box __complete -- "$name" -- | cut -f1 | sort)
	assert_equal "$options" "$offered" "box $name --"
	offered=$(box __complete -- "$name" --no-i | cut -f1)
	assert_equal '--no-input' "$offered" "box $name --no-i"
done

# What only the host knows; a host that does not answer has nothing to offer, and is not told of.
export LIBVIRT_DEFAULT_URI="test://$source_root/tests/cli/host.xml"
assert_equal $'asleep\nweb' "$(box __complete -- shell '')" 'boxes'
assert_equal 'web' "$(box __complete -- shell w)" 'boxes with w'
assert_equal '' "$(box __complete -- shell web '')" 'after the box'
assert_status 0 box __complete -- shell --connect 'qemu+unix:///system?socket=/nonexistent' ''
assert_silent "$out$err" 'no host'
unset LIBVIRT_DEFAULT_URI

bash_offers() { # WORDS...: what bash's function puts into COMPREPLY for the last word
	bash --norc -c 'eval "$(box completion bash)"
		COMP_WORDS=(box "$@") COMP_CWORD=$#
		_box
		printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}
assert_equal 'version' "$(bash_offers versi)"
assert_equal $'bash\nzsh\nfish' "$(bash_offers completion '')"
assert_equal '' "$(bash_offers completion bash '')"
assert_equal '--json' "$(bash_offers version --js)"
bash -n <(box completion bash) || fail 'bash does not read its script'
if command -v zsh >/dev/null; then
	box completion zsh | zsh -n || fail 'zsh does not read its script'
fi
if command -v fish >/dev/null; then
	box completion fish | fish -n || fail 'fish does not read its script'
	assert_equal 'zsh' "$(fish -c 'box completion fish | source; complete -C "box completion z"')"
fi
