// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the embedded benchmarks and shows them, part by part. Last of the scripts.
"use strict";

(function (ns) {
  function header({ machine, verdict, notes }) {
    document.title = verdict + " - irqpath";
    ns.byId("verdict").textContent = verdict;
    const parts = ["irqpath bench", machine.host, machine.kernel.release, machine.kernel.machine,
      machine.kernel.preemption && "preempt=" + machine.kernel.preemption, machine.started_at];
    ns.byId("where").textContent = parts.filter(Boolean).join(" · ");
    ns.byId("notes").append(...notes.map(({ level, text }) => ns.el("li", { class: level }, text)));
  }

  function measurement(machine) {
    return ns.facts("Measurement", [
      ["command", machine.command.join(" "), "name"],
      ...(machine.started_at ? [["started", machine.started_at],
        ["duration", ns.seconds(machine.duration_ns)]] : []),
      ["source", machine.source],
      ["irqpath", machine.irqpath_version],
    ]);
  }

  /** What was counted in /proc/interrupts and /proc/softirqs during each series. */
  function interrupts(series) {
    const kept = series.filter((s) => Object.keys(s.interrupts).length);
    const item = (s) => {
      const rows = Object.entries(s.interrupts).sort((a, b) => b[1] - a[1]);
      return s.label + ": " + rows.map(([label, n]) => `${label} ${ns.count(n)}`).join(", ");
    };
    return ns.factList("Interrupts and softirqs during each series", kept.map(item), "Not counted.");
  }

  function showMachine(data) {
    const { machine } = data;
    if (data.virtual_note) ns.byId("machine").append(ns.el("p", { class: "note" }, data.virtual_note));
    // Of directories that were copied from elsewhere nothing is known about the machine.
    const known = machine.kernel.release ? [ns.kernelFacts(machine), ns.cpuFacts(machine)] : [];
    ns.byId("machine").append(
      ns.el("div", { class: "columns thirds" }, ...known, measurement(machine)),
      ns.el("div", { class: "columns" }, interrupts(data.series),
        ns.factList("What the observer changed", machine.observer_effects, "Nothing that it knows of.")));
  }

  function showUnit() {
    ns.byId("unit-name").textContent = "latencies in " + ns.unit();
  }

  function followSurroundings(data) {
    const redraw = () => ns.redraws.forEach((draw) => draw());
    ns.byId("unit-label").hidden = !data.is_exact;
    ns.byId("unit").addEventListener("change", (event) => {
      ns.inInstructions = event.target.checked;
      showUnit();
      ns.showTable(data.series);
      redraw();
    });
    let timer = 0;
    addEventListener("resize", () => { clearTimeout(timer); timer = setTimeout(redraw, 100); });
    const root = document.documentElement;
    addEventListener("beforeprint", () => { root.classList.add("print"); redraw(); });
    addEventListener("afterprint", () => { root.classList.remove("print"); redraw(); });
  }

  ns.data = JSON.parse(ns.byId("data").textContent);
  header(ns.data);
  showUnit();
  ns.showCommon(ns.data.series);
  ns.showTable(ns.data.series);
  ns.showLatency(ns.data.series);
  ns.showCauses(ns.data.series);
  ns.showClocks(ns.data.series);
  showMachine(ns.data);
  followSurroundings(ns.data);
})(irqpath);
