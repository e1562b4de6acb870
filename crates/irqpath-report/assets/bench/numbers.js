// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers of benchmarks: latencies in the chosen unit, values as lists, axes with round steps.
"use strict";

(function (ns) {
  /** True while latencies are shown in instructions: only in exact mode, 1 instruction is 1 ns. */
  ns.inInstructions = false;

  /** A latency without its unit, with as many digits as tell something. */
  ns.latency = (value) => {
    if (ns.inInstructions) return ns.count(value);
    if (value < 1000) return (value / 1000).toFixed(3);
    if (value < 9995) return (value / 1000).toFixed(2);
    return value < 99950 ? (value / 1000).toFixed(1) : ns.count(value / 1000);
  };

  ns.unit = () => (ns.inInstructions ? "instructions" : "us");

  /** A latency on an axis whose neighbours are `step` apart. */
  ns.axisLatency = (value, step) => {
    if (ns.inInstructions) return ns.count(value);
    const digits = Math.max(0, -Math.floor(Math.log10(step / 1000) + 1e-9));
    const us = value / 1000;
    return us >= 1000 ? ns.count(us) : us.toFixed(digits);
  };

  /** Calls back with every (value, count) of a flat list. */
  ns.eachValue = (values, callback) => {
    for (let i = 0; i < values.length; i += 2) callback(values[i], values[i + 1]);
  };

  ns.sumOver = (values, bound) => {
    let sum = 0;
    ns.eachValue(values, (value, n) => { if (value > bound) sum += n; });
    return sum;
  };

  ns.total = (values) => {
    let sum = 0;
    ns.eachValue(values, (_, n) => { sum += n; });
    return sum;
  };

  const rounded = (value, steps) => {
    const decade = Math.pow(10, Math.floor(Math.log10(Math.max(value, 1e-9))));
    return decade * steps.find((factor) => factor * decade >= value * (1 - 1e-9));
  };

  /** The smallest of 1, 2, 5 times a power of ten that is at least `value`. */
  ns.roundStep = (value) => rounded(value, [1, 2, 5, 10]);

  /** The same in finer steps: how wide a bin is. */
  ns.roundBin = (value) => rounded(value, [1, 2, 2.5, 5, 10]);

  /** The same where an axis ends, as the analysis rounds it. */
  ns.roundAxis = (value) => rounded(Math.max(value, 10), [1, 1.5, 2, 3, 5, 7, 10]);
})(irqpath);
