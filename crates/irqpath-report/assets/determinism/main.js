// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the embedded tests and shows them: tables as they come, figures, trees of causes. Last of
// the scripts.
"use strict";

(function (ns) {
  function header({ machine, verdict, notes }) {
    document.title = verdict + " - irqpath";
    ns.byId("verdict").textContent = verdict;
    const parts = ["irqpath", machine.host, machine.kernel.release, machine.kernel.machine,
      machine.kernel.preemption && "preempt=" + machine.kernel.preemption, machine.started_at];
    ns.byId("where").textContent = parts.filter(Boolean).join(" · ");
    ns.byId("notes").append(...notes.map(({ level, text }) => ns.el("li", { class: level }, text)));
  }

  const section = (title, about, ...content) => ns.el("section", {},
    ns.el("div", { class: "bar" }, ns.el("h2", {}, title), ns.el("span", { class: "note" }, about)),
    ...content);

  /** Numbers stand right; which columns hold numbers is said by the data. */
  function table({ title, about, columns, rows }) {
    const kind = (i) => (columns[i].is_number ? "num" : "name");
    const cells = (row) => row.map((cell, i) => ns.el("td", { class: kind(i) }, cell));
    const head = columns.map((column, i) => ns.el("th", { class: kind(i), scope: "col" }, column.title));
    return section(title, about, ns.el("div", { class: "scroll" }, ns.el("table", {},
      ns.el("thead", {}, ns.el("tr", {}, ...head)),
      ns.el("tbody", {}, ...rows.map((row) => ns.el("tr", {}, ...cells(row)))))));
  }

  function showMachine({ machine, virtual_note }) {
    if (virtual_note) ns.byId("machine").append(ns.el("p", { class: "note" }, virtual_note));
    const measurement = ns.facts("Measurement", [
      ["command", machine.command.join(" "), "name"],
      ["started", machine.started_at],
      ["duration", ns.seconds(machine.duration_ns)],
      ["irqpath", machine.irqpath_version],
    ]);
    ns.byId("machine").append(
      ns.el("div", { class: "columns thirds" }, ns.kernelFacts(machine), ns.cpuFacts(machine), measurement),
      ns.factList("What the observer changed", machine.observer_effects, "Nothing that it knows of."));
  }

  function followSurroundings() {
    const redraw = () => ns.redraws.forEach((draw) => draw());
    let timer = 0;
    addEventListener("resize", () => { clearTimeout(timer); timer = setTimeout(redraw, 100); });
    const root = document.documentElement;
    addEventListener("beforeprint", () => { root.classList.add("print"); redraw(); });
    addEventListener("afterprint", () => { root.classList.remove("print"); redraw(); });
    redraw();
  }

  ns.data = JSON.parse(ns.byId("data").textContent);
  header(ns.data);
  ns.byId("numbers").append(...ns.data.numbers.map(table));
  ns.byId("figures").append(...ns.data.figures.map(ns.figure));
  ns.byId("details").append(...ns.data.details.map(table));
  showMachine(ns.data);
  followSurroundings();
})(irqpath);
