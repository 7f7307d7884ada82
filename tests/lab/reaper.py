#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""reaper.py DAEMON ARG...: start a program that goes into the background by itself, and stay as the parent of
what it leaves there, until all of that has ended. Ends itself with the status of the start.

QEMU's parent is process 1, and libvirt takes a QEMU for alive until that has collected it. An init system
does so at once; the first process of a container may take a second or two, at each stop of a guest."""
import ctypes
import os
import sys

PR_SET_CHILD_SUBREAPER = 36

inform, status_pipe = os.pipe()
if os.fork():
    os.close(status_pipe)
    status = os.read(inform, 1)
    sys.exit(status[0] if status else 1)
os.close(inform)
os.setsid()
if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
    sys.exit("reaper.py: cannot become a subreaper: " + os.strerror(ctypes.get_errno()))
start = os.fork()
if start == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
while True:
    try:
        pid, status = os.wait()
    except ChildProcessError:
        break
    if pid == start:
        os.write(status_pipe, bytes([os.waitstatus_to_exitcode(status) & 255]))
        os.close(status_pipe)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in range(3):
            os.dup2(null, fd)
