"use strict";
// A page that is served during a training: sections arrive as events.
(() => {
  const source = document.body.dataset.live;
  if (!source) return;
  const status = document.getElementById("live-status");
  const events = new EventSource(source + window.location.search);
  events.addEventListener("update", (event) => {
    const update = JSON.parse(event.data);
    if (update.status) status.textContent = update.status;
    for (const [id, html] of Object.entries(update.sections || {})) {
      const section = document.getElementById(id);
      if (!section) continue;
      const holder = document.createElement("template");
      holder.innerHTML = html;
      section.replaceWith(holder.content);
      const now = document.getElementById(id);
      window.headroomTables(now);
      window.headroomCharts.prepare(now);
    }
  });
  events.addEventListener("done", () => {
    events.close();
    status.textContent = "the training has ended";
    window.location.reload();
  });
  events.onerror = () => { status.textContent = "the training's server does not answer"; };
})();
