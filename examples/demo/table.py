"""The demo's result as a table, epoch by epoch, and in a sentence. Only measured figures."""

HEAD = ("          images per second      waited for data      storage operations\n"
        "epoch      without      with    without      with      without      with")
LINE = "%4d     %9.1f %9.1f  %7.1f s %7.1f s    %9s %9s"


def make_table(without, with_stoker):
    lines = [HEAD]
    for a, b in zip(without, with_stoker):
        lines.append(LINE % (a.number, a.images_per_s, b.images_per_s, a.waited_s, b.waited_s,
                             format(a.origin_ops, ",d"), format(b.origin_ops, ",d")))
    return "\n".join(lines)


def make_summary(without, with_stoker):
    """About the last epoch, when everything that is going to be cached is cached."""
    a, b = without[-1], with_stoker[-1]
    text = ("Epoch %d with Stoker: %.1f times the images per second, and %s storage operations "
            "instead of %s." % (a.number, b.images_per_s / a.images_per_s,
                                format(b.origin_ops, ",d"), format(a.origin_ops, ",d")))
    if [epoch.loss for epoch in without] == [epoch.loss for epoch in with_stoker]:
        text += "\nBoth runs printed the same losses: the same pixels reached the model."
    return text
