// SPDX-License-Identifier: GPL-2.0-or-later
// A table that sorts by every column, shows its rows as they are scrolled to, and selects by
// click or Enter. Only one row is in the tab order; arrow keys move within the rows.
//
// A column: { key, title, hint, num, value(row) -> what it sorts by, cell(row) -> string or Node }.
// Empty values sort last in both directions.
"use strict";

(function (ns) {
  const CHUNK = 150; // rows made at a time: more than a screen, quick to make

  function compare(a, b) {
    if (typeof a === "string" && typeof b === "string") {
      return a.localeCompare(b, "en", { numeric: true });
    }
    return a - b;
  }

  const isEmpty = (value) => value === null || value === undefined || value === "";

  class Table {
    constructor(options) {
      this.options = options;
      this.rows = [];
      this.made = new Map(); // row -> its element, kept over sorting and filtering
      this.order = [];
      this.sortKey = options.sortKey;
      this.descending = options.descending !== false;
      this.selected = null;
      this.build();
    }

    build() {
      const { columns, label, className } = this.options;
      this.heads = new Map(columns.map((column) => [column.key, this.head(column)]));
      this.body = ns.el("tbody");
      const table = ns.el("table", { "aria-label": label, class: className },
        ns.el("thead", {}, ns.el("tr", {}, ...this.heads.values())), this.body);
      if (this.options.onSelect) table.setAttribute("aria-multiselectable", "false");
      this.empty = ns.el("p", { class: "empty", hidden: true }, this.options.empty || "No rows.");
      this.element = ns.el("div", { class: "scroll" }, table, this.empty);
      this.element.addEventListener("scroll", () => this.growIfNeeded());
      if (this.options.onSelect) {
        this.body.addEventListener("click", (event) => this.onClick(event));
        this.body.addEventListener("keydown", (event) => this.onKey(event));
      }
    }

    head(column) {
      const button = ns.el("button", { type: "button", title: column.hint }, column.title);
      button.addEventListener("click", () => this.sortBy(column.key));
      const attributes = { scope: "col", class: column.num ? "num" : null, "data-key": column.key };
      return ns.el("th", attributes, button);
    }

    /** Show these rows, in the current order. */
    setRows(rows) {
      this.rows = rows;
      this.refresh();
    }

    /** Sort by a column; the same one again turns the direction. Numbers start with the largest. */
    sortBy(key) {
      const column = this.column(key);
      this.descending = key === this.sortKey ? !this.descending : Boolean(column.num);
      this.sortKey = key;
      this.refresh();
    }

    column(key) {
      return this.options.columns.find((column) => column.key === key);
    }

    refresh() {
      const column = this.column(this.sortKey);
      const sign = this.descending ? -1 : 1;
      const keyed = this.rows.map((row) => ({ row, value: column.value(row) }));
      keyed.sort((a, b) => {
        if (isEmpty(a.value) || isEmpty(b.value)) return isEmpty(a.value) - isEmpty(b.value);
        return sign * compare(a.value, b.value);
      });
      this.order = keyed.map((entry) => entry.row);
      for (const [key, head] of this.heads) {
        const direction = this.descending ? "descending" : "ascending";
        if (key === this.sortKey) head.setAttribute("aria-sort", direction);
        else head.removeAttribute("aria-sort");
      }
      this.body.replaceChildren();
      this.empty.hidden = this.order.length > 0;
      this.element.scrollTop = 0;
      this.grow();
      this.markSelected();
    }

    grow() {
      const from = this.body.childElementCount;
      const rows = this.order.slice(from, from + CHUNK);
      this.body.append(...rows.map((row) => this.rowElement(row)));
    }

    growIfNeeded() {
      const { scrollTop, clientHeight, scrollHeight } = this.element;
      if (scrollTop + clientHeight > scrollHeight - 400) this.grow();
    }

    rowElement(row) {
      let tr = this.made.get(row);
      if (tr) return tr;
      const cells = this.options.columns.map((column) => {
        const content = column.cell(row);
        const attributes = { class: column.className || (column.num ? "num" : null) };
        if (column.clip && typeof content === "string") attributes.title = content;
        return ns.el("td", attributes, isEmpty(content) ? "–" : content);
      });
      const class_ = this.options.rowClass ? this.options.rowClass(row) : null;
      tr = ns.el("tr", { class: class_, tabindex: this.options.onSelect ? -1 : null }, ...cells);
      tr.row = row;
      this.made.set(row, tr);
      return tr;
    }

    /** Mark a row as the one whose details are shown. */
    select(row) {
      this.selected = row;
      this.markSelected();
    }

    markSelected() {
      if (!this.options.onSelect) return;
      for (const tr of this.body.children) {
        const is = tr.row === this.selected;
        tr.setAttribute("aria-selected", String(is));
        tr.tabIndex = is ? 0 : -1;
      }
      const inOrder = this.order.includes(this.selected);
      if (!inOrder && this.body.firstElementChild) this.body.firstElementChild.tabIndex = 0;
    }

    choose(tr) {
      this.select(tr.row);
      this.options.onSelect(tr.row);
    }

    onClick(event) {
      const tr = event.target.closest("tr");
      if (!tr) return;
      this.choose(tr);
      tr.focus({ preventScroll: true });
    }

    onKey(event) {
      const tr = event.target.closest("tr");
      if (!tr || event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        this.choose(tr);
        return;
      }
      const rows = [...this.body.children];
      const at = rows.indexOf(tr);
      const steps = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 15, PageUp: at - 15,
        Home: 0, End: rows.length - 1 };
      if (!(event.key in steps)) return;
      event.preventDefault();
      const to = Math.max(0, Math.min(rows.length - 1, steps[event.key]));
      tr.tabIndex = -1;
      rows[to].tabIndex = 0;
      rows[to].focus();
      if (to >= rows.length - 20) this.grow();
    }
  }

  ns.Table = Table;
})(irqpath);
