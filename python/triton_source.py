"""A Triton candidate's text: what may stand in it, and its functions. Used by the compiler's and by the interpreter's process.

A candidate is device code with launch lines; its only host code is imports and constants. These checks make the clear
messages; what keeps the machine safe is the box that the process is in."""

import ast
import inspect
import linecache
import re

# Minor versions that were looked at, and what they pass behind a kernel's arguments: pointers to scratch memory that grows with the
# grid. Another one may launch a kernel wrongly without a word, so it is refused.
HIDDEN = {"3.4": ("global",), "3.5": ("global", "profile"), "3.6": ("global", "profile")}
FILE = "candidate.py"
DECORATORS = ("triton.jit", "jit")
IMPORTS = ("triton", "math")
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


class Refused(Exception):
    """The candidate is at fault. cls: a sub-class of build_error."""

    def __init__(self, cls, line, column, message):
        super().__init__(message)
        self.cls, self.line, self.column = cls, line, column

    def as_json(self):
        return {"class": self.cls, "line": self.line, "column": self.column, "message": str(self)}


def refuse(cls, node, message):
    raise Refused(cls, getattr(node, "lineno", 0), getattr(node, "col_offset", -1) + 1, message)


def check_import(node):
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
    for name in names:
        if name.split(".")[0] not in IMPORTS or getattr(node, "level", 0):
            refuse("include", node, "import of '%s': a candidate imports triton, triton.language and math; tensors, grids and "
                   "launches are the judge's" % name[:80])


def is_jit(decorator):
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator) in DECORATORS


def check_defaults(node):
    values = node.args.defaults + [d for d in node.args.kw_defaults if d is not None]
    keywords = [k for d in node.decorator_list if isinstance(d, ast.Call) for k in d.keywords]
    notes = [a.annotation for a in node.args.args if a.annotation is not None]
    for value in values + [k.value for k in keywords] + notes:
        if not is_constant(value):
            refuse("syntax", value, "'%s' of '%s' is no constant" % (ast.unparse(value)[:80], node.name))


def check_function(node):
    check_defaults(node)
    for decorator in node.decorator_list:
        text = ast.unparse(decorator)
        if text.startswith(("triton.autotune", "autotune", "triton.heuristics", "heuristics")):
            refuse("plan", decorator, "'@%s': parameters are searched by `#@ tune` lines (num_warps and num_stages among them), and what "
                   "follows from sizes is a `#@ define` line" % text.split("(")[0])
        if not is_jit(decorator):
            refuse("syntax", decorator, "'@%s': functions of a candidate have @triton.jit and no other decorator" % text[:80])
    if not node.decorator_list:
        refuse("syntax", node, "'def %s' has no @triton.jit: a candidate has no host code; its kernels are launched by plan lines, like "
               "`#@ kernel NAME grid=(...) args=(...)`" % node.name)


def is_constant(node):
    """Literals, names and what is computed of them; calls of math, tl.constexpr and triton.cdiv alone."""
    allowed = (ast.Constant, ast.Name, ast.Attribute, ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Tuple, ast.List,
               ast.Dict, ast.Call, ast.Load, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
    for part in ast.walk(node):
        if not isinstance(part, allowed):
            return False
        if isinstance(part, ast.Call):
            if not re.fullmatch(r"(math\.\w+|(tl|triton|triton\.language)\.(constexpr|cdiv|next_power_of_2)|constexpr|cdiv|float|int|bool)",
                                ast.unparse(part.func)):
                return False
    return True


def check_statement(node, lines):
    text = lines[node.lineno - 1].strip()[:80]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        check_import(node)
    elif isinstance(node, ast.FunctionDef):
        check_function(node)
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        if node.value is not None and not is_constant(node.value):
            refuse("syntax", node, "'%s': outside of functions only constants may be assigned" % text)
    elif not (isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))):
        refuse("syntax", node, "'%s': a candidate has no host code; its kernels are launched by plan lines, like `#@ kernel NAME "
               "grid=(...) args=(...)`" % text)


def load(source):
    """The globals of the candidate after its top level ran."""
    try:
        tree = ast.parse(source, FILE)
    except SyntaxError as e:
        raise Refused("syntax", e.lineno or 0, e.offset or 0, e.msg or "invalid syntax")
    except (ValueError, RecursionError, MemoryError) as e:
        raise Refused("syntax", 0, 0, "the source cannot be parsed: %s" % e)
    for node in tree.body:
        check_statement(node, source.splitlines())
    # Triton asks Python for the text of a function, which looks for it here before it looks for a file.
    linecache.cache[FILE] = (len(source), None, source.splitlines(True), FILE)
    names = {"__name__": "candidate", "__file__": FILE}
    try:
        exec(compile(tree, FILE, "exec"), names)
    except SyntaxError as e:
        raise Refused("syntax", e.lineno or 0, e.offset or 0, e.msg or "invalid syntax")
    except ImportError as e:
        raise Refused("include", line_of(e), 1, str(e))
    except Exception as e:  # whatever it does is its own
        raise Refused("undefined" if isinstance(e, (NameError, AttributeError)) else "type", line_of(e), 1,
                      "%s: %s" % (type(e).__name__, e))
    return names


def line_of(error):
    """The candidate's innermost line of an exception; 0: none."""
    line, at = 0, error.__traceback__
    while at:
        if at.tb_frame.f_code.co_filename == FILE:
            line = at.tb_lineno
        at = at.tb_next
    return line


def find(names, kernel):
    """The kernel's function, of Triton's kinds for the compiler or the interpreter."""
    function = names.get(kernel["name"])
    if function is None or not hasattr(function, "fn"):
        there = [k for k, v in names.items() if hasattr(v, "fn") and getattr(v, "__module__", None) == "candidate"]
        raise Refused("entry", kernel["line"], 1, "there is no kernel '%s' in the source; there is %s. Name one of them in the plan, or "
                      "write `@triton.jit` above `def %s(...)`" % (kernel["name"], ", ".join(there[:8]) or "none", kernel["name"]))
    return function


def is_constexpr(parameter):
    note = parameter.annotation
    return "constexpr" in (note if isinstance(note, str) else getattr(note, "__name__", str(note)))


def bind(function, kernel, defines):
    """Parameters by name: ([those that the plan's args are passed to], {constexpr: value}). Refuses where they do not fit."""
    passed, constants = [], {}
    for name, parameter in inspect.signature(function.fn).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise Refused("type", kernel["line"], 1, "parameter '%s' of '%s': kernels have plain parameters only" % (name, kernel["name"]))
        if not is_constexpr(parameter):
            passed.append(name)
        elif name in defines:
            constants[name] = defines[name]
        elif parameter.default is not inspect.Parameter.empty:
            constants[name] = getattr(parameter.default, "value", parameter.default)
        else:
            raise Refused("plan", kernel["line"], 1, "constexpr '%s' of '%s' has no value: give it a `#@ define %s = ...` or `#@ tune %s in "
                          "{...} default ...` line" % (name, kernel["name"], name, name))
    check_count(function, kernel, passed)
    for wrong in ("NUM_WARPS", "NUM_STAGES"):
        if wrong in defines and wrong not in constants:
            raise Refused("plan", kernel["line"], 1, "'%s' is no constexpr of '%s'; the number that Triton compiles for is called '%s' in "
                          "define and tune lines" % (wrong, kernel["name"], wrong.lower()))
    return passed, constants


def check_count(function, kernel, passed):
    args = [a["text"] for a in kernel["args"]]
    named = [a for a in args if a.split(":")[0] in inspect.signature(function.fn).parameters and a.split(":")[0] not in passed]
    if len(args) == len(passed):
        return
    hint = ""
    if named:
        hint = "; '%s' is a constexpr, which gets its value from the define or tune line of its name and is not passed" % named[0].split(":")[0]
    elif len(args) > len(passed):
        hint = "; a parameter that gets its value from a define or tune line is declared `NAME: tl.constexpr`"
    raise Refused("type", kernel["line"], 1, "'%s' has %d parameter%s besides its constexprs (%s) and the plan passes %d (%s)%s" %
                  (kernel["name"], len(passed), "" if len(passed) == 1 else "s", ", ".join(passed) or "none", len(args),
                   ", ".join(args) or "none", hint))


def minor(version):
    return ".".join(version.split(".")[:2])


def check_version(version):
    if minor(version) not in HIDDEN:
        return "Triton %s is not known to this program, which knows %s: install one of these (pip install 'triton==%s.*')" % (
            version, ", ".join(HIDDEN), list(HIDDEN)[-1])
    return None
