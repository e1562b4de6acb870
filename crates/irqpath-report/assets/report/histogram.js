// SPDX-License-Identifier: GPL-2.0-or-later
// The histogram of a path or of one of its stages: time and count both on logarithmic axes, and
// the quantiles as marks. Drawn by uPlot; the bars have the bounds of the data's buckets.
//
// A canvas does not follow the colour scheme by itself: main.js redraws it when that changes.
"use strict";

(function (ns) {
  const HEIGHT = 250;
  const BASE = 0.7; // a count of one must have a height on a logarithmic axis
  const MARKS = [["q50", "q50"], ["q95", "q95"], ["q99", "q99"], ["q999", "q99.9"], ["max", "max"]];

  const DIGITS = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const times = (n) => ns.count(n) + (n === 1 ? " time" : " times");

  // A time of 0 ns has no place on a logarithmic axis; it is drawn at 1 ns.
  const low = (bar) => Math.max(1, bar[0]);
  const high = (bar) => bar[1] + 1;

  function range(bars, total) {
    const from = low(bars[0]);
    const to = Math.max(high(bars[bars.length - 1]), total[ns.Q.max]);
    const pad = Math.max(1.15, Math.pow(to / from, 0.04));
    return [from / pad, to * pad];
  }

  /** Bars by their own bounds. */
  function barPaths(bars) {
    return (u) => {
      const path = new Path2D();
      const floor = u.valToPos(BASE, "y", true);
      for (const bar of bars) {
        const left = u.valToPos(low(bar), "x", true);
        const right = u.valToPos(high(bar), "x", true);
        const top = u.valToPos(bar[2], "y", true);
        const gap = right - left > 4 ? 1 : 0;
        path.rect(left, top, Math.max(1, right - left - gap), floor - top);
      }
      return { fill: path };
    };
  }

  /** Dashed lines at the quantiles, each label above those it would touch. */
  function drawMarks(total) {
    return (u) => {
      const { ctx } = u;
      const scale = devicePixelRatio;
      ctx.save();
      ctx.font = 11 * scale + "px " + ns.colour("sans");
      ctx.textAlign = "center";
      ctx.textBaseline = "bottom";
      const rowEnds = [-Infinity, -Infinity, -Infinity, -Infinity, -Infinity];
      for (const [key, title] of MARKS) {
        const ns_ = Math.max(1, total[ns.Q[key]]);
        const x = Math.round(u.valToPos(ns_, "x", true));
        const text = title + " " + ns.us(ns_);
        const half = ctx.measureText(text).width / 2 + 4 * scale;
        const right = u.bbox.left + u.bbox.width + 12 * scale;
        const middle = Math.min(x, right - half);
        const row = Math.max(0, rowEnds.findIndex((end) => middle - half > end));
        rowEnds[row] = middle + half;
        const top = u.bbox.top - (row * 13 + 3) * scale;
        ctx.strokeStyle = ns.colour(key === "max" ? "strong" : "mark");
        ctx.fillStyle = ns.colour(key === "max" ? "strong" : "muted");
        ctx.lineWidth = scale;
        ctx.setLineDash(key === "max" ? [] : [3 * scale, 3 * scale]);
        ctx.beginPath();
        ctx.moveTo(x, top);
        ctx.lineTo(x, u.bbox.top + u.bbox.height);
        ctx.stroke();
        ctx.fillText(text, middle, top);
      }
      ctx.restore();
    };
  }

  function axis(overrides) {
    const line = { stroke: ns.colour("line"), width: 1 };
    return { stroke: ns.colour("muted"), font: "11px " + ns.colour("sans"),
      labelFont: "11px " + ns.colour("sans"), labelSize: 16,
      grid: line, ticks: { ...line, size: 4 }, gap: 3, ...overrides };
  }

  /** The multiples 1 to 9 of every power of ten in the range, or the powers alone. */
  function logSplits(multiples) {
    return (u, axisIndex, min, max) => {
      const splits = [];
      for (let power = Math.floor(Math.log10(min)); power <= Math.log10(max); power++) {
        for (const digit of multiples) {
          const value = digit * Math.pow(10, power);
          if (value >= min && value <= max) splits.push(value);
        }
      }
      return splits;
    };
  }

  // Grid lines at every multiple; numbers only as many as there is room for.
  function timeValues(u, splits) {
    const decades = Math.log10(u.scales.x.max / u.scales.x.min);
    const shown = decades > 4 ? [1] : decades > 2.5 ? [1, 3] : decades > 1 ? [1, 2, 5] : DIGITS;
    return splits.map((value) => {
      const digit = Math.round(value / Math.pow(10, Math.floor(Math.log10(value) + 1e-9)));
      return shown.includes(digit) ? ns.axisUs(value) : null;
    });
  }

  function options(stage, width, onCursor) {
    const [from, to] = range(stage.bars, stage.total);
    const most = Math.max(...stage.bars.map((bar) => bar[2]));
    return {
      width, height: HEIGHT, padding: [58, 14, 0, 0], legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      scales: {
        x: { time: false, distr: 3, range: () => [from, to] },
        y: { distr: 3, range: () => [BASE, Math.max(10, most * 1.6)] },
      },
      axes: [
        axis({ label: "time, us", size: 26, splits: logSplits(DIGITS),
          values: timeValues, filter: (u, splits) => splits }),
        axis({ label: "count", size: 52, splits: logSplits([1]),
          values: (u, splits) => splits.map(ns.count), filter: (u, splits) => splits }),
      ],
      series: [{}, { fill: ns.colour("bars"), width: 0, points: { show: false },
        paths: barPaths(stage.bars) }],
      hooks: { draw: [drawMarks(stage.total)], setCursor: [onCursor] },
    };
  }

  function readout(stage, output) {
    const idle = times(stage.total[ns.Q.n]) +
      (stage.total[ns.Q.overflow] ? ", " + ns.count(stage.total[ns.Q.overflow]) + " too long to draw" : "");
    output.textContent = idle;
    return (u) => {
      const at = u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : -1;
      const bar = stage.bars.find((b) => low(b) <= at && at < high(b));
      output.textContent = !bar ? idle
        : `${ns.us(bar[0])} to ${ns.us(bar[1])} us: ${times(bar[2])}, ` +
          `${ns.percent(bar[2], stage.total[ns.Q.n])} %`;
    };
  }

  /** Draw `stage` ({ bars, total }) into `host`; returns the chart, or null if nothing to draw. */
  ns.drawHistogram = (host, output, stage) => {
    host.replaceChildren();
    if (!stage.bars.length) {
      output.textContent = "";
      host.append(ns.el("p", { class: "empty" }, "Nothing was recorded for this stage."));
      return null;
    }
    const xs = stage.bars.map(low);
    const ys = stage.bars.map((bar) => bar[2]);
    const width = Math.max(320, host.clientWidth);
    return new uPlot(options(stage, width, readout(stage, output)), [xs, ys], host);
  };
})(irqpath);
