/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/frame-field.h"

#include <string.h>

enum { FIELD_HEADER = 4 };

void field_put(struct str *into, enum field_tag tag, const void *bytes, size_t len)
{
	uint8_t header[FIELD_HEADER] = { (uint8_t)tag, (uint8_t)len, (uint8_t)(len >> 8),
		(uint8_t)(len >> 16) };

	if (len > 0xffffff) {
		into->failed = true;
		return;
	}
	str_append_len(into, header, sizeof(header));
	if (len)
		str_append_len(into, bytes, len);
}

void field_put_text(struct str *into, enum field_tag tag, const char *text)
{
	field_put(into, tag, text, strlen(text));
}

void field_put_u32(struct str *into, enum field_tag tag, uint32_t value)
{
	uint8_t bytes[4];

	frame_set_u32(bytes, value);
	field_put(into, tag, bytes, sizeof(bytes));
}

int field_next(struct field_reader *r, struct field *ret, struct error *err)
{
	while (r->at < r->end) {
		size_t left = (size_t)(r->end - r->at), len;
		struct field f;

		if (left < FIELD_HEADER)
			return error_set(err, ERROR_INVALID, "a message is cut off");
		len = (size_t)r->at[1] | (size_t)r->at[2] << 8 | (size_t)r->at[3] << 16;
		if (len > left - FIELD_HEADER)
			return error_set(err, ERROR_INVALID, "a message is cut off");
		f = (struct field){ .tag = r->at[0], .bytes = r->at + FIELD_HEADER, .len = len };
		r->at += FIELD_HEADER + len;
		if (f.tag >= FIELD_OPTIONAL)
			continue;
		if (!f.tag || f.tag >= FIELD_TAG_END)
			return error_set(
				err, ERROR_INVALID, "a message has an unknown part (%u)", f.tag);
		*ret = f;
		return 1;
	}
	return 0;
}

int field_u32(const struct field *f, uint32_t *ret, struct error *err)
{
	if (f->len != 4)
		return error_set(
			err, ERROR_INVALID, "a message has a malformed number (part %u)", f->tag);
	*ret = frame_get_u32(f->bytes);
	return 0;
}

char *field_text(const struct field *f, struct error *err)
{
	char *text;

	if (f->len && memchr(f->bytes, 0, f->len)) {
		error_set(err, ERROR_INVALID, "a message has text with a NUL (part %u)", f->tag);
		return NULL;
	}
	text = malloc(f->len + 1);
	if (!text) {
		error_oom(err);
		return NULL;
	}
	if (f->len)
		memcpy(text, f->bytes, f->len);
	text[f->len] = 0;
	return text;
}
