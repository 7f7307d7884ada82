/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory: gpgv's exit status says whether all signatures are good, and a list may be signed with keys that
 * nobody here has. What counts is its status lines: NEWSIG opens a signature, GOODSIG says that it is good,
 * and neither expired nor revoked, VALIDSIG ends with the fingerprint of the primary key.
 */
#include "mint/signature.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>

#include "base/fd.h"
#include "base/run.h"

enum { SIGNED_MAX = 4 << 20, GPGV_TIMEOUT_MS = 60000 };

static const char inline_head[] = "-----BEGIN PGP SIGNED MESSAGE-----";

bool signature_is_inline(const struct str *text)
{
	return text->len > sizeof(inline_head) && str_starts(str_get(text), inline_head);
}

struct reading {
	const char *key;
	bool good; /* the signature that is being told of */
	bool trusted; /* one of our key was good */
	bool seen; /* there was any signature */
	bool unknown; /* one was of a key that is not in the keyring */
	bool expired, bad;
};

/* The line's first or last word is the fingerprint. */
static bool names_key(const char *words, const char *key)
{
	const char *last = strrchr(words, ' ');
	size_t len = strlen(key);

	return (strncasecmp(words, key, len) == 0 && (words[len] == ' ' || !words[len])) ||
	       (last && strcasecmp(last + 1, key) == 0);
}

static void take_line(const char *text, void *data)
{
	static const char head[] = "[GNUPG:] ";
	struct reading *r = data;

	if (!str_starts(text, head))
		return;
	text += sizeof(head) - 1;
	if (str_starts(text, "NEWSIG"))
		r->seen = true, r->good = false;
	else if (str_starts(text, "GOODSIG "))
		r->good = true;
	else if (str_starts(text, "BADSIG "))
		r->bad = true;
	else if (str_starts(text, "EXPSIG ") || str_starts(text, "EXPKEYSIG ") ||
		 str_starts(text, "REVKEYSIG "))
		r->expired = true;
	else if (str_starts(text, "NO_PUBKEY "))
		r->unknown = true;
	else if (str_starts(text, "VALIDSIG ") && r->good && names_key(text + 9, r->key))
		r->trusted = true;
}

static int refuse(const struct signature *s, const struct reading *r, struct error *err)
{
	if (r->bad)
		return error_set(err, ERROR_INVALID,
			"'%s' was changed after it was signed: its signature does not fit",
			s->what);
	if (r->expired)
		return error_set(err, ERROR_INVALID,
			"'%s' is signed with a key that has expired or was revoked", s->what);
	if (!r->seen)
		return error_set(err, ERROR_INVALID, "'%s' has no signature", s->what);
	if (r->unknown)
		return error_set(err, ERROR_INVALID,
			"'%s' is signed by a key that is not in '%s'; %s was expected", s->what,
			s->keyring, s->key);
	return error_set(err, ERROR_INVALID,
		"'%s' is not signed by the key that the template names, %s", s->what, s->key);
}

static char *write_file(
	const struct signature *s, const char *name, const struct str *text, struct error *err)
{
	_cleanup_free_ char *path = str_format(err, "%s/%s", s->folder, name);

	if (!path || file_replace(AT_FDCWD, path, str_get(text), text->len, 0644, err) < 0)
		return NULL;
	return TAKE(path);
}

int signature_check(const struct signature *s, struct str *signed_text, struct error *err)
{
	_cleanup_close_ int keyring = file_open(AT_FDCWD, s->keyring, err);
	_cleanup_free_ char *text = keyring < 0 ? NULL : write_file(s, "signed", s->text, err);
	_cleanup_free_ char *detached = text && s->detached
						? write_file(s, "signature", s->detached, err)
						: NULL;
	const char *const whole[] = { "gpgv", "--keyring", s->keyring, "--status-fd", "2",
		"--output", "-", "--", text, NULL };
	const char *const apart[] = { "gpgv", "--keyring", s->keyring, "--status-fd", "2", "--",
		detached, text, NULL };
	struct reading r = { .key = s->key };
	struct run run = {
		.argv = s->detached ? apart : whole,
		.output = signed_text,
		.output_max = SIGNED_MAX,
		.timeout_ms = GPGV_TIMEOUT_MS,
		.line = take_line,
		.data = &r,
	};
	struct error failed = { 0 };
	int ret;

	if (!text || (s->detached && !detached))
		return -1;
	ret = run_program(&run, NULL, &failed);
	if (failed.kind == ERROR_NOT_FOUND) {
		*err = failed;
		return error_hint(err, "; install the package gpgv");
	}
	if (ret < 0 && failed.kind != ERROR_FAILED) {
		*err = failed;
		return -1;
	}
	if (!r.trusted)
		return refuse(s, &r, err);
	if (s->detached)
		str_append_len(signed_text, str_get(s->text), s->text->len);
	return str_ok(signed_text, err);
}
