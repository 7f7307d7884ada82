/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory of operation
 *
 * libvirt has no locks for its clients, but creating a volume is atomic and every client of one
 * libvirtd sees the same list of volumes. To take a lock:
 *
 *	1. list the pool; if a lock of that box has a holder that is not dead: wait or refuse
 *	2. create our own lock volume, whose name no other process can have
 *	3. list again; if another holder that is not dead is there too: remove ours, pause, go to 1
 *	4. the lock is ours; remove the dead ones
 *
 * Two that create at the same time both see each other in step 3 and both step back, for a random
 * time. Nobody can believe to hold it while another does: the later of two step-2s comes before its own
 * step 3, so that one sees the earlier. The name carries everything there is to know, so there is no
 * moment in which a lock exists whose holder is unknown, and none to be written or read.
 *
 * libvirt has no event for volumes, so waiting is done by looking again, at growing intervals.
 */
#include "vmm/lock.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"

#define PAUSE_MIN_MS 20
#define PAUSE_MAX_MS 500

struct box_lock {
	virStoragePoolPtr pool; /* a reference of ours */
	char name[POOL_NAME_MAX];
	char who[128];
};

/* ---- the name ---- */

void lock_name_format(const struct lock_holder *h, char name[POOL_NAME_MAX])
{
	snprintf(name, POOL_NAME_MAX, "lock-%s-%" PRIu64 "-%ld-%" PRIu64 "-%s-%s-%" PRIu64 "-%s",
		h->uuid, h->since, (long)h->pid, h->start, h->machine, h->boot, h->pidns, h->who);
}

/* The text up to the next '-' into buf; moves *pos past it. False when there is none or it is long. */
static bool take_word(const char **pos, char *buf, size_t size)
{
	size_t len = strcspn(*pos, "-");

	if ((*pos)[len] != '-' || len == 0 || len >= size)
		return false;
	memcpy(buf, *pos, len);
	buf[len] = '\0';
	*pos += len + 1;
	return true;
}

static bool take_number(const char **pos, uint64_t *ret)
{
	char word[24];

	if (!take_word(pos, word, sizeof(word)) || word[strspn(word, "0123456789")])
		return false;
	errno = 0;
	*ret = strtoull(word, NULL, 10);
	return errno == 0;
}

bool lock_name_parse(const char *name, struct lock_holder *ret)
{
	struct lock_holder h = { 0 };
	const char *pos = name + strlen("lock-");
	uint64_t pid = 0;

	if (strncmp(name, "lock-", strlen("lock-")) != 0 || strlen(pos) < sizeof(h.uuid) ||
		pos[sizeof(h.uuid) - 1] != '-')
		return false;
	memcpy(h.uuid, pos, sizeof(h.uuid) - 1);
	pos += sizeof(h.uuid);
	if (!take_number(&pos, &h.since) || !take_number(&pos, &pid) ||
		!take_number(&pos, &h.start) || !take_word(&pos, h.machine, sizeof(h.machine)) ||
		!take_word(&pos, h.boot, sizeof(h.boot)) || !take_number(&pos, &h.pidns))
		return false;
	if (pid == 0 || pid > INT32_MAX || strlen(pos) >= sizeof(h.who))
		return false;
	h.pid = (pid_t)pid;
	memcpy(h.who, pos, strlen(pos) + 1);
	*ret = h;
	return true;
}

/* ---- this process ---- */

/* The first 16 hex digits of a file that holds an id; "0" when there is no such file. */
static void read_id(const char *path, char id[17])
{
	_cleanup_str_ struct str text = STR_INIT;
	struct error ignored = { 0 };
	size_t n = 0;

	if (file_read(AT_FDCWD, path, 256, &text, &ignored) == 0)
		for (const char *c = str_get(&text); *c && n < 16; c++)
			if (isxdigit((unsigned char)*c))
				id[n++] = *c;
	if (n == 0)
		id[n++] = '0';
	id[n] = '\0';
}

/* Field 22 of /proc/PID/stat; 0 when there is no such process. */
static uint64_t process_start(pid_t pid)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct error ignored = { 0 };
	char path[64];
	const char *c;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	if (file_read(AT_FDCWD, path, 4096, &text, &ignored) < 0)
		return 0;
	c = strrchr(str_get(&text), ')'); /* field 2 may hold anything */
	for (int field = 2; c && field < 22; field++)
		c = strchr(c + 1, ' ');
	return c ? strtoull(c, NULL, 10) : 0;
}

/* A zombie has ended: it holds nothing any more. */
static bool process_is_zombie(pid_t pid)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct error ignored = { 0 };
	char path[64];
	const char *c;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	if (file_read(AT_FDCWD, path, 4096, &text, &ignored) < 0)
		return false;
	c = strrchr(str_get(&text), ')');
	return c && c[1] == ' ' && (c[2] == 'Z' || c[2] == 'X');
}

static uint64_t pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 ? 0 : (uint64_t)st.st_ino;
}

static void name_self(char *who, size_t size)
{
	const struct passwd *pw = getpwuid(geteuid());
	char host[65] = "";

	if (gethostname(host, sizeof(host) - 1) < 0 || !*host)
		snprintf(host, sizeof(host), "localhost");
	snprintf(who, size, "%.28s@%.60s", pw ? pw->pw_name : "someone", host);
	for (char *c = who; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("@._-", *c))
			*c = '_';
}

int lock_self(const char *uuid, struct lock_holder *ret, struct error *err)
{
	struct lock_holder h = { .pid = getpid() };
	struct timespec ts;

	if (strlen(uuid) != sizeof(h.uuid) - 1)
		return error_set(err, ERROR_INVALID, "'%s' is not a UUID", uuid);
	memcpy(h.uuid, uuid, sizeof(h.uuid));
	clock_gettime(CLOCK_REALTIME, &ts);
	h.since = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
	h.start = process_start(h.pid);
	read_id("/etc/machine-id", h.machine);
	read_id("/proc/sys/kernel/random/boot_id", h.boot);
	h.pidns = pid_namespace();
	name_self(h.who, sizeof(h.who));
	*ret = h;
	return 0;
}

/* The machine of a holder: machine-ids alone are no proof, since copies of a machine share one. */
static bool is_this_machine(const struct lock_holder *holder, const char *machine)
{
	char self[sizeof(holder->who)];
	const char *ours, *theirs = strrchr(holder->who, '@');

	name_self(self, sizeof(self));
	ours = strrchr(self, '@');
	return str_equal(holder->machine, machine) && !str_equal(machine, "0") && theirs &&
	       str_equal(theirs, ours);
}

enum lock_state lock_judge(const struct lock_holder *holder)
{
	char machine[17], boot[17];

	read_id("/etc/machine-id", machine);
	read_id("/proc/sys/kernel/random/boot_id", boot);
	/* this machine before its last boot, or another one */
	if (!str_equal(holder->boot, boot))
		return is_this_machine(holder, machine) ? LOCK_DEAD : LOCK_ELSEWHERE;
	if (holder->pidns != pid_namespace())
		return LOCK_ELSEWHERE;
	/* what /proc does not show (hidepid) may be alive all the same */
	if (process_start(holder->pid) == 0)
		return kill(holder->pid, 0) < 0 && errno == ESRCH ? LOCK_DEAD : LOCK_ALIVE;
	if (process_start(holder->pid) != holder->start || process_is_zombie(holder->pid))
		return LOCK_DEAD;
	return LOCK_ALIVE;
}

/* ---- taking ---- */

int lock_list(virStoragePoolPtr pool, struct lock_holders *ret, struct error *err)
{
	_cleanup_volumes_ struct virt_volumes volumes = { 0 };
	struct lock_holders holders = VEC_INIT;

	if (pool_list(pool, &volumes, err) < 0)
		return -1;
	for (int i = 0; i < volumes.len; i++) {
		struct lock_holder h;

		if (!lock_name_parse(virStorageVolGetName(volumes.items[i]), &h))
			continue;
		if (lock_holders_push(&holders, h, err) < 0) {
			lock_holders_done(&holders);
			return -1;
		}
	}
	*ret = holders;
	return 0;
}

/* Somebody else who holds the lock of that box and is not dead: 1 and *ret, or 0, or -1. */
static int find_other(virStoragePoolPtr pool, const struct lock_holder *self,
	struct lock_holder *ret, struct error *err)
{
	struct lock_holders holders = VEC_INIT;
	char own[POOL_NAME_MAX], name[POOL_NAME_MAX];
	int found = 0;

	if (lock_list(pool, &holders, err) < 0)
		return -1;
	lock_name_format(self, own);
	vec_foreach(struct lock_holder, h, &holders) {
		lock_name_format(h, name);
		if (!str_equal(h->uuid, self->uuid) || str_equal(name, own) ||
			lock_judge(h) == LOCK_DEAD)
			continue;
		*ret = *h;
		found = 1;
	}
	lock_holders_done(&holders);
	return found;
}

static void remove_dead(virStoragePoolPtr pool, const char *uuid)
{
	struct lock_holders holders = VEC_INIT;
	struct error ignored = { 0 };
	char name[POOL_NAME_MAX];

	if (lock_list(pool, &holders, &ignored) < 0)
		return;
	vec_foreach(struct lock_holder, h, &holders) {
		if (!str_equal(h->uuid, uuid) || lock_judge(h) != LOCK_DEAD)
			continue;
		lock_name_format(h, name);
		if (pool_delete(pool, name, &ignored) < 0)
			log_debug("cannot remove the dead lock %s: %s", name, ignored.text);
	}
	lock_holders_done(&holders);
}

/* Two that stepped back for each other must not come again at the same moment: half of it is random. */
static void pause_ms(uint64_t ms)
{
	uint64_t noise = 0;
	struct timespec ts;

	(void)!getrandom(&noise, sizeof(noise), GRND_NONBLOCK);
	ms = ms / 2 + noise % (ms / 2 + 1);
	ts = (struct timespec){ .tv_sec = (time_t)(ms / 1000),
		.tv_nsec = (long)(ms % 1000) * 1000000 };
	(void)nanosleep(&ts, NULL);
}

static int busy(const struct lock_holder *other, const char *name, struct error *err)
{
	char since[META_TIME_MAX];

	(void)error_set(err, ERROR_BUSY, "box '%s' is busy: %s (pid %ld) works on it since %s",
		name, other->who, (long)other->pid,
		meta_time_format((int64_t)(other->since / 1000), since));
	if (lock_judge(other) == LOCK_ELSEWHERE) {
		char volume[POOL_NAME_MAX];

		lock_name_format(other, volume);
		return error_hint(err,
			"; if that process is gone: virsh vol-delete --pool " POOL_NAME " %s",
			volume);
	}
	return -1;
}

/* Steps 1 to 3. 1 ours, 0 *other has it, -1 error. */
static int try_once(virStoragePoolPtr pool, const struct lock_holder *self,
	struct lock_holder *other, struct error *err)
{
	char name[POOL_NAME_MAX];
	struct error second = { 0 };
	int found = find_other(pool, self, other, err);

	if (found != 0)
		return found < 0 ? -1 : 0;
	lock_name_format(self, name);
	if (pool_create_raw(pool, name, 0, err) < 0) {
		if (err->kind != ERROR_EXISTS)
			return -1;
		error_clear(err); /* this very process holds it, since this very millisecond */
		*other = *self;
		return 0;
	}
	found = find_other(pool, self, other, err);
	if (found == 0)
		return 1;
	if (pool_delete(pool, name, &second) < 0)
		log_debug("cannot remove our lock %s: %s", name, second.text);
	return found < 0 ? -1 : 0;
}

static int acquire(virStoragePoolPtr pool, const struct lock_holder *self, const char *name,
	uint64_t wait_ms, struct error *err)
{
	uint64_t deadline = clock_ms() + wait_ms;
	uint64_t pause = PAUSE_MIN_MS;
	struct lock_holder other = { 0 };
	int got;

	while ((got = try_once(pool, self, &other, err)) == 0) {
		if (clock_ms() >= deadline)
			return busy(&other, name, err);
		if (virt_interrupted())
			return error_set(err, ERROR_INTERRUPTED, "interrupted");
		pause_ms(pause);
		pause = MIN(pause * 2, PAUSE_MAX_MS);
	}
	return got < 0 ? -1 : 0;
}

struct box_lock *lock_take(virStoragePoolPtr pool, const char *uuid, const char *name,
	uint64_t wait_ms, struct error *err)
{
	struct lock_holder self;
	struct box_lock *lock;

	if (lock_self(uuid, &self, err) < 0)
		return NULL;
	lock = calloc(1, sizeof(*lock));
	if (!lock) {
		(void)error_oom(err);
		return NULL;
	}
	if (acquire(pool, &self, name, wait_ms, err) < 0) {
		free(lock);
		return NULL;
	}
	lock_name_format(&self, lock->name);
	snprintf(lock->who, sizeof(lock->who), "%s pid %ld", self.who, (long)self.pid);
	(void)virStoragePoolRef(pool);
	lock->pool = pool;
	remove_dead(pool, uuid);
	return lock;
}

void lock_release(struct box_lock *lock)
{
	struct error ignored = { 0 };

	if (!lock)
		return;
	if (pool_delete(lock->pool, lock->name, &ignored) < 0)
		log_debug("cannot remove our lock %s: %s", lock->name, ignored.text);
	(void)virStoragePoolFree(lock->pool);
	free(lock);
}

const char *lock_who(const struct box_lock *lock)
{
	return lock->who;
}
