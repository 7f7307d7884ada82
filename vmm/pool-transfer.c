/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes into and out of volumes, over libvirt's streams. A stream carries data and holes; libvirt asks
 * our callbacks for the next stretch (upload) or hands us one (download), so that memory stays constant
 * at any size.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "vmm/pool.h"

struct sender {
	int fd;
	const char *bytes; /* when fd is -1 */
	uint64_t offset;
	uint64_t total;
	pool_progress progress;
	void *data;
	int errnum;
};

static void tell(struct sender *s)
{
	if (s->progress)
		s->progress(s->offset, s->total, s->data);
}

/* virStreamSourceFunc: the next bytes. */
static int send_bytes(virStreamPtr stream, char *into, size_t len, void *opaque)
{
	struct sender *s = opaque;
	ssize_t got;

	(void)stream;
	len = MIN(len, s->total - s->offset);
	if (s->fd < 0) {
		memcpy(into, s->bytes + s->offset, len);
		got = (ssize_t)len;
	} else {
		do
			got = pread(s->fd, into, len, (off_t)s->offset);
		while (got < 0 && errno == EINTR);
		if (got < 0 || (got == 0 && len > 0)) {
			s->errnum = got < 0 ? errno : EIO; /* the file shrank meanwhile */
			errno = s->errnum;
			return -1;
		}
	}
	s->offset += (uint64_t)got;
	tell(s);
	return (int)got;
}

/* virStreamSourceHoleFunc: is there data here, and how far does it (or the hole) reach? */
static int send_hole(virStreamPtr stream, int *in_data, long long *length, void *opaque)
{
	struct sender *s = opaque;
	off_t data, hole;

	(void)stream;
	*in_data = 1;
	*length = (long long)(s->total - s->offset);
	if (s->offset >= s->total) {
		*in_data = 0;
		*length = 0;
		return 0;
	}
	if (s->fd < 0)
		return 0;
	data = lseek(s->fd, (off_t)s->offset, SEEK_DATA);
	if (data < 0 && errno == ENXIO) {
		*in_data = 0;
		return 0;
	}
	if (data < 0)
		return 0; /* a file system that knows no holes */
	if ((uint64_t)data > s->offset) {
		*in_data = 0;
		*length = (long long)(MIN((uint64_t)data, s->total) - s->offset);
		return 0;
	}
	hole = lseek(s->fd, (off_t)s->offset, SEEK_HOLE);
	if (hole > 0 && (uint64_t)hole > s->offset)
		*length = (long long)(MIN((uint64_t)hole, s->total) - s->offset);
	return 0;
}

/* virStreamSourceSkipFunc: libvirt has sent a hole of this length. */
static int send_skip(virStreamPtr stream, long long length, void *opaque)
{
	struct sender *s = opaque;

	(void)stream;
	s->offset += (uint64_t)length;
	tell(s);
	return 0;
}

static int send_all(virStorageVolPtr volume, struct sender *s, const char *name, struct error *err)
{
	virConnectPtr conn = virStorageVolGetConnect(volume); /* lent */
	_cleanup_(virStreamFree_p) virStreamPtr stream = virStreamNew(conn, 0);

	if (!stream || virStorageVolUpload(volume, stream, 0, s->total,
			       VIR_STORAGE_VOL_UPLOAD_SPARSE_STREAM) < 0)
		return error_virt(err, "cannot begin to upload the volume '%s'", name);
	if (virStreamSparseSendAll(stream, send_bytes, send_hole, send_skip, s) < 0) {
		if (s->errnum)
			return error_errno(err, s->errnum,
				"cannot read what the volume '%s' is "
				"to hold",
				name);
		return error_virt(err, "cannot upload the volume '%s'", name);
	}
	if (virStreamFinish(stream) < 0)
		return error_virt(err, "cannot finish uploading the volume '%s'", name);
	return 0;
}

static int create_and_send(
	virStoragePoolPtr pool, const char *name, struct sender *s, struct error *err)
{
	_cleanup_(virStorageVolFree_p) virStorageVolPtr volume = NULL;

	if (pool_create_raw(pool, name, s->total, err) < 0)
		return -1;
	volume = pool_volume(pool, name, err);
	if (volume && (s->total == 0 || send_all(volume, s, name, err) == 0))
		return 0;
	{
		struct error second = { 0 };

		(void)!pool_delete(pool, name, &second); /* the first error stands */
	}
	return -1;
}

int pool_upload(virStoragePoolPtr pool, const struct pool_upload *upload, struct error *err)
{
	struct sender s = { .fd = upload->fd, .progress = upload->progress, .data = upload->data };
	struct stat st;

	if (fstat(upload->fd, &st) < 0)
		return error_errno(
			err, errno, "cannot look at the file for the volume '%s'", upload->name);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERROR_INVALID,
			"cannot upload the volume '%s': its source is not a regular file",
			upload->name);
	s.total = (uint64_t)st.st_size;
	return create_and_send(pool, upload->name, &s, err);
}

int pool_write(
	virStoragePoolPtr pool, const char *name, const void *bytes, size_t len, struct error *err)
{
	struct sender s = { .fd = -1, .bytes = bytes, .total = len };

	return create_and_send(pool, name, &s, err);
}

/* ---- download ---- */

struct receiver {
	struct str *into;
	size_t left;
	bool too_long;
};

/* virStreamSinkFunc */
static int receive_bytes(virStreamPtr stream, const char *bytes, size_t len, void *opaque)
{
	struct receiver *r = opaque;

	(void)stream;
	if (len > r->left) {
		r->too_long = true;
		return -1;
	}
	r->left -= len;
	str_append_len(r->into, bytes, len);
	return (int)len;
}

/* Of the whole volume when len is 0, else of that many bytes. */
static int receive(virStorageVolPtr volume, uint64_t offset, uint64_t len, struct receiver *r,
	struct error *err)
{
	_cleanup_(virStreamFree_p)
		virStreamPtr stream = virStreamNew(virStorageVolGetConnect(volume), 0);
	const char *name = virStorageVolGetName(volume);

	if (!stream || virStorageVolDownload(volume, stream, offset, len, 0) < 0)
		return error_virt(err, "cannot begin to read the volume '%s'", name);
	if (virStreamRecvAll(stream, receive_bytes, r) < 0)
		return error_virt(err, "cannot read the volume '%s'", name);
	if (virStreamFinish(stream) < 0)
		return error_virt(err, "cannot finish reading the volume '%s'", name);
	return 0;
}

int pool_read(
	virStoragePoolPtr pool, const char *name, size_t max, struct str *into, struct error *err)
{
	_cleanup_(virStorageVolFree_p) virStorageVolPtr volume = pool_volume(pool, name, err);
	struct receiver r = { .into = into, .left = max };

	if (!volume)
		return -1;
	if (receive(volume, 0, 0, &r, err) < 0) {
		if (r.too_long)
			return error_set(err, ERROR_INVALID,
				"the volume '%s' is longer than %zu bytes", name, max);
		return -1;
	}
	return str_ok(into, err);
}

int pool_read_at(virStoragePoolPtr pool, const char *name, uint64_t offset, size_t len,
	struct str *into, struct error *err)
{
	_cleanup_(virStorageVolFree_p) virStorageVolPtr volume = pool_volume(pool, name, err);
	struct receiver r = { .into = into, .left = len };

	if (!volume || receive(volume, offset, len, &r, err) < 0)
		return -1;
	return str_ok(into, err);
}

int pool_write_at(virStoragePoolPtr pool, const char *name, uint64_t offset,
	const struct str *bytes, struct error *err)
{
	_cleanup_(virStorageVolFree_p) virStorageVolPtr volume = pool_volume(pool, name, err);
	_cleanup_(virStreamFree_p) virStreamPtr stream = NULL;
	struct sender s = { .fd = -1, .bytes = bytes->data, .total = bytes->len };

	if (!volume)
		return -1;
	stream = virStreamNew(virStorageVolGetConnect(volume), 0);
	if (!stream || virStorageVolUpload(volume, stream, offset, bytes->len, 0) < 0)
		return error_virt(err, "cannot begin to write the volume '%s'", name);
	if (virStreamSendAll(stream, send_bytes, &s) < 0)
		return error_virt(err, "cannot write the volume '%s'", name);
	if (virStreamFinish(stream) < 0)
		return error_virt(err, "cannot finish writing the volume '%s'", name);
	return 0;
}
