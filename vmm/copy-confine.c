/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/copy-confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

enum { MEMORY_MIB = 1024, FILES_MAX = 64 };

/* Rights of the first version, which is all that matters here, and what later ones added. */
enum { ACCESS_V1 = (1 << 13) - 1 };
#define ACCESS_REFER (1ull << 13) /* 2 */
#define ACCESS_TRUNCATE (1ull << 14) /* 3 */
#define ACCESS_IOCTL (1ull << 15) /* 5 */
#define NET_TCP 3ull /* 4: bind and connect */

/* As in the kernel's header of version 4; what the running kernel does not know is not passed. */
struct ruleset {
	uint64_t fs, net;
};

static struct ruleset ruleset_of(long version)
{
	return (struct ruleset){
		.fs = ACCESS_V1 | (version >= 2 ? ACCESS_REFER : 0) |
		      (version >= 3 ? ACCESS_TRUNCATE : 0) | (version >= 5 ? ACCESS_IOCTL : 0),
		.net = version >= 4 ? NET_TCP : 0,
	};
}

/* What a folder full of files needs; neither running programs nor devices, sockets and fifos. */
static uint64_t allowed_of(const struct ruleset *rules)
{
	const uint64_t wanted = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |
				LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR |
				LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
				LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SYM |
				ACCESS_REFER | ACCESS_TRUNCATE;

	return rules->fs & wanted;
}

static int landlock(bool *ret, struct error *err)
{
	long version = syscall(
		SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct landlock_path_beneath_attr rule = { 0 };
	_cleanup_close_ int rules_fd = -1, here = -1;
	struct ruleset rules;

	*ret = false;
	if (version < 1)
		return 0;
	rules = ruleset_of(version);
	rules_fd = (int)syscall(SYS_landlock_create_ruleset, &rules,
		rules.net ? sizeof(rules) : sizeof(rules.fs), 0);
	if (rules_fd < 0)
		return error_errno(err, errno, "cannot make a Landlock ruleset");
	here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	rule.allowed_access = allowed_of(&rules);
	rule.parent_fd = here;
	if (here < 0 ||
		syscall(SYS_landlock_add_rule, rules_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return error_errno(err, errno, "cannot add a Landlock rule");
	if (syscall(SYS_landlock_restrict_self, rules_fd, 0) < 0)
		return error_errno(err, errno, "cannot restrict this process");
	*ret = true;
	return 0;
}

static int limit(int resource, uint64_t most, struct error *err)
{
	struct rlimit now;

	if (getrlimit((__rlimit_resource_t)resource, &now) < 0)
		return error_errno(err, errno, "cannot read a limit");
	now.rlim_cur = now.rlim_max = MIN(now.rlim_max, (rlim_t)most);
	if (setrlimit((__rlimit_resource_t)resource, &now) < 0)
		return error_errno(err, errno, "cannot set a limit");
	return 0;
}

int copy_confine(uint64_t max_file, bool *ret_landlocked, struct error *err)
{
	/* A sanitizer's shadow takes more addresses than any limit that would mean something. */
#ifndef __SANITIZE_ADDRESS__
	if (limit(RLIMIT_AS, (uint64_t)MEMORY_MIB << 20, err) < 0)
		return -1;
#endif
	if (limit(RLIMIT_CORE, 0, err) < 0 || limit(RLIMIT_NOFILE, FILES_MAX, err) < 0 ||
		limit(RLIMIT_FSIZE, max_file, err) < 0)
		return -1;
	/* Beyond the size: an error of the write, not death. */
	(void)signal(SIGXFSZ, SIG_IGN);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return error_errno(err, errno, "cannot give up privileges");
	return landlock(ret_landlocked, err);
}
