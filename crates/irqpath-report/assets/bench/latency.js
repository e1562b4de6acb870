// SPDX-License-Identifier: GPL-2.0-or-later
// The table of all series, and their distributions as a figure whose rows and columns are what
// differs between them: mechanism, load, rate, wait, clock, machine.
"use strict";

(function (ns) {
  const DIMENSIONS = [
    ["mechanism", "mechanism", (s) => s.mechanism],
    ["load", "load", (s) => (s.load === null ? "?" : String(s.load))],
    ["rate", "rate", (s) => s.rate],
    ["wait", "wait", (s) => s.wait],
    ["set", "machine", (s) => s.set || "–"],
    ["clock", "clock", (s) => s.clock],
    ["trigger", "trigger", (s) => s.trigger || "–"],
    ["cpu", "CPU", (s) => (s.cpu === null ? "?" : String(s.cpu))],
    ["traced", "causes", (s) => (s.causes.length ? "traced" : "untraced")],
  ].map(([key, title, value]) => ({ key, title, value }));

  const words = { load: (v) => "load " + v, clock: (v) => "clock " + v, wait: (v) => v + " wait",
    cpu: (v) => "CPU " + v, trigger: (v) => "trigger " + v };
  const inWords = (dimension, value) => (words[dimension.key] || String)(value);

  function differing(series) {
    return DIMENSIONS.map((dimension) => ({ ...dimension,
      values: [...new Set(series.map(dimension.value))] })).filter((d) => d.values.length > 1);
  }

  function mostFrequent(dimension, series) {
    const nr = (value) => series.filter((s) => dimension.value(s) === value).length;
    return [...dimension.values].sort((a, b) => nr(b) - nr(a))[0];
  }

  const traced = DIMENSIONS.find((d) => d.key === "traced").value;

  /** What all series have in common. */
  ns.showCommon = (series) => {
    const common = DIMENSIONS.filter((d) => new Set(series.map(d.value)).size === 1 && d.key !== "traced");
    const text = common.map((d) => inWords(d, d.value(series[0])));
    ns.byId("common").textContent = text.filter((t) => t !== "–" && !t.endsWith("?")).join(", ");
  };

  const number = (key, title, value, hint) => ({ key, title, hint, num: true, value,
    cell: (s) => { const v = value(s); return v === null ? null : ns.latency(v); } });
  const quantile = (key, title) => number(key, title, (s) => (s.q.n ? s.q[key + "_ns"] : null));
  const counted = (key, title, value, hint) => ({ key, title, hint, num: true, value,
    cell: (s) => { const v = value(s); return v === null ? "?" : ns.count(v); } });

  const optional = (key, title, value, hint) => ({ ...counted(key, title, value, hint),
    cell: (s) => { const v = value(s); return v === null ? null : ns.count(v); } });

  function unexplained(s) {
    return s.tail ? s.tail.nr_over_q95 - s.tail.nr_explained - s.tail.nr_slow_stages : null;
  }

  ns.showTable = (series) => {
    const order = new Map(series.map((s, index) => [s, index]));
    const hasTail = series.some((s) => s.tail);
    const table = new ns.Table({ label: "Latencies", className: "latencies", sortKey: "label",
      descending: false, columns: [
        { key: "label", title: "mechanism", className: "name", value: (s) => order.get(s),
          cell: (s) => s.label },
        quantile("min", "min"), quantile("q05", "Q05"), quantile("q50", "Q50"), quantile("q95", "Q95"),
        quantile("max", "max"),
        number("max_irq", "max irq", (s) => (s.nr_runs ? s.max_irq_ns : null), "longest of all runs"),
        counted("n", "n", (s) => ns.total(s.values) + ns.total(s.irq_values), "complete runs"),
        counted("irq", "irq", (s) => s.nr_irq, "runs with an interrupt between their halves"),
        counted("oob", "oob", (s) => s.nr_oob, "runs without one that took more than 1.5 times Q95, rounded up"),
        ...(hasTail ? [optional("over", "over Q95", (s) => (s.tail ? s.tail.nr_over_q95 : null)),
          optional("unexplained", "unexplained", unexplained, "runs over Q95 without a named cause")] : []),
      ] });
    table.setRows(series);
    ns.byId("table").replaceChildren(table.element);
  };

  const asFacet = (s, title) => ({ title, values: s.values, q: s.q, nr_irq: s.nr_irq, bound_ns: s.bound_ns });

  ns.showLatency = (series) => {
    const dims = differing(series);
    const state = { rows: dims[0] ? dims[0].key : "mechanism",
      columns: dims.find((d, at) => at > 0 && d.values.length <= 4)?.key || "", picked: {} };
    for (const d of dims) state.picked[d.key] = mostFrequent(d, series);
    const controls = ns.byId("latency-controls");
    const facetsOf = (key) => dims.find((d) => d.key === key);

    function rows() {
      const down = facetsOf(state.rows);
      const across = facetsOf(state.columns);
      const fixed = dims.filter((d) => d !== down && d !== across);
      const cell = (v, w) => {
        const here = series.filter((one) => (!down || down.value(one) === v) &&
          (!across || across.value(one) === w) &&
          fixed.every((d) => d.key === "traced" || d.value(one) === state.picked[d.key]));
        // Nobody hooks tracepoints to measure a clock: then there is no choice.
        const s = here.find((one) => traced(one) === state.picked.traced) || here[0];
        if (!s) return null;
        const parts = [down && inWords(down, v), across && inWords(across, w)].filter(Boolean);
        return asFacet(s, parts.join(", ") || s.label);
      };
      return (down ? down.values : [null]).map((v) => (across ? across.values : [null]).map((w) => cell(v, w)));
    }

    const choices = ns.el("span", { class: "controls" });
    controls.append(choices);
    const figure = ns.figure(ns.byId("latency"), controls, rows);
    function showChoices() {
      const named = dims.map((d) => [d.key, d.title]);
      const change = (key, other) => (value) => {
        if (state[other] === value) state[other] = state[key]; // they trade places
        state[key] = value;
        showChoices();
        figure.draw();
      };
      const fixed = dims.filter((d) => d.key !== state.rows && d.key !== state.columns);
      choices.replaceChildren(
        ...(dims.length > 1 ? [ns.choice("Rows", [["", "–"], ...named], state.rows, change("rows", "columns")),
          ns.choice("Columns", [["", "–"], ...named], state.columns, change("columns", "rows"))] : []),
        ...fixed.map((d) => ns.choice(d.title, d.values.map((v) => [v, v]), state.picked[d.key],
          (value) => { state.picked[d.key] = value; figure.draw(); })));
    }
    showChoices();
    figure.draw();
  };
})(irqpath);
