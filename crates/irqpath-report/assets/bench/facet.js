// SPDX-License-Identifier: GPL-2.0-or-later
// One small histogram: time on a linear axis, runs on a logarithmic one, a dot above it for every
// latency that occurred, dashed lines at Q05 and Q95, and beside it the columns IRQ and OOB for
// runs that would spoil the picture. SVG, so that it is sharp on paper.
"use strict";

(function (ns) {
  const LEFT = 44, RIGHT = 4, TOP = 15, DOTS = 8, BOTTOM = 20;
  const COLUMN = 26, GAP = 9; // IRQ and OOB
  const FLOOR = 0.6; // a single run must have a height on a logarithmic axis
  const BAR = 4; // pixels that a bar should have at least

  /** Bins of round width; every value lies in one. Lower bounds are inclusive. */
  function binned(values, bound, width) {
    const step = Math.max(1, Math.round(ns.roundBin((bound * BAR) / width)));
    const bins = new Map();
    ns.eachValue(values, (value, n) => {
      if (value > bound) return;
      const index = Math.floor(value / step);
      bins.set(index, (bins.get(index) || 0) + n);
    });
    return { step, bins };
  }

  /** The highest bar that a facet will have, so that facets can share an axis. */
  ns.facetPeak = (facet, bound, width) => {
    const { bins } = binned(facet.values, bound, plotWidth(width));
    const beside = [facet.nr_irq || 0, ns.sumOver(facet.values, bound)];
    return Math.max(1, ...bins.values(), ...beside);
  };

  const plotWidth = (width) => width - LEFT - RIGHT - 2 * (COLUMN + GAP);

  function yAxis(svg, y, peak, width, withLabels) {
    const decades = Math.ceil(Math.log10(peak + 0.01));
    for (let power = 0; power <= decades; power++) {
      const n = Math.pow(10, power);
      if (n > peak * 1.01 && power > 0) break;
      svg.append(ns.svg("line", { x1: LEFT, x2: width - RIGHT, y1: y(n), y2: y(n), class: "rule" }));
      if (!withLabels || (decades > 4 && power % 2)) continue;
      svg.append(ns.svg("text", { x: LEFT - 5, y: y(n) + 3.5, class: "end" }, ns.count(n)));
    }
  }

  function xAxis(svg, x, bound, plot, bottom) {
    const step = ns.roundStep((bound * 55) / plot);
    for (let at = 0; at <= bound * (1 + 1e-9); at += step) {
      svg.append(ns.svg("line", { x1: x(at), x2: x(at), y1: bottom, y2: bottom + 3, class: "rule" }),
        ns.svg("text", { x: x(at), y: bottom + 14, class: "middle" }, ns.axisLatency(at, step)));
    }
  }

  function quantiles(svg, facet, x, bound, top, bottom) {
    for (const at of [facet.q.q05_ns, facet.q.q95_ns]) {
      if (!facet.q.n || at > bound) continue;
      svg.append(ns.svg("line", { x1: x(at), x2: x(at), y1: top, y2: bottom, class: "quantile" }));
    }
  }

  const runs = (n) => `${ns.count(n)} ${n === 1 ? "run" : "runs"}`;

  function bars(svg, facet, x, y, bound, plot, bottom) {
    const { step, bins } = binned(facet.values, bound, plot);
    const path = [];
    const hits = ns.svg("g", {});
    for (const [index, n] of bins) {
      const left = x(index * step);
      const width = Math.min(x((index + 1) * step), LEFT + plot) - left;
      const top = y(n);
      path.push(`M${left.toFixed(1)} ${bottom}V${top.toFixed(1)}h${Math.max(0.8, width - 0.8).toFixed(1)}V${bottom}z`);
      const hit = ns.svg("rect", { x: left, width: Math.max(1, width), y: TOP, height: bottom - TOP, class: "hit" });
      hit.append(ns.svg("title", {}, `${ns.latency(index * step)} to ${ns.latency((index + 1) * step)} ` +
        `${ns.unit()}: ${runs(n)}`));
      hits.append(hit);
    }
    svg.append(ns.svg("path", { d: path.join(""), class: facet.is_irq ? "hist irq" : "hist" }), hits);
  }

  function dots(svg, facet, x, bound) {
    const seen = new Set();
    const path = [];
    ns.eachValue(facet.values, (value) => {
      const at = x(value).toFixed(1);
      if (value > bound || seen.has(at)) return;
      seen.add(at);
      path.push(`M${at} ${DOTS}h0`);
    });
    svg.append(ns.svg("path", { d: path.join(""), class: "dots" }));
  }

  function column(svg, left, name, n, y, bottom, title) {
    const known = n !== null;
    if (known && n > 0) {
      const top = y(n);
      svg.append(ns.svg("rect", { x: left + 4, width: COLUMN - 8, y: top, height: bottom - top,
        class: "hist " + name.toLowerCase() }));
    }
    const hit = ns.svg("rect", { x: left, width: COLUMN, y: TOP, height: bottom - TOP, class: "hit" });
    hit.append(ns.svg("title", {}, known ? `${title}: ${runs(n)}` : `${title}: not looked for`));
    const label = known ? ns.count(n) : "?";
    svg.append(hit,
      ns.svg("text", { x: left + COLUMN / 2, y: (known && n > 0 ? y(n) : bottom) - 3, class: "middle" }, label),
      ns.svg("text", { x: left + COLUMN / 2, y: bottom + 14, class: "middle" }, name));
  }

  /**
   * Draws `facet`: { title, values, q, nr_irq (null: unknown, undefined: no column), is_irq }.
   * `shape`: { width, height, bound, peak, first: true for the leftmost of its row }.
   */
  ns.facet = (facet, shape) => {
    const { width, height, bound, peak } = shape;
    const bottom = height - BOTTOM;
    const plot = plotWidth(width);
    const x = (value) => LEFT + (plot * value) / bound;
    const range = Math.log(peak * 1.6) - Math.log(FLOOR);
    const y = (n) => bottom - ((bottom - TOP) * (Math.log(n) - Math.log(FLOOR))) / range;
    const svg = ns.svg("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img",
      "aria-label": `Histogram of ${facet.title}` });
    yAxis(svg, y, peak, width, shape.first);
    bars(svg, facet, x, y, bound, plot, bottom);
    dots(svg, facet, x, bound);
    quantiles(svg, facet, x, bound, TOP, bottom);
    svg.append(ns.svg("rect", { x: LEFT, width: plot, y: TOP, height: bottom - TOP, class: "frame" }));
    const irqLeft = LEFT + plot + GAP;
    if (facet.nr_irq !== undefined) {
      column(svg, irqLeft, "IRQ", facet.nr_irq, y, bottom, "with an interrupt in between");
    }
    column(svg, irqLeft + COLUMN + GAP, "OOB", ns.sumOver(facet.values, bound), y, bottom,
      "beyond the axis");
    xAxis(svg, x, bound, plot, bottom);
    const text = facet.q.n ? `Q50 ${ns.latency(facet.q.q50_ns)} · max ${ns.latency(facet.q.max_ns)}` : "no runs";
    return ns.el("figure", { class: "facet" },
      ns.el("figcaption", {}, ns.el("b", { title: facet.title }, facet.title), ns.el("span", {}, text)), svg);
  };
})(irqpath);
