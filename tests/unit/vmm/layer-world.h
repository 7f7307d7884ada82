/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pool, its volumes' content and its boxes in memory, which carries plans out as libvirt and QEMU
 * would, and refuses (fails the test) what they would refuse. For the tests of vmm/layer-plan.h.
 */
#ifndef TESTS_UNIT_VMM_LAYER_WORLD_H
#define TESTS_UNIT_VMM_LAYER_WORLD_H

#include "tests/unit/test.h"
#include "vmm/layer-plan.h"

enum { WORLD_VOLUMES = 320, WORLD_BOXES = 10, WORLD_LABELS = 10, WORLD_BLOCKS = 12 };

#define WORLD_POOL "/pool/"

struct world_volume {
	char name[LAYER_NAME_MAX]; /* "" : the slot is free */
	char backing[LAYER_NAME_MAX];
	unsigned blocks; /* capacity */
	int data[WORLD_BLOCKS]; /* 0: not allocated here */
};

/* What the guest would read. */
struct world_content {
	unsigned blocks;
	int data[WORLD_BLOCKS];
};

struct world_label {
	char label[LAYER_LABEL_MAX];
	char volume[LAYER_NAME_MAX];
};

struct world_box {
	bool there;
	char uuid[LAYER_UUID_MAX];
	char name[16];
	bool running;
	char top[LAYER_NAME_MAX];
	struct world_label labels[WORLD_LABELS];
	size_t labels_len;
	struct layer_intent intent;
	bool removing; /* its own chains may break */
};

struct world {
	struct world_volume volumes[WORLD_VOLUMES];
	struct world_box boxes[WORLD_BOXES];
	unsigned made; /* boxes so far: gives UUIDs */
};

/* A golden image on a base, both with content; no boxes. */
void world_init(struct world *w);

struct world_volume *world_volume(struct world *w, const char *name); /* NULL: none */
struct world_volume *world_create(
	struct world *w, const char *name, const char *backing, unsigned blocks);
struct world_box *world_box(struct world *w, const char *uuid); /* must be there */

/* A stopped box whose first layer stands on backing; NULL when there is no slot. */
struct world_box *world_new(struct world *w, const char *backing, unsigned blocks);

void world_write(struct world *w, struct world_box *box, unsigned block, int value);
struct world_content world_read(struct world *w, const char *volume);

/* The graph as libvirt would tell it; layer_graph_done it. */
void world_graph(struct world *w, struct layer_graph *g);

/* One action of a plan for this box. */
void world_apply(struct world *w, const char *uuid, const struct layer_action *action);

/* The first count actions of the plan. */
void world_run(struct world *w, const struct layer_plan *plan, size_t count);

/* Every box passes layer_graph_check, no intent is left, and every box layer is needed by some box. */
void world_verify(struct world *w);

#endif
