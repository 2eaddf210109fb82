"""Files that install the archives of a release: scripts, a Homebrew formula and winget manifests, each with the SHA-256 of the archives."""

import re

import archives
from targets import NAME, ROOT, TARGETS, package_field, repository, version

TEMPLATES = ROOT / "server/packaging/templates"
WINGET = "jikime.jikime-memory"


def make_installers(release_archives, downloads):
    """File names and bytes. `release_archives` maps triples to the bytes of archives that exist."""
    hashes = {triple: archives.sha256(content) for triple, content in release_archives.items()}
    values = {
        "VERSION": version(),
        "DOWNLOADS": downloads,
        "REPOSITORY": repository(),
        "DESCRIPTION": package_field("description"),
        "LICENSE": package_field("license"),
        "CHECKSUMS": "\n".join(f"{hashes[triple]}  {triple}" for triple in sorted(hashes)),
        "WINDOWS_ARCHIVE": f"{NAME}-v{version()}-x86_64-pc-windows-msvc",
    }
    values |= {f"SHA256 {triple}": digest for triple, digest in hashes.items()}
    needs = {
        "install.sh": [],
        "install.ps1": ["x86_64-pc-windows-msvc"],
        "jikime-memory.rb": [triple for triple, target in TARGETS.items() if target.libc != "musl" and target.os != "win32"],
        **{f"{WINGET}{part}.yaml": ["x86_64-pc-windows-msvc"] for part in ("", ".installer", ".locale.en-US")},
    }
    # A formula or a manifest without its archives would be wrong. A complete release has all.
    return {
        name: fill((TEMPLATES / name).read_text(), values).encode()
        for name, triples in needs.items()
        if all(triple in hashes for triple in triples)
    }


def fill(template, values):
    """Replaces every `@NAME@`. An unknown name is an error."""
    return re.sub(r"@([A-Z][A-Z0-9_]*(?: [a-z0-9_-]+)?)@", lambda found: values[found[1]], template)
