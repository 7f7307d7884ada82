#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# payload.sh TEMPLATE: the image of a coding agent, minted if it is not there, and a real box of it: the
# agent and its tools for a command without a login, the file that tells the agent where it is, no other
# template's agent, nothing to log in with, and Docker. "fifth" is an agent of the test's own: one folder
# with one file.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_root
require_command jq
template=$1
export BOX_CPU=1 BOX_MEMORY=2GiB # emulated: more would cost more than it gives
name=payload-$template-$$
make_scratch
in_lab() { lab_run env XDG_CONFIG_HOME="$scratch/config" "$@"; }
box() { in_lab box "$@"; }
in_box() { lab_run box exec "$name" -- "$@"; }
case $template in
claude) context=.claude/CLAUDE.md ;;
codex) context=.codex/AGENTS.md ;;
grok) context=.grok/AGENTS.md ;;
fifth) context=.fifth/AGENTS.md ;;
*) fail "no such agent: $template" ;;
esac

if [ "$template" = fifth ]; then
	mkdir -p "$scratch/config/box/templates/fifth"
	cat >"$scratch/config/box/templates/fifth/template.yaml" <<-'END'
		description: An agent that says its version, and no more
		base: agent
		user: fifth
		bake:
		  - [mkdir, -p, /usr/local/lib/node_modules/@of/fifth]
		  - [sh, -c, 'echo "{\"name\": \"@of/fifth\", \"version\": \"5.0.1\"}" >/usr/local/lib/node_modules/@of/fifth/package.json']
		  - [sh, -c, 'printf "#!/bin/sh\necho 5.0.1\n" >/usr/local/bin/fifth && chmod 755 /usr/local/bin/fifth']
		verify: [fifth, --version]
		context:
		  path: .fifth/AGENTS.md
		  text: You are in a box from the template `fifth`.
	END
	on_exit sh -c 'rm -f "$0"/images/golden-fifth-*' "$(lab_run sh -c 'echo "$XDG_CACHE_HOME"')/box"
	on_exit in_lab box image rm --force --quiet fifth
fi
assert_status 0 "$tests_dir/lab/lab" run --registry -- env XDG_CONFIG_HOME="$scratch/config" box image mint "$template"
assert_contains "$out" "$template: golden-$template-"

# What the image says of itself.
info=$(box image info --json "$template")
assert_equal current "$(jq -r .state <<<"$info")"
package=$(jq -r '[.packages[] | select(.from == "npm" and (.name | startswith("@")))][0] | "\(.name) \(.version)"' <<<"$info")
version=${package#* }
assert_contains "$(jq -r .verified <<<"$info")" "$version"
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+ ]] || fail "the image of $template names no version of its agent: '$package'"

on_exit box rm --force "$name"
assert_status 0 box new --cold --template "$template" "$name"

# The agent, on the PATH of a command that is no login; it says the version that the manifest has.
assert_contains "$(in_box "$template" --version)" "$version"
assert_equal "$template" "$(in_box id -un)"
assert_contains " $(in_box id -Gn) " ' docker '
assert_contains " $(in_box id -Gn) " ' sudo '
assert_equal root "$(in_box sudo -n id -un)"
assert_contains "$(in_box sudo passwd --status "$template")" "$template L"
assert_contains "$(in_box cat "$context")" "from the template \`$template\`"
assert_equal "$template" "$(in_box stat -c %U "$context")"
for other in claude codex grok; do
	[ "$other" = "$template" ] || assert_status 127 in_box "$other" --version
done
node=$(in_box node --version)
if ! [[ $node =~ ^v([0-9]+)\. && ${BASH_REMATCH[1]} -ge 22 ]]; then fail "node is '$node'"; fi
# shellcheck disable=SC2016 # the box's variable
assert_silent "$(in_box sh -c 'for tool in git gh curl rg jq tmux age unzip gcc make npm docker; do
	command -v "$tool" >/dev/null || echo "$tool"
done')" 'tools that are missing'
assert_contains "$(in_box cat /etc/tmux.conf)" 'mouse on'

# Nobody is logged in, and nothing of the minting host is there.
assert_silent "$(in_box sudo sh -c 'find / -xdev \( -name .npmrc -o -name .netrc -o -name .bash_history \
	-o -name .git-credentials -o -name auth.json -o -name .credentials.json \) -print')"
assert_silent "$(in_box sudo sh -c 'grep -riE "proxy|registry" /etc/apt /etc/npmrc /etc/environment /root 2>/dev/null' || true)"

# Docker: an image that is built here, of one static program.
assert_status 0 in_box sh -c 'mkdir -p image && cd image && cp /usr/lib/box/box-agent agent &&
	printf "FROM scratch\nCOPY agent /agent\nENTRYPOINT [\"/agent\"]\n" >Dockerfile && docker build --quiet --tag here .'
assert_contains "$(in_box docker run --rm here --version)" 'box-agent '
assert_status 0 box rm --force "$name"
