/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/facts.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/str.h"

enum { TEXT_MAX = 65536, KEY_TAIL = 40 };

/* The file's first line, escaped; "-" when there is none. */
static void first_line(const char *path, struct str *ret)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct error ignored = { 0 };
	size_t len;

	if (file_read(AT_FDCWD, path, TEXT_MAX, &text, &ignored) < 0)
		str_clear(&text);
	len = strcspn(str_get(&text), "\n");
	str_append_escaped(ret, str_get(&text), len, false);
	if (!ret->len)
		str_append(ret, "-");
}

static void print_line(const char *fact, const char *path)
{
	_cleanup_str_ struct str line = STR_INIT;

	first_line(path, &line);
	printf("%s %s\n", fact, str_get(&line));
}

/* Call each for every entry of the folder that is not hidden; a missing folder has none. */
static void each_entry(const char *folder, void (*each)(const char *name))
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			each(entry->d_name);
	}
	if (dir)
		(void)closedir(dir);
}

static void print_random(void)
{
	uint8_t bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
		printf("random -\n");
		return;
	}
	printf("random ");
	for (size_t i = 0; i < sizeof(bytes); i++)
		printf("%02x", bytes[i]);
	printf("\n");
}

/* The seed itself stays inside: a hash is enough to see that two are the same. */
static void print_random_seed(void)
{
	_cleanup_str_ struct str seed = STR_INIT;
	struct error ignored = { 0 };
	uint64_t hash = 14695981039346656037u; /* FNV-1a */

	if (file_read(AT_FDCWD, "/var/lib/systemd/random-seed", TEXT_MAX, &seed, &ignored) < 0) {
		printf("random-seed -\n");
		return;
	}
	for (size_t i = 0; i < seed.len; i++)
		hash = (hash ^ (uint8_t)seed.data[i]) * 1099511628211u;
	printf("random-seed %016jx\n", (uintmax_t)hash);
}

static void print_ssh_key(const char *name)
{
	_cleanup_str_ struct str path = STR_INIT, line = STR_INIT;
	char *blob, *end;
	size_t len;

	if (strncmp(name, "ssh_host_", 9) != 0 || !strstr(name, ".pub"))
		return;
	str_printf(&path, "/etc/ssh/%s", name);
	first_line(str_get(&path), &line);
	blob = line.data ? strchr(line.data, ' ') : NULL;
	if (!blob)
		return;
	*blob++ = '\0';
	end = strchr(blob, ' ');
	len = end ? (size_t)(end - blob) : strlen(blob);
	if (len > KEY_TAIL) {
		blob += len - KEY_TAIL;
		len = KEY_TAIL;
	}
	printf("ssh-key %s %.*s\n", line.data, (int)len, blob);
}

static void print_nic(const char *name)
{
	_cleanup_str_ struct str path = STR_INIT, mac = STR_INIT;

	str_printf(&path, "/sys/class/net/%s/device", name);
	if (access(str_get(&path), F_OK) < 0)
		return;
	str_clear(&path);
	str_printf(&path, "/sys/class/net/%s/address", name);
	first_line(str_get(&path), &mac);
	printf("nic %s %s\n", name, str_get(&mac));
}

static unsigned prefix_of(const struct sockaddr *mask, bool six)
{
	const uint8_t *bytes =
		six ? ((const struct sockaddr_in6 *)(const void *)mask)->sin6_addr.s6_addr
		    : (const uint8_t *)&((const struct sockaddr_in *)(const void *)mask)->sin_addr;
	unsigned prefix = 0;

	while (prefix < (six ? 128u : 32u) && bytes[prefix / 8] & (0x80 >> prefix % 8))
		prefix++;
	return prefix;
}

static void print_addresses(void)
{
	struct ifaddrs *list = NULL;
	char text[INET6_ADDRSTRLEN];

	if (getifaddrs(&list) < 0)
		return;
	for (const struct ifaddrs *a = list; a; a = a->ifa_next) {
		bool six = a->ifa_addr && a->ifa_addr->sa_family == AF_INET6;
		const void *addr;

		if (!a->ifa_addr || !a->ifa_netmask || a->ifa_flags & IFF_LOOPBACK ||
			(!six && a->ifa_addr->sa_family != AF_INET))
			continue;
		addr = six ? (const void *)&((const struct sockaddr_in6 *)(const void *)a->ifa_addr)
				       ->sin6_addr
			   : (const void *)&((const struct sockaddr_in *)(const void *)a->ifa_addr)
				       ->sin_addr;
		printf("addr%c %s %s/%u\n", six ? '6' : '4', a->ifa_name,
			inet_ntop(a->ifa_addr->sa_family, addr, text, sizeof(text)),
			prefix_of(a->ifa_netmask, six));
	}
	freeifaddrs(list);
}

/* Lines of /proc/net/ipv6_route: destination, its prefix, source, its prefix, next hop ... flags, name. */
static void print_routes6(void)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct error ignored = { 0 };
	char *save = NULL;

	if (file_read(AT_FDCWD, "/proc/net/ipv6_route", 1 << 20, &text, &ignored) < 0 || !text.data)
		return;
	for (char *line = strtok_r(text.data, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save)) {
		char dest[33], name[IF_NAMESIZE];
		unsigned prefix, flags;

		if (sscanf(line, "%32s %x %*s %*s %*s %*s %*s %*s %x %15s", dest, &prefix, &flags,
			    name) != 4)
			continue;
		if (prefix == 0 && strspn(dest, "0") == 32 && strcmp(name, "lo") != 0 &&
			!(flags & 0x200)) /* RTF_REJECT */
			printf("route6 %s\n", name);
	}
}

static void print_virtio(const char *name)
{
	_cleanup_str_ struct str path = STR_INIT, id = STR_INIT;

	str_printf(&path, "/sys/bus/virtio/devices/%s/device", name);
	first_line(str_get(&path), &id);
	printf("virtio %lu\n", strtoul(str_get(&id), NULL, 16));
}

static void print_port(const char *name)
{
	_cleanup_str_ struct str path = STR_INIT, port = STR_INIT;

	str_printf(&path, "/sys/class/virtio-ports/%s/name", name);
	first_line(str_get(&path), &port);
	if (!str_equal(str_get(&port), "-"))
		printf("port %s\n", str_get(&port));
}

static void print_mounts(void)
{
	static const char *const served[] = { "9p", "virtiofs", "nfs", "nfs4", "cifs", "smb3",
		"vboxsf", "prl_fs", "fuse.sshfs", "afs", "ceph" };
	_cleanup_str_ struct str text = STR_INIT;
	struct error ignored = { 0 };
	char *save = NULL;

	if (file_read(AT_FDCWD, "/proc/mounts", 1 << 20, &text, &ignored) < 0 || !text.data)
		return;
	for (char *line = strtok_r(text.data, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save)) {
		char path[256], type[64];

		if (sscanf(line, "%*s %255s %63s", path, type) != 2)
			continue;
		for (size_t i = 0; i < ARRAY_LEN(served); i++) {
			if (strcmp(type, served[i]) == 0)
				printf("mount %s %s\n", type, path);
		}
	}
}

int facts_print(struct error *err)
{
	char name[256] = "-";

	if (gethostname(name, sizeof(name) - 1) < 0)
		return error_set(err, ERROR_FAILED, "cannot read the host name");
	printf("hostname %s\n", name);
	print_line("machine-id", "/etc/machine-id");
	print_line("instance-id", "/var/lib/cloud/data/instance-id");
	print_line("dmi-uuid", "/sys/class/dmi/id/product_uuid");
	print_random();
	print_random_seed();
	each_entry("/etc/ssh", print_ssh_key);
	each_entry("/sys/class/net", print_nic);
	print_addresses();
	print_routes6();
	each_entry("/sys/bus/virtio/devices", print_virtio);
	each_entry("/sys/class/virtio-ports", print_port);
	print_mounts();
	printf("end\n");
	return 0;
}
