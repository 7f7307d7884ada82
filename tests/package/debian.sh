#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The Debian package, built from this tree and lived through on the lab's host: install, set up, upgrade,
# remove, purge. What is there afterwards that was not there before is named, and fails the test.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
require_root
require_command jq dpkg-buildpackage dh lintian scdoc unshare

export BOX_LAB=${BOX_LAB_PACKAGE:-package}
cache=${BOX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/box-lab}/package
lab=$tests_dir/lab/lab
make_scratch

# Always in the same folder, so that a compiler's cache knows it again.
mkdir -p "$cache"
exec {lock}>"$cache/lock"
flock -w 600 "$lock" || fail 'another run builds the package'
rm -rf "$cache/build"
mkdir -p "$cache/build/box"
(cd "$source_root" && tar -cf - --exclude=./.git --exclude='./build*' --exclude=./out .) |
	tar -xf - -C "$cache/build/box"

build_package() {
	local cc=gcc
	! command -v ccache >/dev/null || cc='ccache gcc'
	# nocheck: the tests have been run by "check" in the same tree.
	(cd "$cache/build/box" && CC=$cc DEB_BUILD_OPTIONS='nocheck terse' nice dpkg-buildpackage -us -uc) \
		</dev/null >"$scratch/build.log" 2>&1 || {
		tail -n 40 "$scratch/build.log" >&2
		fail 'dpkg-buildpackage'
	}
	# debugging symbols are a package of their own, made by debhelper
	version=$(dpkg-parsechangelog -l "$cache/build/box/debian/changelog" -S Version)
	package=$cache/build/box_${version}_amd64.deb
	[ -f "$package" ] || fail "no $package"
}

check_with_lintian() {
	(cd "$cache/build" && lintian --allow-root --fail-on error,warning --tag-display-limit 0 \
		--suppress-tags bad-distribution-in-changes-file "box_${version}_amd64.changes") \
		</dev/null >"$scratch/lintian.log" 2>&1 || fail "lintian: $(cat "$scratch/lintian.log")"
}

# The same package with a later version, and a hook that is another file.
make_newer() {
	newer=$scratch/newer.deb
	dpkg-deb -R "$package" "$scratch/newer"
	sed -i "s/^Version: .*/Version: $version+newer/" "$scratch/newer/DEBIAN/control"
	printf 'newer' >>"$scratch/newer/usr/libexec/box/box-hook"
	dpkg-deb -Znone -b "$scratch/newer" "$newer" >/dev/null
}

build_package
check_with_lintian
make_newer
contents=$(dpkg-deb -c "$package")
for path in usr/bin/box usr/libexec/box/box-main usr/libexec/box/box-exec usr/libexec/box/box-mint usr/libexec/box/box-agent \
	usr/libexec/box/box-hook usr/libexec/box/box-copy usr/libexec/box/box-probe \
	usr/share/box/templates/claude/template.yaml usr/share/box/net/systemd/box-isolation.service \
	usr/share/box/net/systemd/nftables-drop-in.conf usr/share/man/man1/box.1.gz \
	usr/share/man/man5/box-template.5.gz usr/share/man/man7/box-isolation.7.gz \
	usr/share/man/man8/box-agent.8.gz usr/share/bash-completion/completions/box \
	usr/share/zsh/vendor-completions/_box usr/share/fish/vendor_completions.d/box.fish; do
	grep -qE " \./$path\$" <<<"$contents" || fail "the package lacks $path"
done

on_exit "$lab" down
"$lab" up --bare </dev/null >"$scratch/lab.log" 2>&1 || {
	cat "$scratch/lab.log" >&2
	fail 'the lab did not start'
}
cp "$package" "$scratch/box.deb"
# The README's tour is done on a bare Debian 12, or with the lab's host where that cannot be had.
tour=
if [ "${1:-}" != --without-guest ]; then
	"$tests_dir/package/stranger.sh" "$package" || {
		[ $? = 77 ] || fail 'the README does not hold on a bare Debian 12'
		tour=tour
	}
fi
lab_run unshare --mount --propagation private \
	bash "$tests_dir/package/life.sh" "$scratch/box.deb" "$newer" "$tour"
