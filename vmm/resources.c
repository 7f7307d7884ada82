/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/resources.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/parse.h"

/* One of the three: where its text comes from and what it is called there. */
struct source {
	const char *text; /* NULL: neither flag nor environment */
	const char *what; /* "--cpu" or "BOX_CPU" */
};

static struct source pick(const char *flag, const char *flag_name, const char *variable)
{
	const char *env = getenv(variable);

	if (flag)
		return (struct source){ flag, flag_name };
	return (struct source){ env && *env ? env : NULL, variable };
}

static int resolve_cpus(const struct resources_wish *flag, unsigned wish, unsigned limit,
	unsigned *ret, struct error *err)
{
	struct source s = pick(flag->cpus, "--cpu", "BOX_CPU");
	uint64_t n = 0;

	if (!s.text) {
		*ret = MIN(wish, limit);
		return 0;
	}
	if (parse_u64(s.text, 1, 512, s.what, &n, err) < 0)
		return -1;
	if (n > limit)
		return error_set(err, ERROR_USAGE, "%s %" PRIu64 ": this host has %u CPUs", s.what,
			n, limit);
	*ret = (unsigned)n;
	return 0;
}

static int resolve_memory(const struct resources_wish *flag, uint64_t wish, uint64_t limit,
	uint64_t *ret, struct error *err)
{
	struct source s = pick(flag->memory, "--memory", "BOX_MEMORY");
	uint64_t bytes = wish;
	char want[32], have[32];

	if (s.text && parse_size(s.text, s.what, &bytes, err) < 0)
		return -1;
	if (s.text && bytes < RESOURCES_MEMORY_MIN)
		return error_set(err, ERROR_USAGE, "%s %s: a box needs at least %s", s.what, s.text,
			format_size(RESOURCES_MEMORY_MIN, want, sizeof(want)));
	if (bytes > limit && s.text)
		return error_set(err, ERROR_USAGE, "%s %s: this host has %s of memory", s.what,
			s.text, format_size(limit, have, sizeof(have)));
	if (bytes > limit)
		return error_set(err, ERROR_FAILED,
			"the template wants %s of memory and this host has %s; say how much it may be: "
			"--memory",
			format_size(bytes, want, sizeof(want)),
			format_size(limit, have, sizeof(have)));
	*ret = bytes / 1024 * 1024; /* libvirt counts in KiB */
	return 0;
}

static int resolve_disk(const struct resources_wish *flag, uint64_t wish,
	const struct resources_limits *limits, uint64_t *ret, struct error *err)
{
	struct source s = pick(flag->disk, "--disk", "BOX_DISK");
	uint64_t bytes = 0;
	char size[32];

	if (!s.text) {
		*ret = MAX(wish, limits->image);
		return 0;
	}
	if (parse_size(s.text, s.what, &bytes, err) < 0)
		return -1;
	if (bytes < limits->image)
		return error_set(err, ERROR_USAGE,
			"%s %s: the image's disk has %s, and a disk can only grow", s.what, s.text,
			format_size(limits->image, size, sizeof(size)));
	if (bytes > limits->pool)
		return error_set(err, ERROR_USAGE, "%s %s: the storage pool can hold %s", s.what,
			s.text, format_size(limits->pool, size, sizeof(size)));
	*ret = bytes;
	return 0;
}

int resources_resolve(const struct resources_wish *flag, const struct resources *template,
	const struct resources_limits *limits, struct resources *ret, struct error *err)
{
	const struct resources fallback = RESOURCES_DEFAULT;
	struct resources r;

	if (resolve_cpus(flag, template->cpus ? template->cpus : fallback.cpus, limits->cpus,
		    &r.cpus, err) < 0 ||
		resolve_memory(flag, template->memory ? template->memory : fallback.memory,
			limits->memory, &r.memory, err) < 0 ||
		resolve_disk(flag, template->disk ? template->disk : fallback.disk, limits, &r.disk,
			err) < 0)
		return -1;
	*ret = r;
	return 0;
}
