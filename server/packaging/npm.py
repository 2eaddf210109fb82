"""npm packages: one package for each platform with both programs, and a main package that starts the right one.

No package has an install script, so `--ignore-scripts`, proxies and offline caches work. npm installs only the platform package whose
`os`, `cpu` and `libc` fit.
"""

import json

import archives
from targets import NAME, PROGRAMS, ROOT, TARGETS, package_field, registry_name, repository, version

TEMPLATES = ROOT / "server/packaging/templates"


def make_platform_package(target, programs):
    """The file name and the bytes of a platform's package."""
    manifest = {
        **common(f"{NAME}-{target.node}", f"The programs of {NAME} for {target.node}"),
        "os": [target.os],
        "cpu": [target.cpu],
        **({"libc": [target.libc]} if target.libc else {}),
        "files": ["bin"],
    }
    files = [(f"package/bin/{name}{target.suffix}", programs[name], True) for name in PROGRAMS]
    return pack(manifest, files)


def make_main_package():
    """The file name and the bytes of the package that people install."""
    manifest = {
        **common(NAME, package_field("description")),
        "mcpName": registry_name(),
        "keywords": ["mcp", "memory", "agent", "claude", "search"],
        "bin": {name: f"bin/{name}.js" for name in PROGRAMS},
        "files": ["bin"],
        "engines": {"node": ">=18"},
        "optionalDependencies": {f"{NAME}-{target.node}": version() for target in TARGETS.values()},
    }
    starter = (TEMPLATES / "start.js").read_bytes()
    files = [(f"package/bin/{name}.js", starter.replace(b"@PROGRAM@", name.encode()), True) for name in PROGRAMS]
    files.append(("package/README.md", (ROOT / "README.md").read_bytes(), False))
    return pack(manifest, files)


def common(name, description):
    return {
        "name": name,
        "version": version(),
        "description": description,
        "license": package_field("license"),
        "repository": {"type": "git", "url": f"git+{repository()}.git"},
    }


def pack(manifest, files):
    content = json.dumps(manifest, indent=2).encode() + b"\n"
    fixed = [("package/package.json", content, False), ("package/LICENSE", (ROOT / "LICENSE").read_bytes(), False)]
    return f"{manifest['name']}-{manifest['version']}.tgz", archives.make_tar_gz(fixed + files)
