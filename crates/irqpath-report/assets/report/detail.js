// SPDX-License-Identifier: GPL-2.0-or-later
// The details of one path: its stages as a waterfall, a histogram, its slow runs and their causes.
//
// Two waterfalls share the rows. On the left the median of each stage, one after the other (the
// sum of medians is not the median of the path). On the right one recorded run with its real
// offsets; which one is chosen in the list of slow runs.
"use strict";

(function (ns) {
  const { Q } = ns;
  const state = { path: null, slow: null, stage: -1 }; // stage -1 is the whole path

  function bar(start, length, whole, className) {
    const svg = ns.svg("svg", { width: "100%", height: 14, "aria-hidden": "true" });
    const scale = whole ? 100 / whole : 0;
    svg.append(ns.svg("line", { x1: "0", x2: "100%", y1: 13.5, y2: 13.5, class: "rule" }),
      ns.svg("rect", { x: start * scale + "%", width: Math.max(0.4, length * scale) + "%", y: 1,
        height: 11, class: className }));
    return svg;
  }

  function stageButton(index, title, point) {
    const pressed = String(state.stage === index);
    const button = ns.el("button", { type: "button", class: "stage", "aria-pressed": pressed,
      "data-stage": index, title: "show the histogram of this stage" }, title);
    if (point) button.append(ns.el("span", { class: "point" }, point));
    button.addEventListener("click", () => showStage(index));
    return button;
  }

  function numbers(total) {
    const columns = [["n", ns.count], ["q50", ns.us], ["q99", ns.us], ["max", ns.us]];
    return columns.map(([key, format]) => ns.el("td", { class: "num" }, format(total[Q[key]])));
  }

  function runCells(run, slow) {
    if (!slow) return [];
    if (!run) return [ns.el("td", { class: "num" }, "–"), ns.el("td", { class: "num" }, "–"),
      ns.el("td", { class: "num" }, "–"), ns.el("td", { class: "bars" })];
    return [
      ns.el("td", { class: "num" }, String(run.cpu)),
      ns.el("td", { class: "num" }, "+" + ns.us(run.start_ns)),
      ns.el("td", { class: "num strong" }, ns.us(run.ns)),
      ns.el("td", { class: "bars" }, bar(run.start_ns, run.ns, slow.total_ns, "run")),
    ];
  }

  function waterfallHead(sum, slow) {
    const th = (title, class_) => ns.el("th", { scope: "col", class: class_ }, title);
    const scale = (title, end) => ns.el("th", { scope: "col", class: "bars" },
      ns.el("span", { class: "scale" }, title, ns.el("span", {}, ns.us(end))));
    return ns.el("tr", {}, th("Stage (ends at)"), th("n", "num"), th("q50", "num"), th("q99", "num"),
      th("max", "num"), scale("medians in sequence", sum),
      ...(slow ? [th("CPU", "num"), th("starts", "num"), th("takes", "num"),
        scale("this run", slow.total_ns)] : []));
  }

  function waterfall(path, slow) {
    const sum = path.stages.reduce((total, stage) => total + stage.total[Q.q50], 0);
    let at = 0;
    const rows = path.stages.map((stage, index) => {
      const point = ns.data.points[stage.point];
      const median = stage.total[Q.q50];
      const run = slow && slow.stages.find((s) => s.point === stage.point);
      const row = ns.el("tr", {},
        ns.el("th", { scope: "row" }, stageButton(index, point.title, point.name)),
        ...numbers(stage.total),
        ns.el("td", { class: "bars" }, bar(at, median, sum, "median")), ...runCells(run, slow));
      at += median;
      return row;
    });
    const whole = slow && { cpu: "", start_ns: 0, ns: slow.total_ns };
    rows.push(ns.el("tr", { class: "whole" },
      ns.el("th", { scope: "row" }, stageButton(-1, "whole path")), ...numbers(path.total),
      ns.el("td", { class: "bars" }), ...(slow ? [...runCells(whole, slow).slice(0, 3),
        ns.el("td", { class: "bars note" }, slow.end)] : [])));
    return ns.el("table", { class: "waterfall", "aria-label": "Stages" },
      ns.el("thead", {}, waterfallHead(sum, slow)), ns.el("tbody", {}, ...rows));
  }

  /** The words of the cause that took most, with the cause itself; or null. */
  function mainCause(slow) {
    if (!slow || !slow.main) return null;
    const stage = slow.stages[slow.main[0]];
    const cause = stage.causes[slow.main[1]];
    return { cause, text: ns.causeText(cause, stage) };
  }

  /** `97 % thread spinner:812 f:20` with its colour, or null. */
  ns.mainCauseCell = (slow) => {
    const main = mainCause(slow);
    if (!main) return null;
    const text = `${ns.percent(main.cause.ns, slow.until_running_ns)} % ${main.text}`;
    return ns.el("span", { class: "cause", title: text }, ns.swatch(main.cause.kind), text);
  };

  ns.mainCauseText = (slow) => {
    const main = mainCause(slow);
    return main ? main.text : "";
  };

  function slowTable(path) {
    const table = new ns.Table({
      label: "Slow runs", className: "slow", sortKey: "slowest", empty: "No run of this path was recorded.",
      onSelect: (slow) => { state.slow = slow; showRun(); },
      columns: [
        { key: "slowest", title: "to run, us", num: true, hint: "until the target ran",
          value: (s) => s.until_running_ns, cell: (s) => ns.us(s.until_running_ns) },
        { key: "total", title: "all, us", num: true, value: (s) => s.total_ns, cell: (s) => ns.us(s.total_ns) },
        { key: "at", title: "at, s", num: true, hint: "CLOCK_MONOTONIC", value: (s) => Number(s.at),
          cell: (s) => s.at },
        { key: "target", title: "target", className: "name", value: (s) => s.target, cell: (s) => s.target },
        { key: "cause", title: "main cause", className: "wide", value: ns.mainCauseText,
          cell: ns.mainCauseCell },
      ],
    });
    table.setRows(path.slow);
    table.select(state.slow);
    return table.element;
  }

  function heading(path) {
    const task = path.tid === null ? path.target : `${path.target}:${path.tid}`;
    const target = path.sched ? `${task} ${path.sched}` : task;
    return ns.el("h2", { id: "detail-title", tabindex: -1 }, ns.el("span", { class: "name" }, path.origin),
      " → ", ns.el("span", { class: "name" }, target),
      ns.el("span", { class: "via" }, path.via === "-" ? "woken by the handler itself" : "via " + path.via));
  }

  /** Redraw the chart only: another stage, another width, another colour scheme. */
  ns.redrawChart = () => {
    const host = ns.byId("chart");
    if (!host || !state.path) return;
    const stage = state.stage < 0 ? state.path : state.path.stages[state.stage];
    ns.drawHistogram(host, ns.byId("chart-readout"), stage);
    const title = state.stage < 0 ? "whole path" : ns.data.points[stage.point].title;
    ns.byId("chart-stage").textContent = title;
  };

  function showStage(index) {
    state.stage = index;
    for (const button of document.querySelectorAll("[data-stage]")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.stage) === index));
    }
    ns.redrawChart();
  }

  /** What depends on the chosen run. */
  function showRun() {
    const { path, slow } = state;
    ns.byId("waterfall").replaceChildren(waterfall(path, slow));
    const parts = slow ? [
      ns.el("h3", {}, "Causes of the run of ", ns.us(slow.total_ns), " us",
        ns.el("span", { class: "via" }, slow.target + (slow.timer ? ", timer " + slow.timer : ""))),
      ns.el("div", { class: "columns causes-columns" }, ns.causeBars(slow),
        ns.el("div", { class: "scroll" }, ns.causeTable(slow))),
      ns.data.virtual_note && ns.el("p", { class: "note" }, ns.data.virtual_note),
    ].filter(Boolean) : [];
    ns.byId("run").replaceChildren(...parts);
  }

  /** Show a path; its slowest recorded run is chosen. */
  ns.showDetail = (path) => {
    Object.assign(state, { path, slow: path.slow[0] || null, stage: -1 });
    const detail = ns.byId("detail");
    detail.hidden = false;
    detail.replaceChildren(
      ns.el("div", { class: "bar" }, heading(path), ns.el("span", { class: "unit" }, "times in us")),
      ns.el("div", { id: "waterfall", class: "scroll" }),
      ns.el("div", { class: "columns" },
        ns.el("div", {},
          ns.el("h3", {}, "Histogram: ", ns.el("span", { id: "chart-stage" }),
            ns.el("output", { id: "chart-readout", class: "via" })),
          ns.el("div", { id: "chart" })),
        ns.el("div", {}, ns.el("h3", {}, "Slow runs"), slowTable(path))),
      ns.el("div", { id: "run" }));
    showRun();
    ns.redrawChart();
  };
})(irqpath);
