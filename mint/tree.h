/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trees of files as tar archives, over libarchive: written from the files that we put into images, and
 * read back to see what is in a layer.
 */
#ifndef MINT_TREE_H
#define MINT_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/str.h"

struct tree_writer;

/* A new archive at path. */
struct tree_writer *tree_open(const char *path, struct error *err) MUST_CHECK;
void tree_free(
	struct tree_writer *w); /* an archive that was not closed is incomplete; NULL is fine */
DEFINE_CLEANUP(struct tree_writer *, tree_free);
int tree_close(struct tree_writer *w, struct error *err) MUST_CHECK; /* free it afterwards */

/* One entry. Names are relative: "etc/fstab". Times are fixed. */
struct tree_entry {
	const char *name;
	mode_t mode; /* with its type: S_IFREG, S_IFDIR, S_IFLNK */
	uid_t uid;
	gid_t gid;
	const char *target; /* of a link */
	const void *bytes; /* of a file */
	size_t len;
};
int tree_put(struct tree_writer *w, const struct tree_entry *entry, struct error *err) MUST_CHECK;

/* A file of the host as it is. */
int tree_put_file(struct tree_writer *w, const char *name, const char *from, mode_t mode,
	struct error *err) MUST_CHECK;

/* All that is below a folder of the host, as root's: files 0644 or 0755, links, and folders. */
int tree_put_folder(struct tree_writer *w, const char *from, struct error *err) MUST_CHECK;

/*
 * Copy the entries of another archive (any compression) whose names begin with strip, under prefix
 * instead of it: "package/" under "usr/local/lib/node_modules/npm/". No name may lead out of it.
 */
int tree_put_archive(struct tree_writer *w, const char *archive, const char *strip,
	const char *prefix, struct error *err) MUST_CHECK;

/*
 * What a reader is shown: an entry, with the first TREE_LOOK bytes of a regular file's content; and then the
 * rest of it, a piece a call. A piece begins with the last TREE_OVERLAP bytes of the one before it, so that no
 * short text is cut in two.
 */
#define TREE_LOOK (1024u * 1024)
#define TREE_OVERLAP 4096u
struct tree_seen {
	const char *name; /* relative, without "./" */
	mode_t mode;
	uint64_t size;
	const char *target; /* of a link; NULL */
	bool hardlink; /* to an entry before it: size is 0 */
	bool again; /* a further piece of the content */
	const char *bytes;
	size_t len;
};

/* Show every entry of the archive, and all content, to see; a result below 0 ends it and is passed on. */
int tree_read(const char *path,
	int (*see)(const struct tree_seen *seen, void *data, struct error *err), void *data,
	struct error *err) MUST_CHECK;

#endif
