# Sourced by .ci/run and .ci/nightly: the working directory, the steps and the programs under test.
set -euo pipefail

export CARGO_TERM_COLOR=never CARGO_INCREMENTAL=0
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
# One target directory for every step, the scratch copy's included, so that no dependency is built twice.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/jikime-ci.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
log="$scratch/log"

# step HEADING COMMAND...: runs the command with no input; its output stays in $log.
step() {
    local heading=$1 start=$SECONDS code
    shift
    echo "== $heading"
    # Not `"$@" || code=$?`: behind `||`, bash ignores -e within functions too, and only their last command would count.
    set +e
    (set -e && "$@") >"$log" 2>&1 </dev/null
    code=$?
    set -e
    if ((code != 0)); then
        cat "$log"
        echo "== $heading: failed with $code after $((SECONDS - start)) s"
        exit 1
    fi
    echo "   $((SECONDS - start)) s"
}

# readme_block NAME: the fenced block that follows `<!-- ci:NAME -->` in README.md, so that what is told is what is checked.
readme_block() {
    awk -v mark="<!-- ci:$1 -->" '
        /^```/ && inside { done = 1; exit }
        inside { print; lines++ }
        /^```/ && marked && !inside { inside = 1 }
        index($0, mark) { marked = 1 }
        END { if (!done || !lines) { print "README.md has no block marked " mark > "/dev/stderr"; exit 1 } }
    ' README.md >"$scratch/$1.sh"
}

run_block() { bash -euo pipefail "$scratch/$1.sh"; }

# The tests of the crate `tests` and the proofs run the installed programs: users have these, and other flags of SQLite or of the compiler
# change what they do. A hook that saved no row once passed every test, because all of them ran another build of it. Two kinds of tests
# run the programs of their own debug build: crashes at points that a release has not, and a library loaded before the C library, which a
# static hook does not take.
on_installed() { JIKIME_TEST_PROGRAMS="$scratch/installed/bin" "$@"; }

# The tracked files in a folder of their own, a home directory that holds nothing, and the commands of README.md.
install() {
    git checkout-index --all --prefix="$scratch/copy/"
    mkdir "$scratch/home"
    # The toolchain and its downloads stay where they are; only what a command might write to the home directory is caught.
    export CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}"
    (
        cd "$scratch/copy"
        export HOME="$scratch/home" CARGO_INSTALL_ROOT="$scratch/installed" PATH="$scratch/installed/bin:$PATH"
        run_block install
    )
    "$scratch/installed/bin/jikime-memory" --version
    "$scratch/installed/bin/jikime-hook" --version
}

step "README.md: the block of the installation" readme_block install
