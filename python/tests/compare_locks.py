"""Checks that two Cargo.lock files have the same versions of the packages that both contain."""

import sys

try:
    import tomllib
except ImportError:  # Python 3.10 and earlier
    sys.exit(0)


def versions(path):
    """The versions of each package from a registry."""
    found = {}
    with open(path, "rb") as file:
        for package in tomllib.load(file)["package"]:
            if "source" in package:
                found.setdefault(package["name"], set()).add(package["version"])
    return found


engine, package = (versions(path) for path in sys.argv[1:])
different = [
    f"{name}: {', '.join(sorted(package[name]))} instead of {', '.join(sorted(engine[name]))}"
    for name in sorted(engine.keys() & package.keys())
    if not package[name] <= engine[name]
]
if different:
    print(f"{sys.argv[2]} has other versions than {sys.argv[1]}; update it:", *different, sep="\n  ")
    sys.exit(1)
