#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""libvirt's daemon, but with polkit: between a client and the real one, which asks root for nothing.

usage: ask-polkit.py SOCKET REAL-SOCKET agree|refuse LOG

Says that polkit is wanted, and that the person agrees or refuses. Each of these questions is a line of LOG.
"""
import socket
import struct
import sys
import threading

AUTH_LIST, AUTH_POLKIT = 66, 70
path, real, decision, log = sys.argv[1:]


def read_packet(end):
    head = end.recv(4, socket.MSG_WAITALL)
    if len(head) < 4:
        return None
    return head + end.recv(struct.unpack(">I", head)[0] - 4, socket.MSG_WAITALL)


def reply(call, status, payload):
    program, version, procedure, _, serial, _ = struct.unpack(">6I", call[4:28])
    return struct.pack(">7I", 28 + len(payload), program, version, procedure, 1, serial, status) + payload


def back(server, client):
    while data := server.recv(65536):
        client.sendall(data)
    client.shutdown(socket.SHUT_WR)


def note(word):
    with open(log, "a", encoding="ascii") as f:
        f.write(word + "\n")


def serve(client):
    server = socket.socket(socket.AF_UNIX)
    server.connect(real)
    threading.Thread(target=back, args=(server, client), daemon=True).start()
    while packet := read_packet(client):
        procedure, kind = struct.unpack(">2I", packet[12:20])
        if kind == 0 and procedure == AUTH_LIST:
            note("list")
            client.sendall(reply(packet, 0, struct.pack(">2I", 1, 2)))
        elif kind == 0 and procedure == AUTH_POLKIT:
            note("polkit")
            text = b"authentication cancelled"
            error = struct.pack(">4I", 79, 7, 1, len(text)) + text + bytes(40)
            client.sendall(reply(packet, 0, b"") if decision == "agree" else reply(packet, 1, error))
        else:
            server.sendall(packet)
    server.close()


listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen()
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
