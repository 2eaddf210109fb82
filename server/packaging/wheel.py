"""A Python wheel that contains both programs and no Python: `uv tool install jikime-memory`, `uvx jikime-memory serve`."""

import base64
import hashlib
import re

import archives
import elf
from targets import NAME, PROGRAMS, ROOT, package_field, registry_name, repository, version

# The oldest glibc of the standard `manylinux`, and what PyPI calls it.
OLDEST_GLIBC, OLDEST_NAME = 17, "manylinux2014"


def make_wheel(target, programs):
    """The file name and the bytes of the wheel. `programs` maps names to bytes."""
    tag = platform_tag(target, programs)
    package = NAME.replace("-", "_")
    info = f"{package}-{version()}.dist-info"
    files = [(f"{package}-{version()}.data/scripts/{name}{target.suffix}", programs[name], True) for name in PROGRAMS]
    # A wheel with several platform tags names each of them.
    tags = "".join(f"Tag: py3-none-{one}\n" for one in tag.split("."))
    files += [
        (f"{info}/METADATA", metadata().encode(), False),
        (f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: {NAME}\nRoot-Is-Purelib: false\n{tags}".encode(), False),
        (f"{info}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes(), False),
    ]
    files.append((f"{info}/RECORD", record(files, info).encode(), False))
    return f"{package}-{version()}-py3-none-{tag}.whl", archives.make_zip(files)


def platform_tag(target, programs):
    """The tag of the wheel, which promises no older C library than the programs need."""
    if target.os != "linux":
        return target.wheel
    needed = [elf.needed_glibc(programs[name]) for name in PROGRAMS]
    if target.libc == "musl":
        if any(glibc is not None for glibc in needed):
            raise SystemExit(f"{target.triple}: the programs need glibc, so they do not run with musl")
        return f"musllinux_1_1_{target.machine}"
    glibc = max([OLDEST_GLIBC] + [glibc for glibc in needed if glibc is not None])
    tag = f"manylinux_2_{glibc}_{target.machine}"
    return f"{tag}.{OLDEST_NAME}_{target.machine}" if glibc == OLDEST_GLIBC else tag


def metadata():
    """The core metadata. The description is README.md, with links that work on PyPI."""
    readme = (ROOT / "README.md").read_text()
    # GitHub serves an image only below /raw/; below /blob/ is the page that shows it.
    for link, kind in [(r"(!\[[^\]]*\]\()", "raw"), (r"(\]\()", "blob")]:
        readme = re.sub(link + r"(?!https?:|#)([^)]+)\)", rf"\g<1>{repository()}/{kind}/v{version()}/\2)", readme)
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {NAME}",
        f"Version: {version()}",
        f"Summary: {package_field('description')}",
        f"License-Expression: {package_field('license')}",
        "License-File: LICENSE",
        "Keywords: mcp,memory,agent,claude,search",
        f"Project-URL: Repository, {repository()}",
        "Requires-Python: >=3.8",
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(lines) + f"\n\n<!-- mcp-name: {registry_name()} -->\n\n{readme}"


def record(files, info):
    def digest(content):
        return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()

    lines = [f"{path},sha256={digest(content)},{len(content)}" for path, content, _ in files]
    return "\n".join(lines + [f"{info}/RECORD,,"]) + "\n"
