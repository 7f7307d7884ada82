/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * box-copy: one end of "box cp" on this side, started by it.
 *
 *	box-copy pack PATH plain|pax
 *	box-copy unpack MAX-ENTRIES MAX-BYTES STALL-MS strict|skip
 *
 * The archive is on stdout or stdin. What happens is told on stderr, a line each, which vmm/copy-side.c
 * reads: "progress DONE TOTAL", "left out TEXT", "error KIND TEXT".
 */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/str.h"
#include "vmm/copy-archive.h"
#include "vmm/copy-confine.h"

static void tell_progress(uint64_t done, uint64_t total, void *data)
{
	(void)data;
	(void)fprintf(stderr, "progress %llu %llu\n", (unsigned long long)done,
		(unsigned long long)total);
}

static void tell_left_out(const char *text, void *data)
{
	(void)data;
	(void)fprintf(stderr, "left out %s\n", text);
}

static const struct copy_observer teller = {
	.progress = tell_progress,
	.left_out = tell_left_out,
};

static int pack(char **argv, struct error *err)
{
	const struct copy_pack request = {
		.path = argv[0],
		.plain = str_equal(argv[1], "plain"),
		.fd = STDOUT_FILENO,
	};

	return copy_pack(&request, &teller, err);
}

static int unpack(char **argv, struct error *err)
{
	struct copy_unpack request = {
		.fd = STDIN_FILENO,
		.skip_unsafe = str_equal(argv[3], "skip"),
	};
	bool landlocked;

	if (parse_u64(argv[0], 0, UINT64_MAX, "entries", &request.max_entries, err) < 0 ||
		parse_u64(argv[1], 0, UINT64_MAX, "bytes", &request.max_bytes, err) < 0 ||
		parse_u64(argv[2], 1, UINT64_MAX, "silence", &request.stall_ms, err) < 0 ||
		copy_confine(request.max_bytes, &landlocked, err) < 0)
		return -1;
	return copy_unpack(&request, &teller, err);
}

int main(int argc, char **argv)
{
	struct error err = { 0 };
	int ret;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)setvbuf(stderr, NULL, _IOLBF, 0);
	/* C.UTF-8 is part of libc here; elsewhere names that are not ASCII may not pass. */
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	if (argc == 4 && str_equal(argv[1], "pack"))
		ret = pack(argv + 2, &err);
	else if (argc == 6 && str_equal(argv[1], "unpack"))
		ret = unpack(argv + 2, &err);
	else
		ret = error_set(&err, ERROR_USAGE, "box-copy is started by 'box cp'");
	if (ret < 0)
		(void)fprintf(stderr, "error %d %s\n", (int)err.kind, err.text);
	return ret < 0;
}
