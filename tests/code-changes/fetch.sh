#!/bin/sh
# Downloads ten versions each of ten packages into a folder, with cargo, npm and pip.
#
# usage: fetch.sh FOLDER
set -eu
mkdir -p "$1"
cd "$1"

crate() {
    name=$1
    shift
    for version in "$@"; do
        rm -rf scratch
        cargo new --quiet --lib --vcs none scratch
        (cd scratch && cargo add --quiet "$name@=$version" && cargo fetch --quiet)
        cp "${CARGO_HOME:-$HOME/.cargo}"/registry/cache/*/"$name-$version.crate" "$name-$version.tgz"
    done
    rm -rf scratch
}

from_npm() {
    name=$1
    shift
    for version in "$@"; do npm pack --silent "$name@$version"; done
}

from_pip() {
    name=$1
    shift
    for version in "$@"; do pip download --quiet --no-deps --no-binary "$name" "$name==$version"; done
}

crate itertools 0.9.0 0.10.0 0.10.1 0.10.3 0.10.4 0.10.5 0.11.0 0.12.0 0.12.1 0.13.0
crate hyper 1.0.0 1.0.1 1.1.0 1.2.0 1.3.0 1.3.1 1.4.0 1.4.1 1.5.0 1.5.1
crate clap_builder 4.2.7 4.3.0 4.3.1 4.3.3 4.3.4 4.3.5 4.3.8 4.3.9 4.3.10 4.3.11
from_npm fastify 4.10.0 4.10.1 4.10.2 4.11.0 4.12.0 4.13.0 4.14.0 4.14.1 4.15.0 4.16.0
from_npm commander 9.0.0 9.1.0 9.2.0 9.3.0 9.4.0 9.4.1 9.5.0 10.0.0 10.0.1 11.0.0
from_npm rxjs 7.0.0 7.0.1 7.1.0 7.2.0 7.3.0 7.3.1 7.4.0 7.5.0 7.5.1 7.5.2
from_pip werkzeug 2.2.3 2.3.0 2.3.1 2.3.2 2.3.3 2.3.4 2.3.5 2.3.6 2.3.7 2.3.8
from_pip click 8.1.4 8.1.5 8.1.6 8.1.7 8.1.8 8.2.0 8.2.1 8.3.0 8.3.1 8.3.2
from_pip rich 12.0.0 12.0.1 12.2.0 12.3.0 12.4.0 12.4.1 12.4.2 12.4.3 12.4.4 12.5.0
from_pip psutil 5.9.5 5.9.6 5.9.7 5.9.8 6.0.0 6.1.0 6.1.1 7.0.0 7.1.0 7.1.1
