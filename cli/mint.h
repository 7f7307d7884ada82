/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * box-mint as a child: its events (mint/event.h) become this session's progress or, with --json, lines of
 * JSON on standard output.
 */
#ifndef CLI_MINT_H
#define CLI_MINT_H

#include "base/json.h"
#include "cli/session.h"
#include "vmm/image-store.h"

struct mint_request {
	const char *template;
	bool refresh, offline, compress;
	const char *build; /* with refresh: the same for all that one command makes anew */
};

/* What was made: files of the cache, in the order of uploading. */
struct mint_outcome {
	json_t *done; /* owned: the texts */
	struct image_file *files; /* owned array */
	size_t count;
};
void mint_outcome_done(struct mint_outcome *outcome);
#define _cleanup_mint_outcome_ _cleanup_(mint_outcome_done)

/* Mint one template, or see that it is in the cache. ret is zeroed. The error is the mint's own words. */
int mint_template(struct session *s, const struct mint_request *request, struct mint_outcome *ret,
	struct error *err) MUST_CHECK;

/*
 * With --json: an event of our own, of the same form; the object is taken (NULL: out of memory before).
 * Without: nothing.
 */
int mint_event(struct session *s, const char *event, json_t *object, struct error *err) MUST_CHECK;

/* Watches steps of our own (uploads) as the mint's are watched; data is the session. */
struct steps_observer mint_observer(struct session *s);
void mint_progress(uint64_t done, uint64_t total, void *session);

#endif
