/*
 * The sample store as Python sees it: which form an open file has, decoding from it, and decoding
 * bytes whose form is kept. See stored_decode.h, file_identity.h.
 */
#include <string.h>

#include "base/options.h"
#include "wrappers/python/core/common/functions.h"
#include "wrappers/python/core/decode/file_identity.h"
#include "wrappers/python/core/decode/pixels.h"
#include "wrappers/python/core/decode/plan_request.h"
#include "wrappers/python/core/decode/stored_decode.h"
#include "wrappers/python/core/decode/outline.h"
#include "wrappers/python/core/decode/tables.h"
#include "wrappers/python/core/decode/thread_decoder.h"

#define LINK_BYTES ((Py_ssize_t)sizeof(struct stk_hash128))

/* attach(api, store): takes two capsules of stoker._samples_core. Returns true if they are used:
 * those of another version are not. */
PyObject *core_attach(PyObject *module, PyObject *arguments)
{
    PyObject *api, *store;
    struct stk_options options;
    if (!PyArg_ParseTuple(arguments, "OO", &api, &store)) {
        return NULL;
    }
    const struct stk_samples_api *functions = PyCapsule_GetPointer(api, STK_SAMPLES_API);
    struct stk_store *opened = PyCapsule_GetPointer(store, STK_SAMPLES_STORE);
    if (functions == NULL || opened == NULL) {
        return NULL;
    }
    if (functions->version != STK_SAMPLES_API_VERSION) {
        Py_RETURN_FALSE;
    }
    stk_options_read(&options);
    identity_begin(options.min_age_ns);
    stored_attach(functions, opened);
    Py_RETURN_TRUE;
}

/* ---- which file it is ---- */

static PyObject *link_bytes(struct stk_hash128 link)
{
    return PyBytes_FromStringAndSize((const char *)&link, LINK_BYTES);
}

/* identify(fd): what stands for the file in this version, 16 bytes; None: nothing does. */
PyObject *core_identify(PyObject *module, PyObject *number)
{
    struct identity identity;
    bool known = false;
    long fd = PyLong_AsLong(number);
    if (fd == -1 && PyErr_Occurred() != NULL) {
        return NULL;
    }
    if (stored_is_attached()) {
        WITHOUT_GIL(known = identity_of((int)fd, STK_IDENTITY_NOW, &identity));
    }
    return known ? link_bytes(identity.link) : Py_NewRef(Py_None);
}

static PyObject *form_view(const struct stk_store_value *form)
{
    return PyMemoryView_FromMemory((char *)(uintptr_t)form->data, (Py_ssize_t)form->bytes,
                                   PyBUF_READ);
}

/* file_bytes(fd): how long a regular file is, as this machine knows it; None: it is none. */
PyObject *core_file_bytes(PyObject *module, PyObject *number)
{
    long fd = PyLong_AsLong(number);
    if (fd == -1 && PyErr_Occurred() != NULL) {
        return NULL;
    }
    int64_t bytes = identity_file_bytes((int)fd);
    return bytes >= 0 ? PyLong_FromLongLong(bytes) : Py_NewRef(Py_None);
}

/* wants_link(bytes): whether a form of these bytes is stored, or would be. Otherwise the file's
 * link is not needed. */
PyObject *core_wants_link(PyObject *module, PyObject *object)
{
    HELD_BUFFER Py_buffer in = {0};
    if (PyObject_GetBuffer(object, &in, PyBUF_SIMPLE) != 0) {
        return NULL;
    }
    bool wanted;
    WITHOUT_GIL(wanted = stored_wants_link(in.buf, (size_t)in.len));
    return PyBool_FromLong(wanted);
}

/* Makes the tuple that examine() returns for the file of a form. */
static PyObject *examined_form(const struct stk_form_source *source)
{
    const struct stk_jpeg_info *info = &source->info;
    /* The tables of later scans are not in the header, but a form of them was made. */
    bool sound = info->progressive || info->multiscan ||
                 tables_are_sound(source->header, source->header_bytes);
    return examined(info, sound);
}

/* form_of(bytes): (the stored form of these bytes, which stays valid, and what examine() says of
 * them); None: there is none. */
PyObject *core_form_of(PyObject *module, PyObject *object)
{
    HELD_BUFFER Py_buffer in = {0};
    struct stk_store_value form;
    struct stk_form_source source;
    bool found;
    if (PyObject_GetBuffer(object, &in, PyBUF_SIMPLE) != 0) {
        return NULL;
    }
    WITHOUT_GIL(found = stored_find_form(in.buf, (size_t)in.len, &form) &&
                        stk_decode_examine_form(form.data, form.bytes, &source) == STK_DECODE_OK);
    return found ? Py_BuildValue("NN", form_view(&form), examined_form(&source))
                 : Py_NewRef(Py_None);
}

/* `tell_decoded(fd, kept)`: notes that an open file is decoded, from its form, or (`kept` is false)
 * from its bytes. Returns the path of the entry that has the bytes, or None. */
PyObject *core_tell_decoded(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    char entry[4096] = "";
    long fd = count == 2 ? PyLong_AsLong(arguments[0]) : -1;
    int kept = count == 2 ? PyObject_IsTrue(arguments[1]) : -1;
    if (PyErr_Occurred() != NULL) {
        return NULL;
    }
    if (count != 2) {
        return PyErr_Format(PyExc_TypeError, "a descriptor, and whether its form is kept");
    }
    WITHOUT_GIL(identity_tell_decoded((int)fd, kept == 1, entry, sizeof entry));
    return *entry == '\0' ? Py_NewRef(Py_None) : PyBytes_FromString(entry);
}

static PyObject *outline_bytes(const struct outline *outline)
{
    return PyBytes_FromStringAndSize((const char *)outline->data, (Py_ssize_t)outline->bytes);
}

/* The header's outline, or None. */
static PyObject *outlined(const struct stk_form_source *source)
{
    struct outline outline;
    bool is_whole = outline_make(source->header, source->header_bytes, &outline) &&
                    outline.header_bytes == source->header_bytes;
    return is_whole ? outline_bytes(&outline) : Py_NewRef(Py_None);
}

/* outline(jpeg): (its header's outline, (width, height), the header), or None. */
PyObject *core_outline(PyObject *module, PyObject *jpeg)
{
    HELD_BUFFER Py_buffer in = {0};
    struct outline outline;
    if (PyObject_GetBuffer(jpeg, &in, PyBUF_SIMPLE) != 0) {
        return NULL;
    }
    return outline_make(in.buf, (size_t)in.len, &outline)
               ? Py_BuildValue("N(II)y#", outline_bytes(&outline), outline.width, outline.height,
                               in.buf, (Py_ssize_t)outline.header_bytes)
               : Py_NewRef(Py_None);
}

/* (link, form, what examine() says, the file's first bytes, its size, its state, an outline) */
static PyObject *found_form(const struct stored_found *found)
{
    const struct identity_mark *mark = &found->identity.mark;
    const struct stk_form_source *source = &found->source;
    return Py_BuildValue(
        "NNNNKNN", link_bytes(found->identity.link), form_view(&found->form), examined_form(source),
        PyBytes_FromStringAndSize(source->header, (Py_ssize_t)source->header_bytes),
        (unsigned long long)source->file_bytes,
        PyBytes_FromStringAndSize((const char *)mark, (Py_ssize_t)sizeof *mark), outlined(source));
}

/* (link, whether it is an entry's) */
static PyObject *found_link(const struct stored_found *found)
{
    bool is_entry = found->identity.mark.own_dev != 0;
    return Py_BuildValue("NN", link_bytes(found->identity.link), PyBool_FromLong(is_entry));
}

/* find(fd): None: nothing stands for the file; (link, whether it is an entry): its form is not
 * there; or all of it. */
PyObject *core_find(PyObject *module, PyObject *number)
{
    struct stored_found found;
    enum stored_kind kind;
    long fd = PyLong_AsLong(number);
    if (fd == -1 && PyErr_Occurred() != NULL) {
        return NULL;
    }
    WITHOUT_GIL(kind = stored_find((int)fd, &found));
    return kind == STORED_UNKNOWN ? Py_NewRef(Py_None)
           : kind == STORED_FORM  ? found_form(&found)
                                  : found_link(&found);
}

/* find_path(path): as find(), of a covered file that has no entry and need not be opened; None:
 * there is no form, or the file is to be opened to know. */
PyObject *core_find_path(PyObject *module, PyObject *path)
{
    struct stored_found found;
    HELD PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(path, &bytes)) {
        return NULL;
    }
    const char *name = PyBytes_AsString(bytes);
    bool has_form;
    WITHOUT_GIL(has_form = stored_find_path(name, &found));
    return has_form ? found_form(&found) : Py_NewRef(Py_None);
}

/* identify_path(path): what find_path() begins with, or None. */
PyObject *core_identify_path(PyObject *module, PyObject *path)
{
    struct identity identity;
    HELD PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(path, &bytes)) {
        return NULL;
    }
    const char *name = PyBytes_AsString(bytes);
    bool known;
    WITHOUT_GIL(known = identity_of_path(name, STK_IDENTITY_RUN, &identity));
    return known ? link_bytes(identity.link) : Py_NewRef(Py_None);
}

/* `tell_served(path)`: notes that the form of find_path() is used in the place of an open. */
PyObject *core_tell_served(PyObject *module, PyObject *path)
{
    HELD PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(path, &bytes)) {
        return NULL;
    }
    identity_tell_served(PyBytes_AsString(bytes));
    Py_RETURN_NONE;
}

/* holds(fd, state): whether nothing was written to the file since find() returned this state for
 * the same descriptor. */
PyObject *core_holds(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    struct identity_mark mark;
    long fd = count == 2 ? PyLong_AsLong(arguments[0]) : -1;
    if (fd == -1 && PyErr_Occurred() != NULL) {
        return NULL;
    }
    if (count != 2 || !PyBytes_Check(arguments[1]) ||
        PyBytes_Size(arguments[1]) != (Py_ssize_t)sizeof mark) {
        return PyErr_Format(PyExc_ValueError, "not a descriptor and a state of find()'s");
    }
    bool holds;
    memcpy(&mark, PyBytes_AsString(arguments[1]), sizeof mark);
    WITHOUT_GIL(holds = identity_holds((int)fd, &mark));
    return PyBool_FromLong(holds);
}

/* ---- decoding ---- */

/* 0, or -1 with an exception set. */
static int take_link(PyObject *object, struct stk_hash128 *link)
{
    if (!PyBytes_Check(object) || PyBytes_Size(object) != LINK_BYTES) {
        PyErr_SetString(PyExc_ValueError, "a link has 16 bytes");
        return -1;
    }
    memcpy(link, PyBytes_AsString(object), sizeof *link);
    return 0;
}

/* Takes what is known of the file. Returns 0, or -1 with an exception set. */
static int take_file(PyObject *object, PyObject *entry, struct stk_hash128 *link,
                     struct stored_file *file)
{
    *file = (struct stored_file){.link = object != Py_None ? link : NULL};
    if (entry != Py_None && (file->entry = PyBytes_AsString(entry)) == NULL) {
        return -1;
    }
    return object != Py_None ? take_link(object, link) : 0;
}

/* decode_stored(bytes, link or None, plan, out, entry = None): as decode(), with the store. */
PyObject *core_decode_stored(PyObject *module, PyObject *arguments)
{
    HELD_BUFFER Py_buffer in = {0};
    PyObject *object, *plan, *out, *entry = Py_None;
    struct stk_hash128 link;
    struct stored_file file;
    struct plan_request request;
    if (!PyArg_ParseTuple(arguments, "y*OO!O|O", &in, &object, &PyTuple_Type, &plan, &out,
                          &entry) ||
        take_file(object, entry, &link, &file) != 0 || request_begin(&request, plan, out) != 0) {
        return NULL;
    }
    int status;
    BY_DECODER(status, stored_decode(decoder, in.buf, (size_t)in.len, &file, &request.plan,
                                     &request.target));
    return request_end(&request, status);
}

/* make_form(bytes, link or None, entry or None): (the form, which may be stored now; true if it was
 * stored before); None: there is none. */
PyObject *core_make_form(PyObject *module, PyObject *arguments)
{
    HELD_BUFFER Py_buffer in = {0};
    PyObject *object, *entry;
    struct stk_hash128 link;
    struct stored_file file;
    struct stk_form form = {NULL, 0};
    bool found = false;
    if (!PyArg_ParseTuple(arguments, "y*OO", &in, &object, &entry) ||
        take_file(object, entry, &link, &file) != 0) {
        return NULL;
    }
    int status;
    BY_DECODER(status, stored_make(decoder, in.buf, (size_t)in.len, &file, &form, &found));
    return status != STK_DECODE_OK || form.bytes == 0
               ? Py_NewRef(Py_None)
               : Py_BuildValue("y#N", form.data, (Py_ssize_t)form.bytes, PyBool_FromLong(found));
}

/* check_stored(bytes): (key, whether the form that is kept of them is theirs); None: none is kept.
 */
PyObject *core_check_stored(PyObject *module, PyObject *object)
{
    HELD_BUFFER Py_buffer in = {0};
    struct stk_hash128 key;
    if (PyObject_GetBuffer(object, &in, PyBUF_SIMPLE) != 0) {
        return NULL;
    }
    int same;
    BY_DECODER(same, stored_check(decoder, in.buf, (size_t)in.len, &key));
    if (same == STK_DECODE_MEMORY) {
        return PyErr_NoMemory();
    }
    return same < 0 ? Py_NewRef(Py_None)
                    : Py_BuildValue("NN", link_bytes(key), PyBool_FromLong(same));
}

/* decode_form(form, the file's size, plan, out): as decode(), from a form. A size of 0: the form
 * was made just now, and is not counted. */
PyObject *core_decode_form(PyObject *module, PyObject *arguments)
{
    HELD_BUFFER Py_buffer in = {0};
    unsigned long long file_bytes;
    PyObject *plan, *out;
    struct plan_request request;
    if (!PyArg_ParseTuple(arguments, "y*KO!O", &in, &file_bytes, &PyTuple_Type, &plan, &out) ||
        request_begin(&request, plan, out) != 0) {
        return NULL;
    }
    const struct stk_store_value form = {.data = in.buf, .bytes = (size_t)in.len};
    int status;
    BY_DECODER(status,
               stored_decode_form(decoder, &form, file_bytes, &request.plan, &request.target));
    return request_end(&request, status);
}
