# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Included by the stages: mmdebstrap's hooks, which run as root over a guest's tree ($1) and see nothing
# of the host but what is named here. box-mint hands over in the environment:
#
#   BOX_MINT_WORK    folder of this mint: bake-NN and verify (a command each, its words ended by NUL bytes)
#   BOX_MINT_LIMIT   seconds that one command may take
set -euo pipefail
umask 022
root=$1

# inside SCRIPT [ARG...]: sh in the guest's tree. All that is written or removed there goes through it, and so does what is
# read of it: a link in somebody's image, such as /var/tmp -> /tmp, leads into the tree and not into the host.
inside() {
	chroot "$root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
		/bin/sh -euc "$1" sh "${@:2}"
}

# Proxies and certificates of the host are lent to the commands, from a place that no layer keeps.
ca=
lend_host() {
	local bundle
	inside '
		mkdir -p /run/box-mint
		printf "#!/bin/sh\nexit 101\n" >/usr/sbin/policy-rc.d
		chmod 0755 /run/box-mint /usr/sbin/policy-rc.d'
	for bundle in "${SSL_CERT_FILE:-}" "${CURL_CA_BUNDLE:-}" /etc/ssl/certs/ca-certificates.crt; do
		if [ -f "$bundle" ]; then
			ca=/run/box-mint/ca.pem
			inside 'cat >"$1"' "$ca" <"$bundle"
			break
		fi
	done
	inside 'rm -f /etc/resolv.conf; cat >/etc/resolv.conf' </etc/resolv.conf
}

# guest_run CMD...: in the guest's tree, with an environment of its own.
guest_run() {
	local name lent=()
	for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY npm_config_registry; do
		[ -z "${!name:-}" ] || lent+=("$name=${!name}")
	done
	if [ -n "$ca" ]; then
		for name in SSL_CERT_FILE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS GIT_SSL_CAINFO npm_config_cafile; do
			lent+=("$name=$ca")
		done
	fi
	timeout -k 10 "${BOX_MINT_LIMIT:-1800}" chroot "$root" /usr/bin/env -i "${lent[@]}" \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
		LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 TMPDIR=/tmp \
		npm_config_cache=/run/box-mint/npm npm_config_update_notifier=false \
		npm_config_audit=false npm_config_fund=false "$@" </dev/null
}
# The same; what it prints is for people.
guest() {
	guest_run "$@" >&2
}

# The commands of the template, in order.
bake() {
	local file words
	for file in "$BOX_MINT_WORK"/bake-[0-9][0-9]; do
		[ -e "$file" ] || continue
		mapfile -d '' -t words <"$file"
		echo "bake: ${words[*]}" >&2
		guest "${words[@]}"
	done
}

# What was lent, what was only needed to install, and what must differ between machines.
clean() {
	inside '
		rm -rf /run/* /tmp/* /tmp/.[!.]* /var/tmp/*
		rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/apt/archives/*.deb
		rm -rf /root/.npm /root/.cache /root/.config /root/.bash_history
		rm -f /usr/sbin/policy-rc.d /etc/apt/apt.conf.d/*mmdebstrap /etc/dpkg/dpkg.cfg.d/*mmdebstrap
		rm -f /etc/ssh/ssh_host_* /var/lib/dbus/machine-id /var/lib/systemd/random-seed
		rm -f /var/cache/ldconfig/aux-cache /var/cache/debconf/*-old /var/lib/dpkg/*-old
		rm -f /etc/passwd- /etc/group- /etc/shadow- /etc/gshadow-
		rm -rf /var/log/journal
		find /var/log -type f -delete
		: >/etc/machine-id
		printf "box\n" >/etc/hostname
		ln -sfn ../run/systemd/resolve/resolv.conf /etc/resolv.conf'
}

# Name and version of every Debian package there is.
list_packages() {
	# shellcheck disable=SC2016 # dpkg-query's own variables
	chroot "$root" dpkg-query -W -f '${db:Status-Abbrev}\t${Package}\t${Version}\n' |
		sed -n 's/^ii *\t//p'
}
