#include "cli/summary/summary.h"

#include <inttypes.h>
#include <string.h>

#include "cli/os/python.h"
#include "cli/out/say.h"
#include "cli/out/summary_lines.h"

#define SHORTEST_S 0.05 /* shorter times were not worth saving */

/* Returns the images that Stoker left to other libraries, with reasons: "3 mode (not of three
 * colours), ...", from the tally's slots `first` to `end`. The caller frees. */
static char *left_text(const struct session *session, int first, int end)
{
    char *text = must_copy("");
    for (int slot = first; slot < end; slot++) {
        enum stk_tally_slot why = (enum stk_tally_slot)slot;
        if (figures_tallied(session, why) > 0) {
            text = must_append(text, "%s%" PRIu64 " %s (%s)", *text != '\0' ? ", " : "",
                               figures_tallied(session, why), stk_tally_name(why),
                               stk_tally_meaning(why));
        }
    }
    return text;
}

/* Returns true if the cache is too small or too full for samples. With --decoded 0 there is no such
 * line. */
static bool lacks_room_for_samples(const struct session *session)
{
    const struct samples *samples = &session->samples;
    return samples->quota != NULL && samples->most_blocks == INT64_MAX &&
           samples_budget_bytes(samples) == 0;
}

/* Returns ", 4000 from decoded copies (2000 kept, 182 MiB), 2.1 s saved", or "". The caller frees.
 */
static char *samples_text(const struct session *session)
{
    char kept[STK_SIZE_TEXT];
    uint64_t forms = figures_tallied(session, STK_TALLY_FORMS),
             hits = figures_tallied(session, STK_TALLY_FROM_FORMS);
    double saved_s = session->tally != NULL ? samples_saved_s(session->tally) : 0;
    bool saved = figures_tallied(session, STK_TALLY_JPEG_BYTES) > 0 && saved_s >= SHORTEST_S;
    OWNED char *time = saved ? must_format(", %.1f s saved", saved_s) : must_copy("");
    return forms + hits > 0
               ? must_format(", %" PRIu64 " from decoded copies (%" PRIu64 " kept, %s)%s", hits,
                             forms, size_text(kept, figures_tallied(session, STK_TALLY_FORM_BYTES)),
                             time)
           : lacks_room_for_samples(session)
               ? must_copy(", no decoded copies kept: no room in the cache; --tier DIR:SIZE, "
                           "or --decoded SIZE, makes some")
               : must_copy("");
}

void summary_add_decoded(const struct session *session)
{
    uint64_t left = figures_left_to_pillow(session);
    uint64_t images = figures_tallied(session, STK_TALLY_IMAGES);
    uint64_t resized = figures_tallied(session, STK_TALLY_RESIZED);
    uint64_t pngs = figures_tallied(session, STK_TALLY_PNGS);
    uint64_t operations = figures_tallied(session, STK_TALLY_OPERATIONS);
    OWNED char *samples = samples_text(session);
    if (images > 0) {
        lines_add(CACHES, "  " COUNTED " decoded%s", COUNT_OF(images, "image", "images"), samples);
    }
    if (left > 0) {
        OWNED char *reasons = left_text(session, STK_TALLY_IMAGES + 1, STK_TALLY_REASONS);
        lines_add(PARTS, "  " COUNTED " left to Pillow: %s", COUNT_OF(left, "image", "images"),
                  reasons);
    }
    if (resized > 0) {
        lines_add(DETAILS, "  " COUNTED " resized that Pillow had decoded",
                  COUNT_OF(resized, "image", "images"));
    }
    if (pngs > 0) {
        lines_add(DETAILS, "  " COUNTED " loaded in Pillow's place", COUNT_OF(pngs, "PNG", "PNGs"));
    }
    if (operations > 0) {
        lines_add(DETAILS, "  " COUNTED " of Pillow's done here (blends, colours, blurs, warps)",
                  COUNT_OF(operations, "operation", "operations"));
    }
}

void summary_add_results(const struct session *session)
{
    uint64_t found = figures_tallied(session, STK_TALLY_RESULTS_FOUND);
    uint64_t made = figures_tallied(session, STK_TALLY_RESULTS_MADE);
    uint64_t kept = figures_tallied(session, STK_TALLY_RESULTS_KEPT);
    OWNED char *lost =
        made > kept ? must_format(", %" PRIu64 " not kept", made - kept) : must_copy("");
    if (found + made > 0) {
        lines_add(CACHES, "  " COUNTED " of stoker.cached: %" PRIu64 " found, %" PRIu64 " made%s",
                  COUNT_OF(found + made, "result", "results"), found, made, lost);
    }
}

/* Returns true if a Python should decode, and lacks the package. */
static bool lacks_package(const struct request *request)
{
    OWNED char *site = python_site();
    bool python = request->command != NULL && request->command[0] != NULL &&
                  strncmp(stk_path_leaf(request->command[0]), "python", 6) == 0;
    bool none = site == NULL || !python_decodes();
    return none && python && !(request->no_decode && request->no_batches);
}

void summary_add_missing(const struct figures *figures)
{
    const struct session *session = figures->session;
    unsigned version = session->tally != NULL ? stk_tally_refused_python(session->tally) : 0;
    uint64_t images = figures_tallied(session, STK_TALLY_IMAGES);
    if (version > 0) {
        lines_add(LOSSES,
                  "  Python %u.%u: images and batches are left as they are (decoding wants "
                  "CPython 3.11 or later, with the GIL)",
                  version / 100, version % 100);
    } else if (lacks_package(figures->request)) {
        lines_add(LOSSES, "  images and batches are left as they are: the Python package is not "
                          "installed beside this command");
    }
    if (images > 0 && !python_keeps_samples()) {
        lines_add(LOSSES, "  no decoded image was kept: this build has no LMDB (liblmdb-dev)");
    }
    if (images == 0 && figures_tallied(session, STK_TALLY_OPENCV) > 0) {
        lines_add(LOSSES, "  OpenCV (cv2) was seen: files that it reads are cached, but it decoded "
                          "all images itself, and opens each of them twice");
    }
}

void summary_add_batches(const struct session *session)
{
    uint64_t left = figures_left_to_torch(session);
    uint64_t batches = figures_tallied(session, STK_TALLY_BATCHES);
    if (left > 0) {
        OWNED char *reasons =
            left_text(session, STK_TALLY_BATCH_REASONS, STK_TALLY_BATCH_REASONS_END);
        lines_add(PARTS, "  " COUNTED " without a copy, " COUNTED " left to torch: %s",
                  COUNT_OF(batches, "batch", "batches"), COUNT_OF(left, "tensor", "tensors"),
                  reasons);
    }
}
