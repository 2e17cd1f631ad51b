"""Compiles the Triton kernels that a module asks for while it runs: its player has neither files nor a compiler.

Runs in the compiler's box, one process a candidate, and believes nothing of what it is told: text of functions, and plain values.

    {"sm": 90, "kernels": [{"functions": [one, ...], "signature": [[name, value], ...], "constants": [[path, value], ...],
                            "attributes": [[path, [[name, number], ...]], ...], "options": {name: value}}]}
    one     {"name", "text" (from `def` on), "line", "kind": "jit" or "constexpr", "noinline", "globals": {name: value},
             "defaults": [value, ...]}; the first is the kernel
    value   null, true, 1, "text", or {"f": "0x1.8p+1"}, {"i": "0x..."}, {"tuple": [...]}, {"list": [...]}, {"constexpr": value},
            {"dtype": "fp16"}, {"module": "triton.language"}, {"of": ["triton.language.core", "cdiv"]}, {"function": its place}

Every kernel is compiled by a process of its own, as many at once as there are cores, and its object goes to the descriptor that came
along for it. The answer has one for each: {"metadata": text of JSON} or {"errors": [{class, line, column, message}]}."""

import ast
import contextlib
import importlib
import io
import json
import linecache
import os
import re
import select
import sys
import time
import types

from kwright import triton_compile as compiler
from kwright import triton_source as source

MODULES = re.compile(r"(triton|math)(\.[A-Za-z_]\w*)*")
NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
KINDS = ("jit", "constexpr")
ANSWER_BYTES = 1 << 20
DESCRIPTORS = 1024  # serve.py's channel is the 200th


class Unknown(Exception):
    """What is asked for is not understood: nobody of ours asks so."""


# ---- values ----


def value_of(x, made):
    if x is None or isinstance(x, (bool, int, str)):
        return x
    if not isinstance(x, dict) or len(x) != 1:
        raise Unknown("a value")
    (kind, inner), = x.items()
    if kind in ("tuple", "list"):
        return (tuple if kind == "tuple" else list)(value_of(e, made) for e in inner)
    if kind == "f":
        return float.fromhex(inner)
    if kind == "i":
        return int(inner, 16)
    if kind == "function":
        return made(inner)
    return triton_value(kind, inner, made)


def triton_value(kind, inner, made):
    import triton.language as tl

    if kind == "constexpr":
        return tl.constexpr(value_of(inner, made))
    if kind == "dtype":
        return tl.dtype(inner)
    if kind == "module":
        return module_of(inner)
    if kind == "of":
        owner, path = inner
        thing = module_of(owner)
        if not NAME.fullmatch(path):
            raise Unknown("a name")
        for part in path.split("."):
            thing = getattr(thing, part)
            if isinstance(thing, types.ModuleType):  # on the way to one of Python's own
                thing = module_of(thing.__name__)
        return thing
    raise Unknown("a value of kind '%s'" % str(kind)[:20])


def module_of(name):
    if not MODULES.fullmatch(name):
        raise Unknown("a module")
    return importlib.import_module(name)


# ---- functions ----


class Functions:
    """The kernel and what it calls, made anew from their text."""

    def __init__(self, told):
        self.told, self.made = told, {}

    def get(self, place):
        if place not in self.made:
            self.make(place)
        return self.made[place]

    def make(self, place):
        import triton

        one = self.told[place]
        text, line = one["text"], one["line"]
        if one["kind"] not in KINDS or not 0 < line < 1 << 20:
            raise Unknown("a function")
        names = {"__name__": "candidate", "__file__": source.FILE, "triton": triton}
        tree = plain(ast.parse("\n" * (line - 1) + text, source.FILE))
        # Triton reads the text of a function when it is made, from here.
        lines = ("\n" * (line - 1) + text).splitlines(True)
        linecache.cache[source.FILE] = (len(text) + line - 1, None, lines, source.FILE)
        exec(compile(tree, source.FILE, "exec"), names)
        function = names[tree.body[0].name]
        if one["kind"] == "constexpr":
            self.made[place] = triton.constexpr_function(function)
        else:
            self.made[place] = triton.jit(function, noinline=bool(one.get("noinline")))
        names.update((name, value_of(value, self.get)) for name, value in one["globals"].items())
        names[one["name"]] = self.made[place]  # it may call itself, to be told that it must not
        function.__defaults__ = tuple(value_of(value, self.get) for value in one["defaults"]) or None


def plain(tree):
    """The function without what its head needs of the module around it; Triton reads the head in the text."""
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        raise Unknown("a function's text")
    head = tree.body[0]
    head.decorator_list, head.returns = [], None
    for arg in head.args.posonlyargs + head.args.args + head.args.kwonlyargs:
        arg.annotation = None
    head.args.defaults = [ast.copy_location(ast.Constant(None), d) for d in head.args.defaults]
    head.args.kw_defaults = [d and ast.copy_location(ast.Constant(None), d) for d in head.args.kw_defaults]
    return tree


# ---- one kernel ----


def options_of(one, line):
    options = {name: value_of(value, None) for name, value in one["options"].items()}
    warps, stages = options.get("num_warps", 4), options.get("num_stages", 3)
    return {**options, **compiler.options_of({"line": line}, {"num_warps": warps, "num_stages": stages})}


def build(one, sm, fd):
    import triton
    import triton.compiler

    functions = Functions(one["functions"])
    kernel = {"name": one["functions"][0]["name"], "line": one["functions"][0]["line"]}
    log, function = io.StringIO(), None
    with compiler.Said() as said:
        try:
            with contextlib.redirect_stdout(log):
                function = functions.get(0)
                made = functions.get
                signature = {name: value_of(kind, made) for name, kind in one["signature"]}
                constants = {tuple(path): value_of(value, made) for path, value in one["constants"]}
                attributes = {tuple(path): [list(a) for a in list_] for path, list_ in one["attributes"]}
                asked = triton.compiler.ASTSource(function, signature, constants, attributes)
                target = triton.backends.compiler.GPUTarget("cuda", sm, 32)
                built = triton.compile(asked, target=target, options=options_of(one, kernel["line"]))
        except Unknown:
            raise
        except Exception as e:
            all_made = [f for f in functions.made.values() if hasattr(f, "raw_src")]
            values = {one["signature"][p[0]][0]: v for p, v in (constants.items() if function and "constants" in locals() else ())
                      if len(p) == 1 and isinstance(v, int)}
            raise compiler.explain(e, all_made, kernel, values, said.text() + log.getvalue())
    write_all(fd, built.kernel)
    facts = {k: v for k, v in built.metadata._asdict().items() if not k.startswith("TRITON_")}
    return {"metadata": json.dumps(facts, default=lambda x: getattr(x, "__dict__", None) or str(x))}


def write_all(fd, data):
    while data:
        data = data[os.write(fd, data):]


# ---- all of them ----


def child(one, sm, fd, out):
    """Never returns. A constexpr function runs here: it has neither the objects of other kernels nor the judge's channel."""
    try:
        below, above = sorted((fd, out))
        os.closerange(3, below)
        os.closerange(below + 1, above)
        os.closerange(above + 1, DESCRIPTORS)
        try:
            reply = build(one, sm, fd)
        except source.Refused as e:
            reply = {"errors": [e.as_json()], "assertion": str(e).startswith("static_assert failed")}
        except Exception as e:
            reply = misunderstood("%s: %s" % (type(e).__name__, str(e)[:200]))
        write_all(out, json.dumps(reply).encode("utf-8", "replace")[:ANSWER_BYTES])
    finally:
        os._exit(0)


FIELDS = ("functions", "signature", "constants", "attributes", "options")


def is_understood(one):
    return isinstance(one, dict) and all(f in one for f in FIELDS) and isinstance(one["functions"], list) and bool(one["functions"])


def misunderstood(error):
    return {"errors": [{"class": "type", "line": 0, "column": 0, "message": "what is asked for is not understood: %s" % error}]}


class Job:
    def __init__(self, one, sm, fd):
        self.begin, self.parts = time.monotonic(), []
        self.end, out = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.end)
            child(one, sm, fd, out)
        os.close(out)

    def read(self):
        """True: that was all."""
        part = os.read(self.end, 1 << 16)
        self.parts.append(part)
        return not part

    def answer(self):
        os.close(self.end)
        _, status = os.waitpid(self.pid, 0)
        try:
            return json.loads(b"".join(self.parts))
        except ValueError:
            how = "signal %d" % os.WTERMSIG(status) if os.WIFSIGNALED(status) else "exit code %d" % os.WEXITSTATUS(status)
            return {"errors": [{"class": "resources", "line": 0, "column": 0, "message": "Triton's compiler itself failed (%s)" % how}]}


def compile_all(kernels, sm, fds):
    most = max(1, len(os.sched_getaffinity(0)))
    answers, waiting, running = [None] * len(kernels), list(range(len(kernels))), {}
    while waiting or running:
        while waiting and len(running) < most:
            i = waiting.pop(0)
            if not is_understood(kernels[i]):
                answers[i] = misunderstood("no kernel")
                continue
            job = Job(kernels[i], sm, fds[i])
            running[job.end] = (i, job)
        for end in select.select(list(running), [], [])[0] if running else ():
            i, job = running[end]
            if job.read():
                answers[i] = job.answer()
                del running[end]
    return answers


# Of our own: what Triton, its passes and its assembler do once in a process is done when a candidate's kernel comes, and forks have it.
OURS = {"functions": [{"name": "ours", "line": 1, "kind": "jit", "globals": {"tl": {"module": "triton.language"}}, "defaults": [],
                       "text": "def ours(x, y, n, B: tl.constexpr):\n"
                               "    i = tl.program_id(0) * B + tl.arange(0, B)\n"
                               "    v = tl.load(x + i, mask=i < n, other=0.0)\n"
                               "    tl.store(y + i, tl.exp(v - tl.max(v, axis=0)) / tl.sum(v, axis=0), mask=i < n)\n"}],
        "signature": [["x", "*fp32"], ["y", "*fp32"], ["n", "i32"], ["B", "constexpr"]], "constants": [[[3], 1024]],
        "attributes": [[[0], [["tt.divisibility", 16]]]], "options": {}}
OURS_SM = 90


def compile_ours():
    """What fails here is met, and told, with the first kernel that is asked for."""
    fd = os.memfd_create("ours")
    try:
        build(OURS, OURS_SM, fd)
    except Exception:
        pass
    os.close(fd)


def prepare():
    compiler.quiet_environment()
    unknown = source.check_version(compiler.import_triton().__version__)
    if not unknown:
        compile_ours()
    return unknown


try:
    unusable = prepare()  # while the candidate is still on its way
except ImportError as error:
    unusable = "triton cannot be imported: %s" % error


def answer(request, fds):
    if unusable:
        return {"unusable": unusable}
    try:
        return {"kernels": compile_all(request["kernels"], request["sm"], fds)}
    finally:
        for fd in fds:
            os.close(fd)
