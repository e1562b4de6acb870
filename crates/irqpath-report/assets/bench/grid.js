// SPDX-License-Identifier: GPL-2.0-or-later
// A figure: facets in rows and columns that share their axes, and the controls that choose how
// far the axis goes. Facets that are a hundred times slower than others would leave those as one
// bar; so none that goes ten times as far as the median one counts, and its runs stand in OOB.
"use strict";

(function (ns) {
  const HEIGHT = 132;
  const SPREAD = 10;
  const LONG = 4; // more rows than that stand in two columns

  /** Where an axis ends that all of these can share. */
  ns.sharedBound = (facets) => {
    const bounds = facets.map((facet) => facet.bound_ns).filter((bound) => bound > 0);
    if (!bounds.length) return 1000;
    bounds.sort((a, b) => a - b);
    const most = SPREAD * bounds[Math.floor(bounds.length / 2)];
    return bounds.filter((bound) => bound <= most).pop();
  };

  /**
   * A figure in `host`. `rows()` gives an array of rows of facets, null for a place without one.
   * Returns { draw }, to be called when anything changed.
   */
  ns.figure = (host, controls, rows) => {
    const own = ns.el("input", { type: "checkbox" });
    const end = ns.el("input", { type: "number", min: 0, step: "any", placeholder: "auto" });
    const endLabel = ns.el("label", {}, "Axis to ", end, " ");
    const endUnit = document.createTextNode("");
    endLabel.append(endUnit);
    controls.append(endLabel, ns.el("label", {}, own, "own axis each"));

    function draw() {
      const grid = rows().filter((row) => row.some(Boolean));
      const all = grid.flat().filter(Boolean);
      endUnit.textContent = ns.unit();
      const scale = ns.inInstructions ? 1 : 1000;
      const asked = Number(end.value) > 0 ? Number(end.value) * scale : 0;
      const shared = asked || ns.sharedBound(all);
      const wide = host.clientWidth > 800;
      const isList = grid.every((row) => row.length === 1);
      const nrColumns = isList && wide && grid.length > LONG ? 2
        : Math.max(1, ...grid.map((row) => row.length));
      host.style.gridTemplateColumns = `repeat(${nrColumns}, minmax(0, 1fr))`;
      const width = Math.max(260, (host.clientWidth - 14 * (nrColumns - 1)) / nrColumns);
      const boundOf = (facet) => (own.checked && !asked ? facet.bound_ns || shared : shared);
      const peak = Math.max(1, ...all.map((facet) => ns.facetPeak(facet, boundOf(facet), width)));
      host.replaceChildren(...grid.flat().map((facet, at) => (facet
        ? ns.facet(facet, { width, height: HEIGHT, bound: boundOf(facet), peak,
          first: at % nrColumns === 0 })
        : ns.el("div"))));
    }
    own.addEventListener("change", draw);
    end.addEventListener("input", draw);
    ns.redraws.push(draw);
    return { draw };
  };

  /** What is redrawn when the width or the unit changes. */
  ns.redraws = [];

  /** A labelled choice; calls back with the value. */
  ns.choice = (title, options, value, onChange) => {
    const select = ns.el("select", {}, ...options.map(([key, text]) =>
      ns.el("option", { value: key, selected: key === value }, text)));
    select.addEventListener("change", () => onChange(select.value));
    return ns.el("label", {}, title + " ", select);
  };
})(irqpath);
