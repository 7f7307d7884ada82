#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What happens on the host, a line each, in order: changes of the packet filter's sets and tables, interfaces
that come and go, and frames of one MAC by the interface on which they are seen.

    watch.py MAC    until it is killed; prints "ready" when it listens
"""
import select
import socket
import struct
import sys

NFTABLES, LINK = 7, 1  # groups of netlink
ADD_GROUP, SOL_NETLINK = 1, 270
NEWTABLE, DELTABLE, NEWSETELEM, DELSETELEM = 0xA00, 0xA02, 0xA0C, 0xA0E
NAMES = {NEWTABLE: "table", DELTABLE: "table gone", NEWSETELEM: "entry", DELSETELEM: "entry gone"}
NEWLINK, DELLINK = 16, 17


def netlink(bus, group):
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, bus)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    s.bind((0, 0))
    s.setsockopt(SOL_NETLINK, ADD_GROUP, group)
    return s


def messages(data):
    while len(data) >= 16:
        length, kind = struct.unpack_from("=IH", data)
        yield kind, data[16:length]
        data = data[(length + 3) & ~3:]


def attribute(data, wanted):
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        if kind & 0x3FFF == wanted:
            return data[4:length].split(b"\0")[0].decode()
        data = data[(max(length, 4) + 3) & ~3:]
    return ""


def filter_line(kind, body):
    return NAMES.get(kind) and f"{NAMES[kind]} {attribute(body[4:], 1)} {attribute(body[4:], 2)}"


def link_line(kind, body):
    if kind not in (NEWLINK, DELLINK):
        return None
    return f"link {'gone ' if kind == DELLINK else ''}{attribute(body[16:], 3)}"


def main():
    mac = bytes.fromhex(sys.argv[1].replace(":", ""))
    frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    links, tables = netlink(0, LINK), netlink(12, NFTABLES)
    seen = set()
    print("ready", flush=True)
    while True:
        # In the order in which things can follow from one another.
        ready = select.select([tables, links, frames], [], [])[0]
        lines = []
        if tables in ready:
            lines = [filter_line(*m) for m in messages(tables.recv(1 << 20))]
        elif links in ready:
            lines = [link_line(*m) for m in messages(links.recv(1 << 20))]
        elif frames in ready:
            data, where = frames.recvfrom(2048)
            if data[6:12] == mac and where[2] != socket.PACKET_OUTGOING:
                lines = [f"frame {where[0]} {data[12:14].hex()}"]
        for line in lines:
            if line and line not in seen:
                seen.add(line)
                print(line, flush=True)


main()
