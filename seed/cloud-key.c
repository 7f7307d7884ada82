/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "seed/cloud-key.h"

#include <string.h>

#define INIT "cloud_init_modules"
#define CONFIG "cloud_config_modules"
#define FINAL "cloud_final_modules"

static const char *const lists[] = { INIT, CONFIG, FINAL };

/*
 * Modules in the order in which cloud-init's own configuration runs them. Those that always run are in
 * mint/guest/base/etc/cloud/cloud.cfg.d/90-box.cfg too; a test compares the two.
 */
const struct cloud_module cloud_module_rows[] = {
	{ "seed_random", INIT, false },
	{ "bootcmd", INIT, true },
	{ "write_files", INIT, true },
	{ "disk_setup", INIT, false },
	{ "mounts", INIT, false },
	{ "set_hostname", INIT, true },
	{ "update_etc_hosts", INIT, false },
	{ "ca_certs", INIT, false },
	{ "rsyslog", INIT, false },
	{ "users_groups", INIT, true },
	{ "ssh", INIT, false },
	{ "ssh_import_id", CONFIG, false },
	{ "keyboard", CONFIG, false },
	{ "locale", CONFIG, false },
	{ "set_passwords", CONFIG, false },
	{ "apt_pipelining", CONFIG, false },
	{ "apt_configure", CONFIG, false },
	{ "ntp", CONFIG, false },
	{ "timezone", CONFIG, false },
	{ "runcmd", CONFIG, true },
	{ "byobu", CONFIG, false },
	{ "package_update_upgrade_install", FINAL, true },
	{ "write_files_deferred", FINAL, true },
	{ "scripts_vendor", FINAL, true },
	{ "scripts_per_once", FINAL, true },
	{ "scripts_per_boot", FINAL, true },
	{ "scripts_per_instance", FINAL, true },
	{ "scripts_user", FINAL, true },
	{ "ansible", FINAL, false },
	{ "phone_home", FINAL, false },
	{ "final_message", FINAL, false },
	{ "power_state_change", FINAL, false },
};
const size_t cloud_module_count = ARRAY_LEN(cloud_module_rows);

/* Top-level keys, the kind of their value (YML_NONE: several are fine) and the module that reads them. */
static const struct key {
	const char *name;
	enum yml_kind kind;
	const char *module; /* NULL: cloud-init itself */
} keys[] = {
	{ "allow_public_ssh_keys", YML_SCALAR, "ssh" },
	{ "ansible", YML_MAP, "ansible" },
	{ "apt", YML_MAP, "apt_configure" },
	{ "apt_pipelining", YML_SCALAR, "apt_pipelining" },
	{ "bootcmd", YML_LIST, "bootcmd" },
	{ "byobu_by_default", YML_SCALAR, "byobu" },
	{ "ca_certs", YML_MAP, "ca_certs" },
	{ "ca-certs", YML_MAP, "ca_certs" },
	{ "chpasswd", YML_MAP, "set_passwords" },
	{ "cloud_config_modules", YML_LIST, NULL },
	{ "cloud_final_modules", YML_LIST, NULL },
	{ "cloud_init_modules", YML_LIST, NULL },
	{ "create_hostname_file", YML_SCALAR, "set_hostname" },
	{ "device_aliases", YML_MAP, "disk_setup" },
	{ "disable_root", YML_SCALAR, "ssh" },
	{ "disable_root_opts", YML_SCALAR, "ssh" },
	{ "disk_setup", YML_MAP, "disk_setup" },
	{ "final_message", YML_SCALAR, "final_message" },
	{ "fqdn", YML_SCALAR, "set_hostname" },
	{ "fs_setup", YML_LIST, "disk_setup" },
	{ "groups", YML_NONE, "users_groups" },
	{ "hostname", YML_SCALAR, "set_hostname" },
	{ "keyboard", YML_MAP, "keyboard" },
	{ "locale", YML_SCALAR, "locale" },
	{ "locale_configfile", YML_SCALAR, "locale" },
	{ "manage_etc_hosts", YML_SCALAR, "update_etc_hosts" },
	{ "merge_how", YML_NONE, NULL },
	{ "merge_type", YML_NONE, NULL },
	{ "mount_default_fields", YML_LIST, "mounts" },
	{ "mounts", YML_LIST, "mounts" },
	{ "no_ssh_fingerprints", YML_SCALAR, "ssh" },
	{ "ntp", YML_NONE, "ntp" },
	{ "output", YML_MAP, NULL },
	{ "package_reboot_if_required", YML_SCALAR, "package_update_upgrade_install" },
	{ "package_update", YML_SCALAR, "package_update_upgrade_install" },
	{ "package_upgrade", YML_SCALAR, "package_update_upgrade_install" },
	{ "packages", YML_LIST, "package_update_upgrade_install" },
	{ "password", YML_SCALAR, "set_passwords" },
	{ "phone_home", YML_MAP, "phone_home" },
	{ "power_state", YML_MAP, "power_state_change" },
	{ "prefer_fqdn_over_hostname", YML_SCALAR, "set_hostname" },
	{ "preserve_hostname", YML_SCALAR, "set_hostname" },
	{ "random_seed", YML_MAP, "seed_random" },
	{ "rsyslog", YML_MAP, "rsyslog" },
	{ "runcmd", YML_LIST, "runcmd" },
	{ "ssh", YML_MAP, "ssh" },
	{ "ssh_authorized_keys", YML_LIST, "ssh" },
	{ "ssh_deletekeys", YML_SCALAR, "ssh" },
	{ "ssh_genkeytypes", YML_LIST, "ssh" },
	{ "ssh_import_id", YML_LIST, "ssh_import_id" },
	{ "ssh_keys", YML_MAP, "ssh" },
	{ "ssh_pwauth", YML_SCALAR, "set_passwords" },
	{ "ssh_quiet_keygen", YML_SCALAR, "ssh" },
	{ "swap", YML_MAP, "mounts" },
	{ "timezone", YML_SCALAR, "timezone" },
	{ "user", YML_NONE, "users_groups" },
	{ "users", YML_NONE, "users_groups" },
	{ "write_files", YML_LIST, "write_files" },
};

static const char *const kind_words[] = {
	[YML_NONE] = "nothing",
	[YML_SCALAR] = "a single value",
	[YML_LIST] = "a list",
	[YML_MAP] = "a mapping",
};

static const struct key *find_key(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (str_equal(keys[i].name, name))
			return &keys[i];
	return NULL;
}

static int unknown_key(struct yml_node key, struct error *err)
{
	const char *names[ARRAY_LEN(keys)], *name = yml_scalar(key), *near = NULL;
	_cleanup_str_ struct str shown = STR_INIT;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		names[i] = keys[i].name;
	if (name) {
		str_append_escaped(&shown, name, MIN(strlen(name), 64u), false);
		near = str_nearest(name, names, ARRAY_LEN(keys));
	}
	if (near)
		return yml_error(err, key,
			"cloud-init in a box has no key '%s'; did you mean '%s'?", str_get(&shown),
			near);
	return yml_error(err, key, "cloud-init in a box has no key '%s'", str_get(&shown));
}

/* Commands are a text for the shell or a list of words. */
static int check_commands(struct yml_node list, struct error *err)
{
	for (size_t i = 0; i < yml_len(list); i++) {
		struct yml_node item = yml_item(list, i);

		if (yml_kind(item) == YML_SCALAR)
			continue;
		if (yml_kind(item) != YML_LIST || !yml_len(item))
			return yml_error(err, item, "a command is a text or a list of words");
		for (size_t k = 0; k < yml_len(item); k++)
			if (yml_kind(yml_item(item, k)) != YML_SCALAR)
				return yml_error(
					err, yml_item(item, k), "a word of a command is a text");
	}
	return 0;
}

static int check_files(struct yml_node list, struct error *err)
{
	for (size_t i = 0; i < yml_len(list); i++) {
		struct yml_node item = yml_item(list, i);

		if (yml_kind(item) != YML_MAP || yml_kind(yml_find(item, "path")) != YML_SCALAR)
			return yml_error(err, item, "a file to write is a mapping with a 'path'");
	}
	return 0;
}

static int check_pair(struct yml_node key, struct yml_node value, struct error *err)
{
	const struct key *row = yml_scalar(key) ? find_key(yml_scalar(key)) : NULL;

	if (!row)
		return unknown_key(key, err);
	if (row->kind != YML_NONE && yml_kind(value) != row->kind)
		return yml_error(err, value, "'%s' must be %s, and is %s", row->name,
			kind_words[row->kind], kind_words[yml_kind(value)]);
	if (str_equal(row->name, "runcmd") || str_equal(row->name, "bootcmd"))
		return check_commands(value, err);
	if (str_equal(row->name, "write_files"))
		return check_files(value, err);
	return 0;
}

int cloud_keys_check(struct yml_node root, struct error *err)
{
	for (size_t i = 0; i < yml_len(root); i++)
		if (check_pair(yml_key_at(root, i), yml_value_at(root, i), err) < 0)
			return -1;
	return 0;
}

/* ---- modules ---- */

static bool any_has(const struct yml_node *roots, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++)
		if (yml_kind(yml_find(roots[i], key)) != YML_NONE)
			return true;
	return false;
}

static bool is_needed(const struct cloud_module *m, const struct yml_node *roots, size_t count)
{
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (str_equal(keys[i].module, m->name) && any_has(roots, count, keys[i].name))
			return true;
	return false;
}

/* The image's own list of a stage is not enough. */
static bool list_differs(const char *list, const struct yml_node *roots, size_t count)
{
	for (size_t i = 0; i < cloud_module_count; i++) {
		const struct cloud_module *m = &cloud_module_rows[i];

		if (str_equal(m->list, list) && !m->always && is_needed(m, roots, count))
			return true;
	}
	return false;
}

static void put_list(
	struct yml_writer *w, const char *list, const struct yml_node *roots, size_t count)
{
	yml_put(w, list);
	yml_open_list(w);
	for (size_t i = 0; i < cloud_module_count; i++) {
		const struct cloud_module *m = &cloud_module_rows[i];

		if (str_equal(m->list, list) && (m->always || is_needed(m, roots, count)))
			yml_put(w, m->name);
	}
	yml_close(w);
}

char *cloud_modules(const struct yml_node *roots, size_t count, struct error *err)
{
	_cleanup_(yml_writer_free_p) struct yml_writer *w = yml_writer_new(err);
	_cleanup_free_ char *text = NULL;
	bool any = false;

	if (!w)
		return NULL;
	yml_open_map(w);
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		if (list_differs(lists[i], roots, count)) {
			put_list(w, lists[i], roots, count);
			any = true;
		}
	yml_close(w);
	if (!any)
		return str_dup("", err);
	text = yml_finish(w, err);
	return text ? str_format(err, "#cloud-config\n%s", text) : NULL;
}
