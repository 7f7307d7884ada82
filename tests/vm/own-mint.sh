# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# Mints of a test's own: templates and a cache in $scratch, the base of blank's image, so that nothing needs a
# network. Include it behind tests/lib.sh; it makes $scratch and sets
#
#   $name              a name for the test's template; images of templates whose names begin with it go at the end
#   $cache             the cache, see own_cache
#   in_lab CMD...      in the lab, with these templates and this cache
#   template NAME      its template.yaml is standard input
#   dev_template       the template $name likewise, to which "user: dev" is added
#   there              the files of the cache, but seeds
#   pool               the volumes of the pool
make_scratch
name=probe$$
own_cache
in_lab() { lab_run env XDG_CONFIG_HOME="$scratch/config" XDG_CACHE_HOME="$scratch/cache" "$@"; }
template() {
	mkdir -p "$scratch/config/box/templates/$1"
	cat >"$scratch/config/box/templates/$1/template.yaml"
}
dev_template() { { echo 'user: dev' && cat; } | template "$name"; }
there() { find "$cache/images" -type f ! -name 'seed-*' | sort; }
pool() { lab_run virsh -q vol-list box | awk '{print $1}' | sort; }
own_mint_gone() {
	local manifest
	for manifest in $(pool | grep -e "^golden-$name.*json$"); do
		in_lab box image rm --force --quiet "${manifest%.json}"
	done
}
on_exit own_mint_gone
