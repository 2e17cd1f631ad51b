"""Takes a Triton file apart as it is found: kernels, the calls that launch them, autotune lists. Gives plan lines and the device code.

Runs in a box; the text is parsed and never run. What the text does not say comes back as a list of what is missing."""

import ast
import re

OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
DEFAULTS = {"num_warps": 4, "num_stages": 3, "num_ctas": 1}
BLOCK_MOST = 65536


class Unknown(Exception):
    """A name or a form that the text does not explain."""


def dotted(node):
    return ast.unparse(node)


def is_jit(node):
    return any(dotted(d.func if isinstance(d, ast.Call) else d) in ("triton.jit", "jit") for d in node.decorator_list)


def literal(node):
    try:
        return ast.literal_eval(node)
    except (ValueError, SyntaxError, TypeError):
        return None


def next_power_of_two(text):
    choices, n = "", 1
    while n < BLOCK_MOST:
        choices += "(%s) <= %d ? %d : " % (text, n, n)
        n *= 2
    return choices + str(BLOCK_MOST)


class Importer:
    def __init__(self, request):
        self.source, self.given = request["source"], request["given"]
        self.tensors, self.entry, self.grid = request["tensors"], request.get("entry"), request.get("grid")
        self.outputs, self.dims = request["outputs"], set(request["dims"])
        self.tree = ast.parse(self.source)
        self.values = {}  # what the host assigned to a name, as a node; a tuple's part as (node, index)
        self.missing, self.defines, self.tunes = [], {}, {}
        self.kernels = {n.name: n for n in self.tree.body if isinstance(n, ast.FunctionDef) and is_jit(n)}

    # ---- the host ----

    def launches(self):
        """(kernel, grid, arguments) of every call NAME[grid](...), in the order of the text."""
        found = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript) and isinstance(node.func.value, ast.Name):
                name = node.func.value.id
                if name in self.kernels and (not self.entry or name == self.entry):
                    found.append((node.lineno, self.kernels[name], node.func.slice, node))
        return [f[1:] for f in sorted(found, key=lambda f: f[0])]

    def host_names(self):
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef) and is_jit(node):
                continue
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                self.assign(node.targets[0], node.value)

    def assign(self, target, value):
        if isinstance(target, ast.Name):
            self.values.setdefault(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for i, part in enumerate(target.elts):
                if isinstance(part, ast.Name):
                    whole = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
                    self.values.setdefault(part.id, value.elts[i] if whole else (value, i))

    # ---- numbers ----

    def tensor(self, node, depth=0):
        """The task's tensor that an expression is; None: none."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("contiguous", "view", "reshape", "detach"):
            return self.tensor(node.func.value, depth)
        if not isinstance(node, ast.Name) or depth > 8:
            return None
        name = self.given.get(node.id, node.id)
        if name in self.tensors:
            return name
        value = self.values.get(node.id)
        if isinstance(value, ast.Call) and re.search(r"(^|\.)(empty|zeros|ones|full)(_like)?$|new_empty$", dotted(value.func)):
            return self.outputs[0] if len(self.outputs) == 1 else None
        return self.tensor(value, depth + 1) if isinstance(value, ast.expr) else None

    def number(self, node, meta=(), depth=0):
        """An expression over the plan's names. meta: the names of a lambda's argument, whose items are constexprs."""
        if depth > 24:
            raise Unknown("it goes round in circles")
        again = lambda n: self.number(n, meta, depth + 1)  # noqa: E731
        if isinstance(node, tuple):  # a part of what was unpacked: M, N = x.shape
            return self.part(node[0], node[1])
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return str(int(node.value))
        if isinstance(node, ast.Name):
            return self.name(node.id, meta, depth)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in meta:
            return str(literal(node.slice))
        if isinstance(node, ast.Subscript) and isinstance(literal(node.slice), int):
            return self.part(node.value, literal(node.slice))
        if isinstance(node, ast.BinOp):
            sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "/", ast.Mod: "%"}.get(type(node.op))
            if sign:
                return "(%s %s %s)" % (again(node.left), sign, again(node.right))
        if isinstance(node, ast.Call):
            return self.call(node, again)
        raise Unknown(dotted(node) if isinstance(node, ast.AST) else str(node))

    def name(self, name, meta, depth):
        if name in self.given:
            return self.given[name]
        if name in self.defines or name in self.tunes:
            return name
        if name in self.values:  # before a dim of the same name, which may be another size
            return self.number(self.values[name], meta, depth + 1)
        if name in self.dims:
            return name
        raise Unknown(name)

    def part(self, node, index):
        if isinstance(node, ast.Attribute) and node.attr == "shape" and self.tensor(node.value):
            name = self.tensor(node.value)
            return "%s.dim%d" % (name, index if index >= 0 else self.tensors[name] + index)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and self.tensor(node.func.value):
            name, word = self.tensor(node.func.value), {"stride": "stride", "size": "dim"}.get(node.func.attr)
            if word:
                return "%s.%s%d" % (name, word, index)
        raise Unknown("%s[%d]" % (dotted(node), index))

    def call(self, node, again):
        function = dotted(node.func)
        if function in ("triton.cdiv", "cdiv", "tl.cdiv") and len(node.args) == 2:
            return "cdiv(%s, %s)" % (again(node.args[0]), again(node.args[1]))
        if function in ("min", "max") and node.args:
            return "%s(%s)" % (function, ", ".join(again(a) for a in node.args))
        if function in ("triton.next_power_of_2", "next_power_of_2"):
            return "(%s)" % next_power_of_two(again(node.args[0]))
        if function == "int" and len(node.args) == 1:
            return again(node.args[0])
        if isinstance(node.func, ast.Attribute) and self.tensor(node.func.value):
            name, what = self.tensor(node.func.value), node.func.attr
            if what == "numel":
                return "(%s)" % " * ".join("%s.dim%d" % (name, i) for i in range(self.tensors[name])) if self.tensors[name] else "1"
            if what in ("stride", "size") and node.args and isinstance(literal(node.args[0]), int):
                at = literal(node.args[0])
                return "%s.%s%d" % (name, "stride" if what == "stride" else "dim", at if at >= 0 else self.tensors[name] + at)
        raise Unknown(dotted(node))

    # ---- lines ----

    def miss(self, what):
        if what not in self.missing:
            self.missing.append(what)
        return "?"

    def try_number(self, node, meta=()):
        try:
            return self.number(node, meta)
        except Unknown as e:
            return self.miss(str(e))

    def read_configs(self, kernel):
        for decorator in kernel.decorator_list:
            if not isinstance(decorator, ast.Call) or not dotted(decorator.func).endswith("autotune"):
                continue
            configs = next((k.value for k in decorator.keywords if k.arg == "configs"), decorator.args[0] if decorator.args else None)
            if not isinstance(configs, ast.List):
                self.miss("the list of its autotune configurations, which is computed: write tune lines yourself")
                continue
            tables = [self.read_config(c) for c in configs.elts if isinstance(c, ast.Call)]
            for key in {k: None for t in tables for k in t}:  # in the order of the text
                values = [t.get(key, DEFAULTS.get(key)) for t in tables]
                self.tunes[key] = list(dict.fromkeys(v for v in values if v is not None))

    @staticmethod
    def read_config(config):
        """One configuration: constants of the kernel, and options of the compiler."""
        table = literal(config.args[0]) if config.args else {}
        table = dict(table) if isinstance(table, dict) else {}
        table.update({k.arg: literal(k.value) for k in config.keywords if k.arg in OPTIONS})
        return {k: int(v) for k, v in table.items() if isinstance(v, int)}

    def grid_text(self, grid):
        if self.grid:
            return "(%s)" % self.grid
        meta = ()
        if isinstance(grid, ast.Name) and isinstance(self.values.get(grid.id), ast.expr):
            grid = self.values[grid.id]
        if isinstance(grid, ast.Lambda):
            meta, grid = tuple(a.arg for a in grid.args.args), grid.body
        if grid is None:
            return self.miss("the grid (--grid)")
        parts = grid.elts if isinstance(grid, (ast.Tuple, ast.List)) else [grid]
        return "(%s)" % ", ".join(self.try_number(p, meta) for p in parts)

    def kernel_line(self, kernel, grid, call):
        names = [a.arg for a in kernel.args.args]
        constexprs = {a.arg for a in kernel.args.args if a.annotation is not None and "constexpr" in dotted(a.annotation)}
        passed = dict(zip(names, call.args)) if call else {}
        for keyword in call.keywords if call else []:
            if keyword.arg in OPTIONS or keyword.arg in constexprs:
                if keyword.arg not in self.tunes:
                    self.defines.setdefault(keyword.arg, self.try_number(keyword.value))
            else:
                passed[keyword.arg] = keyword.value
        args = []
        for name in names:
            if name in constexprs:
                if name in passed and name not in self.tunes:
                    self.defines.setdefault(name, self.try_number(passed[name]))
                elif name not in self.tunes and name not in self.defines and name in self.given:
                    self.defines[name] = self.given[name]
                continue
            args.append(self.argument(name, passed.get(name)))
        return "#@ kernel %s grid=%s args=(%s)" % (kernel.name, self.grid_text(grid), ", ".join(args))

    def argument(self, name, node):
        for candidate in [name] + ([node.id] if isinstance(node, ast.Name) else []):
            value = self.given.get(candidate)
            if value is not None:
                return value if value in self.tensors or ":" in value else value + ":i32"
        if node is None:
            plain = re.sub(r"_?ptr_?$|^ptr_", "", name)
            if plain in self.tensors:
                return plain
            return plain + ":i32" if plain in self.dims else self.miss(name)
        tensor = self.tensor(node)
        if tensor:
            return tensor
        try:
            return self.number(node) + ":i32"
        except Unknown:
            return self.miss(name)

    def body(self):
        lines, kept = self.source.splitlines(), []
        for node in self.tree.body:
            text = "\n".join(lines[node.lineno - 1:node.end_lineno])
            if isinstance(node, ast.FunctionDef) and is_jit(node):
                kept.append("\n\n@triton.jit\n" + text)
            elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("triton", "math"):
                kept.append(text)
            elif isinstance(node, ast.Import):
                node.names = [n for n in node.names if n.name.split(".")[0] in ("triton", "math")]
                kept += [ast.unparse(node)] if node.names else []
            elif isinstance(node, ast.Assign) and literal(node.value) is not None and isinstance(node.targets[0], ast.Name):
                kept.append(text)
        return "\n".join(kept) + "\n"

    def run(self):
        if not self.kernels or (self.entry and self.entry not in self.kernels):
            return {"error": "there is no kernel '%s' in it" % self.entry if self.entry else "there is no @triton.jit function in it"}
        self.host_names()
        calls = self.launches()
        if not calls:
            chosen = [self.kernels[self.entry]] if self.entry else list(self.kernels.values())
            if len(chosen) > 1:
                return {"error": "it has %d functions and no launch; name the kernel by --entry NAME" % len(chosen)}
            calls = [(chosen[0], None, None)]
        for kernel, _, _ in calls:
            self.read_configs(kernel)
        lines = [self.kernel_line(*call) for call in calls]
        lines += ["#@ define %s = %s" % d for d in self.defines.items()]
        lines += ["#@ tune %s in {%s} default %d" % (k, ", ".join(map(str, sorted(v))), v[0]) for k, v in self.tunes.items()]
        if self.missing:
            return {"missing": ", ".join(self.missing)}
        return {"plan": "\n".join(lines) + "\n", "body": self.body()}


def answer(request, fds):
    try:
        return Importer(request).run()
    except SyntaxError as e:
        return {"error": "line %d: %s" % (e.lineno or 0, e.msg)}
    except (RecursionError, ValueError) as e:
        return {"error": "it cannot be read: %s" % e}
