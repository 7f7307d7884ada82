/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/credentials.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/str.h"

enum {
	CHUNK = 1 << 16,
	OVERLAP = 256, /* longer than any spelling below, so that none hides between two chunks */
	BYTES_MAX = 64 << 20, /* of one file or device */
	FILE_MAX = 1 << 20, /* a larger file in a folder is data, not a login */
};

/* A spelling: a fixed beginning and at least so many letters, digits, "-" or "_" behind it. */
static const struct spelling {
	const char *begin;
	size_t more;
	const char *what;
} spellings[] = {
	{ "PRIVATE KEY-----", 0, "a private key" },
	{ "AGE-SECRET-KEY-1", 40, "an age identity" },
	{ "sk-ant-", 20, "an Anthropic token" },
	{ "sk-proj-", 20, "an OpenAI token" },
	{ "xai-", 40, "an xAI token" },
	{ "ghp_", 36, "a GitHub token" },
	{ "gho_", 36, "a GitHub token" },
	{ "ghu_", 36, "a GitHub token" },
	{ "ghs_", 36, "a GitHub token" },
	{ "github_pat_", 40, "a GitHub token" },
	{ "glpat-", 20, "a GitLab token" },
	{ "npm_", 36, "an npm token" },
	{ "AKIA", 16, "an AWS key id" },
	{ "_authToken=", 8, "an npm login" },
};

/* Ends of paths. */
static const struct {
	const char *end;
	const char *what;
} names[] = {
	{ "/.claude/.credentials.json", "a Claude login" },
	{ "/.codex/auth.json", "a Codex login" },
	{ "/.grok/auth.json", "a Grok login" },
	{ "/.git-credentials", "a git login" },
	{ "/.netrc", "a login" },
	{ "/gh/hosts.yml", "a GitHub login" },
	{ "/.ssh/id_rsa", "an SSH key" },
	{ "/.ssh/id_ecdsa", "an SSH key" },
	{ "/.ssh/id_ed25519", "an SSH key" },
	{ "/.ssh/authorized_keys", "somebody's way in" },
	{ "/.docker/config.json", "a registry login" },
	{ "/.aws/credentials", "an AWS login" },
	{ "/.kube/config", "a cluster login" },
};

static bool word_byte(uint8_t c)
{
	return isalnum(c) || c == '-' || c == '_';
}

const char *credential_in(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(spellings); i++) {
		const struct spelling *s = &spellings[i];
		size_t head = strlen(s->begin);
		const uint8_t *at = bytes, *end = bytes + len;

		while ((at = memmem(at, (size_t)(end - at), s->begin, head))) {
			size_t more = 0;

			while (more < s->more && at + head + more < end &&
				word_byte(at[head + more]))
				more++;
			if (more == s->more && (at == bytes || !word_byte(at[-1]) || s->more == 0))
				return s->what;
			at += head;
		}
	}
	return NULL;
}

const char *credential_name(const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		size_t end = strlen(names[i].end);

		if (len >= end && strcmp(path + len - end, names[i].end) == 0)
			return names[i].what;
	}
	return NULL;
}

/* The machine's own identity, and what a certificate package makes up for itself. */
static bool is_own(const char *path)
{
	return strncmp(path, "/etc/ssh/ssh_host_", 18) == 0 ||
	       strncmp(path, "/etc/ssl/private/ssl-cert-snakeoil", 34) == 0;
}

static void print_path(const char *word, const char *path, const char *what)
{
	_cleanup_str_ struct str text = STR_INIT;

	str_append_escaped(&text, path, strlen(path), false);
	printf("%s %s%s%s\n", word, str_get(&text), what ? " " : "", what ? what : "");
}

/* What the file holds: text, NULL for nothing, or "" when it could not be read. */
static const char *scan_bytes(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	static uint8_t buf[CHUNK + OVERLAP];
	size_t kept = 0, total = 0;
	ssize_t n;

	if (fd < 0)
		return "";
	while (total < BYTES_MAX && (n = read(fd, buf + kept, CHUNK)) != 0) {
		const char *what;
		size_t have;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return "";
		have = kept + (size_t)n;
		total += (size_t)n;
		what = credential_in(buf, have);
		if (what)
			return what;
		kept = have > OVERLAP ? OVERLAP : have;
		memmove(buf, buf + have - kept, kept);
	}
	return NULL;
}

static void scan_one(const char *path, off_t size)
{
	const char *what = size ? credential_name(path) : NULL;

	if (is_own(path) || size > FILE_MAX)
		return;
	if (!what)
		what = scan_bytes(path);
	if (what)
		print_path(*what ? "found" : "blind", path, *what ? what : NULL);
}

static unsigned long scan_tree(char *path)
{
	char *const roots[] = { path, NULL };
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
	unsigned long files = 0;
	const FTSENT *entry;

	while (tree && (entry = fts_read(tree))) {
		if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR)
			print_path("blind", entry->fts_path, NULL);
		if (entry->fts_info != FTS_F || !S_ISREG(entry->fts_statp->st_mode))
			continue;
		scan_one(entry->fts_path, entry->fts_statp->st_size);
		files++;
	}
	if (tree)
		(void)fts_close(tree);
	return files;
}

/* A scanner that finds nothing may be blind: it has to find this. */
static int selftest(struct error *err)
{
	char folder[] = "/tmp/box-probe-XXXXXX", path[64];
	struct error ignored = { 0 };
	int ret = 0;

	if (!mkdtemp(folder))
		return error_errno(err, errno, "cannot make '%s'", folder);
	(void)snprintf(path, sizeof(path), "%s/note", folder);
	if (file_replace(AT_FDCWD, path, "x ghp_000000000000000000000000000000000000\n", 43, 0600,
		    err) < 0)
		ret = -1;
	else if (scan_bytes(path) == NULL)
		ret = error_set(err, ERROR_FAILED, "the made-up token was not found");
	/* Left behind it is an empty folder in /tmp. */
	if (file_remove_tree(folder, &ignored) < 0)
		printf("left %s\n", folder);
	return ret;
}

int credentials_print(char *const *paths, struct error *err)
{
	unsigned long files = 0;

	if (selftest(err) < 0)
		return -1;
	printf("selftest ok\n");
	for (; *paths; paths++) {
		struct stat st;
		const char *what;

		if (stat(*paths, &st) < 0)
			continue; /* an image without this folder holds nothing in it */
		if (S_ISDIR(st.st_mode)) {
			files += scan_tree(*paths);
			continue;
		}
		what = scan_bytes(*paths);
		if (what)
			print_path(*what ? "found" : "blind", *paths, *what ? what : NULL);
		files++;
	}
	printf("scanned %lu\n", files);
	return 0;
}
