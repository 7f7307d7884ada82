/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * box-hook: called by libvirtd under the names /etc/libvirt/hooks/qemu.d/box and network.d/box, and by
 * the boot unit and people as
 *
 *	box-hook apply    put the isolation rules right; for a host without boxnet there is nothing to do
 *	box-hook check    say what is not right; status 1 when something is not
 *	box-hook remove   take rules, hooks, units and configuration away, as "box teardown-host" does; for
 *	                  who has no box any more, as a package that is purged. Refused while a box runs
 *
 * Exit status: 0 done, 1 it went wrong (libvirt gives up the start), 2 asked wrong.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "net/firewalls.h"
#include "net/hook.h"
#include "net/host.h"

static int verb_apply(struct error *err)
{
	bool changed = false;

	if (isolation_ensure(&isolation_paths, &changed, err) < 0)
		return -1;
	firewalls_remind();
	printf("%s\n", changed ? "isolation rules applied" : "isolation rules are in force");
	return 0;
}

static int verb_check(struct error *err)
{
	_cleanup_nft_differences_ struct nft_differences d = VEC_INIT;

	if (isolation_check(&isolation_paths, &d, err) < 0)
		return -1;
	vec_foreach(char *, text, &d)
		printf("%s\n", *text);
	if (d.len > 0)
		return error_set(err, ERROR_FAILED, "the isolation rules are not in force");
	printf("isolation rules are in force\n");
	return 0;
}

static int verb_remove(struct error *err)
{
	_cleanup_host_ struct host h = { .root = "", .paths = &isolation_paths };
	bool changed = false;

	if (host_teardown(&h, &changed, err) < 0 || firewalls_take_back(err) < 0)
		return -1;
	printf("%s\n", changed ? "isolation rules removed" : "nothing to remove");
	return 0;
}

static int run(int argc, char **argv, struct error *err)
{
	int kind = hook_kind_of(argv[0]);

	/* libvirt: OBJECT OPERATION SUB-OPERATION EXTRA */
	if (kind >= 0 && argc >= 4) {
		struct hook_call call = {
			.kind = (enum hook_kind)kind,
			.object = argv[1],
			.operation = argv[2],
			.sub = argv[3],
			.input = STDIN_FILENO,
		};

		return hook_run(&isolation_paths, &call, err);
	}
	if (argc == 2 && str_equal(argv[1], "apply"))
		return verb_apply(err);
	if (argc == 2 && str_equal(argv[1], "check"))
		return verb_check(err);
	if (argc == 2 && str_equal(argv[1], "remove"))
		return verb_remove(err);
	return error_set(
		err, ERROR_USAGE, "usage: box-hook apply|check|remove, or as a hook of libvirt");
}

int main(int argc, char **argv)
{
	struct error err = { 0 };
	const char *debug = getenv("BOX_DEBUG");

	log_debug_enable(str_equal(debug, "1"));
	if (argc > 0 && run(argc, argv, &err) == 0)
		return 0;
	fprintf(stderr, "box: %s\n", err.text);
	return err.kind == ERROR_USAGE ? 2 : 1;
}
