// SPDX-License-Identifier: GPL-2.0-or-later
// What the whole machine did meanwhile (interrupts and softirqs), what it is, and what the
// measurement cost and missed.
"use strict";

(function (ns) {
  const mean = (sum, row) => (row.nr ? row[sum] / row.nr : null);
  const optional = (format) => (value) => (value === null ? null : format(value));

  const column = (key, title, format, value, hint) => ({
    key, title, hint, num: true,
    value: value || ((row) => row[key]),
    cell: (row) => optional(format)(value ? value(row) : row[key]),
  });

  function columns(isSoftirq, perCpu, duration) {
    const proc = isSoftirq ? "/proc/softirqs" : "/proc/interrupts";
    const share = (row) => (100 * row.run_ns) / (duration * row.cpus);
    return [
      { key: "name", title: isSoftirq ? "vector" : "line", className: "name", value: (r) => r.name,
        cell: (r) => r.name },
      perCpu ? column("cpu", "CPU", String)
        : column("cpus", "CPUs", ns.count, null, "CPUs that served it"),
      column("nr", "count", ns.count),
      column("proc_nr", proc, ns.count, null, "growth of its row meanwhile"),
      column("rate", "per s", ns.count, (row) => (row.nr * 1e9) / duration),
      ...(isSoftirq ? [column("delay", "mean delay", ns.us, (row) => mean("delay_ns", row),
        "from raise to entry"), column("max_delay_ns", "max delay", ns.us)] : []),
      column("mean_run", "mean run", ns.us, (row) => mean("run_ns", row)),
      column("max_run_ns", "max run", ns.us),
      column("run_ns", "run, sum", ns.us),
      column("share", "% of CPU", (value) => value.toFixed(2), share, "of the CPUs that served it"),
    ];
  }

  /** One row per name: the sums over its CPUs. */
  function overCpus(rows) {
    const sums = new Map();
    for (const row of rows) {
      const sum = sums.get(row.name);
      if (!sum) {
        sums.set(row.name, { ...row });
        continue;
      }
      sum.cpus += 1;
      for (const key of ["nr", "run_ns", "delay_ns"]) sum[key] += row[key];
      for (const key of ["max_run_ns", "max_delay_ns"]) sum[key] = Math.max(sum[key], row[key]);
      sum.proc_nr = sum.proc_nr === null || row.proc_nr === null ? null : sum.proc_nr + row.proc_nr;
    }
    return [...sums.values()];
  }

  function showCounts(id, rows, duration) {
    const isSoftirq = id === "softirqs";
    const all = rows.map((row) => ({ ...row, cpus: 1 }));
    const box = ns.byId(id + "-per-cpu");
    function draw() {
      const table = new ns.Table({ label: isSoftirq ? "Softirqs" : "Interrupts", sortKey: "nr",
        className: "counts", columns: columns(isSoftirq, box.checked, duration),
        empty: "None were counted." });
      table.setRows(box.checked ? all : overCpus(all));
      ns.byId(id).replaceChildren(table.element);
    }
    box.addEventListener("change", draw);
    draw();
  }

  /** Polls of network devices, per CPU; nothing where there were none. */
  function showNapi(rows, duration) {
    if (!rows.length) return;
    const table = new ns.Table({ label: "NAPI polls", sortKey: "nr", className: "counts", columns: [
      column("cpu", "CPU", String),
      column("nr", "polls", ns.count),
      column("rate", "per s", ns.count, (row) => (row.nr * 1e9) / duration),
      column("nr_packets", "packets", ns.count),
      column("mean", "per poll", (value) => value.toFixed(1),
        (row) => (row.nr ? row.nr_packets / row.nr : null), "packets, mean"),
      column("nr_exhausted", "budget used up", ns.count, null,
        "so that net_rx had to run again"),
    ] });
    table.setRows(rows);
    ns.byId("napi").append(table.element);
    ns.byId("napi").hidden = false;
  }

  function measurementFacts(machine, overhead) {
    const load = (overhead.nr_events * overhead.mean_event_ns * 100) / (machine.duration_ns || 1);
    const perEvent = overhead.nr_sampled
      ? `${ns.count(overhead.mean_event_ns)} ns, mean of ${ns.count(overhead.nr_sampled)} runs; ` +
        `${load.toFixed(2)} % of one CPU in all`
      : "not measured";
    return ns.facts("Measurement", [
      ["command", machine.command.join(" "), "name"],
      ["started", machine.started_at],
      ["duration", ns.seconds(machine.duration_ns)],
      ["source", machine.source],
      ["irqpath", machine.irqpath_version],
      ["events", ns.count(overhead.nr_events)],
      ["per event", perEvent],
      ["own CPU time", ns.seconds(overhead.process_cpu_ns)],
      ["own memory", `${ns.mib(overhead.peak_rss_bytes)}, kernel tables ${ns.mib(overhead.map_bytes)}`],
    ]);
  }

  function limits(data) {
    const missing = data.missing.map((m) => [ns.el("span", { class: "name" }, m.what), ": " + m.consequence]);
    const losses = data.losses.map((loss) => `${ns.count(loss.nr)} ${loss.advice}` +
      (loss.is_lost_data ? "" : " (not lost data)"));
    return [
      ns.factList("Lost or not joined", losses, "Nothing."),
      ns.factList("What this kernel lacks", missing, "Nothing that irqpath uses."),
      ns.factList("What the observer changed", data.machine.observer_effects, "Nothing that it knows of."),
    ];
  }

  ns.showSystem = (data) => {
    const { machine } = data;
    const duration = machine.duration_ns || 1;
    showCounts("lines", data.lines, duration);
    showCounts("softirqs", data.softirqs, duration);
    showNapi(data.napi, duration);
    if (data.virtual_note) ns.byId("machine").append(ns.el("p", { class: "note" }, data.virtual_note));
    ns.byId("machine").append(
      ns.el("div", { class: "columns thirds" }, ns.kernelFacts(machine), ns.cpuFacts(machine),
        measurementFacts(machine, data.overhead)),
      ns.el("div", { class: "columns thirds" }, ...limits(data)));
  };
})(irqpath);
