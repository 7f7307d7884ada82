/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One port, and the session on it if there is one. All state of a session is here, bounded: a frame
 * buffer each way, one window a stream, one message being put together and one being sent.
 *
 *	CLOSED --HELLO--> OPEN --hang-up of the host, malformed frame, other HELLO--> CLOSED
 *
 * In CLOSED everything is discarded until a HELLO. Leaving OPEN hangs up what runs.
 *
 * A virtio port tells of its host's coming and going on another queue than the one that carries data,
 * and the kernel may be late with it: the news that the last host has left can come after the next one's
 * HELLO. So a hang-up counts only when the port still says it a moment later. Should that have hit a
 * session that was just opened after all, the host is told by a RESET as soon as the port says that a
 * host is there.
 */
#ifndef AGENT_SESSION_H
#define AGENT_SESSION_H

#include "agent/exec.h"
#include "agent/stage.h"
#include "agent/worker.h"

struct agent;

struct session {
	struct agent *agent; /* lent */
	struct source port; /* fd -1: the port is gone */
	char name[32]; /* "vport1p3"; "" for a given descriptor */
	bool open;
	bool absent; /* the host was found to be gone, and nothing was heard since */
	uint64_t gone_at; /* when to believe that it is gone; 0: no sign of it */
	uint8_t nonce[FRAME_NONCE_LEN];
	struct frame_reader reader;
	struct frame_writer writer;
	struct str request; /* being put together */
	uint8_t request_type; /* 0: none */
	struct str reply; /* being sent in as many frames as it needs */
	uint8_t reply_type; /* 0: none */
	size_t reply_at;
	struct exec *exec; /* owned; NULL: nothing runs */
	struct worker *worker; /* owned; NULL: none */
	bool wants_stages;
	char *ready_user; /* owned; NULL: none */
	unsigned stage_seen; /* serial of the stage reported last */
};

/* Take fd (a port, or one end of a socket pair) and say RESET on it. */
int session_open(struct session *s, struct agent *agent, int fd, const char *name,
	struct error *err) MUST_CHECK;

/* Hang up, free and close. */
void session_done(struct session *s);

/* Do what can be done without waiting. True when something moved: call again before sleeping. */
bool session_step(struct session *s, uint64_t now);

/* When session_step has something to do by itself; 0: never. */
uint64_t session_deadline(const struct session *s);

#endif
