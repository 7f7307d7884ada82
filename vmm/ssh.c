/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/ssh.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "vmm/guest-catch.h"

enum { KEY_MAX = 16384, KEYS_MAX = 16, FILE_MAX = 65536, WORDS_MAX = 600 };

/* clang-format off */

/*
 * Only keys: the users' passwords are locked. sshd wants to be called by an absolute path, and its folder in
 * /run, which no service has made when it was never started.
 */
const char *const ssh_serve_argv[] = { "/bin/sh", "-c",
	"sshd=$(PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin command -v sshd)\n"
	"if [ -z \"$sshd\" ]; then\n"
	"	echo 'the box has no sshd; install openssh-server in it' >&2\n"
	"	exit 127\n"
	"fi\n"
	"mkdir -p -m 755 /run/sshd || exit 1\n"
	"exec \"$sshd\" -i -o AuthenticationMethods=publickey -o UseDNS=no\n",
	"box-ssh", NULL };

static const char host_keys_script[] =
	"for key in /etc/ssh/ssh_host_*_key.pub; do\n"
	"	[ ! -f \"$key\" ] || cat \"$key\"\n"
	"done\n";

/* $1: the key. Status 0: it was there; 3: it has been added. */
static const char allow_script[] =
	"umask 077\n"
	"mkdir -p ~/.ssh || exit 1\n"
	"file=~/.ssh/authorized_keys\n"
	"if [ -e \"$file\" ] && grep -qF -- \"$1\" \"$file\"; then exit 0; fi\n"
	"if [ -s \"$file\" ] && [ -n \"$(tail -c 1 \"$file\")\" ]; then echo >>\"$file\" || exit 1; fi\n"
	"printf '%s\\n' \"$1\" >>\"$file\" || exit 1\n"
	"exit 3\n";
enum { ALLOW_ADDED = 3 };

/* clang-format on */

static const char *const types[] = { "ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256",
	"ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "sk-ssh-ed25519@openssh.com",
	"sk-ecdsa-sha2-nistp256@openssh.com" };

void ssh_key_done(struct ssh_key *key)
{
	free(key->text);
	key->text = NULL;
}

static const char *type_of(const char *word, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (strlen(types[i]) == len && memcmp(types[i], word, len) == 0)
			return types[i];
	return NULL;
}

static int digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* The key is base64, and names its own type in its first field. */
static bool is_key_of(const char *type, const char *text, size_t len)
{
	unsigned char head[64];
	size_t name = strlen(type), have = 0, pad = 0;
	unsigned bits = 0, held = 0;

	for (size_t i = 0; i < len; i++) {
		int value = digit(text[i]);

		if (text[i] == '=' && ++pad <= 2)
			continue;
		if (value < 0 || pad)
			return false;
		held = held << 6 | (unsigned)value;
		bits += 6;
		if (bits >= 8 && have < sizeof(head))
			head[have++] = (unsigned char)(held >> (bits - 8));
		bits = bits >= 8 ? bits - 8 : bits;
		held &= 0xffff;
	}
	return len % 4 == 0 && have > 4 + name && head[0] == 0 && head[1] == 0 && head[2] == 0 &&
	       head[3] == name && memcmp(head + 4, type, name) == 0;
}

int ssh_key_parse(const char *line, size_t len, struct ssh_key *ret, struct error *err)
{
	_cleanup_free_ char *copy = strndup(line, len);
	size_t type_len, key_len;
	const char *type, *key;

	if (!copy)
		return error_oom(err);
	if (strstr(copy, "PRIVATE KEY"))
		return error_set(
			err, ERROR_INVALID, "it is a private key; the public one ends in .pub");
	type_len = strcspn(copy, " \t");
	type = type_of(copy, type_len);
	key = copy + type_len + strspn(copy + type_len, " \t");
	key_len = strcspn(key, " \t\r\n");
	if (!type || strlen(copy) != len || key_len > KEY_MAX || !is_key_of(type, key, key_len))
		return error_set(err, ERROR_INVALID, "it is no public key of OpenSSH");
	ret->text = str_format(err, "%s %.*s", type, (int)key_len, key);
	return ret->text ? 0 : -1;
}

/* The first line that is neither empty nor a comment; *ret_more: there is another. */
static const char *first_line(const char *text, size_t *ret_len, bool *ret_more)
{
	const char *found = NULL;

	*ret_more = false;
	for (size_t len; *text; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		if (!len || *text == '#')
			continue;
		*ret_more = found;
		if (found)
			break;
		found = text;
		*ret_len = len - (text[len - 1] == '\r');
	}
	return found;
}

int ssh_key_read(const char *path, struct ssh_key *ret, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;
	const char *line;
	size_t len;
	bool more;

	if (file_read_argument(path, FILE_MAX, &text, err) < 0)
		return -1;
	if (strstr(str_get(&text), "PRIVATE KEY"))
		return error_set(err, ERROR_INVALID,
			"'%s' is a private key, which stays here; give the public one: '%s.pub'",
			path, path);
	line = first_line(str_get(&text), &len, &more);
	if (!line || more)
		return error_set(err, ERROR_INVALID, "'%s' does not hold one public key", path);
	if (ssh_key_parse(line, len, ret, err) < 0)
		return error_wrap(err, "'%s'", path);
	return 0;
}

/* Run a script as user; its stdout in out. */
static int run_script(struct guest *g, const char *user, const char *const *argv,
	struct guest_catch *out, struct guest_result *result, struct error *err)
{
	_cleanup_guest_catch_ struct guest_catch words = GUEST_CATCH_INIT;
	_cleanup_str_ struct str text = STR_INIT;
	struct guest_exec request = { .argv = argv, .user = user, .stdin_fd = -1, .signal_fd = -1 };
	int status;

	if (guest_catch_open(out, FILE_MAX, err) < 0 ||
		guest_catch_open(&words, WORDS_MAX, err) < 0)
		return -1;
	request.stdout_fd = out->end;
	request.stderr_fd = words.end;
	if (guest_exec(g, &request, result, err) < 0)
		return -1;
	guest_catch_finish(out);
	guest_catch_finish(&words);
	status = guest_result_status(result);
	if (status == 0 || status == ALLOW_ADDED)
		return 0;
	guest_catch_words(&words, &text);
	return error_set(err, ERROR_FAILED, "the box says: %s",
		text.len ? str_get(&text) : "nothing, and ends the command with a failure");
}

int ssh_host_keys(struct guest *g, const char *name, struct str *into, struct error *err)
{
	static const char *const argv[] = { "/bin/sh", "-c", host_keys_script, "box-ssh", NULL };
	_cleanup_guest_catch_ struct guest_catch out = GUEST_CATCH_INIT;
	struct guest_result result;
	unsigned keys = 0;
	size_t len;

	if (run_script(g, "root", argv, &out, &result, err) < 0)
		return error_wrap(err, "cannot read the SSH host keys of the box");
	for (const char *line = str_get(&out.text); *line && keys < KEYS_MAX;
		line += len + (line[len] == '\n')) {
		_cleanup_ssh_key_ struct ssh_key key = { 0 };
		struct error ignored = { 0 };

		len = strcspn(line, "\n");
		if (ssh_key_parse(line, len, &key, &ignored) < 0)
			continue;
		str_printf(into, "%s %s\n", name, key.text);
		keys++;
	}
	if (!keys)
		return error_set(err, ERROR_NOT_FOUND,
			"the box has no SSH host keys: its first boot is not over, or openssh-server is not installed");
	return str_ok(into, err);
}

int ssh_allow(struct guest *g, const char *user, const struct ssh_key *key, bool *ret_new,
	struct error *err)
{
	const char *const argv[] = { "/bin/sh", "-c", allow_script, "box-ssh", key->text, NULL };
	_cleanup_guest_catch_ struct guest_catch out = GUEST_CATCH_INIT;
	struct guest_result result;

	if (run_script(g, user, argv, &out, &result, err) < 0)
		return error_wrap(err, "cannot let the key in as '%s'", user);
	*ret_new = guest_result_status(&result) == ALLOW_ADDED;
	return 0;
}
