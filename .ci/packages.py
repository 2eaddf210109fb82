"""Installs the npm packages of the protocol checks, including Node.js, in the versions and with the hashes of `node/package-lock.json`.

They are installed once into a cache folder outside the repository: `JIKIME_CI_NODE`, or jikime-ci-node in the temporary folder. It
contains a folder for each version of the lock file.
"""

import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent

INSTALL_SECONDS = 600
CALL_SECONDS = 120


class Packages:
    """Node.js and the installed packages."""

    def __init__(self, modules):
        self.modules = modules
        self.node = modules / "node/bin/node"

    def script(self, package, name):
        """Returns the path of a package's program."""
        folder = self.modules / package
        programs = json.loads((folder / "package.json").read_text())["bin"]
        return folder / (programs if isinstance(programs, str) else programs[name])

    def environment(self, home):
        """Returns a minimal environment with its own home directory."""
        return {
            "PATH": f"{self.node.parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "MCP_INSPECTOR_SECRET_STORE": "memory",
        }


def install():
    """Returns the packages, and installs them if necessary."""
    lock = (HERE / "node/package-lock.json").read_bytes()
    cache = pathlib.Path(os.environ.get("JIKIME_CI_NODE") or pathlib.Path(tempfile.gettempdir()) / "jikime-ci-node")
    place = cache / hashlib.sha256(lock).hexdigest()[:16]
    if not place.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        # Installed into a temporary folder and renamed, so that an interrupted run leaves no partial installation.
        fresh = pathlib.Path(tempfile.mkdtemp(prefix="fresh-", dir=cache))
        try:
            for name in ("package.json", "package-lock.json"):
                shutil.copy(HERE / "node" / name, fresh)
            # Only the package `node` needs its install script, which downloads the program for this platform.
            npm = ["npm", "ci", "--no-audit", "--no-fund", "--no-update-notifier"]
            code, output, errors = run(npm, INSTALL_SECONDS, cwd=fresh, env=dict(os.environ))
            if code != 0:
                sys.exit(f"npm ci failed with {code}:\n{output}{errors}")
            fresh.chmod(0o755)
            fresh.rename(place)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    packages = Packages(place / "node_modules")
    wanted = json.loads((HERE / "node/package.json").read_text())["dependencies"]["node"]
    code, output, errors = run([packages.node, "--version"], CALL_SECONDS, cwd=place, env=dict(os.environ))
    if code != 0 or output.strip() != f"v{wanted}":
        sys.exit(f"{packages.node} --version answered {output.strip()!r} {errors.strip()!r}; remove {place} and run again")
    return packages


def binary():
    """Returns the server from the command line, or that of a debug build."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    found = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else target / "debug/jikime-memory").resolve()
    if not os.access(found, os.X_OK):
        sys.exit(f"{found} is not a program; build it first: cargo build --package jikime-memory")
    return found


def run(command, seconds, cwd, env):
    """Runs a command in its own process group, so that a timeout ends the command and its children."""
    pipe = subprocess.PIPE
    child = subprocess.Popen(
        [str(part) for part in command],
        cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, start_new_session=True,
    )
    try:
        output, errors = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        output, errors = child.communicate()
        sys.exit(f"{' '.join(map(str, command))}\ndid not end within {seconds} s\n{output}{errors}")
    return child.returncode, output, errors


class Server:
    """An HTTP server with its own project. It ends with its `with` block."""

    def __init__(self, binary, scratch, packages, *options):
        self.command = [binary, "serve", "--http", "127.0.0.1:0", "--project", scratch / "project", *options]
        self.scratch, self.packages = scratch, packages

    def __enter__(self):
        for name in ("project", "home"):
            (self.scratch / name).mkdir(exist_ok=True)
        self.child = subprocess.Popen(
            [str(part) for part in self.command],
            cwd=self.scratch / "project", env=self.packages.environment(self.scratch / "home"),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        line = self.child.stderr.readline()
        while line and not line.startswith("serving "):
            line = self.child.stderr.readline()
        if not line:
            sys.exit(f"the server ended with {self.child.wait()} before it listened")
        self.url = line.split()[1]
        return self

    def __exit__(self, *_):
        self.child.terminate()
        try:
            self.child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            sys.exit("the server did not end within 10 s of SIGTERM")
