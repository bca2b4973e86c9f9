"use strict";
// Blocks on rows, on a canvas: a timeline of many thousand events. Then all charts of the page are drawn.
(() => {
  const {kinds, prepare, frame, zoomable, colourOf, numberText} = window.headroomCharts;
  const rowHeight = 22, gap = 4, labels = 110, axisHeight = 26;

  // Names of streams differ at their end: what does not fit is cut off in front.
  function fitting(context, name, width) {
    let shown = name;
    for (let cut = 1; cut < name.length && context.measureText(shown).width > width; ++cut)
      shown = "\u2026" + name.slice(cut);
    return shown;
  }

  class Blocks {
    constructor(figure, data) {
      this.data = data;
      this.shown = frame(figure, data, data.colours);
      this.canvas = document.createElement("canvas");
      this.canvas.tabIndex = 0;
      this.canvas.setAttribute("role", "application");
      this.canvas.setAttribute("aria-label", `${data.title}: ${data.blocks.length} blocks. Plus and minus zoom, ` +
        "arrows move, n and p go to the next and the previous block, 0 shows all.");
      this.shown.place.append(this.canvas);
      this.end = d3.max(data.blocks, (b) => b[2]) || 1;
      this.begin = d3.min(data.blocks, (b) => b[1]) || 0;
      this.left = data.rows.some((row) => row) ? labels : 4;
      this.byRow = data.rows.map(() => []);
      data.blocks.forEach((block, i) => this.byRow[block[0]].push(i));
      this.order = data.blocks.map((block, i) => i).sort((a, b) => data.blocks[a][1] - data.blocks[b][1]);
      this.selected = -1;
      this.zoom = d3.zoom().scaleExtent([1, 20000]).on("zoom", () => {
        this.transform = d3.event.transform;
        this.draw();
      });
      this.transform = d3.zoomIdentity;
      this.resize();
      zoomable(d3.select(this.canvas), this.shown.buttons, this.zoom);
      this.canvas.addEventListener("mousemove", (event) => this.point(event));
      this.canvas.addEventListener("keydown", (event) => this.key(event));
      new ResizeObserver(() => this.resize()).observe(this.shown.place);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    }

    resize() {
      const width = Math.max(200, this.shown.place.clientWidth), ratio = window.devicePixelRatio || 1;
      const height = this.data.rows.length * (rowHeight + gap) + axisHeight;
      if (this.width === width && this.ratio === ratio) return;
      Object.assign(this, {width, height, ratio});
      this.canvas.width = width * ratio;
      this.canvas.height = height * ratio;
      this.canvas.style.height = height + "px";
      this.base = d3.scaleLinear().domain([this.begin, this.end]).range([this.left, width - 4]);
      this.zoom.translateExtent([[this.left, 0], [width - 4, height]]).extent([[this.left, 0], [width - 4, height]]);
      this.draw();
    }

    scale() { return this.transform.rescaleX(this.base); }

    draw() {
      const context = this.canvas.getContext("2d"), x = this.scale();
      const style = getComputedStyle(document.documentElement);
      const ink = style.getPropertyValue("--ink"), soft = style.getPropertyValue("--soft");
      context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      context.clearRect(0, 0, this.width, this.height);
      context.font = "12px system-ui, sans-serif";
      this.axis(context, x, soft);
      context.save();
      context.beginPath();
      context.rect(this.left, 0, this.width - this.left, this.height);
      context.clip();
      this.byRow.forEach((list, row) => this.row(context, x, list, row));
      context.restore();
      context.fillStyle = ink;
      this.data.rows.forEach((name, row) => {
        if (name) context.fillText(fitting(context, name, this.left - 8), 2, row * (rowHeight + gap) + 15);
      });
    }

    // Blocks narrower than a pixel share one: what is drawn grows with the screen, not with the trace.
    row(context, x, list, row) {
      const y = row * (rowHeight + gap);
      let filled = -1;
      for (const i of list) {
        const [, begin, end, colour, name] = this.data.blocks[i];
        const from = x(begin), to = x(end);
        if (to < this.left || from > this.width) continue;
        if (to - from < 1 && Math.floor(from) === filled) continue;
        filled = Math.floor(from);
        context.fillStyle = colourOf(colour);
        context.fillRect(from, y, Math.max(1, to - from - (to - from > 3 ? 0.5 : 0)), rowHeight);
        if (i === this.selected) {
          context.strokeStyle = "#d55e00";
          context.lineWidth = 3;
          context.strokeRect(from, y + 1, Math.max(2, to - from), rowHeight - 2);
        }
        if (to - from < 40) continue;
        const start = Math.max(from, this.left) + 4, room = Math.min(to, this.width) - start - 4;
        if (room < 30) continue;
        context.save();
        context.beginPath();
        context.rect(start, y, room, rowHeight);
        context.clip();
        context.fillStyle = "#000000";
        context.fillText(this.data.names[name].split("\n")[0], start, y + 15);
        context.restore();
      }
    }

    axis(context, x, colour) {
      context.fillStyle = colour;
      context.strokeStyle = colour;
      context.lineWidth = 0.3;
      for (const tick of x.ticks(7)) {
        const at = x(tick);
        context.beginPath();
        context.moveTo(at, 0);
        context.lineTo(at, this.height - axisHeight);
        context.stroke();
        const text = numberText(tick) + " " + this.data.x.unit;
        context.fillText(text, Math.min(at, this.width - context.measureText(text).width - 2), this.height - 8);
      }
    }

    text(i) {
      const [row, begin, end, , name] = this.data.blocks[i];
      const [title, tip] = this.data.names[name].split("\n");
      const unit = this.data.x.unit;
      return `${title}${tip ? ": " + tip : ""} (${numberText(begin)} to ${numberText(end)} ${unit}` +
        (this.data.rows[row] ? `, ${this.data.rows[row]})` : ")");
    }

    point(event) {
      const box = this.canvas.getBoundingClientRect();
      const row = Math.floor((event.clientY - box.top) / (rowHeight + gap));
      const at = this.scale().invert(event.clientX - box.left);
      const found = (this.byRow[row] || []).find((i) => this.data.blocks[i][1] <= at && at <= this.data.blocks[i][2]);
      if (found !== undefined) this.shown.say(this.text(found));
    }

    select(by) {
      const place = this.order.indexOf(this.selected);
      const next = Math.min(this.order.length - 1, Math.max(0, place < 0 ? 0 : place + by));
      this.selected = this.order[next];
      this.shown.say(this.text(this.selected));
      this.draw();
    }

    key(event) {
      const target = d3.select(this.canvas), width = this.width / 5 / this.transform.k;
      const acts = {
        "+": () => target.call(this.zoom.scaleBy, 1.6), "-": () => target.call(this.zoom.scaleBy, 1 / 1.6),
        "0": () => target.call(this.zoom.transform, d3.zoomIdentity),
        "ArrowLeft": () => target.call(this.zoom.translateBy, width, 0),
        "ArrowRight": () => target.call(this.zoom.translateBy, -width, 0),
        "n": () => this.select(1), "p": () => this.select(-1)
      };
      const act = acts[event.key];
      if (!act || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      act();
    }
  }

  kinds.blocks = (figure, data) => { figure.headroomBlocks = new Blocks(figure, data); };
  prepare(document);
})();
