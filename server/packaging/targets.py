"""The platforms of a release: what each package format calls them, and the names of the packages."""

import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NAME = "jikime-memory"
PROGRAMS = (NAME, "jikime-hook")


@dataclasses.dataclass(frozen=True)
class Target:
    """One platform. `wheel` is the tag of a macOS or Windows wheel; that of a Linux wheel depends on what the program needs."""

    triple: str
    os: str  # As Node.js calls it.
    cpu: str  # As Node.js calls it.
    libc: str = ""  # As npm calls it, Linux only.
    wheel: str = ""

    @property
    def suffix(self):
        return ".exe" if self.os == "win32" else ""

    @property
    def node(self):
        """The end of names of packages and files for this platform, such as linux-x64-musl."""
        return f"{self.os}-{self.cpu}" + ("-musl" if self.libc == "musl" else "")

    @property
    def machine(self):
        return self.triple.split("-")[0]

    @property
    def archive(self):
        """The file name of the release archive, without its ending."""
        return f"{NAME}-v{version()}-{self.triple}"

    @property
    def archive_ending(self):
        return ".zip" if self.os == "win32" else ".tar.gz"


TARGETS = {
    target.triple: target
    for target in (
        Target("x86_64-unknown-linux-gnu", "linux", "x64", "glibc"),
        Target("aarch64-unknown-linux-gnu", "linux", "arm64", "glibc"),
        Target("x86_64-unknown-linux-musl", "linux", "x64", "musl"),
        Target("aarch64-unknown-linux-musl", "linux", "arm64", "musl"),
        Target("x86_64-apple-darwin", "darwin", "x64", wheel="macosx_10_12_x86_64"),
        Target("aarch64-apple-darwin", "darwin", "arm64", wheel="macosx_11_0_arm64"),
        Target("x86_64-pc-windows-msvc", "win32", "x64", wheel="win_amd64"),
    )
}


def package_field(name):
    """A field of `[workspace.package]` in Cargo.toml. There is no TOML parser in the Python versions before 3.11."""
    text = (ROOT / "Cargo.toml").read_text()
    section = text.split("[workspace.package]")[1].split("\n[")[0]
    found = re.search(rf'^{name} = "(.*)"$', section, re.MULTILINE)
    if not found:
        raise SystemExit(f"Cargo.toml has no {name} in [workspace.package]")
    return found[1]


def version():
    return package_field("version")


def repository():
    """The address of the repository, without a slash at the end."""
    return package_field("repository")


def registry_name():
    """The name in the registry of MCP servers. PyPI and npm packages must contain it as a proof of ownership."""
    return "io.github." + repository().removeprefix("https://github.com/")
