// SPDX-License-Identifier: GPL-2.0-or-later
// What delayed the runs of one series: a histogram for each combination of what they met beyond
// the base path, and the same as a table.
"use strict";

(function (ns) {
  const MAX_FACETS = 6;
  const label = (cause) => cause.label || "nothing beyond the base path";

  const facet = (series) => (cause) => ({ title: label(cause), values: cause.values, q: cause.q,
    is_irq: cause.is_irq, bound_ns: Math.max(series.bound_ns, ns.roundAxis(1.5 * cause.q.q95_ns)) });

  function table(series) {
    const all = series.causes.reduce((sum, cause) => sum + cause.q.n, 0);
    const number = (key, title) => ({ key, title, num: true, value: (c) => c.q[key + "_ns"],
      cell: (c) => ns.latency(c.q[key + "_ns"]) });
    const view = new ns.Table({ label: "Causes", className: "causes-of", sortKey: "n", columns: [
      { key: "label", title: "beyond the base path", className: "name", clip: true, value: label,
        cell: (c) => ns.el("span", { title: (c.slow_stages.length ? c.slow_stages.map((s) => s.join(" to ")) : c.tracepoints).join(" ") || null }, label(c)) },
      { key: "n", title: "n", num: true, value: (c) => c.q.n, cell: (c) => ns.count(c.q.n) },
      { key: "share", title: "%", num: true, value: (c) => c.q.n, cell: (c) => ns.percent(c.q.n, all) },
      number("q05", "Q05"), number("q50", "Q50"), number("q95", "Q95"), number("max", "max"),
      { key: "over", title: "over Q95", num: true, hint: "of the series", value: (c) => c.nr_over_q95,
        cell: (c) => ns.count(c.nr_over_q95) },
    ] });
    view.setRows(series.causes);
    return view.element;
  }

  function about(series) {
    const base = series.base_path.length
      ? "Undelayed runs meet: " + series.base_path.join(" ") + "."
      : "Undelayed runs meet no tracepoint that was hooked.";
    const { nr_over_q95: over, nr_explained: met, nr_slow_stages: slow } = series.tail;
    return `${base} Over Q95: ${ns.count(over)} runs; ${ns.count(met)} met something beyond that, ` +
      `${ns.count(slow)} were slow in a few stages, ${ns.count(over - met - slow)} are unexplained.`;
  }

  ns.showCauses = (all) => {
    const traced = all.filter((series) => series.causes.length);
    if (!traced.length) return;
    ns.byId("causes").hidden = false;
    // The one with most to explain comes first.
    const most = [...traced].sort((a, b) => b.causes.length - a.causes.length)[0];
    const state = { series: most };
    const controls = ns.byId("causes-controls");
    const rows = () => state.series.causes.slice(0, MAX_FACETS).map((cause) => [facet(state.series)(cause)]);
    const show = () => {
      ns.byId("causes-about").textContent = about(state.series);
      ns.byId("causes-table").replaceChildren(table(state.series));
    };
    controls.append(ns.choice("Series", traced.map((s, at) => [String(at), s.label]),
      String(traced.indexOf(most)), (at) => { state.series = traced[Number(at)]; show(); figure.draw(); }));
    const figure = ns.figure(ns.byId("causes-grid"), controls, rows);
    ns.redraws.push(show);
    show();
    figure.draw();
  };
})(irqpath);
