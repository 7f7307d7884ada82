/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small JSON reader for one purpose: what cloud-init writes about its stages. The agent is static
 * and links base/ alone, so no JSON library is here; this one builds nothing, it walks the text and
 * calls back for each scalar. Depth, path and string lengths are bounded.
 */
#ifndef AGENT_STATUS_JSON_H
#define AGENT_STATUS_JSON_H

#include "base/error.h"
#include "base/str.h"

enum json_kind { JSON_STRING, JSON_NUMBER, JSON_LITERAL /* true, false, null */ };

/* path is "v1/init/errors/0"; text is the value, decoded, NUL-terminated, cut at 4 KiB. Both lent. */
typedef void json_value_fn(const char *path, enum json_kind kind, const char *text, void *data);

/* ERROR_INVALID when text is no JSON document or nested deeper than 16. */
int json_walk(const char *text, size_t len, json_value_fn *value, void *data,
	struct error *err) MUST_CHECK;

/* What is known of cloud-init. */
struct cloud_status {
	char stage[64]; /* running now: "modules-config"; "" when between stages */
	bool finished; /* the last stage has ended */
	struct str errors; /* of all stages, each "stage: text", newline between; escaped */
};

/* From the text of status.json. */
int cloud_status_read(
	const char *text, size_t len, struct cloud_status *ret, struct error *err) MUST_CHECK;

#endif
