#include "ring/ring.h"
#include "wrappers/python/core/common/functions.h"
#include "wrappers/python/core/common/objects.h"

static struct stk_ring ring; /* under the GIL */

/* ---- pieces: of a slot of the ring, held as long as the object is there ---- */

struct piece {
    PyObject_HEAD pid_t owner;
    int slot;
    unsigned char *memory;
    Py_ssize_t bytes;
};

/* Makes a piece of a slot, which is held for it. */
static PyObject *make_piece(PyObject *object, int slot, unsigned char *memory, Py_ssize_t bytes)
{
    if (object == NULL) {
        stk_ring_let_go(&ring, slot);
        return NULL;
    }
    struct piece *piece = (struct piece *)object;
    piece->owner = ring.owner;
    piece->slot = slot;
    piece->memory = memory;
    piece->bytes = bytes;
    return object;
}

static void free_piece(PyObject *self)
{
    struct piece *piece = (struct piece *)self;
    if (piece->owner == ring.owner && stk_ring_is_own(&ring)) {
        stk_ring_let_go(&ring, piece->slot);
    }
    object_free(self);
}

static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    struct piece *piece = (struct piece *)self;
    return PyBuffer_FillInfo(view, self, piece->memory, piece->bytes, 0, flags);
}

/* piece.part(offset, bytes): a piece of it, with an end of its own. */
static PyObject *piece_part(PyObject *self, PyObject *arguments)
{
    struct piece *piece = (struct piece *)self;
    Py_ssize_t offset, bytes;
    if (!PyArg_ParseTuple(arguments, "nn", &offset, &bytes)) {
        return NULL;
    }
    if (offset < 0 || bytes <= 0 || offset > piece->bytes || bytes > piece->bytes - offset ||
        piece->owner != ring.owner) {
        return PyErr_Format(PyExc_ValueError, "no part of this piece");
    }
    stk_ring_hold(&ring, piece->slot);
    return make_piece(PyType_GenericAlloc(Py_TYPE(self), 0), piece->slot, piece->memory + offset,
                      bytes);
}

/* piece.others(): how many other pieces of the same slot there are. */
static PyObject *piece_others(PyObject *self, PyObject *unused)
{
    const struct piece *piece = (struct piece *)self;
    bool own = piece->owner == ring.owner;
    return PyLong_FromUnsignedLong(own ? ring.slots[piece->slot].holders - 1 : 0);
}

static PyMethodDef piece_methods[] = {
    {"part", piece_part, METH_VARARGS, NULL},
    {"others", piece_others, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

OBJECT_SPEC(lend_piece_spec, "Piece", struct piece, {Py_tp_dealloc, free_piece},
            {Py_tp_methods, piece_methods}, {Py_bf_getbuffer, get_buffer});

/* ---- the ring ---- */

/* ring_begin(name): this process has one from now on. */
PyObject *core_ring_begin(PyObject *module, PyObject *name)
{
    uint64_t number = PyLong_AsUnsignedLongLongMask(name);
    if (PyErr_Occurred() != NULL) {
        return NULL;
    }
    stk_ring_begin(&ring, number);
    Py_RETURN_NONE;
}

/* ring_take(bytes): a piece that is a slot's first bytes; None where there is none to be had. */
PyObject *core_ring_take(PyObject *module, PyObject *size)
{
    Py_ssize_t bytes = PyLong_AsSsize_t(size);
    if (PyErr_Occurred() != NULL) {
        return NULL;
    }
    int slot = bytes > 0 && stk_ring_is_own(&ring) ? stk_ring_take(&ring, (size_t)bytes) : -1;
    return slot >= 0
               ? make_piece(object_new(module, "Piece"), slot, ring.slots[slot].slot.memory, bytes)
               : Py_NewRef(Py_None);
}

/*
 * ring_lend(address): the slot in which it lies is lent once more. (the slot's number in the ring,
 * its name and number for its receiver, the address's offset in it, the descriptor to map it by or
 * -1), or None where it is none of ours.
 */
PyObject *core_ring_lend(PyObject *module, PyObject *object)
{
    void *address = PyLong_AsVoidPtr(object);
    if (PyErr_Occurred() != NULL) {
        return NULL;
    }
    int found = stk_ring_is_own(&ring) ? stk_ring_find(&ring, address) : -1;
    if (found < 0) {
        Py_RETURN_NONE;
    }
    const struct stk_ring_slot *slot = &ring.slots[found];
    if (slot->fd >= 0 && stk_slot_has(&slot->slot, STK_SLOT_MAPPED)) {
        stk_ring_introduced(&ring, found);
    }
    struct stk_slot_name name = stk_slot_name(&slot->slot);
    stk_slot_lend(&slot->slot);
    return Py_BuildValue("iKKni", found, (unsigned long long)name.ring,
                         (unsigned long long)name.number,
                         (Py_ssize_t)((unsigned char *)address - slot->slot.memory), slot->fd);
}

/* The number in the ring of a slot that is lent, or -1 with an exception set. */
static int take_number(PyObject *object)
{
    long number = PyLong_AsLong(object);
    if (number < 0 || number >= STK_RING_SLOTS || ring.slots[number].slot.memory == NULL) {
        if (PyErr_Occurred() == NULL) {
            PyErr_SetString(PyExc_ValueError, "no such slot");
        }
        return -1;
    }
    return (int)number;
}

/* Defines a function that calls the ring's of this name with the slot of a number. */
#define SLOT_CALL(name)                                                                            \
    PyObject *core_##name(PyObject *module, PyObject *object)                                      \
    {                                                                                              \
        int slot = take_number(object);                                                            \
        if (slot < 0) {                                                                            \
            return NULL;                                                                           \
        }                                                                                          \
        stk_##name(&ring, slot);                                                                   \
        Py_RETURN_NONE;                                                                            \
    }

/* ring_introduced(slot): word of it was sent, and how to map it. */
SLOT_CALL(ring_introduced)

/* ring_take_back(slot): word of it was not sent. */
PyObject *core_ring_take_back(PyObject *module, PyObject *object)
{
    int slot = take_number(object);
    if (slot < 0) {
        return NULL;
    }
    stk_slot_give_back(&ring.slots[slot].slot);
    Py_RETURN_NONE;
}

/* ring_offer(slot): word was sent how to map it, and it was left empty. */
SLOT_CALL(ring_offer)

/* Defines a function that calls the ring's of this name, if the ring is this process's or, with
 * `own` false, the parent's. */
#define RING_CALL(name, own)                                                                       \
    PyObject *core_##name(PyObject *module, PyObject *unused)                                      \
    {                                                                                              \
        if (stk_ring_is_own(&ring) == (own)) {                                                     \
            stk_##name(&ring);                                                                     \
        }                                                                                          \
        Py_RETURN_NONE;                                                                            \
    }

/* ring_keep(): before a fork. */
RING_CALL(ring_keep, true)

/* ring_go_on(): after a fork, in the parent. */
RING_CALL(ring_go_on, true)

/* ring_leave(): after a fork, in the child. */
RING_CALL(ring_leave, false)

/* ring_hold(address): a piece of the slot in which it lies; None: in none of this ring's. */
PyObject *core_ring_hold(PyObject *module, PyObject *object)
{
    void *address = PyLong_AsVoidPtr(object);
    if (PyErr_Occurred() != NULL) {
        return NULL;
    }
    int slot = stk_ring_is_own(&ring) ? stk_ring_find(&ring, address) : -1;
    if (slot < 0) {
        Py_RETURN_NONE;
    }
    stk_ring_hold(&ring, slot);
    return make_piece(object_new(module, "Piece"), slot, address, 1);
}

/* ring_end(): nothing will be lent any more. */
RING_CALL(ring_end, true)
