/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box-mint: see docs/man/box-mint.8.scd. Standard output is for programs (mint/event.h). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "config.h"
#include "mint/mint.h"

static const char usage[] =
	"usage: box-mint [--cache DIR] [--refresh [--build ID]] [--offline] [--compress] TEMPLATE...\n"
	"       box-mint --version | --help\n"
	"What it does is told on standard output, one JSON object a line.\n";

struct options {
	const char *cache; /* NULL: the user's */
	const char *build; /* NULL: each template is a build of its own */
	bool refresh, offline, compress;
	char **templates;
};

static int fail(const struct error *err)
{
	(void)fprintf(stderr, "box-mint: %s\n", err->text);
	return err->kind == ERROR_USAGE ? 2 : 1;
}

static int parse(int argc, char **argv, struct options *o)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (str_equal(argv[i], "--cache") && i + 1 < argc)
			o->cache = argv[++i];
		else if (str_equal(argv[i], "--build") && i + 1 < argc)
			o->build = argv[++i];
		else if (str_equal(argv[i], "--refresh"))
			o->refresh = true;
		else if (str_equal(argv[i], "--offline"))
			o->offline = true;
		else if (str_equal(argv[i], "--compress"))
			o->compress = true;
		else if (str_equal(argv[i], "--"))
			break;
		else
			return -1;
	}
	if (i < argc && str_equal(argv[i], "--"))
		i++;
	o->templates = argv + i;
	return i < argc ? 0 : -1;
}

static int mint_all(const struct options *o, const struct cache *cache)
{
	struct error err = { 0 };

	for (char **name = o->templates; *name; name++) {
		_cleanup_template_ struct template t = { 0 };
		_cleanup_mint_ struct mint m = {
			.cache = cache,
			.template = &t,
			.refresh = o->refresh,
			.build = o->build,
			.offline = o->offline,
			.compress = o->compress,
			.work = CACHE_WORK_NONE,
		};

		if (template_load(*name, &t, &err) < 0 || mint_run(&m, &err) < 0)
			return fail(&err);
	}
	return 0;
}

/* End the processes whose parent is this one. Those that they leave become this one's, and are next. */
static void kill_children(void)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		_cleanup_free_ char *path = NULL;
		_cleanup_str_ struct str text = STR_INIT;
		struct error err = { 0 };
		const char *after;
		int parent = 0;
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid <= 1 || !(path = str_format(&err, "/proc/%d/stat", (int)pid)) ||
			file_read(AT_FDCWD, path, 4096, &text, &err) < 0)
			continue;
		/* "PID (name) state parent": the name may hold anything but the last ")" */
		after = strrchr(str_get(&text), ')');
		if (after && sscanf(after, ") %*c %d", &parent) == 1 && parent == getpid())
			(void)kill(pid, SIGKILL);
	}
	if (dir)
		(void)closedir(dir);
}

/* Nothing that the mint started is left. Orphans come to this process, which is their subreaper. */
static void end_all(void)
{
	do {
		kill_children();
	} while (wait(NULL) > 0 || errno == EINTR);
}

static volatile pid_t worker;

static void pass_on(int sig)
{
	if (worker > 0)
		(void)kill(worker, sig);
}

/*
 * As root the bootstrap mounts /proc, /sys and /dev inside the tree: in a name space of the worker's, so
 * that they are gone when it is, and nobody removes the work folder through them.
 */
static int work(const struct options *o, const struct cache *cache)
{
	struct error err = { 0 };

	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getuid() == 0 && (unshare(CLONE_NEWNS) < 0 ||
				     mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)) {
		error_errno(&err, errno, "cannot make a mount name space");
		return fail(&err);
	}
	return mint_all(o, cache);
}

/* The work is done in a child, so that this process can clean up behind it however it ends. */
static int supervise(const struct options *o, const struct cache *cache)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = pass_on };
	struct error err = { 0 };
	int status = 0;

	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	worker = fork();
	if (worker < 0) {
		error_errno(&err, errno, "cannot start the mint");
		return fail(&err);
	}
	if (worker == 0)
		exit(work(o, cache));
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		(void)sigaction(signals[i], &action, NULL);
	while (waitpid(worker, &status, 0) < 0 && errno == EINTR)
		;
	end_all();
	if (cache_sweep(cache, &err) < 0)
		log_debug("%s", err.text);
	if (WIFSIGNALED(status)) {
		(void)signal(WTERMSIG(status), SIG_DFL);
		(void)raise(WTERMSIG(status));
	}
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	_cleanup_cache_ struct cache cache = { 0 };
	_cleanup_free_ char *own = NULL;
	struct options options = { 0 };
	struct error err = { 0 };

	log_debug_enable(getenv("BOX_DEBUG") != NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	if (argc == 2 && str_equal(argv[1], "--version"))
		return puts("box-mint " BOX_VERSION) < 0;
	if (argc == 2 && str_equal(argv[1], "--help"))
		return fputs(usage, stdout) < 0;
	if (parse(argc, argv, &options) < 0) {
		(void)fputs(usage, stderr);
		return 2;
	}
	if (!options.cache && !(own = place_cache(&err)))
		return fail(&err);
	if (cache_open(options.cache ? options.cache : own, &cache, &err) < 0)
		return fail(&err);
	return supervise(&options, &cache);
}
