"""The entry for the registry of MCP servers: server/server.json with the packages of a release."""

import json

import archives
from targets import NAME, ROOT, registry_name, repository, version


def make_entry(bundles, downloads):
    """The bytes of server.json. `bundles` maps file names to bytes, `downloads` is the address of the release's files."""
    server = json.loads((ROOT / "server/server.json").read_text())
    server["name"], server["version"] = registry_name(), version()
    server["repository"] = {"url": repository(), "source": "github"}
    stdio = {"type": "stdio"}
    # Hosts run `npx jikime-memory serve` and `uvx jikime-memory serve`.
    serve = [{"type": "positional", "value": "serve"}]
    started = [
        {
            "registryType": kind,
            "identifier": NAME,
            "version": version(),
            "runtimeHint": runtime,
            "transport": stdio,
            "packageArguments": serve,
        }
        for kind, runtime in (("npm", "npx"), ("pypi", "uvx"))
    ]
    # The manifest of a bundle has the arguments.
    bundled = [
        {
            "registryType": "mcpb",
            "identifier": f"{downloads}/{name}",
            "fileSha256": archives.sha256(content),
            "transport": stdio,
        }
        for name, content in sorted(bundles.items())
    ]
    server["packages"] = started + bundled
    return json.dumps(server, indent=2).encode() + b"\n"
