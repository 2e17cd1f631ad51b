"""Compiles the kernels of a Triton candidate ahead of time, for a GPU that need not be here.

Runs in the compiler's box, for one candidate, and leaves the objects in the folder that it was started in. Nothing of the
answer is trusted: the objects are read by the same code as those of other compilers."""

import contextlib
import io
import os
import re
import sys
import tempfile

from kwright import triton_source as source


def next_power_of_two(n):
    return 1 << max(0, n - 1).bit_length()


CLASSES = (
    ("undefined", r"is not defined|has no attribute|cannot import|unknown name|not found in"),
    ("resources", r"exceeds triton maximum tensor numel|out of resource|too much shared|uses too much|Out of shared memory|allocation failed"),
    ("architecture", r"requires (NVIDIA )?(SM|sm_|\.target)|not supported on (this|the) (arch|target)|not supported in this architecture|"
     r"Feature '.*' requires|Current target is"),
    ("syntax", r"[Uu]nsupported (language construct|AST|syntax|statement)|is not supported in triton|nested functions? are not supported"),
)


def class_of(error, message):
    for name, words in CLASSES:
        if re.search(words, message):
            return name
    if type(error).__name__ == "UnsupportedLanguageConstruct":
        return "syntax"
    if isinstance(error, (NameError, AttributeError)):
        return "undefined"
    return "type"


def advice(message, text):
    """What Triton does not say."""
    if "power of 2" in message or "power of two" in message:
        numbers = [int(n) for n in re.findall(r"(?<![\w.])\d+(?![\w.])", text)] if "arange" in message or "arange" in text else []
        wide = [n for n in numbers if n > 1 and n & (n - 1)]
        if wide:
            return ". Use %d, the next power of two, and a mask below %d" % (next_power_of_two(max(wide)), max(wide))
        return ". Use the next power of two and a mask for what is beyond the size"
    if "maximum tensor numel" in message:
        return ". A block of a program holds at most that many elements: make the tile smaller, or loop over it"
    if "Unsupported ptr type" in message:
        return ". Pointers come first in `tl.load` and `tl.store`; a number is passed as NAME:i32 or NAME:f32"
    return ""


def chain(error):
    """The exception and what it came from, which ends in the one that was raised first."""
    seen = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    return seen


def has_place(error):
    return hasattr(getattr(error, "node", None), "lineno")


def place_of(errors, functions):
    """Line and column of the innermost node in the text of the candidate's own functions (others are Triton's), and the text
    of that line."""
    for error in reversed([e for e in errors if has_place(e)]):
        node, text = error.node, error.src or ""
        lines = text.split("\n")
        for function in functions:
            if getattr(function, "src", None) == text and 0 < node.lineno <= len(lines):
                return (function.starting_line_number + function_offset(function) + node.lineno - 1, node.col_offset + 1,
                        lines[node.lineno - 1])
    return 0, 0, ""


def function_offset(function):
    """Lines of decorators above `def`."""
    for i, line in enumerate(function.raw_src):
        if re.match(r"\s*def\s", line):
            return i
    return 0


def own_words(error):
    """The message without the excerpt of the source, and without the name of the exception around it."""
    text = getattr(error, "error_message", None)
    text = str(error) if text is None and not hasattr(error, "node") else text or ""
    wrapped = re.fullmatch(r"""\w+\((['"])(.*)\1,?\)""", text.strip(), re.DOTALL)
    return wrapped.group(2) if wrapped else text.strip()


def explain(error, functions, kernel, defines, said):
    """Any failure of a compilation as the candidate's fault, at its line."""
    if isinstance(error, source.Refused):
        return error
    errors = chain(error)
    line, column, text = place_of(errors, functions)
    message = next((own_words(e) for e in reversed(errors) if own_words(e)), type(errors[-1]).__name__)
    if type(error).__name__ == "CompileTimeAssertionFailure":
        message = "static_assert failed" + (": " + own_words(error) if own_words(error) else "")
    elif not any(has_place(e) for e in errors):
        message = first_error(said) or message
    if not line:
        line, column = mlir_place(said) or (source.line_of(error) or kernel["line"], 1)
    for name, value in defines.items():
        text = re.sub(r"\b%s\b" % re.escape(name), str(value), text)
    message = " ".join(message.split())[:340]
    return source.Refused(class_of(errors[-1], message), line, column, message + advice(message, text))


def first_error(said):
    """What the compiler's passes wrote: the first error, without its place."""
    match = re.search(r"error: (.*)", said)
    return match.group(1).strip() if match else ""


def mlir_place(said):
    match = re.search(re.escape(source.FILE) + r"[\"']?:(\d+):(\d+)", said)
    return (int(match.group(1)), int(match.group(2))) if match else None


class Said:
    """Standard error of the compiler's own code, which is not Python, in a file."""

    def __enter__(self):
        self.file, self.kept = tempfile.TemporaryFile(), os.dup(2)
        os.dup2(self.file.fileno(), 2)
        return self

    def __exit__(self, *unused):
        os.dup2(self.kept, 2)
        os.close(self.kept)

    def text(self):
        self.file.seek(0)
        return self.file.read(1 << 20).decode("utf-8", "replace")


def attributes(kernel, passed, function):
    """Which arguments are multiples of 16, addresses too: as Triton's own launcher would have found out."""
    return {(function.arg_names.index(name),): [["tt.divisibility", 16]]
            for name, arg in zip(passed, kernel["args"]) if arg["divisible"]}


def options_of(kernel, defines):
    options = {name: defines[name] for name in source.OPTIONS if name in defines}
    warps = options.get("num_warps", 4)
    if warps < 1 or warps & (warps - 1) or warps > 32:
        raise source.Refused("plan", kernel["line"], 1, "num_warps is %d; it is a power of two from 1 to 32" % warps)
    if not 1 <= options.get("num_stages", 3) <= 64:
        raise source.Refused("plan", kernel["line"], 1, "num_stages is %d; it is from 1 to 64" % options["num_stages"])
    return options


def compile_one(names, index, question, triton):
    kernel, defines = question["kernels"][index], question["defines"]
    function = source.find(names, kernel)
    passed, constants = source.bind(function, kernel, defines)
    signature = {name: "constexpr" for name in function.arg_names}
    signature.update({name: arg["type"] for name, arg in zip(passed, kernel["args"])})
    options = options_of(kernel, defines)
    ast_source = triton.compiler.ASTSource(function, signature, constants, attributes(kernel, passed, function))
    target = triton.backends.compiler.GPUTarget("cuda", question["sm"], 32)
    log = io.StringIO()
    functions = [f for f in names.values() if hasattr(f, "raw_src")]
    with Said() as said:
        try:
            with contextlib.redirect_stdout(log):
                built = triton.compile(ast_source, target=target, options=options)
        except Exception as e:
            raise explain(e, functions, kernel, {**constants, **defines}, said.text() + log.getvalue())
    facts = built.metadata
    hidden = [{"bytes": getattr(facts, kind + "_scratch_size", 0) or 0, "align": getattr(facts, kind + "_scratch_align", 1) or 1}
              for kind in source.HIDDEN[source.minor(triton.__version__)]]
    with open("kernel%d.cubin" % index, "wb") as file:
        file.write(built.kernel)
    return {"shared": facts.shared, "num_warps": facts.num_warps, "num_ctas": facts.num_ctas, "hidden": hidden,
            "log": log.getvalue()[-60000:]}


def quiet_environment():
    """Nothing of the user's settings decides what is built, but which assembler it is."""
    for name in [n for n in os.environ if n.startswith("TRITON_") and not n.startswith("TRITON_PTXAS")]:
        del os.environ[name]
    os.environ.update({"TRITON_CACHE_DIR": os.path.join(os.getcwd(), "cache"), "TRITON_ALWAYS_COMPILE": "1",
                       "TRITON_DUMP_PTXAS_LOG": "1"})


def import_triton():
    """With what it would import for the first kernel. Raises ImportError."""
    import triton
    import triton.compiler
    import triton.compiler.code_generator
    import triton.backends.compiler

    forget_cache(triton)
    return triton


def forget_cache(triton):
    """Entries of Triton's cache are named by a hash of all of its files, which takes several times as long as a kernel, and written so that
    others see them whole, by folders that are made and removed. Here nothing is looked for, and each process writes files of its own."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "triton" and hasattr(module, "triton_key"):
            module.triton_key = lambda: triton.__version__
    triton.runtime.cache.FileCacheManager.put = put


def put(self, data, filename, binary=True):
    path = os.path.join(self.cache_dir, "%d.%s" % (os.getpid(), filename))
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else str(data).encode("utf-8"))
    return path


def answer(request, fds):
    quiet_environment()
    try:
        triton = import_triton()
    except ImportError as e:
        return {"unusable": "triton cannot be imported: %s" % e}
    unknown = source.check_version(triton.__version__)
    if unknown:
        return {"unusable": unknown}
    try:
        names = source.load(request["source"])
        return {"kernels": [compile_one(names, i, request, triton) for i in range(len(request["kernels"]))]}
    except source.Refused as e:
        return {"errors": [e.as_json()]}
