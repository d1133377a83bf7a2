"""Who may import whom, and that every key of a config is read by somebody."""

import ast
import re
from collections import defaultdict
from functools import cache

import pytest
import yaml

OURS = {"envs", "models", "losses", "eval", "train", "configs", "benchmarks"}
MAY = {
    "envs": {"envs"},
    "models": {"models"},
    "losses": {"losses", "models.abilities", "models.actions", "models.interfaces", "models.processes"},
    "eval": {"eval", "envs", "models"},
    "train": OURS,
    "configs": {"configs", "envs.problem", "envs.graphs", "envs.grid", "envs.protocols", "models.native_precision"},
}

# Rooms of a package from the top down: a file imports files of its own room and of rooms named after it. "commands": files at
# the top level of the package that are started; a file named here is a room of its own; "": all other files of the top level.
ROOMS = {
    "envs.trifinger": ("", "source", "experts", "env", "interventions", "tasks", "scene", "robot"),
    "eval": ("commands", "humans", "pages", "effort", "paper", "figures", "manipulation", "planning", "probes", "", "runs"),
}


def imports(path):
    """Modules a file imports, and whether each import stands under `if __name__ == "__main__"`."""
    tree = ast.parse(path.read_text())
    main = [n for n in tree.body if isinstance(n, ast.If) and "__name__" in ast.dump(n.test)]
    within = {id(node) for block in main for node in ast.walk(block)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [node.module]
        else:
            continue
        for name in names:
            if name.split(".")[0] in OURS:
                yield name, id(node) in within


@pytest.mark.parametrize("package", MAY)
def test_layers(root, package):
    """Packages import downwards only; a command may import configs.command where it starts."""
    for path in sorted((root / package).rglob("*.py")):
        for name, is_start in imports(path):
            allowed = any(name == may or name.startswith(may + ".") for may in MAY[package])
            assert allowed or (is_start and name == "configs.command"), f"{path.relative_to(root)} imports {name}"


def room_of(module, package, root):
    """The room of a package in which a module stands, by the names of ROOMS; None outside of the package."""
    if module != package and not module.startswith(f"{package}."):
        return None
    first, folder = module.removeprefix(package).lstrip(".").split(".")[0], root / package.replace(".", "/")
    if first in ROOMS[package]:
        return first
    file = folder / f"{first}.py"
    return "commands" if file.exists() and 'if __name__ == "__main__"' in file.read_text() else ""


@pytest.mark.parametrize("package", ROOMS)
def test_rooms(root, package):
    """Inside a package as well: rooms import downwards only, and every room has its place in the order."""
    order, folder = ROOMS[package], root / package.replace(".", "/")
    doors = {p.stem for p in folder.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert {p.name for p in folder.iterdir() if (p / "__init__.py").exists()} < set(order)
    assert set(order) - {"", "commands"} < doors
    for path in sorted(folder.rglob("*.py")):
        own = room_of(".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"), package, root)
        for name, _ in imports(path):
            room = room_of(name, package, root)
            place = path.relative_to(root)
            assert room is None or order.index(own) <= order.index(room), f"{place} imports {name}"


def test_the_checker_of_rooms_sees_an_upward_import(root):
    """It can fail: a probe that draws a page, a shared file that measures, anything that imports a command."""
    order = ROOMS["eval"]
    place = {module: order.index(room_of(module, "eval", root)) for module in (
        "eval.score", "eval.pages.html", "eval.planning.ceilings", "eval.probes.cuts", "eval.ranking", "eval.runs.results",
    )}  # fmt: skip
    assert sorted(place, key=place.get) == list(place) and len(set(place.values())) == len(place)
    assert room_of("envs.grid", "eval", root) is None


def test_what_worlds_in_space_share_knows_none_of_them(root):
    """Cameras, meshes, renderers and Bullet are lent to every world; the meshes of an arena are handed in."""
    for path in sorted((root / "envs/bodies").rglob("*.py")):
        assert not [name for name, _ in imports(path) if name.startswith(("envs.trifinger", "envs.voe"))], path


def test_nobody_imports_train(root):
    """train is the top: no package knows it. (Benchmarks are commands that import everything; no file imports them.)"""
    for package in MAY.keys() - {"train"}:
        for path in (root / package).rglob("*.py"):
            assert not [n for n, _ in imports(path) if n.split(".")[0] == "train"], path


def test_nobody_imports_benchmarks(root):
    """Benchmarks measure the packages; the packages do not know them."""
    for package in MAY:
        for path in (root / package).rglob("*.py"):
            assert not [n for n, _ in imports(path) if n.split(".")[0] == "benchmarks"], path


def test_the_checker_sees_a_forbidden_import(tmp_path):
    """The layer test can fail: an import inside a function counts too."""
    (tmp_path / "bad.py").write_text("def f():\n    from train.fit import run\n")
    assert list(imports(tmp_path / "bad.py")) == [("train.fit", False)]


def leaves(node, path=()):
    """Key path of every leaf that is not an argument of a `_target_`: instantiation refuses those it does not know."""
    if isinstance(node, dict):
        if "_target_" in node:
            return
        for key, value in node.items():
            yield from leaves(value, (*path, key))
    elif isinstance(node, list) and node and isinstance(node[0], dict):
        for item in node:
            yield from leaves(item, (*path, "*"))
    else:
        yield path


@cache
def lines_by_word(text):
    """Word -> the lines of a text that it stands in, once each, as keys."""
    found = defaultdict(dict)
    for line in text.splitlines():
        for word in re.findall(r"\w+", line):
            found[word][line] = None
    return found


def unread(text, group, everything):
    """Key paths of a yaml text that nothing reads: not cfg.<group>.<key>, not ${<group>.<key>}, not stage.<key>."""
    found, lines = [], lines_by_word(everything)
    for path in leaves(yaml.safe_load(text) or {}):
        full, last = re.escape(".".join((group, *path) if group else path)), re.escape(path[-1])
        ways = [rf"(cfg|config)\.{full}\b", rf"\$\{{(oc\.select:)?{full}[,}}]", rf"for key in \([^)]*\"{last}\""]
        whole = (re.escape(".".join((group, *path[:end]))) for end in range(1, len(path)))
        ways += [rf"\$\{{{part}\}}" for part in whole if group]  # a mapping that is handed on whole
        ways.append(rf"(cfg|config)\.{group}\.get\(\"{last}\"\)")
        if not group:  # a command that looks its keys up by name
            ways.append(r"\b(cfg|asked)" + "".join(rf"\[\"{re.escape(part)}\"\]" for part in path))
        if len(path) > 1 or group == "env":  # a part that is handed on under a name of its own
            ways += [rf"\b(stage|plan|split|env|own)(\.|\.get\(\"|\[\"){last}\b"]
        if path[0].endswith("epochs"):
            ways = [rf"\$\{{loss\.{path[0]}\.\$\{{trainer\.budget\}}\}}"]
        handed_on = path[0] in ("defaults", "hydra", "world")  # a preset's world: arguments of the _target_ it inherits
        arguments = handed_on or path[:2] == ("algo", "learner")  # likewise, of the learner that algo= names
        near = "\n".join({**lines.get(path[0], {}), **lines.get(path[-1], {})})  # a hundredth of the time
        if not arguments and not any(re.search(way, near) for way in ways):
            found.append(path)
    return found


@pytest.fixture(scope="module")
def everything(root):
    """All sources and all configs as one text."""
    files = [p for package in sorted(OURS) for p in sorted((root / package).rglob("*.[py]*"))]
    return "\n".join(p.read_text() for p in files if p.suffix in (".py", ".yaml"))


def test_every_key_is_read(root, everything):
    """Each yaml key is read by its full name in the code, or handed on by an interpolation."""
    for path in sorted((root / "configs").rglob("*.yaml")):
        group = "" if path.parent.name == "configs" else path.parent.name
        if group != "experiment":  # those set keys of the other groups
            assert not unread(path.read_text(), group, everything), path


def test_the_checker_sees_a_dead_key(everything):
    """The test above can fail: keys that merely look like words of the code count as dead."""
    assert len(unread("epoch: 3\nlatent: 7\nmax_epoch: 9\nrun: 1\n", "trainer", everything)) == 4


def test_every_budget_exists(root):
    """Every trainer's budget is a column of every loss's epochs."""
    budgets = {yaml.safe_load(p.read_text())["budget"] for p in (root / "configs/trainer").glob("*.yaml")}
    for path in (root / "configs/loss").glob("*.yaml"):
        loss = yaml.safe_load(path.read_text())
        assert all(budgets == set(loss[key]) for key in loss if key.endswith("epochs")), path.name


@pytest.mark.parametrize("package", sorted(OURS))
def test_no_file_shadows_a_library(root, package):
    """`python train/fit.py` puts train/ first on sys.path: no file in train/ has the name of a library."""
    import sys

    taken = set(sys.stdlib_module_names) | {"torch", "numpy", "hydra", "gymnasium", "h5py", "wandb", "rich"}
    assert not taken & {p.stem for p in (root / package).glob("*.py")}
