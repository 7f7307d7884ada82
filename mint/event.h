/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What box-mint tells its caller on standard output: JSON, one object a line.
 *
 *	{"event":"step","operation":"mint-base","name":"bootstrap","doing":"..."}
 *	{"event":"detail","text":"..."}			what of the step is going on
 *	{"event":"progress","done":1,"total":2}		bytes; total 0: not known
 *	{"event":"step-done","operation":"...","name":"...","usec":1}
 *	{"event":"note","text":"..."}			for the person, not of one step
 *	{"event":"done","template":"blank","volumes":[{"file":"/...","name":"base-...","format":"qcow2",
 *	    "backing":null}, ...]}			to upload, in this order
 *
 * A caller that went away (EPIPE) is not an error: the mint goes on.
 */
#ifndef MINT_EVENT_H
#define MINT_EVENT_H

#include <jansson.h>
#include <stdint.h>

#include "base/steps.h"

/* For steps_run. */
extern const struct steps_observer event_steps;

void event_detail(const char *text);
void event_note(const char *text);

/* At most ten a second come through, and the last one. */
void event_progress(uint64_t done, uint64_t total);

/* volumes is taken. */
int event_done(const char *template, json_t *volumes, struct error *err) MUST_CHECK;

#endif
