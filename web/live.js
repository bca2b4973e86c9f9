"use strict";
// A page that is served during a training: what sections show arrives as events.
(() => {
  const source = document.body.dataset.live;
  if (!source) return;
  const status = document.getElementById("live-status");
  const events = new EventSource(source + window.location.search);
  events.onopen = () => { status.textContent = ""; };
  events.onerror = () => { status.textContent = "The program does not answer."; };
  events.addEventListener("update", (event) => {
    for (const [id, html] of Object.entries(JSON.parse(event.data).sections)) {
      const body = document.querySelector(`#${id} .body`);
      body.innerHTML = html;
      window.headroomTables(body);
      window.headroomCharts.prepare(body);
    }
  });
  events.addEventListener("done", (event) => {
    events.close();
    if (JSON.parse(event.data).reload) window.location.reload();
  });
})();
