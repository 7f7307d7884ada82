/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/copy-script.h"

/* Scripts are easier to read a line each. */
/* clang-format off */

/* Variables that would change what tar does; words for failing. */
#define PRELUDE \
	"unset TAR_OPTIONS POSIXLY_CORRECT\n" \
	"fail() { printf '%s\\n' \"$1\" >&2; exit 1; }\n"

/*
 * A folder beside what is to be, which goes away however this ends: the hang-up that follows an end of
 * the input must not reach the rm. A shell whose tar was hung up says so, to nobody by then: that must not
 * kill it.
 */
#define STAGE \
	"stage=$(mktemp -d \"$into/.box-cp-XXXXXX\") || exit 1\n" \
	"trap 'trap \"\" HUP INT TERM PIPE; rm -rf \"$stage\"' EXIT\n" \
	"trap 'exit 129' HUP; trap 'exit 130' INT; trap 'exit 143' TERM; trap 'exit 141' PIPE\n"

/* The folder that is to hold $target. */
#define INTO \
	"into=${target%/*}; into=${into:-/}\n" \
	"[ -d \"$into\" ] || fail \"there is no folder '$into'\"\n"

const char copy_script_tar[] = "tar --version 2>/dev/null | grep -q GNU";

/* GNU's status 1 means here: something changed while it was read. busybox's means anything. */
const char copy_script_out[] = PRELUDE
	"if [ -d \"$1\" ]; then\n"
	"	cd -- \"$1\" || exit 1\n"
	"	set -- .\n"
	"elif [ -f \"$1\" ]; then\n"
	"	name=${1##*/}\n"
	"	cd -- \"${1%/*}/\" || exit 1\n"
	"	set -- -h \"./$name\"\n"
	"elif [ -e \"$1\" ]; then\n"
	"	fail \"'$1' is neither file nor folder\"\n"
	"else\n"
	"	fail \"there is no '$1'\"\n"
	"fi\n"
	"if tar --version 2>/dev/null | grep -q GNU; then\n"
	"	tar --format=posix --pax-option=delete=atime,delete=ctime --sparse -c -f - \"$@\"\n"
	"	status=$?\n"
	"	[ $status != 1 ] || exit 3\n"
	"	exit $status\n"
	"fi\n"
	"tar -c -f - \"$@\"\n";

const char copy_script_cat[] = PRELUDE
	"[ ! -d \"$1\" ] || fail \"'$1' is a folder\"\n"
	"exec cat -- \"$1\"\n";

/*
 * GNU tar makes a link that climbs only in the end (unless -P), and so spoils its folder's time.
 *
 * The tree is moved as a whole where nothing is there yet. Else its files are linked into the folder that
 * is there, each of them whole from the beginning.
 */
const char copy_script_in[] = PRELUDE
	"if [ -d \"$1\" ]; then\n"
	"	target=${1%/}${2:+/$2} into=$1\n"
	"	target=${target:-/}\n"
	"else\n"
	"	target=$1\n"
	INTO
	"fi\n"
	"if [ -d \"$target\" ]; then\n"
	"	[ \"$3\" = tree ] || fail \"'$target' is a folder\"\n"
	"elif [ -e \"$target\" ]; then\n"
	"	[ -f \"$target\" ] || fail \"'$target' is neither file nor folder\"\n"
	"	[ \"$3\" = file ] || fail \"'$target' is not a folder\"\n"
	"fi\n"
	STAGE
	"tar -x -p -o ${4:+-P \"$4\"} -f - -C \"$stage\" || exit 1\n"
	"[ -e \"$stage/done\" ] || fail 'the copy was cut short'\n"
	"if [ -d \"$target\" ]; then\n"
	"	cp -alf \"$stage/c/.\" \"$target/\"\n"
	"else\n"
	"	mv -f \"$stage/c\" \"$target\"\n"
	"fi\n";

const char copy_script_save[] = PRELUDE
	"[ ! -d \"$1\" ] || fail \"'$1' is a folder\"\n"
	"target=$1\n"
	INTO
	"if [ -e \"$target\" ] && [ ! -f \"$target\" ]; then\n"
	"	exec cat >\"$target\"\n"
	"fi\n"
	STAGE
	"cat >\"$stage/c\" || exit 1\n"
	"[ ! -e \"$target\" ] || chmod \"$(stat -c %a -- \"$target\")\" \"$stage/c\"\n"
	"mv -f \"$stage/c\" \"$target\"\n";
