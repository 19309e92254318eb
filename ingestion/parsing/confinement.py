"""Programs that read other people's files see only the folders they need: Landlock, a part of Linux since 5.13.

A document may link to files by their address; a program that follows such links must not reach what the site keeps.
"""

import ctypes
import os
import struct
from collections.abc import Callable, Iterable

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # system calls, the same on every processor
_VERSION, _BENEATH, _NO_NEW_PRIVS = 1, 1, 38
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_REMOVE_FILE, _MAKE_SOCKET = 1 << 5, 1 << 9
_ALL, _REFER, _TRUNCATE = (1 << 13) - 1, 1 << 13, 1 << 14
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_TCP = 3  # to bind and to connect
_WITH_TCP, _WITH_TRUNCATE, _WITH_REFER = 4, 3, 2


class CannotConfine(Exception):
    """This machine has no Landlock."""


def confinement(
    *, read: Iterable[str], write: Iterable[str], sockets: Iterable[str] = ()
) -> Callable[[], None]:
    """What to call in a child between fork and exec: from then on it sees only these files and folders, and, where
    Landlock knows of networks (Linux 6.7), no TCP.

    sockets: folders in which it may only make sockets and take them away. What does not exist is passed over.
    Raises CannotConfine.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE, None, 0, _VERSION)
    if version < 1:
        raise CannotConfine
    handled = (
        _ALL | (_REFER if version >= _WITH_REFER else 0) | (_TRUNCATE if version >= _WITH_TRUNCATE else 0)
    )
    rules = struct.pack("<QQ", handled, _TCP) if version >= _WITH_TCP else struct.pack("<Q", handled)
    ruleset = libc.syscall(_CREATE, rules, len(rules), 0)
    if ruleset < 0:
        raise CannotConfine
    for path in read:
        _allow(libc, ruleset, path, _READ)
    for path in write:
        _allow(libc, ruleset, path, handled)
    for path in sockets:
        _allow(libc, ruleset, path, _MAKE_SOCKET | _REMOVE_FILE)

    def confine() -> None:
        libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
        if libc.syscall(_RESTRICT, ruleset, 0) != 0:
            os._exit(126)

    return confine


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, access: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights = access if os.path.isdir(path) else access & _OF_FILES
        libc.syscall(_ADD, ruleset, _BENEATH, struct.pack("<Qi", rights, place), 0)
    finally:
        os.close(place)
