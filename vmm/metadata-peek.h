/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user of a box, from its metadata, without a reader of XML: for the program that has no time for one
 * (cli/exec-main.c). It knows the one form that libvirt gives our element in, an element of plain text a
 * line, and says no to everything else: then vmm/metadata.h is to be asked.
 */
#ifndef VMM_METADATA_PEEK_H
#define VMM_METADATA_PEEK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/macro.h"

/*
 * True with the user's name in user; false, and user is untouched, when the text is not of that form, of
 * another schema, or has anything in it that this version does not write.
 */
bool meta_peek_user(const char *text, char *user, size_t size) MUST_CHECK;

#endif
