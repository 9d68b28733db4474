"""Machine code from an object file into memory, without LLVM, whose library takes long to load.

What a program compiles to is simple: instructions, constants, and the distances by which the ones
find the others. To load it is to lay its sections one after the other and to fill in the
distances. That is done here for x86-64 under Linux; what refers to anything else is left to LLVM.

Sources: System V Application Binary Interface, chapter 4, "Object Files"; its AMD64 supplement,
section 4.4, "Relocation".
"""

import ctypes
import mmap
import struct
import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Of the header: 64 bits, low byte first, to be linked, for x86-64; then the table of sections.
HEADER = struct.Struct('<4sBB10xHH20xQ12xH2x')
X86_64 = (b'\x7fELF', 2, 1, 1, 62)

SECTION = struct.Struct('<4xIQ8xQQIIQ8x')
CONTENTS, SYMBOLS, RELOCATIONS = 1, 2, 4  # kinds
WRITEABLE, IN_MEMORY = 1, 2  # flags
ELSEWHERE = 1 << 40  # where symbols of other files would be, out of reach

SYMBOL = np.dtype('<u4, <u2, <u2, <i8, <i8')
SYMBOL.names = 'name', 'kind', 'section', 'value', 'size'
FUNCTION = 0x12  # that others may call

RELOCATION = np.dtype('<i8, <u4, <u4, <i8')
RELOCATION.names = 'place', 'kind', 'symbol', 'addend'
DISTANCES = (2, 4)  # R_X86_64_PC32 and R_X86_64_PLT32, four bytes wide


class Image(NamedTuple):
    """What an object file amounts to in memory."""

    memory: NDArray[np.uint8]
    functions: dict[str, int]  # where they begin


class Section(NamedTuple):
    """A part of an object file."""

    kind: int
    flags: int
    offset: int
    size: int
    link: int  # of symbols: the section of their names
    info: int  # of relocations: the section they are for
    alignment: int

    def read(self, code: bytes, kind: Any = np.uint8) -> NDArray[Any]:
        """Return what it holds."""
        return np.frombuffer(code, kind, self.size // np.dtype(kind).itemsize, self.offset)


def load(code: bytes) -> Image | None:
    """Return executable memory and the addresses of functions, None if that takes LLVM."""
    image = link(code) if sys.platform == 'linux' else None
    if image is None:
        return None
    size = len(image.memory)
    block = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    block[:] = image.memory.tobytes()
    memory = np.frombuffer(block, np.uint8)
    memory.flags.writeable = False
    # It is never writeable and executable at once.
    begin, allowed = memory.ctypes.data, mmap.PROT_READ | mmap.PROT_EXEC
    if ctypes.CDLL(None).mprotect(ctypes.c_void_p(begin), ctypes.c_size_t(size), allowed):
        return None
    return Image(memory, {name: begin + place for name, place in image.functions.items()})


def link(code: bytes) -> Image | None:
    """Return what is good at any address, with the offsets of functions.

    None stands for a file that needs more than its own instructions and constants.
    """
    *identity, table, count = HEADER.unpack_from(code)
    if tuple(identity) != X86_64:
        return None
    end = table + count * SECTION.size
    sections = [Section(*fields) for fields in SECTION.iter_unpack(code[table:end])]
    starts, memory = {}, b''
    for i, section in enumerate(sections):
        if section.flags & IN_MEMORY:
            if section.kind != CONTENTS or section.flags & WRITEABLE:
                return None
            memory += bytes(-len(memory) % section.alignment)
            starts[i] = len(memory)
            memory += section.read(code).tobytes()

    (symbol_table,) = (section for section in sections if section.kind == SYMBOLS)
    symbols = symbol_table.read(code, SYMBOL)
    origins = np.array([starts.get(part, ELSEWHERE) for part in symbols['section'].tolist()])
    addresses = origins + symbols['value']
    image = np.frombuffer(bytearray(memory), np.uint8)
    for section in sections:
        if section.kind == RELOCATIONS and section.info in starts:
            entries = section.read(code, RELOCATION)
            places = starts[section.info] + entries['place']
            # distance = symbol + addend - place
            distances = addresses[entries['symbol']] + entries['addend'] - places
            known = np.isin(entries['kind'], DISTANCES) & (distances < ELSEWHERE // 2)
            if not known.all():
                return None
            image[places[:, None] + range(4)] = distances.astype('<i4')[:, None].view(np.uint8)

    names = sections[symbol_table.link].read(code).tobytes()
    functions = {
        names[name:].partition(b'\0')[0].decode(): int(address)
        for (name, kind, *_), address in zip(symbols.tolist(), addresses, strict=True)
        if kind == FUNCTION
    }
    return Image(image, functions)
