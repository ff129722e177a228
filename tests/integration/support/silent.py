"""A client that is lost without a word: no FIN, no RST, no acknowledgement."""

import ctypes
import socket
import struct

# A classic BPF program of one instruction: "return 0", that is: drop.
_DROP_ALL = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))


def vanish(session):
    """The session's client is lost; its socket must be kept open."""
    cut(session.sock)


def cut(sock):
    """From now on the kernel throws away whatever arrives for this socket before TCP sees it, as if
    its cable were cut. Needs no privilege."""
    program = struct.pack("HL", 1, ctypes.addressof(_DROP_ALL))
    sock.setsockopt(socket.SOL_SOCKET, 26, program)  # SO_ATTACH_FILTER
