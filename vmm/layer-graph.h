/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The graph of qcow2 layers: which volume stands on which, and which box needs what. Pure: it is
 * built from lists that somebody read from libvirt, decides nothing about time, and touches nothing.
 * vmm/layer-plan.h makes plans over it, vmm/chain-*.c carries them out.
 *
 * Words. A layer is a volume of the pool. It stands on its backing layer. The chain of a layer is the
 * layer, its backing, and so on down to one that stands on nothing. The top of a box is the layer
 * that its disk names. A label is a snapshot's name; it names a frozen layer.
 *
 * Use: layer_graph_init, add_volume for each volume, add_box for each box, add_pin for each disk of
 * a foreign domain, then layer_graph_resolve; after that only the queries. layer_graph_done frees.
 * Read the volumes before the domains: then no volume is seen without the box that it is made for.
 */
#ifndef VMM_LAYER_GRAPH_H
#define VMM_LAYER_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
	LAYER_NAME_MAX = 256, /* a volume's name with its NUL: what a file system allows */
	LAYER_UUID_MAX = 37, /* a UUID as text with its NUL */
	LAYER_LABEL_MAX = 64,
	LAYER_LABELS_MAX = 512, /* of a box: what its metadata takes */
	LAYER_DEPTH_MAX = 200, /* libvirt refuses deeper chains (its VIR_STORAGE_MAX_CHAIN_DEPTH) */
	LAYER_GRAPH_MAX = 100000, /* volumes, boxes: more is not believed */
};

#define LAYER_NONE SIZE_MAX /* no such layer */
#define LAYER_ABSENT (SIZE_MAX - 1) /* named, but no volume of the pool */

/* By name alone, see docs/ARCHITECTURE.md. Only LAYER_BOX is ever deleted by a plan. */
enum layer_kind { LAYER_OTHER, LAYER_BASE, LAYER_GOLDEN, LAYER_BOX };

/* Why a chain cannot be followed to its end. */
enum layer_fault { LAYER_SOUND, LAYER_FAULT_ABSENT, LAYER_FAULT_CYCLE, LAYER_FAULT_DEPTH };

struct layer {
	char *name; /* owned, as all pointers here */
	char *path;
	char *backing_path; /* NULL: stands on nothing */
	uint64_t capacity; /* bytes that the guest sees */
	uint64_t allocation; /* bytes that it takes */
	enum layer_kind kind;
	char uuid[LAYER_UUID_MAX]; /* of the box that made it; "" unless LAYER_BOX */
	uint64_t number; /* 1 and up; 0 unless LAYER_BOX */

	/* Set by layer_graph_resolve. */
	size_t backing; /* an index, LAYER_NONE or LAYER_ABSENT */
	size_t children; /* layers that stand on this one */
	size_t labels; /* labels that name it */
	size_t tops; /* boxes that write it, and pins that do */
	enum layer_fault fault; /* of the chain from here down */
	unsigned depth; /* layers in the chain, this one included; 0 when it has a fault */
};

struct layer_label {
	char label[LAYER_LABEL_MAX];
	char *volume; /* owned: the layer's name */
	size_t layer; /* index or LAYER_ABSENT */
};

struct layer_box {
	char uuid[LAYER_UUID_MAX];
	char *name; /* owned */
	bool running; /* QEMU has the chain of its top open */
	bool leaving; /* it is being removed, and that will be finished */
	char *top_path; /* owned */
	struct layer_label *labels; /* owned, in the order of taking */
	size_t labels_len;
	size_t top; /* index or LAYER_ABSENT */
};

struct layer_pin {
	char *path; /* owned */
	bool written; /* else only read: something stands on it */
};

struct layer_graph {
	struct layer *layers;
	size_t len, cap;
	struct layer_box *boxes;
	size_t boxes_len, boxes_cap;
	struct layer_pin *pins; /* what domains which are no boxes use */
	size_t pins_len, pins_cap;
	size_t *by_path, *by_uuid; /* indices into layers and boxes, sorted; made by resolve */
};

/* What add_volume takes; everything is copied. */
struct layer_volume {
	const char *name, *path;
	const char *backing; /* path as the volume's header says; NULL or "": none */
	uint64_t capacity, allocation;
};

/* What add_box takes; everything is copied. */
struct layer_snapshot {
	const char *label, *volume;
};
struct layer_owner {
	const char *uuid, *name, *top_path;
	bool running, leaving;
	const struct layer_snapshot *snapshots;
	size_t snapshots_len;
};

void layer_graph_init(struct layer_graph *g);
void layer_graph_done(struct layer_graph *g); /* safe on a zeroed one */

/* ERROR_INVALID for an impossible name, label or UUID, or too many. */
int layer_graph_add_volume(
	struct layer_graph *g, const struct layer_volume *volume, struct error *err) MUST_CHECK;
int layer_graph_add_box(
	struct layer_graph *g, const struct layer_owner *box, struct error *err) MUST_CHECK;
int layer_graph_add_pin(
	struct layer_graph *g, const char *path, bool written, struct error *err) MUST_CHECK;

/*
 * Connect everything. Two volumes of one path, or two boxes of one UUID, are ERROR_INVALID. Faults
 * of single chains are no errors here: they are recorded in the layers, see layer_graph_check.
 */
int layer_graph_resolve(struct layer_graph *g, struct error *err) MUST_CHECK;

/* ---- queries, after resolve ---- */

/* Index or LAYER_NONE. */
size_t layer_graph_find(const struct layer_graph *g, const char *name);
size_t layer_graph_find_path(const struct layer_graph *g, const char *path);
const struct layer_box *layer_graph_box(const struct layer_graph *g, const char *uuid);
const struct layer_label *layer_box_label(const struct layer_box *box, const char *label);

/* The layer that this one stands on; LAYER_NONE at the end of the chain and at a fault. */
size_t layer_graph_below(const struct layer_graph *g, size_t layer);

/*
 * The box may be changed: its chains are sound, its top is its own (invariant 2 of layer-plan.c), its
 * labels name frozen layers. ERROR_INVALID otherwise, naming box, layer and what is wrong.
 */
int layer_graph_check(
	const struct layer_graph *g, const struct layer_box *box, struct error *err) MUST_CHECK;

/*
 * What every other box stands on is known. ERROR_BUSY when the disk of one is outside the pool: then no
 * layer may be deleted.
 */
int layer_graph_check_others(
	const struct layer_graph *g, const struct layer_box *except, struct error *err) MUST_CHECK;

/* lower is in the chain of upper (both indices; a layer is in its own chain). */
bool layer_graph_stands_on(const struct layer_graph *g, size_t upper, size_t lower);

/* The box's top, or a layer that one of its labels names, stands on layer. */
bool layer_box_needs(const struct layer_graph *g, const struct layer_box *box, size_t layer);

/*
 * Bytes that only this layer's chain needs: its own, and those of the unnamed layers under it that
 * nothing else stands on.
 */
uint64_t layer_graph_own_bytes(const struct layer_graph *g, size_t layer);

/*
 * Which layers the change of a box sets free: candidates that nobody needs any more. Candidates are of
 * kind LAYER_BOX and in a chain of the box's top, its labels or one of roots; when the box is removed,
 * all that bear its UUID as well. Needed are the chains of all tops, labels and pins, and of every
 * layer that is no candidate: so a stray volume protects what it stands on. A box that somebody else is
 * removing needs nothing, and what is left of it goes with the change: of two commands that give up a
 * shared layer at the same time at least one takes it.
 *
 * ret_free has g->len entries. Errors of layer_graph_check_others.
 */
struct layer_change {
	const struct layer_box *box;
	bool removed; /* the box goes, with top and labels */
	size_t top; /* its new top stands on this layer, or LAYER_ABSENT; LAYER_NONE: its top stays */
	const char *label; /* this label goes; NULL: none */
	size_t roots[2]; /* LAYER_NONE: none */
};
int layer_graph_freed(const struct layer_graph *g, const struct layer_change *change,
	bool *ret_free, struct error *err) MUST_CHECK;

/*
 * What anybody needs who can be seen: the chains of all tops, labels and pins, and of all volumes that are no
 * layers of boxes. ret_needed has g->len entries.
 */
void layer_graph_needed(const struct layer_graph *g, bool *ret_needed);

/* ---- names ---- */

/* "box-<uuid>-<number>.qcow2"; buf of LAYER_NAME_MAX is enough. */
void layer_name_format(const char *uuid, uint64_t number, char *buf, size_t len);

/* The kind; for LAYER_BOX the UUID and number as well (either may be NULL). */
enum layer_kind layer_name_parse(const char *name, char uuid[LAYER_UUID_MAX], uint64_t *number);

/* One more than the highest number among the layers of that UUID. */
uint64_t layer_graph_next_number(const struct layer_graph *g, const char *uuid);

#endif
