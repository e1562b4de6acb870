// SPDX-License-Identifier: GPL-2.0-or-later
// The table of all paths, with its filters. A row chosen by click or Enter shows its details.
"use strict";

(function (ns) {
  const { Q } = ns;

  const time = (key, title, hint) => ({
    key, title, hint, num: true,
    value: (path) => path.total[Q[key]], cell: (path) => ns.us(path.total[Q[key]]),
  });

  const name = (key, title, text) => ({
    key, title, className: "name", clip: true, value: text, cell: text,
  });

  function maxCell(path) {
    const max = path.total[Q.max];
    const over = ns.data.threshold_ns !== null && max > ns.data.threshold_ns;
    return over ? ns.el("strong", { title: "over the threshold" }, ns.us(max)) : ns.us(max);
  }

  const COLUMNS = [
    name("origin", "origin", (path) => path.origin),
    name("via", "via", (path) => path.via),
    name("target", "target", (path) => (path.sched ? `${path.target} ${path.sched}` : path.target)),
    { key: "n", title: "n", num: true, value: (path) => path.total[Q.n],
      cell: (path) => ns.count(path.total[Q.n]) },
    time("min", "min"), time("q50", "q50", "median"), time("q95", "q95"), time("q99", "q99"),
    time("q999", "q99.9"),
    { key: "max", title: "max", num: true, value: (path) => path.total[Q.max], cell: maxCell },
    { key: "slowest", title: "to run", num: true, hint: "longest time until the target ran; the rest is its own work",
      value: (path) => path.slowest_ns, cell: (path) => ns.us(path.slowest_ns) },
    { key: "cause", title: "worst cause", className: "wide",
      hint: "what took most of the slowest recorded run, its own work aside",
      value: (path) => ns.mainCauseText(path.slow[0]), cell: (path) => ns.mainCauseCell(path.slow[0]) },
  ];

  /** Give every path its slow runs (slowest first) and the text that the filter searches. */
  function prepare(data) {
    for (const path of data.paths) path.slow = [];
    for (const slow of data.slow) data.paths[slow.path].slow.push(slow);
    for (const path of data.paths) {
      path.slow.sort((a, b) => b.until_running_ns - a.until_running_ns);
      const cause = ns.mainCauseText(path.slow[0]);
      path.text = [path.origin, path.via, path.target, path.sched, cause].join("\n").toLowerCase();
    }
  }

  function showDetail(path) {
    ns.showDetail(path);
    const title = ns.byId("detail-title");
    const { top, bottom } = title.getBoundingClientRect();
    if (top < 0 || bottom > innerHeight) {
      ns.byId("detail").scrollIntoView({ block: innerHeight > 900 ? "end" : "start" });
    }
  }

  ns.showPaths = (data) => {
    prepare(data);
    const table = new ns.Table({ label: "Paths", className: "paths", columns: COLUMNS,
      sortKey: "slowest", empty: "No path matches the filter.", onSelect: showDetail });
    ns.byId("paths").append(table.element);

    function refresh() {
      const words = ns.byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
      const kind = ns.byId("kind").value;
      const rows = data.paths.filter((path) =>
        (!kind || path.kind === kind) && words.every((word) => path.text.includes(word)));
      table.setRows(rows);
      const all = ns.count(data.paths.length);
      ns.byId("paths-count").textContent =
        rows.length === data.paths.length ? all : `${ns.count(rows.length)} of ${all}`;
    }

    ns.byId("filter").addEventListener("input", refresh);
    ns.byId("kind").addEventListener("change", refresh);
    refresh();
    if (table.order.length) {
      table.select(table.order[0]);
      ns.showDetail(table.order[0]);
    }
  };
})(irqpath);
