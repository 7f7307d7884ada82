#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A base made from an archive on a web server, by a signed list of checksums: each thing that can be wrong has
# its own words. The archive is the tree of the plain base that the lab has; nothing is missing in it, so no other
# network is needed.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_root
require_command jq gpg gpgv python3 virsh
. "$tests_dir/vm/own-mint.sh"
tree=$(echo "$cache"/images/base-*.tar)
before=$(there)
refused() {
	assert_status 1 in_lab box image mint "$name"
	assert_contains "$err" "$1"
	assert_equal "$before" "$(there)" 'the cache'
}

# ---- an archive from a server, by a signed list ----

export GNUPGHOME=$scratch/gpg
mkdir -m 0700 "$GNUPGHOME" "$scratch/www"
on_exit gpgconf --homedir "$GNUPGHOME" --kill all
gpg --batch --quiet --passphrase '' --quick-generate-key ours@example.org ed25519 sign never 2>/dev/null
gpg --batch --quiet --passphrase '' --quick-generate-key other@example.org ed25519 sign never 2>/dev/null
key=$(gpg --batch --with-colons --fingerprint ours@example.org | awk -F: '$1 == "fpr" {print $10; exit}')
gpg --batch --quiet --export >"$scratch/ring.gpg"
ln -s "$tree" "$scratch/www/root.tar"
(cd "$scratch/www" && sha512sum root.tar >SUMS)
sign() { gpg --batch --quiet --yes --local-user "$1" --output "$scratch/www/SUMS.$2" "$3" "$scratch/www/SUMS"; }
sign ours@example.org sign --detach-sign

# The server is in the lab's own network, and says its port.
lab_run python3 -u -m http.server --bind 127.0.0.1 --directory "$scratch/www" 0 >"$scratch/server" 2>&1 &
server=$!
on_exit kill "$server"
wait_until 30 grep -q 'port [0-9]' "$scratch/server"
port=$(sed -n 's/.*port \([0-9]*\).*/\1/p' "$scratch/server" | head -n 1)
url=http://127.0.0.1:$port
signed() {
	template "$name" <<<"user: dev
image: {url: '$url/root.tar', checksums: '$url/$1', key: $key, keyring: $scratch/ring.gpg}"
}
signed SUMS.nowhere
refused '404'
sign other@example.org sign --detach-sign
signed SUMS
refused 'is not signed by the key that the template names'
sign ours@example.org sign --detach-sign
sed -i 's/[0-9]/x/' "$scratch/www/SUMS"
refused 'was changed after it was signed'
(cd "$scratch/www" && sha512sum SUMS >SUMS.other && mv SUMS.other SUMS)
sign ours@example.org asc --clear-sign
signed SUMS.asc
refused "has no checksum of 'root.tar'"
(cd "$scratch/www" && sha512sum root.tar | sed 's/^[0-7]/8/; t; s/^./0/' >SUMS)
sign ours@example.org asc --clear-sign
refused 'has another checksum than was expected'
assert_silent "$(find "$cache/sources" -name '*root.tar*')" 'downloads'

(cd "$scratch/www" && sha512sum root.tar >SUMS)
sign ours@example.org asc --clear-sign
assert_status 0 in_lab box image mint --json "$name"
jq -es 'any(.[]; .event == "progress" and .total > 100000000)' <<<"$out" >/dev/null || fail "no progress was told: $out"
info=$(in_lab box image info --json "$name")
assert_equal "$url/root.tar" "$(jq -r .source <<<"$info")"
assert_contains "$(in_lab box image info "$name")" "SIGNER      ${key,,}"
