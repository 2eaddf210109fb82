"""The plugin for Claude Code with the programs inside, and a marketplace that pins it by its SHA-256.

The plugin of the repository starts the programs on PATH. This one starts its own, so nothing else needs to be installed. A plugin has no
switch for platforms, so each platform has its own archive and its own marketplace.
"""

import json

import archives
from targets import NAME, PROGRAMS, ROOT, repository, version

PLUGIN = ROOT / "server/plugin"
BIN = "${CLAUDE_PLUGIN_ROOT}/bin/"


def make_plugin(target, programs):
    """The file name and the bytes of the plugin's archive."""
    files = []
    for path in sorted(path for path in PLUGIN.rglob("*") if path.is_file()):
        content = path.read_bytes()
        if path.suffix == ".json":
            content = json.dumps(with_own_programs(json.loads(content), target.suffix), indent=2).encode() + b"\n"
        files.append((path.relative_to(PLUGIN).as_posix(), content, False))
    files += [(f"bin/{name}{target.suffix}", programs[name], True) for name in PROGRAMS]
    return f"{NAME}-v{version()}-plugin-{target.node}.zip", archives.make_zip(files)


def with_own_programs(value, suffix):
    """Replaces the names of our programs by their paths in the plugin, in every `command`."""
    if isinstance(value, list):
        return [with_own_programs(item, suffix) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: f"{BIN}{item}{suffix}" if key == "command" and item in PROGRAMS else with_own_programs(item, suffix)
        for key, item in value.items()
    }


def make_marketplace(target, archive_name, archive):
    """The file name and the bytes of the marketplace of one platform."""
    marketplace = json.loads((ROOT / ".claude-plugin/marketplace.json").read_text())
    (plugin,) = marketplace["plugins"]
    plugin["version"] = version()
    plugin["source"] = {
        "source": "archive",
        "url": f"{repository()}/releases/download/v{version()}/{archive_name}",
        "sha256": archives.sha256(archive),
    }
    return f"marketplace-{target.node}.json", json.dumps(marketplace, indent=2).encode() + b"\n"
