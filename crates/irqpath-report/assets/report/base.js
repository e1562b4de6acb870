// SPDX-License-Identifier: GPL-2.0-or-later
// What every part of the page uses: elements and numbers.
//
// The rule to know: measured text (names of tasks, lines, the command) is set by textContent or
// setAttribute, never as HTML. No part of the page parses HTML.
"use strict";

const irqpath = {};

(function (ns) {
  const SVG = "http://www.w3.org/2000/svg";
  const GROUP = "\u202f";

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      node.setAttribute(name, value === true ? "" : String(value));
    }
    for (const child of children) {
      if (child === null || child === undefined) continue;
      node.append(child); // strings become text nodes
    }
    return node;
  }

  /** An HTML element with attributes and children; strings are text. */
  ns.el = (tag, attributes, ...children) =>
    fill(document.createElement(tag), attributes, children);

  /** An SVG element. */
  ns.svg = (tag, attributes, ...children) =>
    fill(document.createElementNS(SVG, tag), attributes, children);

  /** Whole numbers, digits in groups of three. */
  ns.count = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+(?!\d))/g, GROUP);

  /** Nanoseconds as microseconds with one decimal, so that columns align. */
  ns.us = (value) => {
    const tenths = Math.round(value / 100);
    return ns.count(Math.floor(tenths / 10)) + "." + (tenths % 10);
  };

  /** Nanoseconds as microseconds in as few digits as an axis needs. */
  ns.axisUs = (value) => {
    const us = value / 1000;
    return us >= 1 ? ns.count(us) : String(Number(us.toPrecision(2)));
  };

  /** A part of a whole: 97, 0.4, 0. */
  ns.percent = (part, whole) => {
    if (!whole) return "0";
    const p = (100 * part) / whole;
    return p >= 9.95 || p === 0 ? p.toFixed(0) : p.toFixed(1);
  };

  ns.seconds = (value) => (value / 1e9).toFixed(value < 1e10 ? 1 : 0) + " s";

  /** Bytes in MiB. */
  ns.mib = (bytes) => (bytes / 1048576).toFixed(1) + " MiB";

  ns.byId = (id) => document.getElementById(id);

  /** Positions in the arrays of quantiles (`Row` in data.rs). */
  ns.Q = { n: 0, min: 1, q05: 2, q50: 3, q95: 4, q99: 5, q999: 6, max: 7, overflow: 8 };

  /** The word before the cause's name: its kind, and its class where that is not the same. */
  ns.classOf = (kind) => ns.data.kinds[kind].class;
  ns.kindTitle = (kind) => ns.data.kinds[kind].title;

  /** The title of a cause in its stage: a raise may also wait for the hypervisor. */
  ns.causeTitle = (cause, stage) => {
    const isRaise = stage && ns.data.points[stage.point].name === "hardirq";
    return cause.kind === "irqs_off" && isRaise ? ns.data.irqs_off_at_hardirq
      : ns.kindTitle(cause.kind);
  };

  /** `thread spinner:812 f:20`; kinds without a culprit have only their title. */
  ns.causeText = (cause, stage) => {
    const class_ = ns.classOf(cause.kind);
    const named = class_ === "interference" || class_ === "blocking";
    if (cause.kind === "thread" && cause.who.endsWith(" threads")) return cause.who;
    return ns.causeTitle(cause, stage) + (named && cause.who ? " " + cause.who : "");
  };

  /** A small square in the colour of a kind. */
  ns.swatch = (kind) => {
    const box = ns.svg("svg", { class: "swatch", width: 9, height: 9, "aria-hidden": "true" });
    box.append(ns.svg("rect", { width: 9, height: 9, class: "kind-" + kind }));
    return box;
  };

  /** The value of a CSS variable: what a canvas needs to follow the colour scheme. */
  ns.colour = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
})(irqpath);
