/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/adopt.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/parse.h"
#include "base/steps.h"

enum { SEED_BYTES = 64 };

/* What a box is told, as text; the seed is a secret. */
struct identity {
	char seed[2 * SEED_BYTES + 1];
	char clock[40];
	char instance[DOMAIN_UUID_TEXT + 2];
	char mac[DOMAIN_MAC_TEXT];
	char address[INET_ADDRSTRLEN];
};

static int identity_fill(const struct box *box, struct identity *id, struct error *err)
{
	const struct in_addr address = { htonl(box->meta.address) };
	uint8_t bytes[SEED_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return error_set(err, ERROR_FAILED, "cannot draw a random seed");
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(id->seed + 2 * i, 3, "%02x", bytes[i]);
	explicit_bzero(bytes, sizeof(bytes));
	(void)snprintf(id->instance, sizeof(id->instance), "i-%s", box->uuid);
	domain_mac(box->uuid, id->mac);
	if (!box->meta.address || !inet_ntop(AF_INET, &address, id->address, sizeof(id->address)))
		return error_set(err, ERROR_INVALID, "box '%s' has no address", box->name);
	return 0;
}

/* What must come back as it was given. The others are new, credited, or the clock. */
static int check(const struct box *box, const struct guest_identity *items, size_t count,
	const struct guest_items *answer, struct error *err)
{
	static const char *const exact[] = { "uuid", "hostname", "instance-id", "mac", "address" };

	for (size_t i = 0; i < count; i++) {
		const char *now = guest_items_get(answer, items[i].name);

		for (size_t k = 0; k < ARRAY_LEN(exact); k++) {
			if (str_equal(items[i].name, exact[k]) && !str_equal(now, items[i].value))
				return error_set(err, ERROR_FAILED,
					"the guest of '%s' has not taken its identity: its %s is '%s', not '%s'",
					box->name, items[i].name, now ? now : "unknown",
					items[i].value);
		}
	}
	return 0;
}

struct adopting {
	struct box *box;
	enum adopt_as as;
	const struct steps_observer *observer;
	struct guest_wait wait;
	struct identity id; /* a secret */
	struct guest *guest; /* owned */
};

static void adopting_done(struct adopting *a)
{
	guest_close(a->guest);
	explicit_bzero(a->id.seed, sizeof(a->id.seed));
}

static int do_open(void *ctx, struct error *err)
{
	struct adopting *a = ctx;

	if (identity_fill(a->box, &a->id, err) < 0)
		return -1;
	a->guest = guest_open(a->box->dom, &a->wait, err);
	return a->guest ? 0 : -1;
}

/* How long each item took the guest, as it says. */
static void tell_times(const struct adopting *a, const struct guest_identity *items, size_t count,
	const struct guest_items *answer)
{
	for (size_t i = 0; a->observer && a->observer->took && i < count; i++) {
		struct error ignored = { 0 };
		char name[64];
		const char *text;
		uint64_t usec;

		(void)snprintf(name, sizeof(name), "usec.%s", items[i].name);
		text = guest_items_get(answer, name);
		if (text && parse_u64(text, 0, UINT32_MAX, name, &usec, &ignored) == 0)
			a->observer->took("adopt.identity", items[i].name, usec, a->observer->data);
	}
}

static int do_identity(void *ctx, struct error *err)
{
	struct adopting *a = ctx;
	struct identity *id = &a->id;
	_cleanup_guest_items_ struct guest_items answer = VEC_INIT;
	const struct guest_identity items[] = {
		{ "uuid", a->box->uuid },
		{ "seed", id->seed },
		{ "clock", id->clock },
		{ "hostname", a->box->name },
		{ "instance-id", id->instance },
		{ "mac", id->mac },
		{ "address", id->address },
		/* of another machine only */
		{ "machine-id", "new" },
		{ "ssh-host-keys", "new" },
	};
	size_t count = ARRAY_LEN(items) - (a->as == ADOPT_SAME ? 2 : 0);
	struct timespec now;

	/* as late as can be */
	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)snprintf(
		id->clock, sizeof(id->clock), "%lld.%09ld", (long long)now.tv_sec, now.tv_nsec);
	if (guest_identity(a->guest, items, count, &a->wait, &answer, err) < 0)
		return -1;
	tell_times(a, items, count, &answer);
	return check(a->box, items, count, &answer, err);
}

static int do_ready(void *ctx, struct error *err)
{
	struct adopting *a = ctx;
	const char *user = *a->box->meta.user ? a->box->meta.user : NULL;

	return guest_wait_ready(a->guest, user, &a->wait, NULL, NULL, err);
}

int box_adopt(struct box *box, enum adopt_as as, const struct start_watch *watch, struct error *err)
{
	static const struct step steps[] = {
		{ "open", NULL, do_open, NULL },
		{ "identity", NULL, do_identity, NULL },
		{ "ready", NULL, do_ready, NULL },
	};
	_cleanup_(adopting_done) struct adopting a = {
		.box = box,
		.as = as,
		.observer = watch->observer,
		.wait = { .timeout_ms = ADOPT_MS, .interrupt_fd = watch->interrupt_fd },
	};

	return steps_run("adopt", steps, ARRAY_LEN(steps), &a, watch->observer, err);
}

int box_grow_disk(struct box *box, uint64_t bytes, struct error *err)
{
	/* the whole disk is the file system (docs/decisions/0101) */
	static const char *const argv[] = { "resize2fs", "/dev/vda", NULL };
	static const struct guest_exec exec = {
		.argv = argv,
		.flags = GUEST_LOGIN,
		.timeout_ms = ADOPT_MS,
		.stdin_fd = -1,
		.stdout_fd = -1,
		.stderr_fd = -1,
	};
	struct guest_wait wait = { .timeout_ms = ADOPT_MS };
	_cleanup_(guest_close_p) struct guest *guest = NULL;
	struct guest_result result = { 0 };

	if (virDomainBlockResize(box->dom, "vda", bytes, VIR_DOMAIN_BLOCK_RESIZE_BYTES) < 0)
		return error_virt(err, "cannot enlarge the disk of box '%s'", box->name);
	guest = guest_open(box->dom, &wait, err);
	if (!guest || guest_exec(guest, &exec, &result, err) < 0)
		return -1;
	if (guest_result_status(&result) != 0)
		return error_set(err, ERROR_FAILED,
			"box '%s' cannot enlarge its file system: resize2fs ended with %d",
			box->name, guest_result_status(&result));
	return 0;
}
