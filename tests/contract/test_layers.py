"""Who may import whom, and that every key of a config is read by somebody."""

import ast
import re

import pytest
import yaml

OURS = {"envs", "models", "losses", "eval", "train", "configs", "benchmarks"}
MAY = {
    "envs": {"envs"},
    "models": {"models"},
    "losses": {"losses", "models.interfaces"},
    "eval": {"eval", "envs", "models"},
    "train": OURS,
    "configs": {"configs", "envs.problem"},
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


def test_nobody_imports_train(root):
    """train is the top: no package knows it. (Benchmarks are commands on top of everything, nobody imports them.)"""
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
    """(key path, inside a _target_ node?) of every key; keys of split names and the like included."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield (*path, key)
            yield from leaves(value, (*path, key))
    elif isinstance(node, list):
        for item in node:
            yield from leaves(item, path)


def test_every_key_is_read(root):
    """Each yaml key appears in the sources, as attribute, string or parameter, or in an interpolation."""
    sources = "\n".join(p.read_text() for pkg in sorted(OURS) for p in sorted((root / pkg).rglob("*.py")))
    yamls = {p: p.read_text() for p in sorted((root / "configs").rglob("*.yaml"))}
    inserted = " ".join(re.findall(r"\$\{([^}]*\}?[^}]*)\}", "\n".join(yamls.values())))
    words = set(re.findall(r"\.(\w+)", sources)) | set(re.findall(r"[\"']([\w-]+)[\"']", sources))
    words |= set(re.findall(r"\b(\w+)\s*:\s*[\w.]", sources)) | set(re.findall(r"\w+", inserted))
    unread = []
    for path, text in yamls.items():
        for keys in leaves(yaml.safe_load(text) or {}):
            names_a_split = keys[:1] == ("splits",) and len(keys) == 2  # read by split=...
            names_a_budget = len(keys) == 2 and keys[0] == "epochs"  # read by ${trainer.budget}
            if keys[0] in ("defaults", "hydra") or keys[-1] == "_target_" or names_a_split or names_a_budget:
                continue
            if keys[-1] not in words:
                unread.append(f"{path.relative_to(root)}: {'.'.join(keys)}")
    assert not unread


def test_every_budget_exists(root):
    """Every trainer's budget is a column of every loss's epochs."""
    budgets = {yaml.safe_load(p.read_text())["budget"] for p in (root / "configs/trainer").glob("*.yaml")}
    for path in (root / "configs/loss").glob("*.yaml"):
        assert budgets == set(yaml.safe_load(path.read_text())["epochs"]), path.name


@pytest.mark.parametrize("package", sorted(OURS))
def test_no_file_shadows_a_library(root, package):
    """`python train/fit.py` puts train/ first on sys.path: no file there may bear a library's name."""
    import sys

    taken = set(sys.stdlib_module_names) | {"torch", "numpy", "hydra", "gymnasium", "h5py", "wandb", "rich"}
    assert not taken & {p.stem for p in (root / package).glob("*.py")}
