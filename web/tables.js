"use strict";
// Tables: a head sorts its column, a search box hides rows. Sums and totals stay at the end and are never hidden.
(() => {
  const isSum = (row) => row.classList.contains("total") || row.classList.contains("sum");
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return a.localeCompare(b, undefined, {numeric: true});
  };
  const sort = (table, head) => {
    const heads = [...head.parentNode.cells], column = heads.indexOf(head);
    const body = table.tBodies[0], rows = [...body.rows];
    const numbers = rows.some((row) => row.cells[column].dataset.value !== undefined);
    const now = head.getAttribute("aria-sort");
    const order = now === null ? (numbers ? "descending" : "ascending")
                               : now === "descending" ? "ascending" : "descending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const sorted = rows.filter((row) => !isSum(row));
    sorted.sort((a, b) => sign * compare(valueOf(a, column), valueOf(b, column)));
    body.append(...sorted, ...rows.filter(isSum));
  };
  const search = (table, text) => {
    const wanted = text.trim().toLowerCase();
    for (const row of table.tBodies[0].rows)
      row.hidden = !isSum(row) && !row.textContent.toLowerCase().includes(wanted);
  };
  const prepare = (root) => {
    for (const box of root.querySelectorAll(".table")) {
      const table = box.querySelector("table");
      for (const head of table.tHead.rows[0].cells)
        head.firstChild.addEventListener("click", () => sort(table, head));
      const input = box.querySelector(".search input");
      if (input) input.addEventListener("input", () => search(table, input.value));
    }
  };
  window.headroomTables = prepare;
  prepare(document);
})();
