/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/config.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/macro.h"
#include "base/parse.h"
#include "net/blocked.h"

enum { CONFIG_MAX = 4096 };

void net_config_default(struct net_config *ret)
{
	*ret = (struct net_config){
		.subnet = 0x0a580000, /* 10.88.0.0 */
		.prefix = 24,
		.dns = { 0x01010101, 0x08080808 },
		.n_dns = 2,
	};
}

const char *net_format_ipv4(uint32_t addr, char buf[16])
{
	(void)snprintf(buf, 16, "%u.%u.%u.%u", addr >> 24, (addr >> 16) & 255, (addr >> 8) & 255,
		addr & 255);
	return buf;
}

const char *net_format_mac(const uint8_t mac[6], char buf[18])
{
	(void)snprintf(buf, 18, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
		mac[4], mac[5]);
	return buf;
}

void net_config_format(const struct net_config *c, struct str *into)
{
	char text[16];

	str_append(into, "# box: written by \"box setup-host\"\n");
	str_printf(into, "subnet %s/%u\n", net_format_ipv4(c->subnet, text), c->prefix);
	str_append(into, "dns");
	for (size_t i = 0; i < c->n_dns; i++)
		str_printf(into, " %s", net_format_ipv4(c->dns[i], text));
	str_append(into, "\n");
}

int net_config_set_dns(struct net_config *c, const char *text, struct error *err)
{
	_cleanup_free_ char *copy = str_dup(text, err);
	const struct blocked *range;
	uint32_t dns[NET_DNS_MAX] = { 0 };
	char *save = NULL;
	size_t n = 0;

	if (!copy)
		return -1;
	for (char *word = strtok_r(copy, " \t,", &save); word;
		word = strtok_r(NULL, " \t,", &save)) {
		if (n == NET_DNS_MAX)
			return error_set(err, ERROR_USAGE,
				"resolvers '%s': at most %d can be given", text, NET_DNS_MAX);
		if (parse_ipv4(word, "resolver", &dns[n], err) < 0)
			return -1;
		range = blocked_find(dns[n]);
		if (range)
			return error_set(err, ERROR_USAGE,
				"resolver '%s' is not public (it is in %s); give public ones, as "
				"in BOX_DNS='1.1.1.1 8.8.8.8'",
				word, range->cidr);
		n++;
	}
	if (n == 0)
		return error_set(err, ERROR_USAGE,
			"no resolver given; boxes need one, as in BOX_DNS='1.1.1.1 8.8.8.8'");
	memcpy(c->dns, dns, sizeof(dns));
	c->n_dns = n;
	return 0;
}

static int parse_subnet(struct net_config *c, const char *text, struct error *err)
{
	uint32_t subnet = 0;
	unsigned prefix = 0;

	if (parse_cidr(text, "subnet", &subnet, &prefix, err) < 0)
		return -1;
	if (prefix < 16 || prefix > 28)
		return error_set(
			err, ERROR_USAGE, "subnet '%s': its length must be from /16 to /28", text);
	c->subnet = subnet;
	c->prefix = prefix;
	return 0;
}

static const struct config_word {
	const char *name;
	int (*parse)(struct net_config *c, const char *text, struct error *err);
} words[] = {
	{ "subnet", parse_subnet },
	{ "dns", net_config_set_dns },
};

static int parse_line(char *line, struct net_config *c, unsigned *seen, struct error *err)
{
	size_t len = strcspn(line, " \t");

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (len != strlen(words[i].name) || strncmp(line, words[i].name, len) != 0)
			continue;
		if (*seen & (1u << i))
			return error_set(err, ERROR_INVALID, "'%s' is given twice", words[i].name);
		*seen |= 1u << i;
		line += len;
		if (words[i].parse(c, line + strspn(line, " \t"), err) < 0) {
			err->kind = ERROR_INVALID;
			return -1;
		}
		return 0;
	}
	line[len] = '\0';
	return error_set(err, ERROR_INVALID, "unknown word '%s'", line);
}

int net_config_parse(const char *text, const char *what, struct net_config *ret, struct error *err)
{
	_cleanup_free_ char *copy = str_dup(text, err);
	struct net_config c = { 0 };
	unsigned seen = 0, number = 0;
	char *next = copy;

	if (!copy)
		return -1;
	while (next) {
		char *line = strsep(&next, "\n");

		number++;
		if (line[0] == '\0' || line[0] == '#')
			continue;
		if (parse_line(line, &c, &seen, err) < 0)
			return error_wrap(err, "%s:%u", what, number);
	}
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (!(seen & (1u << i)))
			return error_set(err, ERROR_INVALID,
				"%s: no line '%s'; \"box setup-host\" writes the file anew", what,
				words[i].name);
	}
	*ret = c;
	return 0;
}

int net_config_load(const char *path, struct net_config *ret, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;

	if (file_read(AT_FDCWD, path, CONFIG_MAX, &text, err) < 0) {
		if (err->kind == ERROR_NOT_FOUND)
			error_hint(err, "; this host is not set up: run \"box setup-host\"");
		return -1;
	}
	return net_config_parse(str_get(&text), path, ret, err);
}
