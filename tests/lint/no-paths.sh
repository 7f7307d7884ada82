#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Nothing of the machine this was written on stands in the tree: not the folder the tree is in, nor the
# hosts of its package configuration, unless they are the ones that everybody has.
. "$(dirname "$(readlink -f "$0")")/files.sh"

public='^(deb|security|snapshot|ftp)\.debian\.org$|^(archive|security|ports)\.ubuntu\.com$|^registry\.npmjs\.org$|^pypi\.org$|^localhost$'
hosts=$({
	cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources \
		/etc/npmrc /etc/pip.conf "${HOME:-/root}"/.npmrc "${HOME:-/root}"/.config/pip/pip.conf
	grep -rh Proxy /etc/apt/apt.conf /etc/apt/apt.conf.d
} 2>/dev/null | grep -v '^[[:space:]]*\(#\|//\)' | grep -oE '[a-z+]+://[^/ "]+' |
	sed 's|.*://||; s|.*@||; s|:.*||' | sort -u | grep -vE "$public") || :

looked=$(source_files -true | wc -l)
search() {
	source_files -true | xargs -n 200 grep -anI "$@" -- && bad=1
	return 0
}
# A development folder in the places where such folders are, this tree's folder, the hosts.
search -E -e '(^|[^[:alnum:]._-])/[w]ork/|/home/[a-z]+/(src|git|work|projects)/'
case $PWD in
/ | /root | /tmp | /usr/src/*) ;;
*) search -F -e "$PWD/" ;;
esac
for host in $hosts; do
	search -F -e "$host"
done
finish
