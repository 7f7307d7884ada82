/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * box proxy, box ssh-config: SSH into a box, for what speaks nothing else; vmm/ssh.h. The stanza refers to
 * the box by its name and to nothing that could become stale: host keys are asked for at each connection,
 * on a way that is the box's own, so a box that was made again under its name is known and another is not.
 */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cli/enter.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/session.h"
#include "vmm/ssh.h"

struct ssh_options {
	const char *key;
	bool known_hosts;
};

static const struct option_row rows[] = {
	{
		.name = "key",
		.arg = "FILE",
		.help = "let this public key of yours in as the box's user, and use it",
		.kind = OPTION_TEXT,
		.complete = WORD_FILE,
		.offset = offsetof(struct ssh_options, key),
	},
	{
		.name = "known-hosts",
		.help = "print the box's host keys as known_hosts has them, and nothing else",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct ssh_options, known_hosts),
	},
};
const struct option_table cmd_ssh_config_options = OPTION_TABLE(struct ssh_options, rows);

int cmd_proxy(struct session *s, const struct call *call, struct error *err)
{
	const struct enter enter = { .argv = ssh_serve_argv, .user = "root", .plain = true };

	(void)call;
	if (s->in_tty || s->out_tty)
		return error_set(err, ERROR_USAGE,
			"'box proxy' speaks SSH and no language of people: see 'box help ssh-config', or use 'box shell %s'",
			s->box.name);
	return enter_box(s, &s->box, &enter, err);
}

/* This program, as a caller from anywhere finds it. Given. */
static char *own_path(const struct session *s, struct error *err)
{
	const char *name = s->argv[0], *paths = getenv("PATH");
	char real[PATH_MAX];

	if (strchr(name, '/'))
		return str_dup(realpath(name, real) ? real : name, err);
	for (size_t len; paths && *paths; paths += len + (paths[len] == ':')) {
		_cleanup_free_ char *path = NULL;

		len = strcspn(paths, ":");
		path = str_format(err, "%.*s/%s", (int)len, paths, name);
		if (!path)
			return NULL;
		if (paths[0] == '/' && access(path, X_OK) == 0)
			return TAKE(path);
	}
	return str_dup(name, err);
}

/*
 * A word for ssh_config, whose commands ssh expands (%), and a shell or ssh itself takes apart. Neither knows
 * another way to quote a quote that the other knows too, so a word that has one is refused.
 */
static int append_word(struct str *into, const char *word, struct error *err)
{
	if (strpbrk(word, "'\"\\$`\n"))
		return error_set(err, ERROR_INVALID,
			"'%s' has quotes in it, and cannot stand in ssh's configuration", word);
	str_append(into, " \"");
	for (; *word; word++)
		str_append(into, *word == '%' ? "%%" : (const char[]){ *word, '\0' });
	str_append_char(into, '"');
	return 0;
}

/* "box VERB [--connect URI] [OPTION] BOX" behind a keyword. */
static int append_command(struct session *s, struct str *into, const char *keyword,
	const char *const *words, struct error *err)
{
	_cleanup_free_ char *path = own_path(s, err);
	const char *env = getenv("LIBVIRT_DEFAULT_URI");

	if (!path)
		return -1;
	str_printf(into, "\t%s", keyword);
	if (append_word(into, path, err) < 0)
		return -1;
	for (; *words; words++)
		str_printf(into, " %s", *words);
	/* Whoever starts ssh later may not have the same environment. */
	if (s->global.connect || (env && *env)) {
		str_append(into, " --connect");
		if (append_word(into, virt_uri(s->global.connect), err) < 0)
			return -1;
	}
	str_printf(into, " %s\n", s->box.name);
	return 0;
}

/* The private key beside the public one; or the public one, for a key that only an SSH agent has. */
static int append_identity(struct str *into, const char *key, struct error *err)
{
	_cleanup_free_ char *path = realpath(key, NULL);
	size_t len = path ? strlen(path) : 0;

	if (!path)
		return error_set(err, ERROR_NOT_FOUND, "cannot find '%s'", key);
	if (len > 4 && str_equal(path + len - 4, ".pub")) {
		path[len - 4] = '\0';
		if (access(path, F_OK) < 0)
			path[len - 4] = '.';
	}
	str_append(into, "\tIdentitiesOnly yes\n\tIdentityFile");
	if (append_word(into, path, err) < 0)
		return -1;
	str_append_char(into, '\n');
	return 0;
}

static int stanza(struct session *s, const char *key, struct str *into, struct error *err)
{
	static const char *const proxy[] = { "proxy", NULL };
	static const char *const keys[] = { "ssh-config", "--known-hosts", NULL };
	const char *name = s->box.name;

	str_printf(
		into, "Host %s\n\tUser %s\n\tHostKeyAlias box-%s\n", name, s->box.meta.user, name);
	if (append_command(s, into, "ProxyCommand", proxy, err) < 0 ||
		append_command(s, into, "KnownHostsCommand", keys, err) < 0)
		return -1;
	str_append(into, "\tUserKnownHostsFile /dev/null\n"
			 "\tGlobalKnownHostsFile /dev/null\n"
			 "\tStrictHostKeyChecking yes\n"
			 "\tUpdateHostKeys no\n"
			 "\tForwardAgent no\n"
			 "\tForwardX11 no\n");
	return key ? append_identity(into, key, err) : 0;
}

static int print_host_keys(struct session *s, struct guest *g, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;
	_cleanup_free_ char *alias = str_format(err, "box-%s", s->box.name);

	if (!alias || ssh_host_keys(g, alias, &text, err) < 0)
		return -1;
	return output_str(&text, err);
}

static int let_in(struct session *s, struct guest *g, const char *path, struct error *err)
{
	_cleanup_ssh_key_ struct ssh_key key = { 0 };
	bool new;

	if (ssh_key_read(path, &key, err) < 0 ||
		ssh_allow(g, s->box.meta.user, &key, &new, err) < 0)
		return -1;
	session_note(s, new ? "the key is let in as '%s'" : "the key was let in as '%s' before",
		s->box.meta.user);
	return 0;
}

int cmd_ssh_config(struct session *s, const struct call *call, struct error *err)
{
	const struct ssh_options *options = call->options;
	_cleanup_(guest_close_p) struct guest *guest = NULL;
	_cleanup_str_ struct str text = STR_INIT;
	const struct guest_wait wait = { .interrupt_fd = interrupt_fd() };

	if (options->known_hosts || options->key) {
		if (session_find_box(s, call->args[0], NEED_RUNNING, err) < 0)
			return -1;
		guest = guest_open(s->box.dom, &wait, err);
		if (!guest)
			return -1;
	}
	if (options->known_hosts)
		return print_host_keys(s, guest, err);
	if (stanza(s, options->key, &text, err) < 0 ||
		(options->key && let_in(s, guest, options->key, err) < 0))
		return -1;
	return output_str(&text, err);
}
