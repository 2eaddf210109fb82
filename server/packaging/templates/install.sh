#!/bin/sh
# Installs jikime-memory and jikime-hook @VERSION@ for this user, after checking the archive's SHA-256.
#
#   curl -fsSL @REPOSITORY@/releases/latest/download/install.sh | sh
#
# JIKIME_INSTALL_DIR    the folder for the programs [default: ~/.local/bin]
# JIKIME_DOWNLOADS      the address or the folder of the archives [default: the release]
set -eu

version='@VERSION@'
downloads=${JIKIME_DOWNLOADS:-'@DOWNLOADS@'}
checksums='@CHECKSUMS@'

fail() {
    echo "jikime-memory: $1" >&2
    exit 1
}

# Prints the platform, as the names of archives have it.
platform() {
    case $(uname -m) in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) fail "there are no programs for $(uname -m); build them as README.md says" ;;
    esac
    case $(uname -s) in
    Linux) echo "$machine-unknown-linux-$(libc)" ;;
    Darwin)
        # A shell under Rosetta reports x86_64.
        if [ "$(sysctl -n hw.optional.arm64 2>/dev/null || true)" = 1 ]; then machine=aarch64; fi
        echo "$machine-apple-darwin"
        ;;
    *) fail "there are no programs for $(uname -s); on Windows, use install.ps1" ;;
    esac
}

# Prints gnu for glibc 2.17 or newer, and musl otherwise, because those programs need no C library.
libc() {
    glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null || true)
    case $glibc in
    'glibc 2.'*) if [ "${glibc#glibc 2.}" -ge 17 ] 2>/dev/null; then echo gnu; else echo musl; fi ;;
    *) echo musl ;;
    esac
}

download() {
    case $1 in
    http://* | https://*)
        if command -v curl >/dev/null 2>&1; then
            curl -fsSL "$1" -o "$2"
        elif command -v wget >/dev/null 2>&1; then
            wget -q "$1" -O "$2"
        else
            fail 'curl or wget is needed'
        fi
        ;;
    *) cp "$1" "$2" ;;
    esac
}

sha256() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum "$1"
    elif command -v shasum >/dev/null 2>&1; then
        shasum -a 256 "$1"
    else
        openssl dgst -sha256 -r "$1"
    fi | cut -d ' ' -f 1
}

main() {
    triple=$(platform)
    expected=$(echo "$checksums" | while read -r sum name; do if [ "$name" = "$triple" ]; then echo "$sum"; fi; done)
    [ -n "$expected" ] || fail "this release has no programs for $triple; build them as README.md says"
    name=jikime-memory-v$version-$triple
    folder=${JIKIME_INSTALL_DIR:-$HOME/.local/bin}
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    download "$downloads/$name.tar.gz" "$scratch/archive" || fail "cannot download $downloads/$name.tar.gz"
    found=$(sha256 "$scratch/archive")
    [ "$found" = "$expected" ] || fail "the SHA-256 of $name.tar.gz is $found, but must be $expected; nothing was installed"
    tar -xzf "$scratch/archive" -C "$scratch"
    mkdir -p "$folder"
    for program in jikime-memory jikime-hook; do
        # Renamed, so that a running program stays intact.
        cp "$scratch/$name/$program" "$folder/.$program.new"
        chmod 755 "$folder/.$program.new"
        mv "$folder/.$program.new" "$folder/$program"
    done
    echo "Installed $("$folder/jikime-memory" --version) in $folder."
    case ":$PATH:" in
    *":$folder:"*) ;;
    *) echo "Add $folder to PATH." ;;
    esac
    echo 'Next: cd your-project && jikime-memory init'
}

# The whole script is read before it starts, so that a broken download runs nothing.
main
