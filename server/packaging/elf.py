"""Reads from a Linux program which C library it needs."""

import re
import struct

INTERPRETER, DYNAMIC, LOAD = 3, 2, 1
STRING_TABLE, NEEDED_VERSIONS, NEEDED_VERSION_COUNT = 5, 0x6FFFFFFE, 0x6FFFFFFF


def needed_glibc(program):
    """The minor version of the newest glibc symbol that `program` (bytes) needs, as 17 for 2.17; None if it is static.

    A program that is linked with musl dynamically is refused: no package of ours may depend on its loader.
    """
    if program[:6] != b"\x7fELF\x02\x01":
        raise SystemExit("the program is not a 64-bit little-endian ELF file")
    headers = list(program_headers(program))
    interpreter = [program[offset : offset + size] for kind, offset, _, size in headers if kind == INTERPRETER]
    if not interpreter:
        return None
    if b"musl" in interpreter[0]:
        raise SystemExit("the program needs musl's loader; build it static")
    versions = [re.fullmatch(r"GLIBC_2\.(\d+)(?:\.\d+)?", name) for name in version_names(program, headers)]
    return max((int(found[1]) for found in versions if found), default=0)


def program_headers(program):
    """Kind, offset, virtual address and size of each segment."""
    (start,) = struct.unpack_from("<Q", program, 32)
    entry_size, count = struct.unpack_from("<HH", program, 54)
    for index in range(count):
        kind, _, offset, address, _, size = struct.unpack_from("<IIQQQQ", program, start + index * entry_size)
        yield kind, offset, address, size


def version_names(program, headers):
    """The versions of shared libraries' symbols that the program needs, such as GLIBC_2.17."""
    dynamic = next((offset, size) for kind, offset, _, size in headers if kind == DYNAMIC)
    entries = dict(struct.iter_unpack("<QQ", program[dynamic[0] : sum(dynamic)]))

    def place(address):
        return next(
            offset + address - start
            for kind, offset, start, size in headers
            if kind == LOAD and start <= address < start + size
        )

    if NEEDED_VERSIONS not in entries:
        return
    strings = place(entries[STRING_TABLE])
    library = place(entries[NEEDED_VERSIONS])
    for _ in range(entries[NEEDED_VERSION_COUNT]):
        _, count, _, first, following = struct.unpack_from("<HHIII", program, library)
        symbol = library + first
        for _ in range(count):
            _, _, _, name, next_symbol = struct.unpack_from("<IHHII", program, symbol)
            end = program.index(b"\0", strings + name)
            yield program[strings + name : end].decode()
            symbol += next_symbol
        library += following
