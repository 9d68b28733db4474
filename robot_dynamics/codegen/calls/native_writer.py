# SPDX-License-Identifier: Apache-2.0
"""Parts of the native call wrapper: checks, new and recycled results, calls through a table.

The table holds the addresses of functions, types and kernels. It is the data of the array that is
the `__self__` of the callable.
"""

import contextlib
import functools
import math
import sys
from collections.abc import Iterator, Sequence

from robot_dynamics.codegen.backends.llvm_writer import Writer

# Offsets in bytes: of an object's references (the low half of their count) and its type, and of an
# array's fields.
REFERENCES, TYPE = 0, 8
DATA, NDIM, DIMENSIONS, BASE, DTYPE, FLAGS, WEAK_REFERENCES = 16, 24, 32, 48, 56, 64, 72
C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400

POINTER_SIZE = 8

# Offsets of a tuple's length and items, which follow its hash from 3.14 on
# (Include/cpython/tupleobject.h).
TUPLE_SIZE, TUPLE_ITEMS = 16, 24 if sys.version_info < (3, 14) else 32

PYTHON_FUNCTIONS = (
    'PyObject_Vectorcall',
    'PyTuple_New',
    'PyTuple_SetItem',
    'Py_DecRef',
)
NUMPY_FUNCTIONS = ('PyArray_NewFromDescr', 'PyArray_Return')
OBJECTS = (
    'array type',
    'float64',
    'tuple type',
    'tuple new',
    'out',
    'none',
    'portable',
    'result_type',
    'memory type',
    'kernel',
    'batch kernel',  # its address, the most samples for a call, the kernel of few, how many
    'objects',  # references: the last two results, and the memory of new results
    'counters',  # two integers: the result to recycle next, the doubles in use in the memory
)

# Doubles in the memory that new results share, and in the largest result there.
MEMORY_SIZE = 8192
LARGEST_SHARED = 256

# The table: these, then the addresses of the bound inputs.
SLOTS = (*PYTHON_FUNCTIONS, *NUMPY_FUNCTIONS, *OBJECTS)

# Lengths of axes: integers, or the names of values known at run time.
Shape = Sequence[int | str]

# Address and bytes of an array.
Memory = tuple[str, int | str]


class WrapperWriter(Writer):
    """Writes checks, which branch to another block if they fail, and calls through the table."""

    def __init__(self) -> None:
        super().__init__(1)
        self._fallback = 'otherwise'

    @contextlib.contextmanager
    def failing_to(self, block: str) -> Iterator[None]:
        """Let checks inside the context branch to this block."""
        before, self._fallback = self._fallback, block
        yield
        self._fallback = before

    def branch(self, condition: str, then: str, otherwise: str) -> None:
        """Branch to one of two blocks."""
        self.do(f'br i1 {condition}, label %{then}, label %{otherwise}')

    def require(self, conditions: Sequence[str]) -> None:
        """Branch to the present fallback block unless all conditions are true."""
        if conditions:
            every = functools.reduce(lambda a, b: self.let(f'and i1 {a}, {b}'), conditions)
            passed = self.new_block('checked')
            self.branch(every, passed, self._fallback)
            self.begin_block(passed)

    def ret(self, value: str) -> None:
        """Return an object, or null where an exception is set."""
        self.do(f'ret ptr {value}')

    def ret_if_null(self, value: str, *release: str) -> None:
        """Release references and return null if a value is null."""
        failed, passed = self.new_block('failed'), self.new_block('made')
        self.branch(self.let(f'icmp eq ptr {value}, null'), failed, passed)
        self.begin_block(failed)
        for item in release:
            self.call('void', 'Py_DecRef', f'ptr {item}')
        self.ret('null')
        self.begin_block(passed)

    def field(self, pointer: str, offset: int | str) -> str:
        """Return an address plus an offset in bytes."""
        return self.let(f'getelementptr i8, ptr {pointer}, i64 {offset}')

    def read(self, kind: str, pointer: str, offset: int) -> str:
        """Return a field of a structure."""
        return self.let(f'load {kind}, ptr {self.field(pointer, offset)}')

    def pointer(self, array: str, index: int) -> str:
        """Return an element of an array of pointers."""
        return self.read('ptr', array, POINTER_SIZE * index)

    def slot(self, slot: str | int) -> str:
        """Return an address from the table."""
        return self.pointer('%table', slot if isinstance(slot, int) else SLOTS.index(slot))

    def call(self, kind: str, function: str, arguments: str) -> str:
        """Call a function of the table."""
        address = self.slot(function)
        if kind == 'void':
            self.do(f'call void {address}({arguments})')
            return ''
        return self.let(f'call {kind} {address}({arguments})')

    def load_table(self) -> None:
        """Load the address of the table from the callable's `__self__`."""
        self.do(f'%table = load ptr, ptr {self.field("%self", DATA)}')

    def plain(self, objects: Sequence[str], flags: int) -> list[str]:
        """Require arrays; return the conditions that they are float64 with these flags."""
        array_type, float64 = self.slot('array type'), self.slot('float64')
        types = [self.read('ptr', item, TYPE) for item in objects]
        self.require([self.let(f'icmp eq ptr {kind}, {array_type}') for kind in types])
        checks = []
        for item in objects:
            present = self.let(f'and i32 {self.read("i32", item, FLAGS)}, {flags}')
            checks.append(self.let(f'icmp eq i32 {present}, {flags}'))
            checks.append(self.let(f'icmp eq ptr {self.read("ptr", item, DTYPE)}, {float64}'))
        return checks

    def arrays(self, objects: Sequence[str], shapes: Sequence[Shape], flags: int) -> list[str]:
        """Require float64 arrays of these shapes and flags; return the addresses of their data."""
        checks = self.plain(objects, flags)
        for item, shape in zip(objects, shapes, strict=True):
            checks.append(self.let(f'icmp eq i32 {self.read("i32", item, NDIM)}, {len(shape)}'))
        self.require(checks)
        checks = []
        for item, shape in zip(objects, shapes, strict=True):
            lengths = self.read('ptr', item, DIMENSIONS)
            found = [self.read('i64', lengths, 8 * axis) for axis in range(len(shape))]
            pairs = zip(found, shape, strict=True)
            checks += [self.let(f'icmp eq i64 {length}, {wanted}') for length, wanted in pairs]
        self.require(checks)
        return [self.data(item) for item in objects]

    def data(self, item: str) -> str:
        """Return the address of an array's data."""
        return self.read('ptr', item, DATA)

    def bytes_of(self, shape: Shape) -> int | str:
        """Return the bytes of an array of doubles."""
        known = 8 * math.prod(length for length in shape if isinstance(length, int))
        unknown = [length for length in shape if isinstance(length, str)]
        return self.let(f'mul i64 {unknown[0]}, {known}') if unknown else known

    def require_apart(self, targets: Sequence[Memory], others: Sequence[Memory]) -> None:
        """Require that no target overlaps another target or another array."""
        ends = {data: self.field(data, length) for data, length in [*targets, *others]}
        checks = []
        for i, (a, _) in enumerate(targets):
            for b, _ in [*targets[:i], *others]:
                before = self.let(f'icmp ule ptr {ends[a]}, {b}')
                after = self.let(f'icmp ule ptr {ends[b]}, {a}')
                checks.append(self.let(f'or i1 {before}, {after}'))
        self.require(checks)

    def unpack(self, out: str, count: int) -> list[str]:
        """Return the arrays in `out`: itself, or the items of a tuple or of the result's class."""
        if count == 1:
            return [out]
        kind = self.read('ptr', out, TYPE)
        known = [
            self.let(f'icmp eq ptr {kind}, {self.slot(c)}') for c in ('tuple type', 'result_type')
        ]
        self.require([self.let(f'or i1 {", ".join(known)}')])
        self.require([self.has_length(out, count)])
        return [self.item(out, i) for i in range(count)]

    def has_length(self, items: str, count: int) -> str:
        """Return the condition that a tuple has this length."""
        return self.let(f'icmp eq i64 {self.read("i64", items, TUPLE_SIZE)}, {count}')

    def item(self, items: str, i: int) -> str:
        """Return item i of a tuple, a borrowed reference."""
        return self.read('ptr', items, TUPLE_ITEMS + POINTER_SIZE * i)

    def add_reference(self, item: str) -> None:
        """Add a reference to an object: as Py_INCREF, which leaves immortal objects alone.

        All 64 bits are written: CPython before 3.14 reads 64, and a load that is wider than the
        last store to its address is slow.
        """
        count = self.read('i64', item, REFERENCES)
        low = self.let(f'trunc i64 {count} to i32')
        mortal = self.let(f'icmp sgt i32 {low}, 0')
        more = self.let(f'add i64 {count}, {self.let(f"zext i1 {mortal} to i64")}')
        self.do(f'store i64 {more}, ptr {self.field(item, REFERENCES)}')

    def made_results(self, shapes: Sequence[Shape]) -> tuple[str, list[str]]:
        """Return a new array, or a packed tuple of several, and the addresses of their data."""
        if len(shapes) == 1:
            array = self._new_array(shapes[0])
            return array, [self.data(array)]
        result, addresses = self.call('ptr', 'PyTuple_New', f'i64 {len(shapes)}'), []
        self.ret_if_null(result)
        for i, shape in enumerate(shapes):
            array = self._new_array(shape, result)
            self.call('i32', 'PyTuple_SetItem', f'ptr {result}, i64 {i}, ptr {array}')
            addresses.append(self.data(array))
        result = self.packed(result, len(shapes))
        self.ret_if_null(result)
        return result, addresses

    def recycled_results(self, shapes: Sequence[Shape]) -> tuple[str, str, list[str]]:
        """Require that the next recycled result and its parts are not referenced elsewhere.

        Returns:
            Its place, the result, and the addresses of its data.
        """
        following = self.slot('counters')
        place = self.let(f'load i64, ptr {following}')
        self.do(f'store i64 {self.let(f"xor i64 {place}, 1")}, ptr {following}')
        result = self.let(f'load ptr, ptr {self._place(place)}')
        # None, which is there before the first result, has more references.
        self.require([self._is_referenced_once(result)])
        arrays = [result]
        if len(shapes) > 1:
            arrays = [self.item(result, i) for i in range(len(shapes))]
            self.require([self._is_referenced_once(array) for array in arrays])
        weak = [self.read('ptr', array, WEAK_REFERENCES) for array in arrays]
        self.require([self.let(f'icmp eq ptr {reference}, null') for reference in weak])
        # The caller may have changed its shape, type or flags.
        flags = C_CONTIGUOUS | ALIGNED | WRITEABLE
        return place, result, self.arrays(arrays, shapes, flags)

    def store_for_recycling(self, result: str, place: str) -> None:
        """Store a new reference to a result."""
        self.add_reference(result)
        self._replace(self._place(place), result)

    def _replace(self, place: str, item: str) -> None:
        """Store a reference, and release the one that was there."""
        earlier = self.let(f'load ptr, ptr {place}')
        self.do(f'store ptr {item}, ptr {place}')
        # Last, because the callback of a weak reference may call this function again.
        self.call('void', 'Py_DecRef', f'ptr {earlier}')

    def _place(self, place: str) -> str:
        return self.let(f'getelementptr ptr, ptr {self.slot("objects")}, i64 {place}')

    def _is_referenced_once(self, item: str) -> str:
        return self.let(f'icmp eq i32 {self.read("i32", item, REFERENCES)}, 1')

    def _new_array(self, shape: Shape, *release: str) -> str:
        """Return a new array. References are released if there is no memory for it.

        Small arrays are views of memory that several share: NumPy makes them in half the time.
        """
        known = [length for length in shape if isinstance(length, int)]
        size = math.prod(known)
        if len(known) < len(shape) or size > LARGEST_SHARED:
            return self._array('array type', shape, release)
        owner, data = self._shared_memory(size, release)
        array = self._array('array type', shape, (*release, owner), data)
        # The array takes over the reference to its owner.
        self.do(f'store ptr {owner}, ptr {self.field(array, BASE)}')
        return array

    def _shared_memory(self, size: int, release: Sequence[str]) -> tuple[str, str]:
        """Return a new reference to the shared memory, and the address of doubles not in use."""
        begin, full, taken = map(self.new_block, ('begin', 'full', 'taken'))
        used, place = self.field(self.slot('counters'), 8), self._place('2')
        self.do(f'br label %{begin}')
        self.begin_block(begin)
        first = self.let(f'load i64, ptr {used}')
        # An even number of doubles: arrays begin at multiples of 16 bytes.
        end = self.let(f'add i64 {first}, {size + size % 2}')
        self.branch(self.let(f'icmp ule i64 {end}, {MEMORY_SIZE}'), taken, full)
        self.begin_block(full)
        memory = self._array('memory type', (MEMORY_SIZE,), release)
        self.do(f'store i64 0, ptr {used}')
        self._replace(place, memory)
        self.do(f'br label %{begin}')
        self.begin_block(taken)
        self.do(f'store i64 {end}, ptr {used}')
        owner = self.let(f'load ptr, ptr {place}')
        self.add_reference(owner)
        return owner, self.let(f'getelementptr double, ptr {self.data(owner)}, i64 {first}')

    def _array(self, kind: str, shape: Shape, release: Sequence[str], data: str = 'null') -> str:
        """Return a new array of a type in the table, in given memory or in memory of its own."""
        flags = 0 if data == 'null' else C_CONTIGUOUS | ALIGNED | WRITEABLE
        dtype = self.slot('float64')
        # The function takes over a reference to the dtype.
        self.add_reference(dtype)
        arguments = (
            f'ptr {self.slot(kind)}, ptr {dtype}, i32 {len(shape)}, '
            f'ptr {self._lengths(shape or (0,))}, ptr null, ptr {data}, i32 {flags}, ptr null'
        )
        array = self.call('ptr', 'PyArray_NewFromDescr', arguments)
        self.ret_if_null(array, *release)
        return array

    def _lengths(self, shape: Shape) -> str:
        """Return the address of a shape."""
        place = self.new_block('%shape')
        beginning = self.lines.index('start:') + 1
        self.lines.insert(beginning, f'  {place} = alloca i64, i64 {len(shape)}')
        for axis, length in enumerate(shape):
            self.do(f'store i64 {length}, ptr {self.field(place, 8 * axis)}')
        return place

    def packed(self, result: str, count: int) -> str:
        """Return one result as it is, several as the result class, if there is one."""
        if count == 1:
            return result
        result_class = self.slot('result_type')
        plain, bare, owned, done = map(self.new_block, ('plain', 'bare', 'owned', 'done'))
        # A named tuple given as `out` is returned itself.
        is_bare = self.let(
            f'icmp eq ptr {self.read("ptr", result, TYPE)}, {self.slot("tuple type")}'
        )
        wanted = self.let(f'icmp ne ptr {result_class}, null')
        self.branch(self.let(f'and i1 {is_bare}, {wanted}'), bare, plain)
        self.begin_block(bare)
        # tuple.__new__(result_type, result); the tuple of arguments takes the reference.
        arguments = self.call('ptr', 'PyTuple_New', 'i64 1')
        self.ret_if_null(arguments, result)
        self.do(f'br label %{owned}')
        self.begin_block(owned)
        self.call('i32', 'PyTuple_SetItem', f'ptr {arguments}, i64 0, ptr {result}')
        of_class = self.call('ptr', 'tuple new', f'ptr {result_class}, ptr {arguments}, ptr null')
        self.call('void', 'Py_DecRef', f'ptr {arguments}')
        self.do(f'br label %{done}')
        self.begin_block(plain)
        self.do(f'br label %{done}')
        self.begin_block(done)
        return self.let(f'phi ptr [ {of_class}, %{owned} ], [ {result}, %{plain} ]')
