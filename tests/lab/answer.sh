#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What a listener of the lab says to whoever connects, an HTTP client or not: which namespace, which
# of its addresses, who asked. Started by socat for each connection.
printf 'HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n'
printf '%s %s from %s\n' "$1" "$SOCAT_SOCKADDR" "$SOCAT_PEERADDR"
