/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/hook.h"

#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/xml.h"
#include "net/port.h"

int hook_kind_of(const char *path)
{
	if (strstr(path, "/qemu.d/"))
		return HOOK_QEMU;
	return strstr(path, "/network.d/") ? HOOK_NETWORK : -1;
}

/*
 * The domain's port. A host that is not set up has no boxes that could start: for its other domains
 * the missing configuration must not matter, so it is an error only for a box.
 */
static int read_port(const struct isolation_paths *paths, const struct hook_call *call,
	struct net_port *ret, struct error *err)
{
	_cleanup_str_ struct str xml = STR_INIT;
	struct net_config config;
	struct error missing = { 0 }, unused = { 0 };
	int ret_config, found;

	if (fd_read_all(call->input, XML_MAX_BYTES, &xml, "the domain's XML", err) < 0)
		return -1;
	ret_config = net_config_load(paths->config, &config, &missing);
	if (ret_config < 0)
		net_config_default(&config);
	found = port_from_domain(
		str_get(&xml), xml.len, &config, ret, ret_config < 0 ? &unused : err);
	if (ret_config < 0 && found != 0) {
		*err = missing;
		return -1;
	}
	return found;
}

static int qemu_admit(
	const struct isolation_paths *paths, const struct hook_call *call, struct error *err)
{
	struct net_port port = { 0 };
	int found = read_port(paths, call, &port, err);

	if (found == 0)
		log_debug("domain %s has no NIC of a box", call->object);
	return found <= 0 ? found : isolation_admit(paths, &port, err);
}

/*
 * libvirtd was restarted under a running box, and ends the box when this fails. So a door that cannot
 * be had again is left shut, and a box whose MAC or address is another's by now stays without entry:
 * mute, but alive. Rules that cannot be put in force are worth the box's end.
 */
static int qemu_readmit(
	const struct isolation_paths *paths, const struct hook_call *call, struct error *err)
{
	struct net_port port = { 0 };
	int found = read_port(paths, call, &port, err);

	if (found <= 0 || isolation_admit(paths, &port, err) == 0)
		return MIN(found, 0);
	if (err->kind != ERROR_EXISTS)
		return -1;
	log_debug("%s", err->text);
	error_clear(err);
	port.n_doors = 0;
	if (isolation_admit(paths, &port, err) == 0)
		return 0;
	if (err->kind != ERROR_EXISTS)
		return -1;
	error_clear(err);
	return isolation_ensure(paths, NULL, err);
}

/* By UUID alone: the NIC may have been changed since the box was let in. */
static int qemu_release(
	const struct isolation_paths *paths, const struct hook_call *call, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;
	_cleanup_(xml_free_p) struct xml *x = NULL;
	char uuid[64];
	int ret;

	if (fd_read_all(call->input, XML_MAX_BYTES, &text, "the domain's XML", err) < 0)
		return -1;
	x = xml_parse(str_get(&text), text.len, "the domain's XML", err);
	if (!x)
		return -1;
	ret = xml_copy(x, NULL, "/domain/uuid", uuid, sizeof(uuid), err);
	if (ret <= 0 || !port_uuid_ok(uuid))
		return ret;
	return isolation_release(paths, uuid, err);
}

static int network_ensure(
	const struct isolation_paths *paths, const struct hook_call *call, struct error *err)
{
	(void)call;
	return isolation_ensure(paths, NULL, err);
}

static int network_sync(
	const struct isolation_paths *paths, const struct hook_call *call, struct error *err)
{
	(void)call;
	return isolation_sync_doors(paths, err);
}

static const struct hook_row {
	enum hook_kind kind;
	const char *operation;
	const char *sub;
	int (*run)(const struct isolation_paths *paths, const struct hook_call *call,
		struct error *err);
} rows[] = {
	{ HOOK_QEMU, "prepare", "begin", qemu_admit },
	{ HOOK_QEMU, "reconnect", "begin", qemu_readmit },
	{ HOOK_QEMU, "release", "end", qemu_release },
	{ HOOK_NETWORK, "start", "begin", network_ensure }, /* before the bridge is there */
	{ HOOK_NETWORK, "started", "begin", network_ensure },
	{ HOOK_NETWORK, "updated", "begin", network_sync },
};

int hook_run(const struct isolation_paths *paths, const struct hook_call *call, struct error *err)
{
	if (call->kind == HOOK_NETWORK && !str_equal(call->object, NET_BRIDGE))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].kind == call->kind && str_equal(rows[i].operation, call->operation) &&
			str_equal(rows[i].sub, call->sub))
			return rows[i].run(paths, call, err);
	}
	return 0;
}
