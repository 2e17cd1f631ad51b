"""A player that runs Triton kernels by Triton's interpreter: one program after the other, on this machine's processor, with numpy.

It speaks the same messages as the players of machine code (src/device/wire.h) and works on the same shared memory: what is right
or wrong is decided elsewhere. It has no expected values and no clock. Every address is looked up before it is used, so that an
access beyond a buffer is told with its line instead of ending the process; lanes that a mask leaves out of a load without
`other` hold rubbish, as Triton promises nothing about them; and programs run in an order of their own in every call."""

import array
import ctypes
import inspect
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

os.environ["TRITON_INTERPRET"] = "1"
warnings.simplefilter("ignore")

import numpy as np
import triton
import triton.language as tl
from triton.runtime import interpreter

from kwright import triton_source as source

# device/wire.h
START, MAP, LOAD, RUN = 0x6B77, 0x6B78, 0x6B7A, 0x6B7B
READY, LOADED, LOAD_FAILED, NO_ENTRY, DONE, FAULT, SYSCALL, MACHINE, DEVICE = range(0x7279, 0x7282)
USER, LANDLOCK, SECCOMP, RLIMITS, NNP = 1, 2, 4, 8, 32
REPLY, START_HEAD, ONE_MAP = struct.Struct("<IiQQIIii160s"), struct.Struct("<4IqQQ2I"), struct.Struct("<4Q2I")
LOAD_HEAD, ONE_ARG, RUN_HEAD = struct.Struct("<IIQ"), struct.Struct("<4Iqd"), struct.Struct("<IIQ")
NAME_BYTES, ARGS_MAX, CONTROL, MESSAGE_BYTES, FDS = 256, 40, 3, 1 << 17, 64
KERNEL_BYTES = NAME_BYTES + 8 + 7 * 8 + ARGS_MAX * ONE_ARG.size
ARG_BUFFER, ARG_INT = 0, 1
NUMBERS = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u1": np.bool_, "fp32": np.float32,
           "fp64": np.float64}
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


# ---- the interpreter ----


class Guard:
    """In the place of the code that touches memory: only what lies in a buffer of the call is touched."""

    def __init__(self, inner):
        self.inner, self.player = inner, None
        self.use([], None)

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def use(self, maps, player):
        self.player = player
        real = sorted((address, address + size, read_only) for address, size, read_only, _ in maps if size)
        self.starts = np.array([r[0] for r in real] or [0], dtype=np.uint64)
        self.ends = np.array([r[1] for r in real] or [0], dtype=np.uint64)
        self.read_only = np.array([r[2] for r in real] or [True])

    def check(self, pointers, mask, size, write):
        used = pointers[mask] if mask is not None else pointers.ravel()
        if self.player is None or used.size == 0:
            return
        at = np.maximum(np.searchsorted(self.starts, used, side="right").astype(np.int64) - 1, 0)
        bad = (used < self.starts[at]) | (used + np.uint64(size) > self.ends[at])
        if write:
            bad |= self.read_only[at]
        if bad.any():
            self.player.fault(used[bad][0], write)

    def load(self, pointers, mask, other, dtype):
        self.check(pointers, mask, np.dtype(dtype).itemsize, False)
        return self.inner.load(pointers, mask, other, dtype)

    def store(self, pointers, value, mask):
        self.check(pointers, mask, value.dtype.itemsize, True)
        return self.inner.store(pointers, value, mask)

    def atomic_rmw(self, operation, pointers, value, mask, semantic):
        self.check(pointers, mask, value.dtype.itemsize, True)
        return self.inner.atomic_rmw(operation, pointers, value, mask, semantic)

    def atomic_cas(self, pointers, compared, value, semantic):
        self.check(pointers, None, value.dtype.itemsize, True)
        return self.inner.atomic_cas(pointers, compared, value, semantic)


def rubbish(handle, kind):
    """What nobody promised: no number, and the largest and the smallest by turns, since a maximum passes over what is no number."""
    dtype = interpreter._get_np_dtype(kind)
    values = np.empty(handle.data.shape, dtype=dtype)
    if dtype == np.bool_:
        three = [True, False, True]
    elif np.dtype(dtype).kind == "f":
        three = [np.nan, np.finfo(dtype).max, np.finfo(dtype).min]
    elif kind.is_floating():  # as their bits; the largest of bf16 is 0x7f7f, of f8e4m3 0x7e, of f8e5m2 0x7b
        three = [0x7FFF, 0x7F7F, 0xFF7F] if values.dtype.itemsize == 2 else [0x7F, 0x7B, 0xFB]
    else:
        three = [np.iinfo(dtype).max, np.iinfo(dtype).min, np.iinfo(dtype).max // 3]
    first = random.randrange(3)
    flat = values.reshape(-1)
    for i in range(3):
        flat[i::3] = three[(first + i) % 3]
    return interpreter.TensorHandle(values, kind)


def masked_load(self, ptrs, mask, other, *rest, **more):
    if other is None and not np.all(mask.data):
        other = rubbish(ptrs, ptrs.get_element_ty())
    return original_masked_load(self, ptrs, mask, other, *rest, **more)


def only(data):
    """The one value of an array, which numpy converts only where it has no dims."""
    return data.reshape(-1)[0] if data.size == 1 else data


def patch_tensor(tensor, *scope):
    original_patch_tensor(tensor, *scope)
    set_one = scope[0].set_attr if scope else setattr  # before 3.6 nothing is put back
    set_one(tensor, "__index__", lambda self: int(only(self.handle.data)))
    set_one(tensor, "__bool__", lambda self: bool(only(self.handle.data)) if self.handle.data.size == 1 else True)


def type_of(name):
    return tl.str_to_ty(name, None) if len(inspect.signature(tl.str_to_ty).parameters) > 1 else tl.str_to_ty(name)


# ---- bf16, which numpy has not: the interpreter keeps it as whole numbers, and would calculate with those ----


def wide(handle):
    """The values of bf16 as f32; of other types as they are."""
    if handle.dtype.scalar != tl.bfloat16:
        return handle.data
    return (handle.data.astype(np.uint32) << 16).view(np.float32)


def narrow(values):
    """f32 to the nearest bf16, ties to even."""
    values = np.asarray(values, dtype=np.float32)
    bits = np.ascontiguousarray(values).view(np.uint32).reshape(values.shape)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> 16) & np.uint32(1))) >> 16
    return np.where(np.isnan(values), np.uint32(0x7FC0), rounded).astype(np.uint16)


def handle_of(values, like):
    kind = like.dtype.scalar
    values = narrow(values) if kind == tl.bfloat16 and values.dtype != np.bool_ else values
    return interpreter.TensorHandle(values, kind)


BITS = (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.left_shift, np.right_shift)


def in_f32(name, inputs):
    """An operation of the interpreter whose first `inputs` arguments may be bf16."""
    original = getattr(interpreter.InterpreterBuilder, name)

    def operation(self, *args):
        if args[0].dtype.scalar != tl.bfloat16 or args[-1] in BITS:
            return original(self, *args)
        if name == "create_fma":
            return handle_of(wide(args[0]) * wide(args[1]) + wide(args[2]), args[2])
        if name == "create_rsqrt":
            return handle_of(1 / np.sqrt(wide(args[0])), args[0])
        return handle_of(args[-1](*[wide(a) for a in args[:inputs]]), args[inputs - 1])

    setattr(interpreter.InterpreterBuilder, name, operation)


def dot(self, a, b, d, *rest):
    if a.dtype.scalar != tl.bfloat16:
        return original_dot(self, a, b, d, *rest)
    return handle_of(np.matmul(wide(a), wide(b), dtype=np.float32) + wide(d), d)


def cast(name):
    original = getattr(interpreter.InterpreterBuilder, name)

    def operation(self, src, kind, *rest):
        if kind.scalar == tl.bfloat16 and src.dtype.scalar != tl.bfloat16:
            return interpreter.TensorHandle(narrow(src.data), kind.scalar)
        if src.dtype.scalar == tl.bfloat16 and kind.scalar != tl.bfloat16:
            src = interpreter.TensorHandle(wide(src), tl.float32)
            if kind.scalar == tl.float32:
                return src
        return original(self, src, kind, *rest)

    setattr(interpreter.InterpreterBuilder, name, operation)


def reduced_sum(self, input):
    if input.dtype.scalar != tl.bfloat16:
        return original_sum(self, input)
    return self.to_tensor(narrow(np.sum(wide(input.handle), axis=self.axis, keepdims=self.keep_dims)), input.dtype)


for name, inputs in (("unary_op", 1), ("binary_op", 2), ("create_fma", 3), ("create_rsqrt", 1)):
    in_f32(name, inputs)
for name in ("cast_impl", "create_fp_to_fp"):
    cast(name)
original_dot, interpreter.InterpreterBuilder.create_dot = interpreter.InterpreterBuilder.create_dot, dot
original_sum, interpreter.ReduceOps.sum = interpreter.ReduceOps.sum, reduced_sum


# ---- programs ----


def pointer(address, kind):
    t = tl.pointer_type(type_of(kind[1:]))
    return tl.tensor(interpreter.TensorHandle(np.array([address], dtype=np.uint64), t), t)


def number(value, kind):
    t = tl.int1 if kind == "u1" else type_of(kind)
    return tl.tensor(interpreter.TensorHandle(np.array([value], dtype=NUMBERS[kind]), t), t)


def launch(function, grid, arguments):
    programs = [(x, y, z) for x in range(grid[0]) for y in range(grid[1]) for z in range(grid[2])]
    random.shuffle(programs)
    rewritten = function.rewrite()
    scope = interpreter._patch_lang(rewritten)
    builder = interpreter.interpreter_builder
    try:
        builder.set_grid_dim(*grid)
        for place in programs:
            builder.set_grid_idx(*place)
            rewritten(**arguments)
    finally:
        if scope is not None:
            scope.restore()


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


# ---- functions of CUDA's own library, which the interpreter has not ----


def of_numpy(function):
    def operation(*args, **unused):
        like = next(a for a in args if isinstance(a, tl.tensor))
        data = [a.handle.data if isinstance(a, tl.tensor) else a for a in args]
        result = np.asarray(function(*data), dtype=like.handle.data.dtype)
        return tl.tensor(interpreter.TensorHandle(result, like.dtype.scalar), tl.block_type(like.dtype.scalar, list(like.shape)) if
                         like.type.is_block() else like.type)

    return operation


def add_libdevice():
    from triton.language.extra import libdevice

    for name, function in (("tanh", np.tanh), ("expm1", np.expm1), ("log1p", np.log1p), ("log10", np.log10), ("sin", np.sin),
                           ("cos", np.cos), ("tan", np.tan), ("atan", np.arctan), ("pow", np.power), ("rint", np.rint),
                           ("trunc", np.trunc), ("sqrt", np.sqrt), ("exp", np.exp), ("log", np.log), ("fmod", np.fmod)):
        setattr(libdevice, name, of_numpy(function))


add_libdevice()
original_masked_load = interpreter.InterpreterBuilder.create_masked_load
interpreter.InterpreterBuilder.create_masked_load = masked_load
original_patch_tensor = interpreter._patch_lang_tensor
interpreter._patch_lang_tensor = patch_tensor
guard = Guard(interpreter._interpreter)
interpreter._interpreter = guard


def main(facts):
    player = Player(facts)
    unknown = source.check_version(triton.__version__)
    if unknown:
        player.reply(MACHINE, text=unknown)
        return
    np.seterr(all="ignore")
    player.start()
    player.live()
