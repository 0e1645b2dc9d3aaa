"""Seals a process that parses untrusted bytes: Landlock for files, TCP and signals, seccomp for system calls.

Both by the kernel's own interface, where it has them; nothing here needs a library or a privilege. What is sealed stays
sealed, for threads that are started later too.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

# --- Landlock ---------------------------------------------------------------------------------------------------------

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""The same numbers on every architecture."""
_ASK_VERSION = 1
_PATH_BENEATH = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
"""How many kinds of access a version knows."""
_TCP = 0b11
"""Since version 4: binding and connecting."""
_SCOPES = 0b11
"""Since version 6: abstract sockets and signals of processes outside."""
_SYSTEM = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/dev/null", "/dev/urandom", "/proc/self")
"""What an interpreter reads beside its own directories."""

_libc = ctypes.CDLL(None, use_errno=True)


def landlock_version() -> int:
    """0 where the kernel has none, or it is switched off."""
    if sys.platform != "linux":
        return 0
    return max(int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION)), 0)


def restrict_files(readable: Iterable[str]) -> bool:
    """From now on only these may be opened, for reading; no TCP, and no signal to a process outside."""
    version = landlock_version()
    if not version:
        return False
    rights = (1 << max(bits for since, bits in _FILE_RIGHTS.items() if since <= version)) - 1
    words = [rights, *([_TCP] if version >= 4 else []), *([_SCOPES] if version >= 6 else [])]
    attributes = struct.pack(f"={len(words)}Q", *words)
    ruleset = int(_libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0))
    if ruleset < 0:
        return False
    try:
        for path in readable:
            _allow(ruleset, path)
        return int(_libc.syscall(_RESTRICT_SELF, ruleset, 0)) == 0
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str) -> None:
    with contextlib.suppress(OSError):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            access = _READ_FILE | (_READ_DIR if Path(path).is_dir() else 0)
            _libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", access, place), 0)
        finally:
            os.close(place)


def interpreter_files() -> Iterator[str]:
    """What this interpreter may need to read: its libraries, its modules, and what it has loaded from elsewhere."""
    yield from _SYSTEM
    yield from (sys.prefix, sys.base_prefix, sys.exec_prefix)
    yield from (place for place in sys.path if place)
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
            name = line.partition("/")[2]
            if name.endswith(".so") or ".so." in name:
                yield str(Path("/" + name).parent)


# --- seccomp ----------------------------------------------------------------------------------------------------------

_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_FILTER, _ALL_THREADS = 1, 1
_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
"""System calls of x86-64 from here on are those of another convention."""
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16
"""Places in the data that a filter sees."""
_CLONE_THREAD = 0x10000


@dataclass(frozen=True, slots=True)
class SystemCalls:
    """Numbers on one architecture."""

    refused: Sequence[int]
    clone: int
    clone3: int
    tgkill: int


# Sockets; starting programs; looking into and signalling other processes; mounts and namespaces; modules, keys, and
# the interfaces of the kernel that had the most holes (bpf, perf, io_uring, userfaultfd).
_X86_64 = SystemCalls(
    refused=(
        *(41, 42, 43, 44, 46, 49, 50, 53, 288, 299, 307),
        *(57, 58, 59, 322),
        *(101, 310, 311, 62, 200, 129, 297, 424, 434, 438),
        *(155, 161, 165, 166, 272, 308, 428, 429, 430, 431, 432, 433, 442),
        *(105, 106, 113, 114, 117, 119, 122, 123),
        *(135, 167, 168, 169, 175, 176, 246, 248, 249, 250, 298, 303, 304, 313, 320, 321, 323, 425, 426, 427),
    ),
    clone=56,
    clone3=435,
    tgkill=234,
)
_AARCH64 = SystemCalls(
    refused=(
        *(198, 199, 200, 201, 202, 203, 206, 211, 242, 243, 269),
        *(221, 281),
        *(117, 270, 271, 129, 130, 138, 240, 424, 434, 438),
        *(39, 40, 41, 51, 97, 268, 428, 429, 430, 431, 432, 433, 442),
        *(143, 144, 145, 146, 147, 149, 151, 152),
        *(92, 104, 105, 106, 142, 217, 218, 219, 224, 225, 241, 264, 265, 273, 280, 282, 294, 425, 426, 427),
    ),
    clone=220,
    clone3=435,
    tgkill=131,
)
_CALLS = {"x86_64": _X86_64, "aarch64": _AARCH64}


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def _refuse(number: int) -> bytes:
    return _step(_RETURN, _REFUSE | number)


def _program(machine: str, own: int) -> bytes:
    calls = _CALLS[machine]
    steps = [
        _step(_LOAD, _ARCH),
        _step(_EQUAL, _ARCHITECTURE[machine], 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
    ]
    if machine == "x86_64":
        steps += [_step(_AT_LEAST, _X32, 0, 1), _refuse(errno.EPERM)]
    for number in calls.refused:
        steps += [_step(_EQUAL, number, 0, 1), _refuse(errno.EPERM)]
    # Its flags are in memory, where no filter looks: the C library then uses the older call.
    steps += [_step(_EQUAL, calls.clone3, 0, 1), _refuse(errno.ENOSYS)]
    # Threads may be started, processes not.
    steps += [
        _step(_EQUAL, calls.clone, 0, 4),
        _step(_LOAD, _FIRST_ARGUMENT),
        _step(_ANY_BIT, _CLONE_THREAD, 1, 0),
        _refuse(errno.EPERM),
        _step(_RETURN, _ALLOW),
    ]
    # A signal to itself is how a process aborts.
    steps += [
        _step(_EQUAL, calls.tgkill, 0, 4),
        _step(_LOAD, _FIRST_ARGUMENT),
        _step(_EQUAL, own, 1, 0),
        _refuse(errno.EPERM),
        _step(_RETURN, _ALLOW),
    ]
    return b"".join([*steps, _step(_RETURN, _ALLOW)])


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def restrict_calls() -> bool:
    """From now on no sockets, no new processes, and no look into others. Needs `no_new_privs`."""
    machine = platform.machine()
    if sys.platform != "linux" or machine not in _CALLS or struct.calcsize("P") != 8:
        return False
    steps = _program(machine, os.getpid())
    program = _FilterProgram(len(steps) // 8, steps)
    return int(_libc.syscall(_SECCOMP[machine], _SET_FILTER, _ALL_THREADS, ctypes.byref(program))) == 0


def has_seccomp() -> bool:
    """Whether the kernel filters system calls, and we know their numbers here."""
    with contextlib.suppress(OSError):
        return platform.machine() in _CALLS and "Seccomp:" in Path("/proc/self/status").read_text(encoding="utf-8")
    return False


def seal() -> list[str]:
    """Seal this process, permanently; which of the two the kernel has."""
    parts = {"Landlock": restrict_files(interpreter_files()), "seccomp": restrict_calls()}
    return [name for name, done in parts.items() if done]
