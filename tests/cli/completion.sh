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
assert_equal $'clean\nlogged-in' "$(box __complete -- restore web '')" 'labels'
assert_equal 'logged-in' "$(box __complete -- restore web log)" 'labels with log'
assert_equal '' "$(box __complete -- restore asleep '')" 'no labels'
assert_equal '' "$(box __complete -- restore stranger '')" 'labels of a domain that is no box'
assert_equal $'clean\nlogged-in' "$(box __complete -- snapshot web --remove '')" 'labels to remove'
assert_equal $'asleep\nweb\nweb/clean\nweb/logged-in' "$(box __complete -- new --from '')" 'sources'
assert_equal '--from=web/logged-in' "$(box __complete -- new --from=web/l)" 'a source in one word'
assert_equal $'web/clean\nweb/logged-in' "$(box __complete -- run --from web/)" 'sources of one box'
assert_equal $'all\nasleep\nweb' "$(box __complete -- start '' | cut -f1)" 'boxes or all'
assert_equal $'asleep\nweb' "$(box __complete -- rm web '')" 'more boxes'

# Templates are files, images are volumes of the pool.
export BOX_DATA=$source_root
templates=$(box templates --json | jq -r '.templates[].name' | sort)
offered=$(box __complete -- new --template '' | sort)
for name in $templates; do
	grep -qx "$name" <<<"$offered" || fail "the template '$name' is not offered"
done
assert_equal 'claude' "$(box __complete -- run --template cl)" 'a template'
assert_equal 'codex' "$(box __complete -- image mint cod)" 'a template to mint'
make_scratch
{
	sed '/<\/node>/d' "$source_root/tests/cli/host.xml"
	cat <<-END
		<pool type='dir'>
		  <name>box</name>
		  <uuid>33333333-89ab-4cde-8f01-23456789abcd</uuid>
		  <target><path>/var/lib/libvirt/images/box</path></target>
	END
	for name in golden-claude-0123456789abcdef.qcow2 base-trixie-0123456789abcdef.qcow2 \
		box-01234567-89ab-4cde-8f01-23456789abcd-1.qcow2 seed-0123456789abcdef.iso; do
		echo "<volume type='file'><name>$name</name><capacity unit='bytes'>1000</capacity>" \
			"<target><path>/var/lib/libvirt/images/box/$name</path><format type='raw'/></target></volume>"
	done
	echo '</pool></node>'
} >"$scratch/host.xml"
images() { # WORDS...: what is offered and is no template's name
	LIBVIRT_DEFAULT_URI="test://$scratch/host.xml" box __complete -- image "$@" | grep '^golden' || :
}
assert_equal 'golden-claude-0123456789abcdef' "$(images info '')" 'images'
assert_equal 'golden-claude-0123456789abcdef' "$(images rm golden)" 'images that begin so'
assert_equal '' "$(images mint golden)" 'an image is nothing to mint'
unset BOX_DATA

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

# The same in each shell, with a host: boxes, labels, sources.
export LIBVIRT_DEFAULT_URI="test://$source_root/tests/cli/host.xml"
assert_equal $'asleep\nweb' "$(bash_offers info '')"
assert_equal 'logged-in' "$(bash_offers restore web l)"
assert_equal $'web/clean\nweb/logged-in' "$(bash_offers new --from web/)"
assert_equal $'clean\nlogged-in' "$(bash_offers snapshot web --remove = '')" # bash takes "--remove=" apart
if command -v zsh >/dev/null; then
	box completion zsh | zsh -n || fail 'zsh does not read its script'
	zsh_offers() { # WORDS...: what zsh's function hands to _describe
		zsh -fc 'compdef() { : } # what is loaded by compinit
			source <(box completion zsh)
			_describe() { print -rl -- "${(@P)2%%:*}" }
			words=(box "$@") CURRENT=$(( $# + 1 ))
			_box' zsh "$@"
	}
	assert_equal $'asleep\nweb' "$(zsh_offers info '')" zsh
	assert_equal 'logged-in' "$(zsh_offers restore web l)" zsh
	assert_equal $'web/clean\nweb/logged-in' "$(zsh_offers new --from web/)" zsh
	assert_equal 'version' "$(zsh_offers versi)" zsh
fi
if command -v fish >/dev/null; then
	box completion fish | fish -n || fail 'fish does not read its script'
	fish_offers() { # LINE
		fish -c 'box completion fish | source; complete -C "$argv[1]"' "$1" | cut -f1 | sort
	}
	assert_equal 'zsh' "$(fish_offers 'box completion z')" fish
	assert_equal $'asleep\nweb' "$(fish_offers 'box info ')" fish
	assert_equal 'logged-in' "$(fish_offers 'box restore web l')" fish
	assert_equal $'web/clean\nweb/logged-in' "$(fish_offers 'box new --from web/')" fish
fi
