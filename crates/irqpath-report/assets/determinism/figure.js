// SPDX-License-Identifier: GPL-2.0-or-later
// One histogram with both axes logarithmic: the rare long times are what it is about. SVG, so that
// it is sharp on paper.
"use strict";

(function (ns) {
  const LEFT = 52, RIGHT = 10, TOP = 14, BOTTOM = 30, HEIGHT = 210;
  const FLOOR = 0.6; // a single one must have a height on a logarithmic axis

  /** Powers of ten from below `low` to above `high`. */
  function decades(low, high) {
    const first = Math.floor(Math.log10(Math.max(low, 1)));
    const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(high, 2))));
    return Array.from({ length: last - first + 1 }, (_, i) => Math.pow(10, first + i));
  }

  function axes(svg, x, y, times, peak, width) {
    const bottom = HEIGHT - BOTTOM;
    for (const at of times) {
      svg.append(ns.svg("line", { x1: x(at), x2: x(at), y1: TOP, y2: bottom, class: "rule" }),
        ns.svg("text", { x: x(at), y: bottom + 14, class: "middle" }, ns.axisUs(at)));
    }
    for (let n = 1; n <= peak * 1.01; n *= 10) {
      svg.append(ns.svg("line", { x1: LEFT, x2: width - RIGHT, y1: y(n), y2: y(n), class: "rule" }),
        ns.svg("text", { x: LEFT - 5, y: y(n) + 3.5, class: "end" }, ns.count(n)));
    }
  }

  function draw(svg, figure, width) {
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    svg.setAttribute("height", HEIGHT);
    const low = Math.max(1, figure.bars[0][0]);
    const times = decades(low, figure.bars[figure.bars.length - 1][1]);
    const [from, to] = [Math.log10(times[0]), Math.log10(times[times.length - 1])];
    const peak = Math.max(...figure.bars.map((bar) => bar[2]));
    const plot = width - LEFT - RIGHT, bottom = HEIGHT - BOTTOM;
    const x = (time) => LEFT + (plot * (Math.log10(Math.max(time, times[0])) - from)) / (to - from);
    const span = Math.log10(Math.max(peak, 10) / FLOOR);
    const y = (n) => bottom - ((bottom - TOP) * Math.log10(Math.max(n, FLOOR) / FLOOR)) / span;
    axes(svg, x, y, times, peak, width);
    for (const [start, end, n] of figure.bars) {
      const bar = ns.svg("rect", { x: x(start), width: Math.max(1, x(end + 1) - x(start) - 0.5),
        y: y(n), height: bottom - y(n), class: "hist" });
      bar.append(ns.svg("title", {}, `${ns.us(start)} to ${ns.us(end)} us: ${ns.count(n)}`));
      svg.append(bar);
    }
    for (const at of figure.marks) {
      svg.append(ns.svg("line", { x1: x(at), x2: x(at), y1: TOP, y2: bottom, class: "quantile" }));
    }
  }

  /** A figure that follows the width of its place; `ns.redraws` draws it again. */
  ns.figure = (figure) => {
    const svg = ns.svg("svg", { role: "img", "aria-label": figure.title });
    const box = ns.el("figure", { class: "facet" },
      ns.el("figcaption", {}, ns.el("b", {}, figure.title), ns.el("span", {}, figure.about)), svg);
    ns.redraws.push(() => draw(svg, figure, Math.max(280, box.clientWidth)));
    return box;
  };

  ns.redraws = [];
})(irqpath);
