// SPDX-License-Identifier: GPL-2.0-or-later
// What took the time of one slow path: a stacked bar for each stage, and the same as a table.
// Each bar is its stage at 100 %: the waterfall above shows how long the stages are.
"use strict";

(function (ns) {
  /** A bar of the causes' shares. The text alternative is the table beside it. */
  function stack(causes, total, stage) {
    const bar = ns.svg("svg", { class: "stack", width: "100%", height: 14, "aria-hidden": "true" });
    let at = 0;
    for (const cause of causes) {
      const share = total ? (100 * cause.ns) / total : 0;
      const rect = ns.svg("rect", { x: at + "%", width: share + "%", height: 14,
        class: "kind-" + cause.kind });
      rect.append(ns.svg("title", {},
        `${ns.causeText(cause, stage)}: ${ns.us(cause.ns)} us, ${ns.percent(cause.ns, total)} %`));
      bar.append(rect);
      at += share;
    }
    return bar;
  }

  /** The causes of all stages, the same one of several stages together, longest first. */
  function together(slow) {
    const sums = new Map();
    for (const cause of slow.stages.flatMap((stage) => stage.causes)) {
      const key = cause.kind + "\n" + cause.who;
      const sum = sums.get(key) || { kind: cause.kind, who: cause.who, ns: 0 };
      sum.ns += cause.ns;
      sums.set(key, sum);
    }
    return [...sums.values()].sort((a, b) => b.ns - a.ns);
  }

  function stackRow(title, causes, total, stage, className) {
    return ns.el("tr", { class: className },
      ns.el("th", { scope: "row" }, title),
      ns.el("td", { class: "stack-cell" }, stack(causes, total, stage)),
      ns.el("td", { class: "num" }, ns.us(total)));
  }

  function legend(slow) {
    const kinds = [...new Set(together(slow).map((cause) => cause.kind))];
    const entry = (kind) => ns.el("li", {}, ns.swatch(kind), ns.kindTitle(kind));
    return ns.el("ul", { class: "legend" }, ...kinds.map(entry));
  }

  /** The stacked bars of a slow path. */
  ns.causeBars = (slow) => {
    const stages = slow.stages.map((stage) =>
      stackRow(ns.data.points[stage.point].title, stage.causes, stage.ns, stage));
    const whole = stackRow("whole path", together(slow), slow.total_ns, null, "whole");
    const head = ns.el("tr", {}, ns.el("th", { scope: "col" }, "Stage"),
      ns.el("th", { scope: "col" }, "Share of the stage"),
      ns.el("th", { scope: "col", class: "num" }, "us"));
    const table = ns.el("table", { class: "stacks", "aria-label": "Share of each cause by stage" },
      ns.el("thead", {}, head), ns.el("tbody", {}, whole, ...stages));
    return ns.el("div", {}, table, legend(slow));
  };

  const COLUMNS = [["Stage"], ["CPU", "num"], ["Cause"], ["Who"], ["us", "num"], ["% of path", "num"],
    ["Pieces", "num"], ["Class"]];

  /** The classes that the column names otherwise; of two the kind says all. */
  const CLASS_WORDS = { idle: "–", stolen: "hypervisor", unexplained: "–" };

  function causeRow(slow, stage, cause, isFirst, isMain) {
    const cell = (text, class_) => ns.el("td", { class: class_ }, text);
    const class_ = ns.classOf(cause.kind);
    return ns.el("tr", { class: [isFirst && "first", isMain && "main"].filter(Boolean).join(" ") || null },
      cell(ns.data.points[stage.point].title, isFirst ? null : "repeated"),
      cell(String(stage.cpu), "num"),
      ns.el("td", {}, ns.swatch(cause.kind), ns.causeTitle(cause, stage)),
      ns.el("td", { class: "name", title: cause.who }, cause.who || "–"),
      cell(ns.us(cause.ns), "num"),
      cell((slow.total_ns ? (100 * cause.ns) / slow.total_ns : 0).toFixed(1), "num"),
      cell(ns.count(cause.nr_times), "num"),
      cell(CLASS_WORDS[class_] ?? class_));
  }

  /** The causes of a slow path as a table, by stage, longest first. */
  ns.causeTable = (slow) => {
    const head = COLUMNS.map(([title, class_]) => ns.el("th", { scope: "col", class: class_ }, title));
    const rows = slow.stages.flatMap((stage, s) => stage.causes.map((cause, c) => {
      const isMain = slow.main !== null && slow.main[0] === s && slow.main[1] === c;
      return causeRow(slow, stage, cause, c === 0, isMain);
    }));
    return ns.el("table", { class: "causes", "aria-label": "Causes by stage" },
      ns.el("thead", {}, ns.el("tr", {}, ...head)), ns.el("tbody", {}, ...rows));
  };
})(irqpath);
