// SPDX-License-Identifier: GPL-2.0-or-later
// The clocks: how they became nanoseconds, and how fine they are. The dots show it: a clock that
// steps leaves gaps between them.
"use strict";

(function (ns) {
  /** Per clock and machine the series that shows it best: two checkpoints back to back, if any. */
  function best(series) {
    const found = new Map();
    for (const s of series) {
      const key = s.set + "\n" + s.clock;
      const old = found.get(key);
      const rank = (one) => (one.mechanism === "none" ? 1e9 : 0) + one.resolution.nr_distinct;
      if (!old || rank(s) > rank(old)) found.set(key, s);
    }
    return [...found.values()];
  }

  const stepNs = (s) => (s.resolution.step_ticks * 1e9) / s.clock_hz;

  function table(clocks) {
    const column = (key, title, value, cell, hint) => ({ key, title, hint, num: true, value, cell });
    const view = new ns.Table({ label: "Clocks", className: "clocks", sortKey: "clock", descending: false,
      columns: [
        { key: "clock", title: "clock", className: "name", value: (s) => s.clock + s.set,
          cell: (s) => [s.set, s.clock].filter(Boolean).join(" ") },
        column("mhz", "MHz", (s) => s.clock_hz, (s) => (s.clock_hz / 1e6).toFixed(3)),
        { key: "known", title: "known by", value: (s) => s.clock_known_by, cell: (s) => s.clock_known_by },
        column("step", "step, ns", stepNs, (s) => (s.resolution.step_ticks ? stepNs(s).toFixed(1) : null),
          "of which all differences between latencies are multiples"),
        column("distinct", "distinct", (s) => s.resolution.nr_distinct,
          (s) => ns.count(s.resolution.nr_distinct), "different latencies"),
        column("cost", "checkpoint, ns", (s) => s.checkpoint_cost_ns,
          (s) => (s.checkpoint_cost_ns === null ? null : ns.count(s.checkpoint_cost_ns)),
          "what one checkpoint takes, the least of many"),
        { key: "seen", title: "seen in", className: "name", value: (s) => s.label, cell: (s) => s.label },
      ] });
    view.setRows(clocks);
    return view.element;
  }

  ns.showClocks = (series) => {
    const clocks = best(series);
    ns.byId("clocks-table").replaceChildren(table(clocks));
    const grid = ns.byId("clocks-grid");
    if (clocks.length < 2) {
      grid.parentElement.classList.remove("columns");
      grid.remove();
      return;
    }
    const facet = (s) => ({ title: [s.set, s.clock, s.mechanism === "none" ? "" : s.mechanism]
      .filter(Boolean).join(", "), values: s.values, q: s.q, nr_irq: s.nr_irq, bound_ns: s.bound_ns });
    ns.figure(grid, ns.byId("clocks-controls"), () => clocks.map((s) => [facet(s)])).draw();
  };
})(irqpath);
