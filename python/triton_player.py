"""A player that runs Triton kernels by Triton's interpreter: one program after the other, on this machine's processor, with numpy.

It speaks the same messages as the players of machine code (src/device/wire.h) and works on the same shared memory: what is right
or wrong is decided elsewhere. It has no expected values and no clock. Every address is looked up before it is used, so that an
access beyond a buffer is told with its line instead of ending the process; lanes that a mask leaves out of a load without
`other` hold rubbish, as Triton promises nothing about them; and programs run in an order of their own in every call."""

import array
import ctypes
import json
import linecache
import os
import random
import resource
import signal
import socket
import struct
import sys
import warnings

warnings.simplefilter("ignore")

from kwright import triton_source as source
from kwright.triton_interpreter import guard, launch, number, pointer

import numpy as np
import triton
from triton.runtime import interpreter

# device/wire.h
START, MAP, LOAD, RUN = 0x6B77, 0x6B78, 0x6B7A, 0x6B7B
READY, LOADED, LOAD_FAILED, NO_ENTRY, DONE, FAULT, SYSCALL, MACHINE, DEVICE = range(0x7279, 0x7282)
USER, LANDLOCK, SECCOMP, RLIMITS, NNP = 1, 2, 4, 8, 32
REPLY, START_HEAD, ONE_MAP = struct.Struct("<IiQQIIii160s"), struct.Struct("<4IqQQ2I"), struct.Struct("<4Q2I")
LOAD_HEAD, ONE_ARG, RUN_HEAD = struct.Struct("<IIQ"), struct.Struct("<4Iqd"), struct.Struct("<IIQ")
NAME_BYTES, ARGS_MAX, CONTROL, MESSAGE_BYTES, FDS = 256, 40, 3, 1 << 17, 64
KERNEL_BYTES = NAME_BYTES + 8 + 7 * 8 + ARGS_MAX * ONE_ARG.size
ARG_BUFFER, ARG_INT = 0, 1
SYS_OPENAT = {"x86_64": 257, "aarch64": 56}.get(os.uname().machine, 0)

libc = ctypes.CDLL(None, use_errno=True)


class Ended(BaseException):
    """The judge has been told why; nothing more is to be done."""


class Player:
    def __init__(self, facts):
        self.control = socket.socket(fileno=CONTROL)
        self.facts = facts  # numbers of verdicts, and the filter
        self.layers = self.landlock_abi = 0
        self.nonce = 0

    def reply(self, kind, number=0, address=0, write=0, text=""):
        data = text.encode("utf-8", "replace")[:159].decode("utf-8", "ignore").encode("utf-8")
        self.control.send(REPLY.pack(kind, number, self.nonce, address, write, self.layers, self.landlock_abi, 0, data))

    def receive(self):
        data, control, _, _ = self.control.recvmsg(MESSAGE_BYTES, socket.CMSG_SPACE(FDS * 4), socket.MSG_CMSG_CLOEXEC)
        fds = array.array("i")
        for level, kind, value in control:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                fds.frombytes(value[:len(value) - len(value) % fds.itemsize])
        if not data:
            os._exit(0)  # the judge has gone
        return data, list(fds)

    # ---- trusted start-up ----

    def start(self):
        data, _ = self.receive()
        op, trusted, threads, _, self.memory, base, size, self.buffers, self.slots = START_HEAD.unpack_from(data)
        if op != START:
            os._exit(2)
        self.mmap(base, size, 0, 0x02 | 0x20 | 0x4000 | 0x100000, -1)  # private, anonymous, not reserved, nowhere else
        self.maps = []
        while len(self.maps) < self.slots * self.buffers:
            data, fds = self.receive()
            for i, fd in enumerate(fds):
                address, file_bytes, offset, size, read_only, zero = ONE_MAP.unpack_from(data, 8 + i * ONE_MAP.size)
                self.mmap(address, file_bytes, 1 if read_only else 3, 0x01 | 0x10 | 0x8000, fd)  # shared, fixed, populated
                os.close(fd)
                self.maps.append((address + offset, size, bool(read_only), bool(zero)))
        warm_up()
        if not trusted:
            self.lock_down()
        self.reply(READY)

    def mmap(self, address, size, protection, flags, fd):
        libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
        at = libc.mmap(address, size, protection, flags, fd, 0)
        if at is None or at != address:
            self.fail("cannot map a buffer", ctypes.get_errno())

    def fail(self, what, number):
        self.reply(MACHINE, number, text="%s: %s" % (what, os.strerror(number)))
        os._exit(120)

    def lock_down(self):
        """Gives up files, other processes, other users' rights; what this machine does not grant is missing from the layers."""
        if self.limit():
            self.layers |= RLIMITS
        if os.geteuid() == 0 and self.own_user():
            self.layers |= USER
        libc.prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
        libc.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG, which a change of user clears
        if libc.prctl(38, 1, 0, 0, 0) == 0:
            self.layers |= NNP
        self.no_files()
        if self.facts["filter"]:
            code = bytes.fromhex(self.facts["filter"])
            room = ctypes.create_string_buffer(code, len(code))
            program = struct.pack("<HxxxxxxQ", len(code) // 8, ctypes.addressof(room))
            if libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0) == 0:  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
                self.layers |= SECCOMP

    def limit(self):
        with open("/proc/self/statm") as f:
            pages = [int(n) for n in f.read().split()]
        try:
            for what, value in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_NOFILE, 64),
                                (resource.RLIMIT_MEMLOCK, 0), (resource.RLIMIT_DATA, pages[5] * 4096 + self.memory),
                                (resource.RLIMIT_AS, pages[0] * 4096 + self.memory)):
                hard = resource.getrlimit(what)[1]
                value = value if hard == resource.RLIM_INFINITY else min(value, hard)
                resource.setrlimit(what, (value, value))
        except (OSError, ValueError):
            return False
        return True

    @staticmethod
    def own_user():
        number = 1879048192 + random.SystemRandom().randrange(1000000)
        try:
            os.setgroups([])
        except OSError:
            pass
        for one in (number, 65534):
            try:
                os.setresgid(one, one, one)
                os.setresuid(one, one, one)
                return True
            except OSError:
                pass
        return False

    def no_files(self):
        abi = libc.syscall(ctypes.c_long(444), None, ctypes.c_size_t(0), ctypes.c_uint(1))
        if abi <= 0:
            return
        files = (1 << 13) - 1 | (1 << 13 if abi >= 2 else 0) | (1 << 14 if abi >= 3 else 0) | (1 << 15 if abi >= 5 else 0)
        rules = struct.pack("<3Q", files, 3 if abi >= 4 else 0, 3 if abi >= 6 else 0)
        size = 24 if abi >= 6 else 16 if abi >= 4 else 8
        fd = libc.syscall(ctypes.c_long(444), ctypes.c_char_p(rules), ctypes.c_size_t(size), ctypes.c_uint(0))
        if fd >= 0 and libc.syscall(ctypes.c_long(446), ctypes.c_int(fd), ctypes.c_uint(0)) == 0:
            self.layers |= LANDLOCK
            self.landlock_abi = abi
        if fd >= 0:
            os.close(fd)

    # ---- commands ----

    def live(self):
        while True:
            data, fds = self.receive()
            op, count, self.nonce = RUN_HEAD.unpack_from(data)
            try:
                if op == LOAD:
                    self.load(data, count, fds[0])
                elif op == RUN:
                    for slot in struct.unpack_from("<%di" % count, data, RUN_HEAD.size):
                        self.play(slot)
                    self.reply(DONE)
                else:
                    os._exit(121)
            except Ended:
                os._exit(122)
            except BaseException as e:
                self.tell(e)
                os._exit(122)

    def load(self, data, count, fd):
        parts = []
        while True:
            part = os.read(fd, 1 << 20)
            if not part:
                break
            parts.append(part)
        os.close(fd)
        question = json.loads(b"".join(parts).decode("utf-8"))
        try:
            names = source.load(question["source"])
            self.kernels = [self.make(names, question, k, data, LOAD_HEAD.size + i * KERNEL_BYTES)
                            for i, k in enumerate(question["kernels"][:count])]
        except source.Refused as e:
            self.reply(LOAD_FAILED, text="%s:%d: %s" % (source.FILE, e.line, e))
            return
        self.reply(LOADED)

    def make(self, names, question, kernel, data, at):
        function = source.find(names, kernel)
        passed, constants = source.bind(function, kernel, question["defines"])
        count, = struct.unpack_from("<I", data, at + NAME_BYTES)
        grid = struct.unpack_from("<3q", data, at + NAME_BYTES + 8)
        args = [ONE_ARG.unpack_from(data, at + NAME_BYTES + 8 + 56 + i * ONE_ARG.size) for i in range(count)]
        types = [a["type"] for a in kernel["args"]]
        return {"function": function, "grid": grid, "constants": constants, "args": list(zip(passed, types, args))}

    def play(self, slot):
        maps = self.maps[slot * self.buffers:(slot + 1) * self.buffers]
        for address, size, _, zero in maps:
            if zero:
                ctypes.memset(address, 0, size)
        guard.use(maps, self)
        for kernel in self.kernels:
            arguments = dict(kernel["constants"])
            for name, kind, (what, buffer, _, _, whole, real) in kernel["args"]:
                arguments[name] = pointer(maps[buffer][0], kind) if what == ARG_BUFFER else number(whole if what == ARG_INT else real, kind)
            launch(kernel["function"], kernel["grid"], arguments)

    # ---- what went wrong ----

    def tell(self, error):
        line = source.line_of(error) or self.inner_line(error)
        while isinstance(error, interpreter.InterpreterError) and error.__cause__ is not None:
            error = error.__cause__
        text = " ".join(("%s: %s" % (type(error).__name__, error)).split())
        where = " (%s:%d)" % (source.FILE, line) if line else ""
        if isinstance(error, PermissionError):
            self.reply(SYSCALL, SYS_OPENAT, text=text[:120])
        elif isinstance(error, MemoryError):
            self.reply(DEVICE, self.facts["out_of_memory"], text=text[:120] + where)
        elif isinstance(error, (SystemExit, KeyboardInterrupt)):
            os._exit(error.code if isinstance(getattr(error, "code", None), int) else 1)
        else:
            self.reply(DEVICE, self.facts["crash"], text=text[:130] + where)

    @staticmethod
    def inner_line(error):
        while error is not None:
            line = source.line_of(error)
            if line:
                return line
            error = error.__cause__ or error.__context__
        return 0

    def fault(self, address, write):
        frame, line = sys._getframe(), 0
        while frame:
            if frame.f_code.co_filename == source.FILE:
                line = frame.f_lineno
                break
            frame = frame.f_back
        self.reply(FAULT, signal.SIGSEGV, address=int(address), write=int(write), text="%s:%d" % (source.FILE, line) if line else "")
        raise Ended()


WARM = """
import triton
import triton.language as tl
@triton.jit
def warm(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0.0)
    b = tl.dot(tl.zeros((16, 16), tl.float32), tl.zeros((16, 16), tl.float32))
    tl.store(x + i, a * tl.exp(tl.max(a, axis=0)) / (tl.sum(a, axis=0) + 1.0) + tl.sum(tl.sum(b, axis=1), axis=0), mask=i < n)
"""


def warm_up():
    """Whatever is imported on the way is imported now, while there are files."""
    room = np.zeros(16, dtype=np.float32)
    names = source.load(WARM)
    with np.errstate(all="ignore"):
        launch(names["warm"], (1, 1, 1), {"x": pointer(room.ctypes.data, "*fp32"), "n": number(9, "i32"), "BLOCK": 16})
    linecache.cache.pop(source.FILE, None)


def main(facts):
    player = Player(facts)
    unknown = source.check_version(triton.__version__)
    if unknown:
        player.reply(MACHINE, text=unknown)
        return
    np.seterr(all="ignore")
    player.start()
    player.live()
