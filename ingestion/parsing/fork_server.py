"""The process that parsing children are forked from: it holds the light parsers, no document, no network.

Starting Python and importing a Markdown parser costs 80 ms of CPU, forking a prepared process 3 ms; a folder of a
thousand small files is bound by this. The server never reads a document itself, so nothing of one file can reach the
next. It speaks with one parent over a socket pair: a job comes as a JSON line with two descriptors (the file, and
the pipe for the result), the answers are the child's start and its end. It dies with its parent.
"""

import ctypes
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

_CLONE_NEWUSER, _CLONE_NEWNET, _CLONE_NEWIPC = 0x1000_0000, 0x4000_0000, 0x0800_0000
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_ORPHAN_CHECK_MS = 5_000
_JOB_BYTES = 65_536


Run = Callable[..., int]


def main(control_fd: int, runner: str, modules: tuple[str, ...]) -> None:
    """Serve jobs until the parent closes its end. runner: the module whose `run(job, source_fd, result_fd)` the children call."""
    control = socket.socket(fileno=control_fd)
    os.nice(5)
    _leave_network()
    for name in modules:
        importlib.import_module(name)
    run: Run = importlib.import_module(runner).run
    gc.collect()
    gc.freeze()
    parent = os.getppid()
    while True:
        if not _readable(control, parent):
            return
        data, fds, _flags, _address = socket.recv_fds(control, _JOB_BYTES, 2)
        if not data:
            return
        if len(fds) == 2:
            _serve(control, (run, json.loads(data)), fds, parent)


def _leave_network() -> None:
    """A network namespace of its own, where the machine allows one; and no way to gain rights by exec."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.unshare(_CLONE_NEWNET | _CLONE_NEWIPC) != 0:
        libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET | _CLONE_NEWIPC)


def _readable(control: socket.socket, parent: int) -> bool:
    """Wait for the next job; False when the parent is gone."""
    poller = select.poll()
    poller.register(control, select.POLLIN)
    while not poller.poll(_ORPHAN_CHECK_MS):
        if os.getppid() != parent:
            return False
    return True


def _serve(control: socket.socket, task: tuple[Run, dict[str, Any]], fds: list[int], parent: int) -> None:
    pid = os.fork()
    if pid == 0:
        _become_child(control, task, fds)
    for descriptor in fds:
        os.close(descriptor)
    control.sendall(json.dumps({"pid": pid}).encode() + b"\n")
    _await_end(control, pid, parent)
    _pid, status, usage = os.wait4(pid, 0)
    control.sendall(
        json.dumps(
            {
                "status": os.waitstatus_to_exitcode(status),
                "cpu_s": usage.ru_utime + usage.ru_stime,
                "rss_kb": usage.ru_maxrss,
            }
        ).encode()
        + b"\n"
    )


def _become_child(control: socket.socket, task: tuple[Run, dict[str, Any]], fds: list[int]) -> None:
    """Never returns."""
    run, job = task
    code = 70
    try:
        os.setsid()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        control.close()
        _limit(job["limits"])
        code = run(job, source_fd=fds[0], result_fd=fds[1])
    finally:
        os._exit(code)


def _limit(limits: dict[str, Any]) -> None:
    """The widest that any kind of file gets; the child narrows it as soon as it knows its kind."""
    for what, soft, hard in (
        (resource.RLIMIT_AS, limits["memory_bytes"], limits["memory_bytes"]),
        (resource.RLIMIT_CPU, limits["cpu_s"], limits["cpu_max_s"]),
        (resource.RLIMIT_FSIZE, limits["scratch_bytes"], limits["scratch_bytes"]),
        (resource.RLIMIT_NOFILE, limits["open_files"], limits["open_files"]),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_NPROC, limits["programs"], limits["programs"]),
    ):
        resource.setrlimit(what, (soft, hard))


def _await_end(control: socket.socket, pid: int, parent: int) -> None:
    """Wait for the child; any word from the parent meanwhile, its silence included, means kill."""
    child_fd = os.pidfd_open(pid)
    poller = select.poll()
    poller.register(child_fd, select.POLLIN)
    poller.register(control, select.POLLIN)
    ready: list[tuple[int, int]] = []
    while not ready and os.getppid() == parent:
        ready = poller.poll(_ORPHAN_CHECK_MS)
    if all(descriptor != child_fd for descriptor, _event in ready):
        if ready:
            control.recv(1)
        _kill_group(pid)
        poller.unregister(control)
        poller.poll()
    _kill_group(pid)  # what the child itself may have started
    os.close(child_fd)


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        try:
            os.kill(pid, signal.SIGKILL)  # it had not become a session leader yet
        except ProcessLookupError:
            return


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], tuple(sys.argv[3:]))
