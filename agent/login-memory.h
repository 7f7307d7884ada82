/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What login shells made of an account's environment, remembered: running a profile takes longer than
 * most commands do, and gives the same nearly always. It is asked again when anything it starts from is
 * another (the account, the environment before it, the shells' files and the folders that profiles look
 * for), and after a minute in any case, since a profile may read other files.
 */
#ifndef AGENT_LOGIN_MEMORY_H
#define AGENT_LOGIN_MEMORY_H

#include <stdbool.h>

#include "agent/account.h"

/*
 * True: *env, the environment before the profile, has been replaced by the one after it. request is what
 * the host asks to set, which the profile sees. False: the profile has to run; *ret_file is then a memory
 * file to write its environment to (see login_complete), lent, above descriptor 4; or -1.
 */
bool login_recall(const char *root, const struct account *a, const struct text_vec *request,
	struct text_vec *env, int *ret_file);

/* Say of such a file, in whatever process, that it is complete. One that never is, is forgotten. */
void login_complete(int file);

/* Read an environment, NUL after each entry, from a file's beginning. False when there is none in it. */
bool login_read(int file, struct text_vec *ret);

#endif
