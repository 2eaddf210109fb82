"""An MCP bundle (.mcpb), a zip that Claude Desktop installs by a double click."""

import json
import pathlib
import subprocess
import tempfile

import archives
from targets import NAME, ROOT, version

TEMPLATES = ROOT / "server/packaging/templates"


def make_bundle(target, program):
    """The bytes of the bundle. `program` is the path of the server.

    The program is asked for its tools if it runs on this machine. Otherwise the host asks it.
    """
    content = program.read_bytes()
    manifest = json.loads((TEMPLATES / "manifest.json").read_text())
    entry_point = f"server/{NAME}{target.suffix}"
    manifest["version"] = version()
    manifest["server"]["entry_point"] = entry_point
    manifest["server"]["mcp_config"]["command"] = "${__dirname}/" + entry_point
    manifest["compatibility"]["platforms"] = [target.os]
    tools, prompts = list_of(program, "tools"), list_of(program, "prompts")
    manifest["tools"] = [{"name": tool["name"], "description": summary(tool["description"])} for tool in tools or []]
    # Prompts of a manifest need their text, which the server makes.
    del manifest["prompts"]
    manifest["tools_generated"], manifest["prompts_generated"] = tools is None, bool(prompts) or prompts is None
    return archives.make_zip(
        [
            ("manifest.json", json.dumps(manifest, indent=2, ensure_ascii=False).encode() + b"\n", False),
            (entry_point, content, True),
            ("LICENSE", (ROOT / "LICENSE").read_bytes(), False),
        ]
    )


def list_of(program, kind):
    """The server's tools or prompts, or None if it does not run here."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "pack", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": f"{kind}/list", "params": {}},
    ]
    text = "".join(json.dumps(message) + "\n" for message in messages)
    with tempfile.TemporaryDirectory() as project:
        command = [program, "--project", project, "serve"]
        try:
            done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=True)
        except (OSError, subprocess.SubprocessError):
            return None
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return next((answer["result"][kind] for answer in answers if answer.get("id") == 2), None)


def summary(text):
    return text.strip().splitlines()[0]
