"""A library changes nothing of the process that it is in; what is the `louver` command's own stands in `louver.cli`."""

import ast
from pathlib import Path

SRC = Path(__file__).parents[1] / "src"

CHANGES = {
    *("sys.set_int_max_str_digits", "sys.setrecursionlimit", "sys.setswitchinterval"),
    *("gc.disable", "gc.enable", "gc.freeze", "gc.set_threshold"),
    *("signal.signal", "add_signal_handler", "set_wakeup_fd"),
    *("logging.basicConfig", "addHandler", "setLevel", "logging.disable", "logging.captureWarnings"),
    *("os.chdir", "os.umask", "os.putenv", "resource.setrlimit", "atexit.register", "faulthandler.enable"),
    *("warnings.simplefilter", "warnings.filterwarnings", "locale.setlocale", "socket.setdefaulttimeout"),
}
"""Functions and methods that change what holds for a whole process."""

OWN_PROCESSES = {
    "louver.cli": "the command's",
    "louver.lua.confine": "a child's that runs scripts",
    "louver.lua.fork_server": "of whose forks run scripts",
}
"""Modules, and packages, that have a process to themselves -> whose it is."""

HELD = {
    "louver.catalogue.files.views._read": "a file of the package, read once",
    "louver.catalogue.files.views.ready_folders": "a file of the package, read once",
    "louver.catalogue.search.meaning_extra._read": "files, read once",
    "louver.catalogue.search.meaning_extra._read_installed": "files, read once",
    "louver.catalogue.search.words._words": "what a pure function has given",
    "louver.concurrency.offload._CANCELLATION": "of the task",
    "louver.core.json._all_but": "what a pure function has given",
    "louver.core.paths.find._text": "what a pure function has given",
    "louver.core.paths.path._read": "what a pure function has given",
    "louver.core.policy.embedded_json._union": "what a pure function has given",
    "louver.core.policy.name_variants._kept": "what a pure function has given",
    "louver.core.projection.request._folded": "what a pure function has given",
    "louver.example._issue": "what a pure function has given",
    "louver.example._order": "what a pure function has given",
    "louver.example._person": "what a pure function has given",
    "louver.example._user": "what a pure function has given",
    "louver.gateway.front.auth.caller_token.CALLER_TOKEN": "of the task",
    "louver.gateway.config.validate._validator": "a schema of the package, read once",
    "louver.gateway.config.validate.schema": "a schema of the package, read once",
    "louver.team.login.flow._IN_FLOW": "of the task",
    "louver.team.login.stores.seal_key._UNANSWERED": "questions to the user, who is one for all",
    "louver.gateway.back.session._numbers": "the numbers of sessions with servers: no two are the same",
    "louver.http1.pool.certificates": "whom the machine trusts, read once",
    "louver.http1.server._header_line": "what a pure function has given",
    "louver.steps.audit.database._digest": "what a pure function has given",
    "louver.steps.request._numbers": "the numbers of connections, for the log",
}
"""What modules hold that changes -> why it may."""

_HOLDERS = {
    "ContextVar",
    "count",
    "cycle",
    "defaultdict",
    "OrderedDict",
    "Counter",
    "deque",
    "local",
    "lru_cache",
    "cache",
}
_HOLDERS |= {"WeakKeyDictionary", "WeakValueDictionary", "WeakSet", "Lock", "RLock", "Event"}
_MUTABLE = ast.Dict | ast.List | ast.Set | ast.DictComp | ast.ListComp | ast.SetComp
_MUTATORS = {
    "append",
    "add",
    "update",
    "setdefault",
    "pop",
    "popitem",
    "clear",
    "extend",
    "insert",
    "remove",
    "discard",
}


def modules():
    """Each module's name, and its syntax."""
    for file in sorted(SRC.rglob("*.py")):
        name = ".".join(file.relative_to(SRC).with_suffix("").parts)
        yield name.removesuffix(".__init__"), ast.parse(file.read_text())


def called(node):
    """What is called, with and without the module that it is in."""
    text = ast.unparse(node.func.value if isinstance(node.func, ast.Subscript) else node.func)
    return {text, text.rpartition(".")[2]}


def names_in(tree):
    """The names that a module's own statements assign, each with its value."""
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value
        elif isinstance(node, ast.Assign):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))


def changed_in(tree):
    """The names of which a module changes what they hold."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            yield ast.unparse(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MUTATORS:
            yield ast.unparse(node.func.value)
        elif isinstance(node, ast.Global):
            yield from node.names
        elif isinstance(node, ast.AugAssign):
            yield ast.unparse(node.target)


def held_by(tree):
    """The names by which a module holds what changes."""
    changed = {*changed_in(tree)}
    for name, value in names_in(tree):
        holds = any(isinstance(each, ast.Call) and called(each) & _HOLDERS for each in ast.walk(value))
        if holds or (isinstance(value, _MUTABLE) and name in changed):
            yield name
    for node in tree.body:
        for decorator in getattr(node, "decorator_list", ()):
            if {*ast.unparse(decorator).partition("(")[0].split(".")} & _HOLDERS:
                yield node.name


def test_nothing_is_changed_of_the_process():
    """Ours: others may run in it."""
    found = {
        f"{name}: {ast.unparse(node.func)}"
        for name, tree in modules()
        if not any(f"{name}.".startswith(f"{own}.") for own in OWN_PROCESSES)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and called(node) & CHANGES
    }
    assert found == set()


def test_what_modules_hold_has_a_reason():
    """Ours: two servers in one process are to know nothing of each other."""
    assert {f"{name}.{held}" for name, tree in modules() for held in held_by(tree)} == HELD.keys()
