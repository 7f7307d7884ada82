/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/isolation.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/xml.h"
#include "net/conntrack.h"
#include "net/doors.h"
#include "net/nft.h"
#include "net/port.h"
#include "net/record.h"

const struct isolation_paths isolation_paths = {
	.config = NET_CONFIG_PATH,
	.ports = "/run/box/ports",
	.libvirt_status = "/run/libvirt/qemu",
	.proc = "/proc/sys/net/ipv4",
};

/* What every operation holds: the lock, the network, the rules for it, who runs, the kernel. */
struct isolation {
	const struct isolation_paths *paths; /* lent */
	int lock;
	struct net_config config;
	struct ruleset rules;
	struct net_ports ports; /* owned */
	struct nl *nl; /* owned */
};

static void isolation_close(struct isolation *s)
{
	nl_close(s->nl);
	net_ports_done(&s->ports);
	cleanup_close_p(&s->lock);
}
#define _cleanup_isolation_ _cleanup_(isolation_close)

static void forget(struct isolation *s, size_t i)
{
	s->ports.items[i] = s->ports.items[--s->ports.len];
}

static struct net_port *find(struct isolation *s, const char *uuid)
{
	vec_foreach(struct net_port, p, &s->ports) {
		if (str_equal(p->uuid, uuid))
			return p;
	}
	return NULL;
}

/* Records without a tap would keep a MAC or an address from others for ever. */
static int drop_stale(struct isolation *s, struct error *err)
{
	size_t i = 0;

	while (i < s->ports.len) {
		const struct net_port *port = &s->ports.items[i];

		if (!record_is_stale(s->paths->ports, port)) {
			i++;
			continue;
		}
		log_debug("record of box %s is stale", port->uuid);
		if (record_remove(s->paths->ports, port->uuid, err) < 0)
			return -1;
		forget(s, i);
	}
	return 0;
}

static int isolation_open(
	struct isolation *s, const struct isolation_paths *paths, struct error *err)
{
	s->paths = paths;
	if (net_config_load(paths->config, &s->config, err) < 0)
		return -1;
	s->nl = nl_open(NETLINK_NETFILTER, err);
	if (!s->nl)
		return -1;
	s->lock = record_lock(paths->ports, err);
	if (s->lock < 0)
		return -1;
	rules_build(&s->config, nft_has_ibrname(s->nl), &s->rules);
	return record_load(paths->ports, &s->ports, err);
}

/* How many differences the kernel has, or -1. */
static int differences(struct isolation *s, struct error *err)
{
	_cleanup_nft_differences_ struct nft_differences d = VEC_INIT;

	if (nft_check(s->nl, &s->rules, s->ports.items, s->ports.len, &d, err) < 0)
		return -1;
	vec_foreach(char *, text, &d)
		log_debug("isolation rules: %s", *text);
	return (int)d.len;
}

/* All of it anew, and then read back: an exit code is no proof. */
static int apply(struct isolation *s, struct error *err)
{
	int n;

	if (nft_apply(s->nl, &s->rules, s->ports.items, s->ports.len, err) < 0)
		return -1;
	n = differences(s, err);
	if (n > 0)
		return error_set(err, ERROR_FAILED,
			"the isolation rules do not stay as they are put: %d differences right after loading them; see \"box doctor\"",
			n);
	return n;
}

static int ensure(struct isolation *s, bool *ret_changed, struct error *err)
{
	int n = differences(s, err);

	if (n < 0 || (n > 0 && apply(s, err) < 0))
		return -1;
	*ret_changed = n > 0;
	return 0;
}

/* port takes the place of old (NULL: it is new) in the kernel and among the ports. */
static int replace(
	struct isolation *s, struct net_port *old, const struct net_port *port, struct error *err)
{
	struct net_port before = old ? *old : (struct net_port){ 0 };
	struct error failed = { 0 };
	bool changed = false;

	if (ensure(s, &changed, err) < 0)
		return -1;
	if (record_write(s->paths->ports, port, err) < 0)
		return -1;
	if (nft_swap_port(s->nl, old ? &before : NULL, port, err) < 0) {
		int undone = old ? record_write(s->paths->ports, &before, &failed)
				 : record_remove(s->paths->ports, port->uuid, &failed);

		if (undone < 0)
			log_debug("%s", failed.text);
		return -1;
	}
	if (old) {
		*old = *port;
		return 0;
	}
	return net_ports_push(&s->ports, *port, err);
}

int isolation_admit(
	const struct isolation_paths *paths, const struct net_port *port, struct error *err)
{
	_cleanup_isolation_ struct isolation s = { .lock = -1 };
	struct net_port *old;

	if (isolation_open(&s, paths, err) < 0 || drop_stale(&s, err) < 0)
		return -1;
	vec_foreach(struct net_port, other, &s.ports) {
		if (port_conflict(port, other, err) < 0)
			return -1;
	}
	old = find(&s, port->uuid);
	if (doors_check_new(port, old, err) < 0)
		return -1;
	/* What the last box of this address began must not be answered to the next one. */
	if (!old && conntrack_forget(s.nl, port->addr, err) < 0)
		return -1;
	return replace(&s, old, port, err);
}

int isolation_release(const struct isolation_paths *paths, const char *uuid, struct error *err)
{
	_cleanup_isolation_ struct isolation s = { .lock = -1 };
	struct net_port *old, gone;
	bool changed = false;

	/* Also for the host's other domains, and on a host that is not set up. */
	if (!record_exists(paths->ports, uuid))
		return 0;
	if (isolation_open(&s, paths, err) < 0)
		return -1;
	old = find(&s, uuid);
	if (!old)
		return 0;
	gone = *old;
	forget(&s, (size_t)(old - s.ports.items));
	/* The record goes first: what is in the kernel beyond the records, ensure takes out. */
	if (record_remove(paths->ports, uuid, err) < 0)
		return -1;
	if (nft_swap_port(s.nl, &gone, NULL, err) == 0)
		return 0;
	error_clear(err);
	return ensure(&s, &changed, err);
}

/* The bridge alone may carry 127/8, for doors. No bridge: the network hook does it when there is one. */
static int ensure_route_localnet(
	const struct isolation_paths *paths, bool *ret_changed, struct error *err)
{
	_cleanup_str_ struct str now = STR_INIT;
	_cleanup_close_ int fd = -1;
	char path[256];

	if (if_nametoindex(NET_BRIDGE) == 0)
		return 0;
	(void)snprintf(path, sizeof(path), "%s/conf/" NET_BRIDGE "/route_localnet", paths->proc);
	if (file_read(AT_FDCWD, path, 16, &now, err) < 0)
		return -1;
	if (str_starts(str_get(&now), "1"))
		return 0;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, errno, "cannot open '%s'", path);
	*ret_changed = true;
	return fd_write_all(fd, "1\n", 2, path, err);
}

int isolation_ensure(const struct isolation_paths *paths, bool *ret_changed, struct error *err)
{
	_cleanup_isolation_ struct isolation s = { .lock = -1 };
	bool rules = false, sysctl = false;

	if (isolation_open(&s, paths, err) < 0 || drop_stale(&s, err) < 0 ||
		ensure(&s, &rules, err) < 0 || ensure_route_localnet(paths, &sysctl, err) < 0)
		return -1;
	if (ret_changed)
		*ret_changed = rules || sysctl;
	return 0;
}

int isolation_check(
	const struct isolation_paths *paths, struct nft_differences *ret, struct error *err)
{
	_cleanup_isolation_ struct isolation s = { .lock = -1 };

	if (isolation_open(&s, paths, err) < 0)
		return -1;
	return nft_check(s.nl, &s.rules, s.ports.items, s.ports.len, ret, err);
}

int isolation_port_flag(const char *tap, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;
	char path[128];

	(void)snprintf(path, sizeof(path), "/sys/class/net/%s/brport/isolated", tap);
	if (file_read(AT_FDCWD, path, 16, &text, err) < 0)
		return -1;
	return str_starts(str_get(&text), "1");
}

/* Bring one running box to what its domain says. Only doors can change while it runs. */
static int sync_one(struct isolation *s, int dirfd, const char *name, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct net_port port = { 0 }, wanted;
	struct net_port *old;
	int ret;

	if (file_read(dirfd, name, XML_MAX_BYTES, &text, err) < 0)
		return -1;
	ret = port_from_domain(text.data, text.len, &s->config, &port, err);
	if (ret <= 0)
		return ret;
	old = find(s, port.uuid);
	if (!old)
		return 0; /* not let in by the hook, so not by us either */
	wanted = *old;
	memcpy(wanted.doors, port.doors, sizeof(port.doors));
	wanted.n_doors = port.n_doors;
	if (wanted.n_doors == old->n_doors &&
		memcmp(wanted.doors, old->doors, sizeof(wanted.doors)) == 0)
		return 0;
	vec_foreach(struct net_port, other, &s->ports) {
		if (port_conflict(&wanted, other, err) < 0)
			return -1;
	}
	if (doors_check_new(&wanted, old, err) < 0)
		return -1;
	return replace(s, old, &wanted, err);
}

static void close_dir(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

static int sync_all(struct isolation *s, struct error *err)
{
	_cleanup_(close_dir) DIR *d = opendir(s->paths->libvirt_status);
	const struct dirent *entry;
	int ret = 0;

	if (!d)
		return errno == ENOENT ? 0
				       : error_errno(err, errno, "cannot open '%s'",
						 s->paths->libvirt_status);
	while ((entry = readdir(d))) {
		size_t len = strlen(entry->d_name);
		struct error failed = { 0 };

		if (len < 5 || !str_equal(entry->d_name + len - 4, ".xml"))
			continue;
		if (sync_one(s, dirfd(d), entry->d_name, &failed) < 0 && ret == 0 &&
			failed.kind != ERROR_NOT_FOUND) { /* gone meanwhile */
			*err = failed;
			ret = -1;
		}
	}
	return ret;
}

int isolation_sync_doors(const struct isolation_paths *paths, struct error *err)
{
	_cleanup_isolation_ struct isolation s = { .lock = -1 };
	struct error failed = { 0 };
	bool changed = false;
	int synced;

	if (isolation_open(&s, paths, err) < 0 || drop_stale(&s, err) < 0)
		return -1;
	synced = sync_all(&s, &failed);
	if (ensure(&s, &changed, err) < 0 || ensure_route_localnet(paths, &changed, err) < 0)
		return -1;
	if (synced < 0)
		*err = failed;
	return synced;
}
