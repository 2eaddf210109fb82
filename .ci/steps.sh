# Sourced by .ci/run and .ci/nightly: the working directory, the steps and the programs under test.
set -euo pipefail

export CARGO_TERM_COLOR=never CARGO_INCREMENTAL=0
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
# One target directory for all steps and the scratch copy, so that no dependency is built twice.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/jikime-ci.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
log="$scratch/log"

# step HEADING COMMAND...: runs the command without input, with its output in $log.
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

# readme_block NAME: extracts the fenced block after `<!-- ci:NAME -->` in README.md, so that the documented commands are checked.
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

# The tests of the crate `tests` and the proofs run the installed programs, because other flags of SQLite or the compiler change their
# behaviour. A hook that saved no row once passed all tests, because they ran another build of it. Two kinds of tests run their own debug
# build: crashes at named points, which a release lacks, and tests with a preloaded library, which a static hook does not load.
on_installed() { JIKIME_TEST_PROGRAMS="$scratch/installed/bin" "$@"; }

# Runs the commands of README.md on a copy of the tracked files, with an empty home directory.
install() {
    git checkout-index --all --prefix="$scratch/copy/"
    mkdir "$scratch/home"
    # The toolchain and its downloads stay where they are. Only writes to the home directory are redirected.
    export CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}"
    (
        cd "$scratch/copy"
        export HOME="$scratch/home" CARGO_INSTALL_ROOT="$scratch/installed" PATH="$scratch/installed/bin:$PATH"
        run_block install
    )
    "$scratch/installed/bin/jikime-memory" --version
    "$scratch/installed/bin/jikime-hook" --version
}

step "README.md: installation commands" readme_block install
