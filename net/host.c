/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/host.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/run.h"
#include "net/host-files.h"
#include "net/nft.h"
#include "net/nl.h"
#include "net/record.h"
#include "net/subnet.h"

void host_done(struct host *h)
{
	for (size_t i = 0; i < h->n_files; i++) {
		free(h->files[i].content);
		free(h->files[i].was);
	}
	h->n_files = 0;
}

void host_names_free(struct host_names *names)
{
	vec_foreach(char *, name, names)
		free(*name);
	host_names_done(names);
}

static bool exists(const char *root, const char *path)
{
	struct stat st;
	char full[256];

	(void)snprintf(full, sizeof(full), "%s%s", root, path);
	return lstat(full, &st) == 0;
}

/* What is set up already, if anything; a file that cannot be read is written anew. */
static void read_existing(struct host *h)
{
	struct error err = { 0 };

	net_config_default(&h->config);
	h->existing = net_config_load(h->paths->config, &h->config, &err) == 0;
	if (!h->existing)
		log_debug("%s", err.text);
}

int host_plan(struct host *h, struct error *err)
{
	_cleanup_(host_nets_done) struct host_nets nets = VEC_INIT;
	struct net_config before;

	read_existing(h);
	before = h->config;
	h->systemd = exists(h->root, "/run/systemd/system");
	if (h->dns && h->dns[0] && net_config_set_dns(&h->config, h->dns, err) < 0)
		return -1;
	if (subnet_read_host(&nets, err) < 0 ||
		subnet_choose(&nets, h->subnet, h->existing ? &before : NULL, &h->config, err) < 0)
		return -1;
	return host_files_plan(h, true, err);
}

/* ---- setup ---- */

static int put_files(void *ctx, struct error *err)
{
	struct host *h = ctx;

	for (size_t i = 0; i < h->n_files; i++) {
		if (host_file_put(&h->files[i], err) < 0) {
			while (i-- > 0)
				host_file_put_back(&h->files[i]);
			return -1;
		}
		h->changed = h->changed || h->files[i].changed;
	}
	return 0;
}

static void put_files_back(void *ctx)
{
	struct host *h = ctx;

	for (size_t i = h->n_files; i-- > 0;)
		host_file_put_back(&h->files[i]);
}

static int load_rules(void *ctx, struct error *err)
{
	struct host *h = ctx;

	if (isolation_ensure(h->paths, &h->rules_changed, err) < 0)
		return -1;
	h->changed = h->changed || h->rules_changed;
	return 0;
}

/* Only of a host that had none: rules of an earlier setup stay, boxes may be running behind them. */
static void unload_rules(void *ctx)
{
	const struct host *h = ctx;
	struct error err = { 0 };
	struct nl *nl;

	if (h->existing)
		return;
	nl = nl_open(NETLINK_NETFILTER, &err);
	if (!nl || nft_remove(nl, &err) < 0)
		log_debug("%s", err.text);
	nl_close(nl);
}

static int systemctl(const char *const *argv, struct error *err)
{
	struct run run = { .argv = argv, .timeout_ms = 90000 };

	return run_program(&run, NULL, err);
}

static bool file_changed(const struct host *h, const char *part)
{
	for (size_t i = 0; i < h->n_files; i++) {
		if (h->files[i].changed && strstr(h->files[i].path, part))
			return true;
	}
	return false;
}

static int reload_systemd(void *ctx, struct error *err)
{
	static const char *const reload[] = { "systemctl", "daemon-reload", NULL };
	struct host *h = ctx;

	return h->systemd && file_changed(h, "/etc/systemd/") ? systemctl(reload, err) : 0;
}

/* A hook that was replaced is found by its name; one that is new is not, until the daemons start again. */
static bool hook_is_new(const struct host *h)
{
	for (size_t i = 0; i < h->n_files; i++) {
		if (h->files[i].changed && !h->files[i].was &&
			strstr(h->files[i].path, "/etc/libvirt/hooks/"))
			return true;
	}
	return false;
}

static int restart_libvirt(void *ctx, struct error *err)
{
	/* try-restart: a daemon that does not run finds the hooks when it starts; boxes go on running. */
	static const char *const restart[] = { "systemctl", "try-restart", "libvirtd.service",
		"virtqemud.service", "virtnetworkd.service", NULL };
	struct host *h = ctx;

	if (!hook_is_new(h))
		return 0;
	h->restart_libvirt = !h->systemd;
	return h->systemd ? systemctl(restart, err) : 0;
}

static const struct step setup_steps[] = {
	{ "files", "writing configuration, hooks and boot unit", put_files, put_files_back },
	{ "rules", "loading the isolation rules", load_rules, unload_rules },
	{ "systemd", NULL, reload_systemd, NULL },
	{ "libvirt", "restarting libvirt's daemons", restart_libvirt, NULL },
};

int host_setup(struct host *h, const struct steps_observer *observer, struct error *err)
{
	return steps_run("setup-host", setup_steps, ARRAY_LEN(setup_steps), h, observer, err);
}

/* ---- teardown ---- */

static int refuse_running(const struct host *h, struct error *err)
{
	_cleanup_(net_ports_done) struct net_ports ports = VEC_INIT;

	if (record_load(h->paths->ports, &ports, err) < 0)
		return -1;
	vec_foreach(struct net_port, port, &ports) {
		if (!record_is_stale(h->paths->ports, port))
			return error_set(err, ERROR_BUSY,
				"the box %s runs; stop it first: \"box down all\"", port->uuid);
	}
	return 0;
}

static int remove_rules(bool *ret_changed, struct error *err)
{
	_cleanup_(nl_close_p) struct nl *nl = nl_open(NETLINK_NETFILTER, err);
	int present = nl ? nft_present(nl, err) : -1;

	if (present <= 0)
		return present;
	*ret_changed = true;
	return nft_remove(nl, err);
}

int host_teardown(struct host *h, bool *ret_changed, struct error *err)
{
	bool changed = false;

	h->systemd = exists(h->root, "/run/systemd/system");
	net_config_default(&h->config);
	if (refuse_running(h, err) < 0 || host_files_plan(h, false, err) < 0 ||
		remove_rules(&changed, err) < 0)
		return -1;
	for (size_t i = 0; i < h->n_files; i++) {
		bool removed = false;

		if (host_file_remove(&h->files[i], &removed, err) < 0)
			return -1;
		h->files[i].changed = removed;
		changed = changed || removed;
	}
	if (file_remove_tree(h->paths->ports, err) < 0 || reload_systemd(h, err) < 0)
		return -1;
	host_remove_empty_parent(h->paths->ports);
	*ret_changed = changed;
	return 0;
}

static int push_name(struct host_names *names, const char *name, struct error *err)
{
	char *copy = str_dup(name, err);

	if (!copy || host_names_push(names, copy, err) < 0) {
		free(copy);
		return -1;
	}
	return 0;
}

int host_leftovers(struct host *h, struct host_names *ret, struct error *err)
{
	_cleanup_(nl_close_p) struct nl *nl = nl_open(NETLINK_NETFILTER, err);
	int present = nl ? nft_present(nl, err) : -1;
	struct stat st;

	if (present < 0 ||
		(present > 0 && push_name(ret, "tables inet box and bridge box", err) < 0))
		return -1;
	if (h->n_files == 0 && host_files_plan(h, false, err) < 0)
		return -1;
	for (size_t i = 0; i < h->n_files; i++) {
		if (lstat(h->files[i].path, &st) == 0 && push_name(ret, h->files[i].path, err) < 0)
			return -1;
	}
	if (lstat(h->paths->ports, &st) == 0)
		return push_name(ret, h->paths->ports, err);
	return 0;
}
