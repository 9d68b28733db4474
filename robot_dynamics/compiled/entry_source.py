"""The way in, written in LLVM's language: from Python objects to a kernel and back.

`entry_source` writes a C function by CPython's calling convention METH_FASTCALL | METH_KEYWORDS.
For NumPy vectors of float64 given by position, and perhaps `out=`, it reads the arrays' headers
itself, calls the kernel and returns, in some twenty nanoseconds. At the first thing that is
otherwise it hands the whole call, untouched, to the portable entry.

The text depends on nothing but the sizes. Addresses of functions, types and kernels stand in a
table, the data of the array that the callable has as its `__self__`.
"""

import functools
import math
from collections.abc import Sequence

from robot_dynamics.compiler.llvm_writer import Writer

# Offsets in bytes: of an object's type, and of an array's fields.
TYPE, DATA, NDIM, DIMENSIONS, DTYPE, FLAGS = 8, 16, 24, 32, 56, 64
C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
NPY_DOUBLE = 12

POINTER_SIZE = 8

# A flag of types (Include/object.h, Py_TPFLAGS_TUPLE_SUBCLASS).
TUPLE_SUBCLASS = 1 << 26

PYTHON_FUNCTIONS = (
    'PyObject_Vectorcall',
    'PyTuple_GetItem',
    'PyTuple_New',
    'PyTuple_SetItem',
    'PyTuple_Size',
    'PyType_GenericAlloc',
    'PyType_GetFlags',
    'Py_DecRef',
    'Py_IncRef',
)
NUMPY_FUNCTIONS = ('PyArray_New', 'PyArray_Return')
OBJECTS = (
    'array type',
    'float64',
    'tuple type',
    'tuple new',
    'out',
    'portable',
    'pack',
    'form',
    'kernel',
)

# The table: these, then the addresses of the bound inputs.
SLOTS = (*PYTHON_FUNCTIONS, *NUMPY_FUNCTIONS, *OBJECTS)


def entry_source(inputs: Sequence[int | None], outputs: Sequence[tuple[int, ...]]) -> str:
    """Return the text of `entry`, for inputs of these sizes (None: bound) and these outputs."""
    e = EntryWriter()
    shapes = [(size,) for size in inputs if size is not None]
    e.lines.append('define ptr @entry(ptr %self, ptr %args, i64 %count, ptr %names) nounwind {')
    e.do(f'%table = load ptr, ptr {e.field("%self", DATA)}')

    # Positional arguments, each a vector of the right size.
    e.require([e.let(f'icmp eq i64 %count, {len(shapes)}')])
    given = e.arrays(
        [e.pointer('%args', i) for i in range(len(shapes))], shapes, C_CONTIGUOUS | ALIGNED
    )
    free = iter(given)
    addresses = [
        e.slot(len(SLOTS) + i) if size is None else next(free) for i, size in enumerate(inputs)
    ]
    e.branch(e.let('icmp eq ptr %names, null'), 'new', 'named')

    e.begin_block('new')
    result, made = e.new_results(outputs)
    e.call_kernel([*addresses, *made])
    if list(outputs) == [()]:
        # As in NumPy, a new array without axes is a number.
        result = e.call('ptr', 'PyArray_Return', f'ptr {result}')
    e.finish(result, len(outputs))

    # The one name allowed is `out`, for arrays whose memory is their own.
    e.begin_block('named')
    e.require([e.let(f'icmp eq i64 {e.call("i64", "PyTuple_Size", "ptr %names")}, 1')])
    name = e.call('ptr', 'PyTuple_GetItem', 'ptr %names, i64 0')
    e.require([e.let(f'icmp eq ptr {name}, {e.slot("out")}')])
    out = e.pointer('%args', len(shapes))
    targets = e.arrays(e.unpack(out, len(outputs)), outputs, C_CONTIGUOUS | ALIGNED | WRITEABLE)
    e.require_apart(
        list(zip(targets, outputs, strict=True)), list(zip(given, shapes, strict=True))
    )
    e.call_kernel([*addresses, *targets])
    e.call('void', 'Py_IncRef', f'ptr {out}')
    e.finish(out, len(outputs))

    e.begin_block('portable')
    e.ret(
        e.call(
            'ptr',
            'PyObject_Vectorcall',
            f'ptr {e.slot("portable")}, ptr %args, i64 %count, ptr %names',
        )
    )
    e.lines.append('}')
    return '\n'.join([*e.dimensions, *e.lines]) + '\n'


class EntryWriter(Writer):
    """Writes checks, which lead to the portable entry where they fail, and calls by table."""

    def __init__(self) -> None:
        super().__init__(1)
        self.dimensions: list[str] = []

    def branch(self, condition: str, then: str, otherwise: str) -> None:
        """Go to one of two blocks."""
        self.do(f'br i1 {condition}, label %{then}, label %{otherwise}')

    def require(self, conditions: Sequence[str]) -> None:
        """Go on where all conditions hold, else to the portable entry."""
        if conditions:
            every = functools.reduce(lambda a, b: self.let(f'and i1 {a}, {b}'), conditions)
            passed = self.new_block('checked')
            self.branch(every, passed, 'portable')
            self.begin_block(passed)

    def ret(self, value: str) -> None:
        """Return an object, or null where an exception is set."""
        self.do(f'ret ptr {value}')

    def ret_if_null(self, value: str, *, release: str | None = None) -> None:
        """Return null if a call failed."""
        failed, passed = self.new_block('failed'), self.new_block('made')
        self.branch(self.let(f'icmp eq ptr {value}, null'), failed, passed)
        self.begin_block(failed)
        if release:
            self.call('void', 'Py_DecRef', f'ptr {release}')
        self.ret('null')
        self.begin_block(passed)

    def field(self, pointer: str, offset: int) -> str:
        """Return the address so many bytes further."""
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

    def call_kernel(self, addresses: Sequence[str]) -> None:
        """Compute."""
        self.call('void', 'kernel', ', '.join(f'ptr {address}' for address in addresses))

    def arrays(
        self, objects: Sequence[str], shapes: Sequence[tuple[int, ...]], flags: int
    ) -> list[str]:
        """Require float64 arrays of these shapes and flags; return the addresses of their data."""
        array_type, float64 = self.slot('array type'), self.slot('float64')
        types = [self.read('ptr', item, TYPE) for item in objects]
        self.require([self.let(f'icmp eq ptr {kind}, {array_type}') for kind in types])
        checks = []
        for item, shape in zip(objects, shapes, strict=True):
            present = self.let(f'and i32 {self.read("i32", item, FLAGS)}, {flags}')
            checks.append(self.let(f'icmp eq i32 {present}, {flags}'))
            checks.append(self.let(f'icmp eq i32 {self.read("i32", item, NDIM)}, {len(shape)}'))
            checks.append(self.let(f'icmp eq ptr {self.read("ptr", item, DTYPE)}, {float64}'))
        self.require(checks)
        checks = []
        for item, shape in zip(objects, shapes, strict=True):
            lengths = self.read('ptr', item, DIMENSIONS)
            found = [self.read('i64', lengths, 8 * axis) for axis in range(len(shape))]
            pairs = zip(found, shape, strict=True)
            checks += [self.let(f'icmp eq i64 {length}, {wanted}') for length, wanted in pairs]
        self.require(checks)
        return [self.read('ptr', item, DATA) for item in objects]

    def require_apart(
        self, targets: list[tuple[str, tuple[int, ...]]], others: list[tuple[str, tuple[int, ...]]]
    ) -> None:
        """Require that no target's memory meets another target's or other array's."""
        ends = {
            data: self.field(data, 8 * math.prod(shape)) for data, shape in [*targets, *others]
        }
        checks = []
        for i, (a, _) in enumerate(targets):
            for b, _ in [*targets[:i], *others]:
                before = self.let(f'icmp ule ptr {ends[a]}, {b}')
                after = self.let(f'icmp ule ptr {ends[b]}, {a}')
                checks.append(self.let(f'or i1 {before}, {after}'))
        self.require(checks)

    def unpack(self, out: str, count: int) -> list[str]:
        """Return the arrays in `out`: itself, or the items of a tuple."""
        if count == 1:
            return [out]
        flags = self.call('i64', 'PyType_GetFlags', f'ptr {self.read("ptr", out, TYPE)}')
        present = self.let(f'and i64 {flags}, {TUPLE_SUBCLASS}')
        self.require([self.let(f'icmp ne i64 {present}, 0')])
        self.require(
            [self.let(f'icmp eq i64 {self.call("i64", "PyTuple_Size", f"ptr {out}")}, {count}')]
        )
        return [self.call('ptr', 'PyTuple_GetItem', f'ptr {out}, i64 {i}') for i in range(count)]

    def new_results(self, shapes: Sequence[tuple[int, ...]]) -> tuple[str, list[str]]:
        """Return a new array, or a tuple of several, and the addresses of their data."""
        if len(shapes) == 1:
            array = self._new_array(shapes[0])
            self.ret_if_null(array)
            return array, [self.read('ptr', array, DATA)]
        result, addresses = self._new_tuple(len(shapes)), []
        self.ret_if_null(result)
        for i, shape in enumerate(shapes):
            array = self._new_array(shape)
            self.ret_if_null(array, release=result)
            self.call('i32', 'PyTuple_SetItem', f'ptr {result}, i64 {i}, ptr {array}')
            addresses.append(self.read('ptr', array, DATA))
        return result, addresses

    def _new_tuple(self, count: int) -> str:
        """Return a new tuple to fill: of the class in `form`, if there is one."""
        form = self.slot('form')
        formed, plain, allocated = map(self.new_block, ('formed', 'plain', 'allocated'))
        self.branch(self.let(f'icmp ne ptr {form}, null'), formed, plain)
        self.begin_block(formed)
        of_class = self.call('ptr', 'PyType_GenericAlloc', f'ptr {form}, i64 {count}')
        self.do(f'br label %{allocated}')
        self.begin_block(plain)
        bare = self.call('ptr', 'PyTuple_New', f'i64 {count}')
        self.do(f'br label %{allocated}')
        self.begin_block(allocated)
        return self.let(f'phi ptr [ {of_class}, %{formed} ], [ {bare}, %{plain} ]')

    def _new_array(self, shape: tuple[int, ...]) -> str:
        name, lengths = (
            f'@shape{len(self.dimensions)}',
            ', '.join(f'i64 {length}' for length in shape or (0,)),
        )
        self.dimensions.append(f'{name} = private constant [{len(shape) or 1} x i64] [{lengths}]')
        kind = f'ptr {self.slot("array type")}, i32 {len(shape)}, ptr {name}, i32 {NPY_DOUBLE}'
        return self.call(
            'ptr', 'PyArray_New', f'{kind}, ptr null, ptr null, i32 0, i32 0, ptr null'
        )

    def finish(self, result: str, count: int) -> None:
        """Return the result; several as the class in `pack`, if there is one."""
        if count == 1:
            return self.ret(result)
        pack, packed, plain = self.slot('pack'), self.new_block('packed'), self.new_block('plain')
        # A named tuple given as `out` is the result as it stands.
        bare = self.let(f'icmp eq ptr {self.read("ptr", result, TYPE)}, {self.slot("tuple type")}')
        wanted = self.let(f'icmp ne ptr {pack}, null')
        self.branch(self.let(f'and i1 {bare}, {wanted}'), packed, plain)
        self.begin_block(plain)
        self.ret(result)
        self.begin_block(packed)
        # tuple.__new__(pack, result), whose arguments are a tuple: it owns the result.
        arguments = self.call('ptr', 'PyTuple_New', 'i64 1')
        self.ret_if_null(arguments, release=result)
        self.call('i32', 'PyTuple_SetItem', f'ptr {arguments}, i64 0, ptr {result}')
        value = self.call('ptr', 'tuple new', f'ptr {pack}, ptr {arguments}, ptr null')
        self.call('void', 'Py_DecRef', f'ptr {arguments}')
        return self.ret(value)
