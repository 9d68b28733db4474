# SPDX-License-Identifier: Apache-2.0
"""The native call wrapper, in machine code, where the interpreter supports it.

The wrapper (see `native_source`) relies on where CPython keeps an object's type and NumPy an
array's fields, both part of their binary interfaces (Include/object.h; numpy/ndarraytypes.h,
PyArrayObject_fields). `why_not()` rejects unknown interpreters, free-threaded builds among them,
and checks every field on live arrays; then the portable wrapper is used alone.
"""

import ctypes
import functools
import importlib
import inspect
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.codegen.backends import cache, machine_code
from robot_dynamics.codegen.backends.machine_code import LoadedCode
from robot_dynamics.codegen.calls.arguments import Array
from robot_dynamics.codegen.calls.call_wrapper import Origin, Wrapper
from robot_dynamics.codegen.calls.kernels import MachineKernels, loop_memory
from robot_dynamics.codegen.calls.native_source import wrapper_source
from robot_dynamics.codegen.calls.native_writer import (
    ALIGNED,
    BASE,
    C_CONTIGUOUS,
    DATA,
    DIMENSIONS,
    DTYPE,
    FLAGS,
    MEMORY_SIZE,
    NDIM,
    NUMPY_FUNCTIONS,
    POINTER_SIZE,
    PYTHON_FUNCTIONS,
    REFERENCES,
    TUPLE_ITEMS,
    TUPLE_SIZE,
    TYPE,
    WEAK_REFERENCES,
    WRITEABLE,
)

# Places in NumPy's table of its C interface (numpy/__multiarray_api.h), the same since NumPy 1.0.
NUMPY_PLACES = {
    'PyArray_Type': 2,
    'PyArray_Return': 76,
    'PyArray_NewFromDescr': 94,
}

PYTHON_VERSIONS = ((3, 10), (3, 14))
NUMPY_VERSIONS = ((1, 26), (2, 99))

METH_FASTCALL_KEYWORDS = 0x80 | 0x02

# The slot of a type's constructor (Include/typeslots.h, Py_tp_new).
TP_NEW = 65

# The object in the tuple of keyword names of a call: such names are interned.
OUT = sys.intern('out')


class ResultMemory(np.ndarray):
    """Memory that several results share, the base of each.

    NumPy makes a view of a result refer to the result itself, and not to this memory, because the
    types differ. So the reference count of a result counts its views.
    """

    __slots__ = ()


class WrapperTable(Origin, np.ndarray):
    """The `__self__` of a callable: addresses, its definition, and the owners of the memory."""

    owners: tuple[Any, ...]


class MethodDefinition(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ('name', ctypes.c_void_p),
        ('function', ctypes.c_void_p),
        ('flags', ctypes.c_int),
        ('documentation', ctypes.c_void_p),
    )


def make_native_call(
    kernels: MachineKernels,
    bound: Mapping[str, Array],
    portable: Wrapper,
    result_type: type[tuple[Any, ...]],
    documentation: str,
) -> Wrapper:
    """Return the native call wrapper of kernels."""
    # Calls hold Python's global lock, so that all can use the same memory for loops.
    memory = loop_memory(kernels.memory)
    sizes = [None if name in bound else size for name, size in kernels.signature.inputs]
    sizes += [None] * len(memory)
    return native_call(
        _wrapper_code(tuple(sizes), tuple(shape for _, shape in kernels.signature.outputs)),
        kernel=kernels.sample_address,
        batch_kernel=kernels.small_batch,
        owner=kernels.code,
        portable=portable,
        result_type=result_type,
        bound=[*(bound.get(name) for name, _ in kernels.signature.inputs), *memory],
        documentation=documentation,
    )


@functools.cache
def _wrapper_code(
    sizes: tuple[int | None, ...], shapes: tuple[tuple[int, ...], ...]
) -> LoadedCode:
    """Return the wrapper for these sizes and shapes: programs of the same form share it."""
    source = wrapper_source(sizes, shapes)
    _, code = cache.kept(
        f'call wrapper\n{source}\n{machine_code.processor()}',
        lambda: (None, machine_code.compile_module(source)),
    )
    return LoadedCode(code)


def native_call(
    code: LoadedCode,
    *,
    kernel: int,
    batch_kernel: NDArray[np.int64],
    owner: Any,
    portable: Callable[..., Any],
    result_type: type[tuple[Any, ...]],
    bound: Sequence[Array | None],
    documentation: str,
) -> Callable[..., Any]:
    """Return a callable in machine code that falls back to the portable wrapper.

    Args:
        code: the functions of wrapper_source, loaded.
        kernel: address of the kernel of one sample.
        batch_kernel: four integers, which may change: the address of the kernel of small batches,
            the largest number of rows for a call, the address of the kernel of few rows, and how
            many these are.
        owner: keeps the kernel in memory.
        portable: the fallback for other calls; its name and signature are shown.
        result_type: class of the result of several outputs.
        bound: of each input, the vector it is bound to, or None.
        documentation: of the callable.
    """
    interface = _numpy_interface()
    # All of the memory of new results counts as used, so that the first call allocates it.
    objects, counters = np.full(3, None, object), np.array([0, MEMORY_SIZE], np.int64)
    addresses = [
        *map(_address, PYTHON_FUNCTIONS),
        *(interface[NUMPY_PLACES[function]] for function in NUMPY_FUNCTIONS),
        *map(id, (np.ndarray, np.dtype(np.float64), tuple)),
        _tuple_new(),
        *map(id, (OUT, None, portable)),
        0 if result_type is tuple else id(result_type),
        id(ResultMemory),
        kernel,
        batch_kernel.ctypes.data,
        objects.ctypes.data,
        counters.ctypes.data,
        *(0 if vector is None else vector.ctypes.data for vector in bound),
    ]
    # inspect.signature and help() read the arguments from this first line.
    name, parameters = portable.__name__, str(inspect.signature(portable))[1:]
    documentation = f'{name}($self, {parameters}\n--\n\n{documentation}'
    table, definition = _table(addresses, code.address('one_sample'), name, documentation)
    table.owners = (code, batch_kernel, objects, counters, owner, portable, result_type, bound)
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    call: Callable[..., Any] = make(('PyCFunction_NewEx', ctypes.pythonapi))(
        definition, table, None
    )
    return call


def _table(
    addresses: Sequence[int | None], function: int, name: str, documentation: str
) -> tuple[WrapperTable, int]:
    """Return a table of addresses, followed by a method definition and its texts; its address.

    A callable reads its definition while it is deleted. The garbage collector may have cleared the
    attributes of the table by then, but never the memory of an array.
    """
    texts = [text.encode() + b'\0' for text in (name, documentation)]
    size = ctypes.sizeof(MethodDefinition)
    behind = bytes(size) + b''.join(texts)
    behind += bytes(-len(behind) % POINTER_SIZE)
    words = np.concatenate([np.array(addresses, np.uint64), np.frombuffer(behind, np.uint64)])
    place = words.ctypes.data + len(addresses) * POINTER_SIZE
    first = place + size
    definition = MethodDefinition.from_address(place)
    definition.name, definition.documentation = first, first + len(texts[0])
    definition.function, definition.flags = function, METH_FASTCALL_KEYWORDS
    words.flags.writeable = False
    return words.view(WrapperTable), place


def _address(function: str) -> int | None:
    """Return the address of a function of CPython's C interface."""
    if not hasattr(ctypes.pythonapi, function):
        # CPython 3.10 has it in a header only; the portable wrapper is a function.
        function = {'PyObject_Vectorcall': '_PyFunction_Vectorcall'}[function]
    return ctypes.cast(getattr(ctypes.pythonapi, function), ctypes.c_void_p).value


def _tuple_new() -> int:
    """Return the address of the C function behind tuple.__new__: (type, arguments, names)."""
    slot = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_int)
    address: int = slot(('PyType_GetSlot', ctypes.pythonapi))(tuple, TP_NEW)
    return address


def _numpy_interface() -> Any:
    """Return NumPy's table of C functions and types, an array of addresses."""
    package = 'numpy._core' if np.lib.NumpyVersion(np.__version__) >= '2.0.0' else 'numpy.core'
    capsule = importlib.import_module(f'{package}._multiarray_umath')._ARRAY_API
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    address = pointer(('PyCapsule_GetPointer', ctypes.pythonapi))(capsule, None)
    return ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))


@functools.cache
def why_not() -> str | None:
    """Return why the native call wrapper cannot be used here, None if it can."""
    version = sys.version_info[:2]
    numpy_version = tuple(int(part) for part in np.__version__.split('.')[:2])
    pointer_size = ctypes.sizeof(ctypes.c_void_p)
    if sys.implementation.name != 'cpython' or pointer_size != POINTER_SIZE:
        return 'the interpreter is not 64-bit CPython'
    if 'free-threading' in sys.version or hasattr(sys, 'getobjects'):
        return 'objects of a free-threaded interpreter or debug build are laid out differently'
    if not PYTHON_VERSIONS[0] <= version <= PYTHON_VERSIONS[1]:
        return f'Python {version[0]}.{version[1]} is not one of those whose objects are known'
    if not NUMPY_VERSIONS[0] <= numpy_version <= NUMPY_VERSIONS[1]:
        return f'NumPy {np.__version__} is not one of those whose arrays are known'
    return _layout_surprise()


def _layout_surprise() -> str | None:
    """Return what differs from the expected layout on live objects, None if nothing does."""
    base = np.arange(12.0)
    read_only = np.arange(3.0)
    read_only.flags.writeable = False
    parts = base.reshape(3, 4), base[::2], base[:0]
    for array in (base, *parts, read_only, np.ones(2, np.float32), np.array(1.0)):
        for field, (found, expected) in _array_fields(array).items():
            if found != expected:
                return f'the {field} of an array is not where it was expected'
    weak = weakref.ref(base)
    if _peek(ctypes.c_void_p, base, WEAK_REFERENCES) != id(weak):
        return 'the list of weak references of an array is not where it was expected'
    if base.dtype is not np.dtype(np.float64):
        return 'float64 is not one object'
    items = ('first', 'second')
    found = _peek(ctypes.c_int64, items, TUPLE_SIZE), _ids(id(items) + TUPLE_ITEMS)
    if found != (2, [*map(id, items)]):
        return 'the items of a tuple are not where they were expected'
    return _interface_surprise()


def _array_fields(array: NDArray[Any]) -> dict[str, tuple[Any, Any]]:
    """Return the fields of an array in memory by name, each with the value it should have."""
    dimensions = _peek(ctypes.c_void_p, array, DIMENSIONS)
    lengths = (ctypes.c_int64 * array.ndim).from_address(dimensions) if array.ndim else ()
    flags = _peek(ctypes.c_int32, array, FLAGS)
    references = _peek(ctypes.c_int32, array, REFERENCES)
    more = [array] * 3
    return {
        'number of references': (
            _peek(ctypes.c_int32, array, REFERENCES),
            references + len(more),
        ),
        'list of weak references': (_peek(ctypes.c_void_p, array, WEAK_REFERENCES), None),
        'type': (_peek(ctypes.c_void_p, array, TYPE), id(np.ndarray)),
        'data': (_peek(ctypes.c_void_p, array, DATA), array.ctypes.data),
        'base': (_peek(ctypes.c_void_p, array, BASE) or id(None), id(array.base)),
        'number of axes': (_peek(ctypes.c_int32, array, NDIM), array.ndim),
        'shape': (tuple(lengths), array.shape),
        'dtype': (_peek(ctypes.c_void_p, array, DTYPE), id(array.dtype)),
        'contiguous': (bool(flags & C_CONTIGUOUS), array.flags.c_contiguous),
        'aligned': (bool(flags & ALIGNED), array.flags.aligned),
        'writeable': (bool(flags & WRITEABLE), array.flags.writeable),
    }


def _ids(address: int) -> list[int]:
    """Return two addresses of objects in memory."""
    return list((ctypes.c_size_t * 2).from_address(address))


def _interface_surprise() -> str | None:
    """Return what is wrong with NumPy's table of C functions, None if it does what is expected."""
    interface = _numpy_interface()
    if interface[NUMPY_PLACES['PyArray_Type']] != id(np.ndarray):
        return "NumPy's C interface is not where it was expected"
    number, address, item = ctypes.c_int, ctypes.c_void_p, ctypes.py_object
    kinds = (item, item, number, address, address, address, number, address)
    make = ctypes.PYFUNCTYPE(item, *kinds)(interface[NUMPY_PLACES['PyArray_NewFromDescr']])
    lengths, dtype = (ctypes.c_int64 * 2)(2, 3), np.dtype(np.float64)
    # The function takes over a reference to the dtype.
    ctypes.pythonapi.Py_IncRef(item(dtype))
    array = make(np.ndarray, dtype, 2, ctypes.addressof(lengths), None, None, 0, None)
    if type(array) is not np.ndarray or array.shape != (2, 3) or array.dtype != np.float64:
        return "NumPy's C interface does not make the arrays that were asked for"
    return None


def _peek(kind: Any, item: Any, offset: int) -> Any:
    """Return a field of an object in memory."""
    return kind.from_address(id(item) + offset).value
