#include <stdbool.h>

#include "base/invariant.h"
#include "base/sys.h"
#include "ring/slot.h"
#include "wrappers/python/core/common/functions.h"
#include "wrappers/python/core/common/region.h"
#include "wrappers/python/core/shm/shm.h"
#include "wrappers/python/core/common/objects.h"

/* A worker's slot, mapped here for as long as the object, or a loan of it, is there. */
struct borrowed {
    PyObject_HEAD struct stk_slot slot;
    unsigned loans;     /* of this process */
    unsigned holds;     /* of these, holds of this process, which no message lent */
    unsigned char *own; /* the memory where writes stay this process's own, or NULL */
    struct region region;
};

/* Slots that are mapped twice. Each takes up to three of the 65,530 maps that Linux gives a
 * process. */
#define MOST_OWN 1024
static unsigned own_maps; /* under the GIL */

/* No process: the borrower of a hold, which is not given back. */
#define NOBODY 0

/* The loan of one message. It is given back when the object ends. */
struct loan {
    PyObject_HEAD pid_t borrower;
    struct borrowed *from;
    unsigned char *memory;
    Py_ssize_t bytes;
    bool own; /* it lies where writes stay this process's own */
};

/* ---- ends ---- */

static void map_own(struct borrowed *borrowed, int fd)
{
    borrowed->own = own_maps < MOST_OWN ? stk_slot_map_own(&borrowed->slot, fd) : NULL;
    own_maps += borrowed->own != NULL;
}

static void unmap_own(struct borrowed *borrowed)
{
    if (borrowed->own != NULL) {
        STK_INVARIANT(own_maps > 0);
        own_maps--;
        stk_slot_unmap_own(&borrowed->slot, borrowed->own);
        borrowed->own = NULL;
    }
}

static void unmap(struct borrowed *borrowed)
{
    region_end(&borrowed->region);
    unmap_own(borrowed);
    stk_slot_unmap(&borrowed->slot);
}

/* ---- loans ---- */

/* Ends a loan. If it was the last one of a dropped slot, the slot is unmapped at once. In a child
 * of fork a slot of the parent is unmapped with its last view. */
static void end_loan(struct loan *loan)
{
    struct borrowed *from = loan->from;
    if (loan->own && !stk_slot_renew_own(&from->slot, from->own)) {
        unmap_own(from);
    }
    bool own = loan->borrower == stk_sys_getpid(), held = loan->borrower == NOBODY;
    uint32_t left = own ? stk_slot_give_back(&from->slot) : stk_slot_times_lent(&from->slot);
    bool over = held || own ? left == 0 && stk_slot_has(&from->slot, STK_SLOT_OVER) : true;
    STK_INVARIANT(from->loans > 0 && from->holds >= held && from->holds <= from->loans);
    from->loans--;
    from->holds -= held;
    if (from->loans == 0 && over) {
        unmap(from);
    }
}

static void free_loan(PyObject *self)
{
    struct loan *loan = (struct loan *)self;
    if (loan->from != NULL) {
        end_loan(loan);
        Py_DECREF((PyObject *)loan->from);
    }
    object_free(self);
}

static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    struct loan *loan = (struct loan *)self;
    return PyBuffer_FillInfo(view, self, loan->memory, loan->bytes, 0, flags);
}

OBJECT_SPEC(borrow_loan_spec, "Loan", struct loan, {Py_tp_dealloc, free_loan},
            {Py_bf_getbuffer, get_buffer});

/* ---- slots ---- */

static void free_borrowed(PyObject *self)
{
    struct borrowed *borrowed = (struct borrowed *)self;
    if (borrowed->slot.memory != NULL) {
        unmap(borrowed);
    }
    object_free(self);
}

static PyObject *make_loan(PyObject *module, struct borrowed *from, pid_t borrower,
                           unsigned char *memory, Py_ssize_t bytes)
{
    struct loan *loan = (struct loan *)object_new(module, "Loan");
    if (loan == NULL) {
        return NULL;
    }
    loan->borrower = borrower;
    loan->from = (struct borrowed *)Py_NewRef((PyObject *)from);
    loan->memory = memory;
    loan->bytes = bytes;
    from->loans++;
    return (PyObject *)loan;
}

/* slot.loan(offset, bytes, own): what a message lent. With `own`, what is written there stays this
 * process's own, and no other loan of the slot may be there; None: this slot is not mapped so. */
static PyObject *borrowed_loan(PyObject *self, PyObject *arguments)
{
    struct borrowed *from = (struct borrowed *)self;
    Py_ssize_t offset, bytes;
    int own;
    if (!PyArg_ParseTuple(arguments, "nnp", &offset, &bytes, &own)) {
        return NULL;
    }
    size_t all = from->slot.memory == NULL ? 0 : from->slot.bytes;
    if (offset < 0 || bytes <= 0 || (size_t)offset > all || (size_t)bytes > all - (size_t)offset) {
        return PyErr_Format(PyExc_ValueError, "no part of this slot");
    }
    if (own && from->own == NULL) {
        Py_RETURN_NONE;
    }
    unsigned char *memory = own ? from->own : from->slot.memory;
    PyObject *loan =
        make_loan(PyType_GetModule(Py_TYPE(self)), from, stk_sys_getpid(), memory + offset, bytes);
    if (loan != NULL) {
        ((struct loan *)loan)->own = own;
    }
    return loan;
}

/* borrowed_hold(address): has the slot in which it lies stay as it is, and mapped, as long as the
 * object is there, whatever is given back meanwhile. None: it lies in none. */
PyObject *core_borrowed_hold(PyObject *module, PyObject *object)
{
    void *address = PyLong_AsVoidPtr(object);
    if (PyErr_Occurred() != NULL) {
        return NULL;
    }
    const struct region *region = region_find(address);
    struct borrowed *from = region != NULL ? region->slot : NULL;
    if (from == NULL) {
        Py_RETURN_NONE;
    }
    stk_slot_mark(&from->slot, STK_SLOT_KEPT);
    PyObject *hold = make_loan(module, from, NOBODY, address, 1);
    from->holds += hold != NULL;
    return hold;
}

/* slot.name(): (its ring's, its number). */
static PyObject *borrowed_name(PyObject *self, PyObject *unused)
{
    const struct borrowed *borrowed = (struct borrowed *)self;
    if (borrowed->slot.memory == NULL) {
        Py_RETURN_NONE;
    }
    struct stk_slot_name name = stk_slot_name(&borrowed->slot);
    return Py_BuildValue("KK", (unsigned long long)name.ring, (unsigned long long)name.number);
}

/* slot.owner(): the worker's pid, as it says itself; 0: it is not mapped any more. */
static PyObject *borrowed_owner(PyObject *self, PyObject *unused)
{
    const struct borrowed *borrowed = (struct borrowed *)self;
    return PyLong_FromLong(borrowed->slot.memory == NULL ? 0 : stk_slot_owner(&borrowed->slot));
}

/* slot.accept(): from now on the worker may name it without a ticket. */
static PyObject *borrowed_accept(PyObject *self, PyObject *unused)
{
    const struct borrowed *borrowed = (struct borrowed *)self;
    if (borrowed->slot.memory != NULL) {
        stk_slot_mark(&borrowed->slot, STK_SLOT_MAPPED);
    }
    Py_RETURN_NONE;
}

/* slot.is_over(): no message that is still to come will name it. */
static PyObject *borrowed_is_over(PyObject *self, PyObject *unused)
{
    const struct borrowed *borrowed = (struct borrowed *)self;
    return PyBool_FromLong(
        borrowed->slot.memory == NULL ||
        (stk_slot_has(&borrowed->slot, STK_SLOT_OVER) &&
         stk_slot_times_lent(&borrowed->slot) == borrowed->loans - borrowed->holds));
}

/* slot.keep(): before a fork: what is on loan is the child's as well. */
static PyObject *borrowed_keep(PyObject *self, PyObject *unused)
{
    const struct borrowed *borrowed = (struct borrowed *)self;
    if (borrowed->loans > 0) {
        stk_slot_mark(&borrowed->slot, STK_SLOT_KEPT);
    }
    Py_RETURN_NONE;
}

static PyMethodDef borrowed_methods[] = {
    {"loan", borrowed_loan, METH_VARARGS, NULL},
    {"name", borrowed_name, METH_NOARGS, NULL},
    {"owner", borrowed_owner, METH_NOARGS, NULL},
    {"is_over", borrowed_is_over, METH_NOARGS, NULL},
    {"keep", borrowed_keep, METH_NOARGS, NULL},
    {"accept", borrowed_accept, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

OBJECT_SPEC(borrow_slot_spec, "Slot", struct borrowed, {Py_tp_dealloc, free_borrowed},
            {Py_tp_methods, borrowed_methods});

/* borrow(fd, own): the slot behind a descriptor, which stays the caller's; OSError. With `own`, it
 * is mapped for loans of that kind, too. */
PyObject *core_borrow(PyObject *module, PyObject *arguments)
{
    int fd, own;
    if (!PyArg_ParseTuple(arguments, "ip", &fd, &own)) {
        return NULL;
    }
    struct borrowed *borrowed = (struct borrowed *)object_new(module, "Slot");
    int error = borrowed == NULL ? 0 : stk_slot_map(&borrowed->slot, fd);
    if (error != 0) {
        Py_DECREF((PyObject *)borrowed);
        PyErr_Format(PyExc_OSError, "a worker's memory cannot be mapped (error %d)", -error);
        return NULL;
    }
    if (borrowed != NULL) {
        if (own) {
            map_own(borrowed, fd);
        }
        borrowed->region.slot = borrowed;
        region_begin(&borrowed->region, borrowed->slot.memory, borrowed->slot.bytes);
    }
    return (PyObject *)borrowed;
}
