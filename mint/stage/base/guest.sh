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

# Proxies and certificates of the host are lent to the commands, from a place that no layer keeps.
lend_host() {
	local bundle
	install -d -m 0755 "$root/run/box-mint"
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod 0755 "$root/usr/sbin/policy-rc.d"
	for bundle in "${SSL_CERT_FILE:-}" "${CURL_CA_BUNDLE:-}" /etc/ssl/certs/ca-certificates.crt; do
		if [ -f "$bundle" ]; then
			cp "$bundle" "$root/run/box-mint/ca.pem"
			break
		fi
	done
	cp --remove-destination /etc/resolv.conf "$root/etc/resolv.conf"
}

# guest_run CMD...: in the guest's tree, with an environment of its own.
guest_run() {
	local name lent=()
	for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY npm_config_registry; do
		[ -z "${!name:-}" ] || lent+=("$name=${!name}")
	done
	if [ -f "$root/run/box-mint/ca.pem" ]; then
		for name in SSL_CERT_FILE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS GIT_SSL_CAINFO npm_config_cafile; do
			lent+=("$name=/run/box-mint/ca.pem")
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
	rm -rf "$root"/run/* "$root"/tmp/* "$root"/tmp/.[!.]* "$root"/var/tmp/*
	rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*.bin "$root"/var/cache/apt/archives/*.deb
	rm -rf "$root"/root/.npm "$root"/root/.cache "$root"/root/.config "$root"/root/.bash_history
	rm -f "$root"/usr/sbin/policy-rc.d "$root"/etc/apt/apt.conf.d/*mmdebstrap
	rm -f "$root"/etc/dpkg/dpkg.cfg.d/*mmdebstrap
	rm -f "$root"/etc/ssh/ssh_host_* "$root"/var/lib/dbus/machine-id "$root"/var/lib/systemd/random-seed
	rm -f "$root"/var/cache/ldconfig/aux-cache "$root"/var/cache/debconf/*-old "$root"/var/lib/dpkg/*-old
	rm -f "$root"/etc/passwd- "$root"/etc/group- "$root"/etc/shadow- "$root"/etc/gshadow-
	rm -rf "$root"/var/log/journal
	find "$root/var/log" -type f -delete
	: >"$root/etc/machine-id"
	printf 'box\n' >"$root/etc/hostname"
	ln -sfn ../run/systemd/resolve/resolv.conf "$root/etc/resolv.conf"
}

# Name and version of every Debian package there is.
list_packages() {
	# shellcheck disable=SC2016 # dpkg-query's own variables
	chroot "$root" dpkg-query -W -f '${db:Status-Abbrev}\t${Package}\t${Version}\n' |
		sed -n 's/^ii *\t//p'
}
