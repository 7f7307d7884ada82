/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What runs in the box: constant scripts for its sh, that get paths as arguments and never as text. They
 * need nothing but sh, tar and the commands of coreutils or busybox. Each says on stderr why it failed.
 */
#ifndef VMM_COPY_SCRIPT_H
#define VMM_COPY_SCRIPT_H

/* Exit status 0: the box's tar is GNU's, and knows pax headers and sparse files. */
extern const char copy_script_tar[];

/* $1: a path. Archive on stdout: "." and what is below it, or one file. Exit status 3: it changed. */
extern const char copy_script_out[];
enum { COPY_SCRIPT_CHANGED = 3 };

/* $1: a file. Its bytes on stdout. */
extern const char copy_script_cat[];

/* $1: where to. $2: the name in it, if it is a folder; "": fill that. $3: "file" or "tree". $4: an
 * option for tar, or "". The archive of copy_pack on stdin. */
#define COPY_SCRIPT_GNU "--delay-directory-restore" /* folders come long before what is in them */
extern const char copy_script_in[];

/* $1: a file to be written from stdin. */
extern const char copy_script_save[];

#endif
