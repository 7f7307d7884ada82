#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Nothing is started while packages are installed; the stage takes this away.
exit 101
