// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the embedded result and shows it, part by part. Last of the scripts.
"use strict";

(function (ns) {
  function header(data) {
    const { machine } = data;
    document.title = data.verdict + " - irqpath";
    ns.byId("verdict").textContent = data.verdict;
    const parts = ["irqpath trace", machine.host, machine.kernel.release, machine.started_at,
      machine.duration_ns ? ns.seconds(machine.duration_ns) : ""];
    ns.byId("where").textContent = parts.filter(Boolean).join(" · ");
    const note = ({ level, text }) => ns.el("li", { class: level }, text);
    ns.byId("notes").append(...data.notes.map(note));
  }

  /** The canvas has the colours and the width of the moment it was drawn. */
  function followSurroundings() {
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ns.redrawChart);
    let timer = 0;
    addEventListener("resize", () => {
      clearTimeout(timer);
      timer = setTimeout(ns.redrawChart, 100);
    });
    const root = document.documentElement;
    addEventListener("beforeprint", () => { root.classList.add("print"); ns.redrawChart(); });
    addEventListener("afterprint", () => { root.classList.remove("print"); ns.redrawChart(); });
  }

  ns.data = JSON.parse(ns.byId("data").textContent);
  header(ns.data);
  ns.showPaths(ns.data);
  ns.showSystem(ns.data);
  followSurroundings();
})(irqpath);
