/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "images/secret.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#include "base/str.h"

static const struct {
	const char *pattern; /* of fnmatch, over the whole path */
	const char *what;
} paths[] = {
	{ "*/.netrc", "a file of passwords" },
	{ "*/.npmrc", "settings of a package registry" },
	{ "*etc/npmrc", "settings of a package registry" },
	{ "*/.git-credentials", "a git password" },
	{ "*/.config/gh/hosts.yml", "a GitHub token" },
	{ "*/.docker/config.json", "a registry password" },
	{ "*/.aws/credentials", "a cloud key" },
	{ "*/.kube/config", "a cluster key" },
	{ "*/.gnupg/private-keys-v1.d/*", "a private key" },
	{ "*/.ssh/id_*", "a private key" },
	{ "*/.ssh/authorized_keys", "a key to log in with" },
	{ "etc/ssh/ssh_host_*", "a host key, which every box would share" },
	{ "*/.claude/.credentials.json", "an agent's login" },
	{ "*/.claude.json", "an agent's settings" },
	{ "*/.codex/auth.json", "an agent's login" },
	{ "*/.grok/auth.json", "an agent's login" },
	{ "*/.bash_history", "a shell's history" },
	{ "*/.zsh_history", "a shell's history" },
	{ "*/.python_history", "a shell's history" },
	{ "etc/apt/auth.conf", "a mirror's password" },
	{ "etc/apt/auth.conf.d/*", "a mirror's password" },
	{ "etc/apt/apt.conf.d/*proxy*", "a proxy of the host" },
	{ "var/lib/systemd/random-seed", "a random seed, which every box would share" },
	{ "var/lib/dbus/machine-id", "a machine-id, which every box would share" },
};

/* Examples and tests carry keys that open nothing. */
static const char *const harmless[] = {
	"usr/share/doc/*",
	"usr/share/perl*",
	"usr/lib/python3*/test/*",
	"usr/lib/python3*/tests/*",
	"*/node_modules/*/test/*",
	"*/node_modules/*/tests/*",
	"etc/skel/*",
};

static bool is_harmless(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
		if (fnmatch(harmless[i], path, 0) == 0)
			return true;
	return false;
}

const char *secret_in_path(const char *path)
{
	if (is_harmless(path))
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (fnmatch(paths[i].pattern, path, 0) == 0)
			return paths[i].what;
	return NULL;
}

/* A token begins with a fixed text and goes on with at least so many of its letters. */
static const struct {
	const char *prefix;
	size_t tail;
	const char *what;
} tokens[] = {
	{ "ghp_", 36, "a GitHub token" },
	{ "gho_", 36, "a GitHub token" },
	{ "github_pat_", 60, "a GitHub token" },
	{ "glpat-", 20, "a GitLab token" },
	{ "sk-ant-api03-", 80, "an Anthropic key" },
	{ "sk-ant-oat01-", 80, "an Anthropic login" },
	{ "sk-proj-", 60, "an OpenAI key" },
	{ "xai-", 70, "an xAI key" },
	{ "npm_", 36, "an npm token" },
	{ "xoxb-", 40, "a Slack token" },
	{ "AGE-SECRET-KEY-1", 50, "a private key" },
};

static bool is_token_letter(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/*
 * All prefixes have one of these, which are rarer in programs than letters are: so a layer of gigabytes is
 * looked through at the speed of memchr.
 */
static const char rare[] = "_-";

/* The token whose prefix has its first rare letter at this place. */
static const char *token_at(const char *bytes, const char *end, const char *at)
{
	for (size_t t = 0; t < ARRAY_LEN(tokens); t++) {
		const char *prefix = tokens[t].prefix, *start, *c;
		size_t head = strlen(prefix), before = strcspn(prefix, rare);

		if (prefix[before] != *at || (size_t)(at - bytes) < before ||
			(size_t)(end - at) + before < head)
			continue;
		start = at - before;
		if (memcmp(start, prefix, head) != 0 ||
			(start > bytes && is_token_letter(start[-1])))
			continue;
		c = start + head;
		while (c < end && is_token_letter(*c))
			c++;
		if ((size_t)(c - start) - head >= tokens[t].tail)
			return tokens[t].what;
	}
	return NULL;
}

static const char *find_token(const char *bytes, size_t len)
{
	const char *end = bytes + len, *what = NULL;

	for (const char *letter = rare; *letter && !what; letter++)
		for (const char *at = bytes; !what && at < end; at++) {
			at = memchr(at, *letter, (size_t)(end - at));
			if (!at)
				break;
			what = token_at(bytes, end, at);
		}
	return what;
}

/* A PEM header alone is what every program that reads keys has; a key has base64 after its line. */
static const char *find_private_key(const char *bytes, size_t len)
{
	static const char head[] = "-----BEGIN ", tail[] = "PRIVATE KEY-----";
	const char *at = bytes, *end = bytes + len;

	while ((at = memmem(at, (size_t)(end - at), head, sizeof(head) - 1))) {
		const char *line = memmem(at, MIN((size_t)(end - at), 64u), tail, sizeof(tail) - 1);

		at += sizeof(head) - 1;
		if (!line)
			continue;
		line += sizeof(tail) - 1;
		while (line < end && (*line == '\r' || *line == '\n'))
			line++;
		for (size_t i = 0; line + i < end && (isalnum((unsigned char)line[i]) ||
							     line[i] == '+' || line[i] == '/');
			i++)
			if (i == 40)
				return "a private key";
	}
	return NULL;
}

const char *secret_in_bytes(const char *path, const char *bytes, size_t len)
{
	const char *what;

	if (is_harmless(path))
		return NULL;
	what = find_private_key(bytes, len);
	return what ? what : find_token(bytes, len);
}
