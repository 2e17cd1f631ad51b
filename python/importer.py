"""Imports PyTorch once and is copied by every process that would import it: the one of references, those that players are copies of.

It runs nobody's code and is told nothing. What a copy needs to know, and what it may do, comes with descriptors that this process hands on
unread and closes; a copy closes all others, enters its box and only then runs what it was made for. So that nothing is shared by accident,
no copy is made of a process that has a second thread, other open files, memory that a copy would write to as well, or code of the user's in it.

Messages are the structs of src/device/wire.h; src/device/importer.c is the other side."""
import ctypes
import gc
import io
import os
import signal
import socket
import struct
import sys
import types

CONTROL, SCRIPT = 3, 4
FORK, READY, MACHINE, FORKED = 0x6B7E, 0x7279, 0x7280, 0x7282
OUTPUT, BOXED, RULES, ENVIRONMENT = 1, 2, 4, 8
REPLY = struct.Struct("<IiQQIIii160s")
SYS_CLONE, SYS_RESTRICT_SELF = {"x86_64": (56, 446), "aarch64": (220, 446)}[os.uname().machine]
CLONE_PARENT, CLONE_CHILD_CLEARTID, CLONE_CHILD_SETTID = 0x8000, 0x200000, 0x1000000

libc = ctypes.PyDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def reply(control, kind, number=0, text=""):
    control.send(REPLY.pack(kind, number, 0, 0, 0, 0, 0, 0, text.encode("utf-8", "replace")[:159]))


def users_code():
    """A module that Python itself has loaded, from a place that is not Python's."""
    own = tuple(os.path.realpath(p) + os.sep for p in {sys.prefix, sys.base_prefix, sys.exec_prefix, "/usr/lib", "/etc"})
    for name in ("sitecustomize", "usercustomize"):
        path = getattr(sys.modules.get(name), "__file__", None)
        if path and not os.path.realpath(path).startswith(own):
            return path
    return None


def open_files():
    """Without the one that is open while they are listed."""
    return {fd for fd in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + fd)}


def shared_memory():
    with open("/proc/self/maps") as maps:
        return [line for line in maps if line.split()[1][1] == "w" and line.split()[1][3] == "s"]


def obstacle(before):
    """Why no copies can be made of this process; None where nothing stands against it."""
    if len(os.listdir("/proc/self/task")) != 1:
        return "the import starts threads"
    if open_files() - before:
        return "the import leaves files open"
    if shared_memory():
        return "the import makes memory that copies would share"
    if torch.cuda.is_initialized():
        return "the import starts a GPU's driver"
    return None


def take_in():
    """Everything that all copies want. A sum of two numbers makes PyTorch choose its kernels."""
    global torch
    sys.path = [p for p in sys.path if p]  # nothing is imported from the working folder
    before = open_files()
    path = users_code()
    if path:
        return f"{path} is run at its start"
    gc.disable()  # imports make much that stays: looking for garbage in it is a tenth of them
    import torch
    import torch.autograd.profiler
    import torch.nn.functional

    torch.zeros(2).add_(1)
    return obstacle(before)


def copy():
    """A copy of this process that is the judge's child: its number; 0 in the copy."""
    tid = ctypes.c_void_p()
    libc.prctl(40, ctypes.byref(tid), 0, 0, 0)  # PR_GET_TID_ADDRESS: where the C library keeps the number of this thread
    flags = CLONE_PARENT | signal.SIGCHLD | (CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID if tid.value else 0)
    api = ctypes.pythonapi
    api.PyOS_BeforeFork()
    last = (tid, None) if SYS_CLONE == 56 else (None, tid)
    pid = libc.syscall(ctypes.c_long(SYS_CLONE), ctypes.c_ulong(flags), None, None, *last)
    if pid == 0:
        api.PyOS_AfterFork_Child()
        return 0
    error = ctypes.get_errno()
    api.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(error, os.strerror(error))
    return pid


def begin(flags, fds):
    """In the copy: what it may do, and only then what it runs."""
    import fcntl

    os.setsid()
    libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != JUDGE:
        os._exit(125)
    fds = [fcntl.fcntl(fd, fcntl.F_DUPFD, 64) for fd in fds]
    channel, script = fds.pop(0), fds.pop(0)
    if flags & OUTPUT:
        output = fds.pop(0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        for name, fd in (("stdout", 1), ("stderr", 2)):
            raw = open(fd, "wb", buffering=0, closefd=False)
            setattr(sys, name, io.TextIOWrapper(raw, "utf-8", "backslashreplace", write_through=True))
    if flags & ENVIRONMENT:
        with open(fds.pop(), "rb") as f:
            folder, *pairs = f.read().split(b"\0")
        os.environb.clear()
        os.environb.update(pair.split(b"=", 1) for pair in pairs if b"=" in pair)
        if folder:
            os.chdir(folder)
    if flags & BOXED and libc.prctl(38, 1, 0, 0, 0) != 0:  # PR_SET_NO_NEW_PRIVS
        os._exit(125)
    if flags & RULES and libc.syscall(ctypes.c_long(SYS_RESTRICT_SELF), ctypes.c_int(fds.pop()), ctypes.c_uint(0)) != 0:
        os._exit(125)
    os.dup2(channel, CONTROL)
    os.dup2(script, SCRIPT)
    os.closerange(SCRIPT + 1, os.sysconf("SC_OPEN_MAX"))
    if "numpy.random" in sys.modules:  # Python's own begins anew in each copy
        sys.modules["numpy.random"].seed()
    with open(SCRIPT, "rb", closefd=False) as f:
        code = compile(f.read(), "<kwright>", "exec")
    os.close(SCRIPT)
    gc.enable()
    return code


def serve():
    """What a copy runs; None at the end."""
    control = socket.socket(fileno=CONTROL)
    try:
        why = take_in()
    except BaseException as e:
        why = f"{type(e).__name__}: {e}"
    if why:
        return reply(control, MACHINE, text=why)
    gc.collect()
    gc.freeze()
    reply(control, READY, text=torch.__version__)
    while True:
        data, fds, _, _ = socket.recv_fds(control, 64, 8)
        if not data:
            return None
        op, flags = struct.unpack_from("<II", data)
        if op != FORK:
            return None
        try:
            pid = copy()
        except OSError as e:
            pid = -1
            reply(control, MACHINE, number=e.errno or 0, text=str(e))
        if pid == 0:
            control.detach()
            os.close(CONTROL)
            return begin(flags, fds)
        for fd in fds:
            os.close(fd)
        if pid > 0:
            reply(control, FORKED, number=pid)


JUDGE = os.getppid()
code = serve()
if code:
    sys.modules["__main__"] = main = types.ModuleType("__main__")
    exec(code, main.__dict__)
