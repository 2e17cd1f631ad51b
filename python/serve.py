"""The resident process: loads one file of this folder and answers requests for it, a line of JSON each.

Run by `python3 -c`, as the first thing. Descriptor 3 is the channel; 1 and 2 are whatever the user's code prints to.
The first line holds the text of every file of this folder and the name of the one to load, so none is read from a disk.
"""
import array
import fcntl
import gc
import importlib.abc
import importlib.util
import json
import linecache
import os
import re
import socket
import sys
import sysconfig
import traceback

FDS_MAX = 64
OWNER = os.getpid()


class Finder(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """The files of this folder as the package `kwright`; among each other, while they are loaded, by their bare names too."""

    def __init__(self, texts):
        self.texts = texts
        self.loading = []

    def find_spec(self, name, path=None, target=None):
        if name in self.texts and self.loading:
            return importlib.util.spec_from_loader(name, Alias())
        if name == "kwright":
            return importlib.util.spec_from_loader(name, self, is_package=True)
        package, _, part = name.partition(".")
        if package != "kwright" or part not in self.texts:
            return None
        return importlib.util.spec_from_loader(name, self, origin=self.shown(part))

    @staticmethod
    def shown(part):
        return "<kwright/python/%s.py>" % part

    def is_package(self, name):
        return name == "kwright"

    def get_source(self, name):
        return "" if name == "kwright" else self.texts[name.partition(".")[2]]

    def get_code(self, name):
        part = name.partition(".")[2]
        return compile(self.get_source(name), self.shown(part) if part else "<kwright>", "exec", dont_inherit=True)

    def exec_module(self, module):
        part = module.__name__.partition(".")[2]
        if part:
            text = self.texts[part]
            linecache.cache[self.shown(part)] = (len(text), None, text.splitlines(True), self.shown(part))
            module.__file__ = self.shown(part)
        self.loading.append(part)
        try:
            exec(self.get_code(module.__name__), module.__dict__)
        finally:
            self.loading.pop()
            if not self.loading:  # the user's own `problem` or `graph` is another one
                for name in [n for n in self.texts if isinstance(getattr(sys.modules.get(n), "__loader__", None), Finder)]:
                    del sys.modules[name]


class Alias(importlib.abc.Loader):
    """A bare name stands for the file in the package."""

    def create_module(self, spec):
        return importlib.import_module("kwright." + spec.name)

    def exec_module(self, module):
        pass


class Channel:
    def __init__(self, fd):
        # Away from the low numbers, so that nobody who closes or writes to "the next one" meets it.
        high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 200)
        os.close(fd)
        self.socket = socket.socket(fileno=high)
        self.rest = b""
        self.fds = []

    def line(self):
        """The next line with its descriptors; None at the end."""
        parts = [self.rest]
        while b"\n" not in parts[-1]:
            room = socket.CMSG_SPACE(FDS_MAX * 4)
            data, control, _, _ = self.socket.recvmsg(1 << 20, room, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
            for level, kind, value in control:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    got = array.array("i")
                    got.frombytes(value[: len(value) - len(value) % got.itemsize])
                    self.fds.extend(got)
            if not data:
                return None, []
            parts.append(data)
        line, _, self.rest = b"".join(parts).partition(b"\n")
        fds, self.fds = self.fds, []
        return line, fds

    def say(self, value):
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
        self.socket.sendall(text.encode("utf-8", "replace") + b"\n")


def users_line(trace):
    """The innermost line that is neither Python's, nor a package's, nor ours."""
    paths = sysconfig.get_paths()
    foreign = [os.path.realpath(paths[k]) + os.sep for k in ("stdlib", "platstdlib", "purelib", "platlib") if k in paths]
    for frame in reversed(traceback.extract_tb(trace)):
        if frame.filename.startswith("<"):
            continue
        if not os.path.realpath(frame.filename).startswith(tuple(foreign)) and "-packages" + os.sep not in frame.filename:
            return "%s:%d" % (frame.filename, frame.lineno or 0)
    return ""


def told(error):
    """An exception as a sentence and its parts."""
    text = str(error).strip()
    where = users_line(error.__traceback__)
    if isinstance(error, SyntaxError) and error.filename:
        text, where = error.msg, "%s:%d" % (error.filename, error.lineno or 0)
    elif isinstance(error, SystemExit):
        text = "it called exit(%s)" % ("" if error.code is None else error.code)
    elif isinstance(error, KeyError) and error.args:
        text = "no key %r" % (error.args[0],)
    wanted = re.search("can't allocate memory: you tried to allocate ([0-9]+) bytes", text)
    if wanted:
        text = "out of memory: it asked for %.4g GiB at once" % (int(wanted.group(1)) / 2**30)
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    return {"type": type(error).__name__, "text": text[:4000], "where": where, "missing": missing or ""}


def guarded(function, *arguments):
    try:
        reply = {"answer": function(*arguments)}
        json.dumps(reply, allow_nan=False)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit and what a package derives from BaseException too
        reply = {"error": told(error)}
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # the user's code may have closed or replaced it
            pass
    if os.getpid() != OWNER:  # a fork that the user's code has made
        os._exit(0)
    return reply


def main():
    channel = Channel(3)
    if sys.path and sys.path[0] == "":
        del sys.path[0]  # a torch.py in the folder that we were started in is not the package
    line, _ = channel.line()
    if line is None:
        return
    first = json.loads(line)
    sys.meta_path.insert(0, Finder(first["files"]))
    loaded = {}

    def load():
        loaded["module"] = importlib.import_module("kwright." + first["load"])
        return {}

    gc.disable()  # imports make much that stays: looking for garbage in it is a tenth of them
    reply = guarded(load)
    gc.freeze()
    gc.enable()
    channel.say(reply)
    while loaded:
        line, fds = channel.line()
        if line is None:
            return
        reply = guarded(loaded["module"].answer, json.loads(line), fds)
        channel.say(reply)


if __name__ == "__main__":
    main()
