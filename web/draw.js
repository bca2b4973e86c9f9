"use strict";
// Charts that can be zoomed, in place of their pictures. Without d3 the pictures stay.
window.headroomCharts = (() => {
  const colours = ["#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#8a8a8a"];
  const colourOf = (i) => colours[i % colours.length];
  const titleOf = (axis) => axis.label + (axis.unit ? ", " + axis.unit : "") + (axis.log ? " (log scale)" : "");
  const numberText = (value) => Math.abs(value) >= 1e5 ? d3.format(".4~s")(value).replace("G", " G").replace("M", " M")
    .replace("T", " T").replace("k", " k") : value !== 0 && Math.abs(value) < 1e-3 ? d3.format(".3~e")(value)
    : d3.format(",.4~r")(value);
  const valueText = (value, axis) => numberText(value) + (axis.unit ? " " + axis.unit : "");

  const element = (tag, className, parent, text) => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  };

  // The box around a drawn chart: title, legend, buttons, and a line that says what is under the cursor.
  const frame = (figure, data, legend) => {
    figure.querySelector(".picture").classList.add("replaced");
    const box = element("div", "drawn", figure);
    element("div", "title", box, data.title);
    if (legend.length > 0) {
      const list = element("div", "legend", box);
      for (const [i, name] of legend.entries()) {
        if (!name) continue;
        const entry = element("span", "", list);
        element("i", "", entry).style.background = colourOf(i);
        entry.append(name);
      }
    }
    const controls = element("div", "controls", box);
    const button = (text, label) => {
      const made = element("button", "", controls, text);
      made.type = "button";
      made.setAttribute("aria-label", label + ", " + data.title);
      return made;
    };
    const buttons = {more: button("+", "zoom in"), less: button("\u2212", "zoom out"), all: button("all", "show all")};
    element("span", "", controls, "drag to move, Ctrl and wheel to zoom");
    const place = element("div", "", box), tip = element("output", "tip", box);
    tip.setAttribute("aria-live", "polite");
    return {box, controls, buttons, place, say: (text) => { tip.textContent = text; }};
  };

  // Wheels scroll the page unless Ctrl is held; then d3 zooms.
  const zoomable = (target, buttons, zoom) => {
    zoom.filter(() => {
      const event = d3.event;
      return event.type === "wheel" ? event.ctrlKey : !event.button;
    });
    target.call(zoom);
    buttons.more.onclick = () => target.call(zoom.scaleBy, 1.6);
    buttons.less.onclick = () => target.call(zoom.scaleBy, 1 / 1.6);
    buttons.all.onclick = () => target.call(zoom.transform, d3.zoomIdentity);
  };

  const sizeIn = (place) =>
    ({width: Math.max(320, Math.min(1140, place.clientWidth)), height: 340, left: 78, right: 16, top: 10, bottom: 44});
  const scaleOf = (axis, values, range) => {
    const [low, high] = d3.extent([...values, ...axis.shows]);
    if (axis.log) return d3.scaleLog().domain([low / 1.5, high * 2.5]).range(range);
    const margin = low === high ? Math.abs(low) * 0.1 + 1e-9 : 0;
    return d3.scaleLinear().domain([low - margin, high + margin]).range(range).nice();
  };
  // On a log axis only powers of ten have a number, or all ticks where there are few.
  const ticksOf = (axis, scale, across, count) => {
    const few = axis.log && scale.domain()[1] / scale.domain()[0] < 50;
    const isPower = (v) => Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9;
    return across.scale(scale).ticks(count).tickFormat((v) => !axis.log || few || isPower(v) ? numberText(v) : "");
  };

  // Axes, grid and a clipped group to draw in; redraw(x, y) is called for every view.
  const plot = (figure, data, xs, ys, legend, redraw, zoomsY) => {
    const shown = frame(figure, data, legend), size = sizeIn(shown.place);
    const svg = d3.select(shown.place).append("svg").attr("viewBox", `0 0 ${size.width} ${size.height}`)
      .attr("role", "img").attr("aria-label", data.title);
    const clip = "clip" + Math.random().toString(36).slice(2);
    svg.append("clipPath").attr("id", clip).append("rect").attr("x", size.left).attr("y", size.top)
      .attr("width", size.width - size.left - size.right).attr("height", size.height - size.top - size.bottom);
    const x = scaleOf(data.x, xs, [size.left, size.width - size.right]);
    const y = scaleOf(data.y, ys, [size.height - size.bottom, size.top]);
    const grid = svg.append("g").attr("class", "grid").attr("transform", `translate(${size.left},0)`);
    const below = svg.append("g").attr("class", "axis").attr("transform", `translate(0,${size.height - size.bottom})`);
    const beside = svg.append("g").attr("class", "axis").attr("transform", `translate(${size.left},0)`);
    svg.append("text").attr("x", (size.left + size.width) / 2).attr("y", size.height - 6)
      .attr("text-anchor", "middle").text(titleOf(data.x));
    svg.append("text").attr("transform", `translate(14,${size.height / 2 - 20}) rotate(-90)`)
      .attr("text-anchor", "middle").text(titleOf(data.y));
    const inside = svg.append("g").attr("clip-path", `url(#${clip})`);
    const view = (nowX, nowY) => {
      below.call(ticksOf(data.x, nowX, d3.axisBottom(), size.width / 100));
      beside.call(ticksOf(data.y, nowY, d3.axisLeft(), 7));
      grid.call(d3.axisLeft(nowY).ticks(6).tickSize(-(size.width - size.left - size.right)).tickFormat(""));
      redraw(inside, nowX, nowY, shown, svg, size);
    };
    const zoom = d3.zoom().scaleExtent([1, 400])
      .translateExtent([[0, 0], [size.width, size.height]])
      .on("zoom", () => {
        const t = d3.event.transform;
        view(t.rescaleX(x), zoomsY ? t.rescaleY(y) : y);
      });
    zoomable(svg, shown.buttons, zoom);
    view(x, y);
  };

  const scatter = (figure, data) => {
    const lines = data.lines.flatMap((line) => line.points);
    const largest = d3.max(data.points, (p) => p.size) || 1;
    const points = [...data.points].sort((a, b) => b.size - a.size);
    plot(figure, data, [...points.map((p) => p.x), ...lines.map((p) => p[0])],
      [...points.map((p) => p.y), ...lines.map((p) => p[1])], data.series, (group, x, y, shown) => {
        const path = d3.line().x((p) => x(p[0])).y((p) => y(p[1]));
        group.selectAll("path.roof").data(data.lines).join("path").attr("class", "roof")
          .attr("stroke-dasharray", (line) => line.dashed ? "6 4" : null).attr("d", (line) => path(line.points));
        const dots = group.selectAll("circle").data(points).join("circle")
          .attr("tabindex", 0).attr("role", "img")
          .attr("aria-label", (p) => `${p.name}, ${data.series[p.series]}: ${p.tip}`)
          .attr("r", (p) => Math.max(3, 16 * Math.sqrt(p.size / largest)))
          .attr("fill", (p) => colourOf(p.series)).attr("cx", (p) => x(p.x)).attr("cy", (p) => y(p.y));
        const say = (p) => shown.say(`${p.name} (${data.series[p.series]}): ${p.tip}`);
        dots.on("mouseover", say).on("focus", say);
        const last = (line) => line.points[line.points.length - 1], level = (line) => last(line)[1] === line.points[0][1];
        group.selectAll("text").data(data.lines).join("text")
          .attr("text-anchor", (line) => level(line) ? "end" : "start")
          .attr("x", (line) => level(line) ? x(last(line)[0]) - 4 : x(line.points[0][0]) + 4)
          .attr("y", (line) => level(line) ? y(last(line)[1]) - 5 : y(line.points[0][1]) - 8).text((line) => line.name);
      }, true);
  };

  const lines = (figure, data) => {
    const all = data.series.flatMap((series) => series.points.filter((p) => p));
    if (all.length === 0) return;
    plot(figure, data, all.map((p) => p[0]), all.map((p) => p[1]), data.series.map((series) => series.name),
      (group, x, y, shown, svg, size) => {
        const path = d3.line().defined((p) => p).x((p) => x(p[0])).y((p) => y(p[1]));
        group.selectAll("path").data(data.series).join("path").attr("fill", "none").attr("stroke-width", 2)
          .attr("stroke", (series, i) => colourOf(i)).attr("d", (series) => path(series.points));
        // A curve of few points shows them; a single one would not be seen otherwise.
        const marks = data.series.flatMap((series, i) =>
          series.points.length > 60 ? [] : series.points.filter((p) => p).map((p) => [...p, i]));
        group.selectAll("circle").data(marks).join("circle").attr("r", 3.5).attr("fill", (p) => colourOf(p[2]))
          .attr("cx", (p) => x(p[0])).attr("cy", (p) => y(p[1]));
        svg.on("mousemove", function () {
          const box = this.getBoundingClientRect();
          const at = x.invert((d3.event.clientX - box.left) * size.width / box.width);
          const near = (series) => series.points.filter((p) => p)
            .reduce((best, p) => !best || Math.abs(p[0] - at) < Math.abs(best[0] - at) ? p : best, null);
          shown.say(data.series.map((series) => [series.name || data.y.label, near(series)]).filter(([, p]) => p)
            .map(([name, p]) => `${name}: ${valueText(p[1], data.y)} at ${valueText(p[0], data.x)}`).join("; "));
        });
      }, false);
  };

  const kinds = {scatter, lines};
  const prepare = (root) => {
    if (!window.d3) return;
    for (const figure of root.querySelectorAll("figure[data-kind]")) {
      const draw = kinds[figure.dataset.kind];
      if (draw && !figure.querySelector(".drawn")) draw(figure, JSON.parse(figure.querySelector(".data").textContent));
    }
  };
  return {kinds, prepare, frame, zoomable, colourOf, numberText};
})();
