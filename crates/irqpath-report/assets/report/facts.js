// SPDX-License-Identifier: GPL-2.0-or-later
// What the machine is: lists of facts that every page shows.
"use strict";

(function (ns) {
  /** Names and values; empty values are said to be so, not left out. */
  ns.facts = (title, entries) => {
    const list = ns.el("dl");
    for (const [term, value, className] of entries) {
      list.append(ns.el("dt", {}, term), ns.el("dd", { class: className }, value || "–"));
    }
    return ns.el("div", { class: "facts" }, ns.el("h3", {}, title), list);
  };

  ns.kernelFacts = ({ kernel, isolation }) => {
    return ns.facts("Kernel", [
      ["release", kernel.release, "name"],
      ["version", kernel.version],
      ["preemption", kernel.preemption || "unknown"],
      ["irq threads", kernel.forced_irq_threads ? "forced" : "where the driver asks for one"],
      ["clock source", kernel.clocksource],
      ["policies", kernel.policies.join(", ") || "none"],
      ["command line", kernel.cmdline, "name"],
      ["config SHA-256", kernel.config_sha256 || "not readable", "name"],
      ["isolcpus", isolation.isolated || "none"],
      ["nohz_full", isolation.nohz_full || "none"],
      ["rcu_nocbs", isolation.rcu_nocbs || "none"],
      ["default affinity", isolation.default_smp_affinity],
    ]);
  };

  ns.cpuFacts = ({ cpu, kernel, host }) => {
    const latency = cpu.cpu_dma_latency_us;
    return ns.facts("Hardware", [
      ["host", host, "name"],
      ["CPU", cpu.model],
      ["architecture", kernel.machine],
      ["online", cpu.online],
      ["governor", cpu.governor || "no cpufreq"],
      ["SMT", cpu.smt ? "on" : "off"],
      ["hypervisor", cpu.hypervisor || "none seen"],
      ["cpu_dma_latency", latency === null ? "not readable" : ns.count(latency) + " us"],
    ]);
  };

  /** A titled list, or a sentence where it is empty. */
  ns.factList = (title, items, none) => {
    const content = items.length
      ? ns.el("ul", {}, ...items.map((item) => ns.el("li", {}, ...[item].flat())))
      : ns.el("p", {}, none);
    return ns.el("div", { class: "facts" }, ns.el("h3", {}, title), content);
  };
})(irqpath);
