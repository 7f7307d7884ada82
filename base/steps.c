/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/steps.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"

/* True when BOX_FAULT asks for a failure after this step. SIGKILL and SIGSTOP happen here. */
static bool fault_asked(const char *operation, const char *step)
{
	const char *spec = getenv("BOX_FAULT");
	char wanted[128];
	size_t len;

	if (!spec)
		return false;
	len = (size_t)snprintf(wanted, sizeof(wanted), "%s.%s", operation, step);
	if (len >= sizeof(wanted) || strncmp(spec, wanted, len) != 0)
		return false;
	if (str_equal(spec + len, ":kill"))
		(void)raise(SIGKILL);
	if (str_equal(spec + len, ":stop"))
		(void)raise(SIGSTOP);
	return spec[len] == '\0' || str_equal(spec + len, ":fail");
}

static int run_one(const char *operation, const struct step *step, void *ctx,
	const struct steps_observer *observer, struct error *err)
{
	uint64_t begin = clock_us();
	int ret;

	if (observer && observer->begin)
		observer->begin(operation, step, observer->data);
	ret = step->run(ctx, err);
	if (observer && observer->end)
		observer->end(operation, step, clock_us() - begin, observer->data);
	return ret;
}

int steps_run(const char *operation, const struct step *steps, size_t count, void *ctx,
	const struct steps_observer *observer, struct error *err)
{
	size_t done = 0;
	int ret = 0;

	if (fault_asked(operation, "0"))
		ret = error_set(err, ERROR_FAILED, "fault injected before %s", operation);
	while (ret == 0 && done < count) {
		ret = run_one(operation, &steps[done], ctx, observer, err);
		if (ret < 0)
			break;
		done++;
		if (fault_asked(operation, steps[done - 1].name))
			ret = error_set(err, ERROR_FAILED, "fault injected after %s.%s", operation,
				steps[done - 1].name);
	}
	if (ret == 0)
		return 0;
	while (done-- > 0) {
		log_debug("undo %s.%s", operation, steps[done].name);
		if (steps[done].undo)
			steps[done].undo(ctx);
	}
	return -1;
}
