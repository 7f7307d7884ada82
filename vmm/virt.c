/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/virt.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"

#define DEFAULT_URI "qemu:///system"

/* The one state of this file: a process has one event loop, and a signal is a process's too. */
static const volatile sig_atomic_t *interrupt_flag;

void virt_domains_done(struct virt_domains *list)
{
	for (int i = 0; i < list->len; i++)
		(void)virDomainFree(list->items[i]);
	free(list->items);
	*list = (struct virt_domains){ 0 };
}

void virt_volumes_done(struct virt_volumes *list)
{
	for (int i = 0; i < list->len; i++)
		(void)virStorageVolFree(list->items[i]);
	free(list->items);
	*list = (struct virt_volumes){ 0 };
}

/* ---- errors ---- */

struct code_kind {
	int code;
	enum error_kind kind;
};

static const struct code_kind code_kinds[] = {
	{ VIR_ERR_NO_DOMAIN, ERROR_NOT_FOUND },
	{ VIR_ERR_NO_NETWORK, ERROR_NOT_FOUND },
	{ VIR_ERR_NO_STORAGE_POOL, ERROR_NOT_FOUND },
	{ VIR_ERR_NO_STORAGE_VOL, ERROR_NOT_FOUND },
	{ VIR_ERR_NO_DOMAIN_METADATA, ERROR_NOT_FOUND },
	{ VIR_ERR_DOM_EXIST, ERROR_EXISTS },
	{ VIR_ERR_NETWORK_EXIST, ERROR_EXISTS },
	{ VIR_ERR_STORAGE_VOL_EXIST, ERROR_EXISTS },
	{ VIR_ERR_AUTH_FAILED, ERROR_DENIED },
	{ VIR_ERR_AUTH_CANCELLED, ERROR_DENIED },
	{ VIR_ERR_AUTH_UNAVAILABLE, ERROR_DENIED },
	{ VIR_ERR_ACCESS_DENIED, ERROR_DENIED },
	{ VIR_ERR_OPERATION_DENIED, ERROR_DENIED },
	{ VIR_ERR_OPERATION_TIMEOUT, ERROR_TIMEOUT },
	{ VIR_ERR_RESOURCE_BUSY, ERROR_BUSY },
	{ VIR_ERR_AGENT_UNRESPONSIVE, ERROR_UNREACHABLE },
	{ VIR_ERR_NO_CONNECT, ERROR_UNREACHABLE },
	{ VIR_ERR_RPC, ERROR_UNREACHABLE },
	{ VIR_ERR_XML_ERROR, ERROR_INVALID },
	{ VIR_ERR_XML_DETAIL, ERROR_INVALID },
};

/* Codes that say little: libvirt puts the errno's text at the end of its own. */
static const struct {
	const char *text;
	enum error_kind kind;
} text_kinds[] = {
	{ "No space left on device", ERROR_NO_SPACE },
	{ "Disk quota exceeded", ERROR_NO_SPACE },
	{ "already exists", ERROR_EXISTS },
	{ "Permission denied", ERROR_DENIED },
	{ "End of file while reading data", ERROR_UNREACHABLE },
	{ "client socket is closed", ERROR_UNREACHABLE },
	{ "Broken pipe", ERROR_UNREACHABLE },
	{ "Connection reset by peer", ERROR_UNREACHABLE },
	{ "internal error: client socket", ERROR_UNREACHABLE },
};

static enum error_kind kind_of(const virError *last)
{
	for (size_t i = 0; i < ARRAY_LEN(code_kinds); i++)
		if (last->code == code_kinds[i].code)
			return code_kinds[i].kind;
	for (size_t i = 0; last->message && i < ARRAY_LEN(text_kinds); i++)
		if (strstr(last->message, text_kinds[i].text))
			return text_kinds[i].kind;
	return ERROR_FAILED;
}

int virt_last_code(void)
{
	const virError *last = virGetLastError();

	return last ? last->code : VIR_ERR_OK;
}

int error_virt(struct error *err, const char *fmt, ...)
{
	const virError *last = virGetLastError();
	_cleanup_str_ struct str words = STR_INIT;
	va_list ap;

	va_start(ap, fmt);
	error_setv(err, last ? kind_of(last) : ERROR_FAILED, fmt, ap);
	va_end(ap);
	if (!last || !last->message)
		return error_hint(err, ": libvirt gave no reason");
	str_append_escaped(&words, last->message, strlen(last->message), false);
	return error_hint(err, ": %s", str_get(&words));
}

static void no_noise(void *data, virErrorPtr error)
{
	(void)data;
	(void)error;
}

/* ---- the connection ---- */

const char *virt_uri(const char *uri)
{
	const char *env = getenv("LIBVIRT_DEFAULT_URI");

	if (uri && *uri)
		return uri;
	return env && *env ? env : DEFAULT_URI;
}

static int open_failed(const char *uri, struct error *err)
{
	const virError *last = virGetLastError();
	const char *words = last && last->message ? last->message : "";
	enum error_kind kind = last ? kind_of(last) : ERROR_FAILED;

	(void)error_virt(err, "cannot connect to libvirt at '%s'", uri);
	if (kind == ERROR_DENIED) {
		err->kind = ERROR_DENIED;
		return error_hint(err, "; be a member of the group 'libvirt' (log in again after "
				       "joining it), or use sudo");
	}
	if (strstr(words, "No such file") || strstr(words, "refused") ||
		strstr(words, "No route") || strstr(words, "Failed to connect")) {
		err->kind = ERROR_UNREACHABLE;
		return error_hint(err, "; is libvirtd running there? (systemctl start libvirtd)");
	}
	if (last && last->code == VIR_ERR_NO_CONNECT)
		return error_hint(err, "; the URI must name a driver, such as qemu:///system or "
				       "qemu+ssh://user@host/system");
	return -1;
}

virConnectPtr virt_open(const char *uri, struct error *err)
{
	static bool ready;
	virConnectPtr conn;

	if (!ready) {
		virSetErrorFunc(NULL, no_noise);
		if (virInitialize() < 0 || virEventRegisterDefaultImpl() < 0) {
			(void)error_virt(err, "cannot start libvirt's client library");
			return NULL;
		}
		ready = true;
	}
	uri = virt_uri(uri);
	log_debug("connecting to %s", uri);
	conn = virConnectOpen(uri);
	if (!conn)
		(void)open_failed(uri, err);
	return conn;
}

bool virt_is_local(virConnectPtr conn)
{
	_cleanup_free_ char *uri = virConnectGetURI(conn);
	const char *authority = uri ? strstr(uri, "://") : NULL;

	/* driver:///path is local; driver://host/path and any driver+transport may not be */
	return authority && authority[3] == '/' && !memchr(uri, '+', (size_t)(authority - uri));
}

/* ---- waiting ---- */

void virt_interrupt_flag(const volatile sig_atomic_t *flag)
{
	interrupt_flag = flag;
}

bool virt_interrupted(void)
{
	return interrupt_flag && *interrupt_flag;
}

/* The timer only has to make the loop return; what it means is read from the clock. */
static void wake(int timer, void *data)
{
	(void)timer;
	(void)data;
}

static int wait_once(virConnectPtr conn, struct error *err)
{
	if (virEventRunDefaultImpl() < 0)
		return error_virt(err, "cannot wait for libvirt's events");
	if (virt_interrupted())
		return error_set(err, ERROR_INTERRUPTED, "interrupted");
	if (virConnectIsAlive(conn) != 1)
		return error_set(err, ERROR_UNREACHABLE, "the connection to libvirt broke");
	return 0;
}

int virt_wait(virConnectPtr conn, const bool *done, uint64_t deadline_ms, struct error *err)
{
	uint64_t now = clock_ms();
	int timer;
	int ret = 0;

	if (*done)
		return 1;
	timer = virEventAddTimeout(
		deadline_ms > now ? (int)MIN(deadline_ms - now, 1u << 30) : 0, wake, NULL, NULL);
	if (timer < 0)
		return error_virt(err, "cannot set a timer");
	while (ret == 0 && !*done && clock_ms() < deadline_ms)
		ret = wait_once(conn, err);
	(void)virEventRemoveTimeout(timer);
	if (ret < 0)
		return -1;
	return *done ? 1 : 0;
}

static void on_readable(int watch, int fd, int events, void *data)
{
	(void)watch;
	(void)fd;
	(void)events;
	*(bool *)data = true;
}

int virt_wait_readable(virConnectPtr conn, int fd, uint64_t deadline_ms, struct error *err)
{
	bool readable = false;
	int watch = virEventAddHandle(fd,
		VIR_EVENT_HANDLE_READABLE | VIR_EVENT_HANDLE_HANGUP | VIR_EVENT_HANDLE_ERROR,
		on_readable, &readable, NULL);
	int ret;

	if (watch < 0)
		return error_virt(err, "cannot wait for descriptor %d", fd);
	ret = virt_wait(conn, &readable, deadline_ms, err);
	(void)virEventRemoveHandle(watch);
	return ret;
}

void virt_answer(void)
{
	int timer = virEventAddTimeout(0, wake, NULL, NULL); /* the loop returns at once */

	if (timer < 0)
		return;
	/* One turn reads the question, the next one writes the answer. */
	for (int i = 0; i < 2; i++)
		(void)!virEventRunDefaultImpl();
	(void)virEventRemoveTimeout(timer);
}
