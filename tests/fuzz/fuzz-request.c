/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the guest agent reads beside frames: an EXEC's fields, and cloud-init's status. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/exec.h"
#include "agent/status-json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct exec_request request = { 0 };
	struct cloud_status status = { .errors = STR_INIT };
	struct error err = { 0 };

	if (exec_request_read(data, size, &request, &err) == 0) {
		if (!request.args.len != !!(request.flags & EXEC_SHELL))
			abort();
		exec_request_done(&request);
	}
	if (cloud_status_read((const char *)data, size, &status, &err) == 0) {
		for (size_t i = 0; i < status.errors.len; i++) {
			if ((unsigned char)status.errors.data[i] < ' ' &&
				status.errors.data[i] != '\n')
				abort(); /* it is shown on terminals */
		}
		str_done(&status.errors);
	}
	return 0;
}
