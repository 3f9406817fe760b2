/* Plans and targets as Python passes them. */
#include <limits.h>
#include <string.h>

#include "wrappers/python/core/decode/plan_request.h"

#include "wrappers/python/core/common/objects.h"

/* The size of a value of the result. */
static size_t value_bytes(const struct stk_plan *plan)
{
    return plan->type == STK_TYPE_F32 ? sizeof(float) : 1;
}

void plan_size(const struct stk_plan *plan, uint32_t *width, uint32_t *height)
{
    const uint32_t *window = plan->window;
    *width = window[2] > window[0] ? window[2] - window[0] : plan->width;
    *height = window[3] > window[1] ? window[3] - window[1] : plan->height;
}

int plan_lay_out(const struct stk_plan *plan, struct stk_target *target)
{
    uint32_t width, height;
    plan_size(plan, &width, &height);
    size_t row = width * value_bytes(plan);
    if (plan->layout != STK_LAYOUT_CHW) {
        row *= plan->channels;
    }
    target->row_bytes = row;
    target->plane_bytes = row * height;
    target->bytes = target->plane_bytes;
    if (plan->layout == STK_LAYOUT_CHW) {
        target->bytes *= plan->channels;
    }
    return height > 0 && row > (size_t)PY_SSIZE_T_MAX / 4 / height ? -1 : 0;
}

size_t plan_table_bytes(const struct stk_plan *plan)
{
    return plan->channels * 256 * sizeof(float);
}

static int take_table(struct plan_request *request, PyObject *table)
{
    if (table == Py_None) {
        return 0;
    }
    if (PyObject_GetBuffer(table, &request->table, PyBUF_SIMPLE) != 0) {
        return -1;
    }
    if (request->table.len != (Py_ssize_t)plan_table_bytes(&request->plan)) {
        PyErr_SetString(PyExc_ValueError, "a table has 256 floats for each channel");
        return -1;
    }
    request->plan.table = request->table.buf;
    return 0;
}

/* Reads a box of numbers that are not negative; None leaves it as it is. Returns false with an
 * exception set. */
static int take_window(PyObject *object, void *box)
{
    uint32_t *at = box;
    return object == Py_None || PyArg_ParseTuple(object, "O&O&O&O&", take_u32, &at[0], take_u32,
                                                 &at[1], take_u32, &at[2], take_u32, &at[3]);
}

int geometry_of(struct stk_plan *plan, PyObject *tuple)
{
    int filter;
    int32_t *crop = plan->crop;
    *plan = (struct stk_plan){0};
    if (!PyArg_ParseTuple(tuple, "(iiii)(O&O&)iO&O&O&;not a geometry", &crop[0], &crop[1], &crop[2],
                          &crop[3], take_u32, &plan->width, take_u32, &plan->height, &filter,
                          take_u32, &plan->flip, take_window, plan->window, take_u32,
                          &plan->turn)) {
        return -1;
    }
    if (plan->width > INT_MAX || plan->height > INT_MAX) {
        PyErr_SetString(PyExc_ValueError, "no such image");
        return -1;
    }
    plan->box[2] = (float)((int64_t)crop[2] - crop[0]);
    plan->box[3] = (float)((int64_t)crop[3] - crop[1]);
    plan->filter = (enum stk_filter)filter;
    return 0;
}

PyObject *geometry_from(const struct stk_plan *plan)
{
    const uint32_t *window = plan->window;
    PyObject *wanted = window[2] > window[0]
                           ? Py_BuildValue("IIII", window[0], window[1], window[2], window[3])
                           : Py_NewRef(Py_None);
    return Py_BuildValue("(iiii)(II)iINI", plan->crop[0], plan->crop[1], plan->crop[2],
                         plan->crop[3], plan->width, plan->height, (int)plan->filter, plan->flip,
                         wanted, plan->turn);
}

int layout_of(struct stk_plan *plan, PyObject *tuple, PyObject **table)
{
    int layout, type;
    if (!PyArg_ParseTuple(tuple, "O&iiO;not a layout", take_u32, &plan->channels, &layout, &type,
                          table)) {
        return -1;
    }
    if (plan->channels == 0 || plan->channels > 4) {
        PyErr_SetString(PyExc_ValueError, "no such image");
        return -1;
    }
    plan->layout = (enum stk_layout)layout;
    plan->type = (enum stk_type)type;
    return 0;
}

int plan_of(struct stk_plan *plan, PyObject *tuple, PyObject **table)
{
    int resizer;
    PyObject *geometry, *layout;
    uint32_t scale = 0;
    if (!PyArg_ParseTuple(tuple, "O!iO!|O&;not a plan", &PyTuple_Type, &geometry, &resizer,
                          &PyTuple_Type, &layout, take_u32, &scale) ||
        geometry_of(plan, geometry) != 0) {
        return -1;
    }
    plan->scale = scale;
    plan->resizer = (enum stk_resizer)resizer;
    return layout_of(plan, layout, table);
}

static int take_out(struct plan_request *request, PyObject *out)
{
    if (plan_lay_out(&request->plan, &request->target) != 0) {
        PyErr_NoMemory();
        return -1;
    }
    if (out == Py_None) {
        request->result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)request->target.bytes);
        request->target.data = request->result != NULL ? PyBytes_AsString(request->result) : NULL;
        return request->result != NULL ? 0 : -1;
    }
    if (PyObject_GetBuffer(out, &request->out, PyBUF_WRITABLE) != 0) {
        return -1;
    }
    if (request->out.len != (Py_ssize_t)request->target.bytes) {
        PyErr_Format(PyExc_ValueError, "out has %zd bytes, the result %zd", request->out.len,
                     (Py_ssize_t)request->target.bytes);
        return -1;
    }
    request->target.data = request->out.buf;
    Py_INCREF(out);
    request->result = out;
    return 0;
}

static void let_go(struct plan_request *request)
{
    PyBuffer_Release(&request->table);
    PyBuffer_Release(&request->out);
}

int request_begin(struct plan_request *request, PyObject *plan, PyObject *out)
{
    PyObject *table;
    memset(request, 0, sizeof *request);
    if (plan_of(&request->plan, plan, &table) == 0 && take_table(request, table) == 0 &&
        take_out(request, out) == 0) {
        return 0;
    }
    let_go(request);
    return -1;
}

PyObject *request_end(struct plan_request *request, int status)
{
    let_go(request);
    if (status == STK_DECODE_OK) {
        return request->result;
    }
    Py_DECREF(request->result);
    return PyLong_FromLong(status);
}
