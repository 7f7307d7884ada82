#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What a listener of the lab says to whoever connects, an HTTP client or not: which namespace, which
# of its addresses, who asked. Started by socat for each connection. What the client sends is taken
# and forgotten, for a while: closing with unread input would reset the connection and lose the answer.
text="$1 $SOCAT_SOCKADDR from $SOCAT_PEERADDR"
printf 'HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %s\r\n\r\n%s\n' \
	"$((${#text} + 1))" "$text"
exec timeout 1 cat >/dev/null
