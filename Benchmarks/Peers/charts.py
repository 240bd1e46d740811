"""The charts, with matplotlib."""

import sys


def pyplot():
    try:
        import matplotlib
    except ImportError:
        sys.exit("A chart needs python3-matplotlib: scripts/bench --install")
    matplotlib.use("Agg")
    import matplotlib.pyplot
    return matplotlib.pyplot


def table(rows, path):
    """A bar for each contestant, in one panel for each workload: how much longer it takes than RenderStack."""
    plot = pyplot()
    groups = {}
    for row in rows:
        groups.setdefault(f"{row.workload} {row.label}".strip(), []).append(row)
    groups = {name: some for name, some in groups.items() if any(row.name == "RenderStack" for row in some)}
    columns = 3
    lines = max(1, -(-len(groups) // columns))
    figure, panels = plot.subplots(lines, columns, figsize=(15, 2.6 * lines), squeeze=False)
    for panel in panels.flat[len(groups):]:
        panel.axis("off")
    for panel, (name, some) in zip(panels.flat, groups.items()):
        ours = next(row for row in some if row.name == "RenderStack")
        def times(row):
            return ours.value / row.value if row.workload.startswith("W1") else row.value / ours.value
        some = sorted(some, key=times, reverse=True)
        colours = ["#c0392b" if row is ours else "#7f8c8d" if row.name.startswith("C") else "#2e86c1" for row in some]
        panel.barh([row.name + ("" if row.is_same else " *") for row in some], [times(row) for row in some], color=colours)
        panel.axvline(1, color="#c0392b", linewidth=0.8)
        panel.set_title(name, fontsize=9)
        panel.tick_params(labelsize=7)
    figure.suptitle("Time taken, RenderStack = 1 (shorter is faster; * does not do quite the same)", fontsize=11)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def growth(found, path):
    plot = pyplot()
    figure, panels = plot.subplots(2, 2, figsize=(11, 8))
    names = {"voices": "voices", "modules": "gains in a row", "cycles": "frames in a cycle (64 voices)",
             "players": "file players"}
    for panel, (kind, rows) in zip(panels.flat, found.items()):
        sizes = [row[0] for row in rows]
        for column, label, style in ((1, "p50", "o-"), (2, "p99", "s--"), (3, "max", "^:")):
            panel.plot(sizes, [row[column] / 1e3 for row in rows], style, label=label, markersize=4)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xlabel(names[kind])
        panel.set_ylabel("µs a cycle")
        panel.grid(True, which="both", alpha=0.25)
        panel.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)
