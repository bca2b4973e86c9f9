#include "page_checks.h"

namespace headroom::testing {
namespace {

// Colours are painted on a canvas and read back: that understands every way to write them.
constexpr const char* kContrastScript = R"js(
const context = Object.assign(document.createElement('canvas'), {width: 1, height: 1})
    .getContext('2d', {willReadFrequently: true});
function rgba(colour) {
  context.clearRect(0, 0, 1, 1);
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
}
function over(top, below) {  // `below` is opaque
  return [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
}
function luminance(colour) {
  const [r, g, b] = colour.slice(0, 3).map(c => c / 255)
      .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function contrast(a, b) {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}
function canvas_colour() {
  const probe = document.createElement('div');
  probe.style.background = 'Canvas';
  document.body.append(probe);
  const colour = rgba(getComputedStyle(probe).backgroundColor);
  probe.remove();
  return colour;
}
function holds(box, x, y) { return box.left <= x && x <= box.right && box.top <= y && y <= box.bottom; }
// The layers below a text, the nearest first: shapes of its picture, then boxes around it.
function layers(element, box) {
  const list = [], x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
  const style = getComputedStyle(element), picture = element.ownerSVGElement;
  if (picture) {
    if (style.paintOrder.startsWith('stroke') && style.stroke != 'none') list.push(rgba(style.stroke));
    const shapes = [...picture.querySelectorAll('rect, circle, path, polygon')];
    for (const shape of shapes.reverse()) {
      const before = shape.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING;
      const look = getComputedStyle(shape);
      if (!before || look.fill == 'none' || !holds(shape.getBoundingClientRect(), x, y)) continue;
      const colour = rgba(look.fill);
      list.push([...colour.slice(0, 3), colour[3] * look.fillOpacity * look.opacity]);
    }
  }
  for (let e = element; e; e = e.parentElement) list.push(rgba(getComputedStyle(e).backgroundColor));
  return list;
}
const faint = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const paper = canvas_colour();
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement, words = walker.currentNode.data.trim();
  const range = document.createRange();
  range.selectNodeContents(walker.currentNode);
  const box = range.getBoundingClientRect();
  const seen = element.checkVisibility({opacityProperty: true, visibilityProperty: true});
  if (!words || !seen || box.width < 2 || box.height < 2 || element.closest('script, style, title, desc')) continue;
  const style = getComputedStyle(element);
  let opacity = 1;
  for (let e = element; e; e = e.parentElement) opacity *= getComputedStyle(e).opacity;
  const ink = rgba(element.ownerSVGElement ? style.fill : style.color);
  ink[3] *= opacity;
  const ground = layers(element, box).reverse().reduce((below, top) => over(top, below), paper);
  const size = parseFloat(style.fontSize), large = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
  const ratio = contrast(over(ink, ground), ground);
  if (ratio < (large ? 3 : 4.5))
    faint.push(`${ratio.toFixed(2)}: '${words.slice(0, 40)}', ${over(ink, ground).slice(0, 3).map(Math.round)} on ` +
               `${ground.slice(0, 3).map(Math.round)}`);
}
return faint;
)js";

constexpr const char* kOverflowScript = R"js(
const page = document.documentElement;
if (page.scrollWidth <= page.clientWidth) return [];
const wide = [...document.body.querySelectorAll('*')]
    .filter(e => e.getBoundingClientRect().right > page.clientWidth + 1)
    .map(e => `${e.tagName.toLowerCase()}#${e.id}.${e.getAttribute('class') || ''}`).slice(0, 10);
return wide.length ? wide : [`the page is ${page.scrollWidth} wide, the window ${page.clientWidth}`];
)js";

// All that a reader can act on; of a group of radio buttons Tab reaches one.
constexpr const char* kMarkScript = R"js(
const groups = new Set();
window.to_reach = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')]
    .filter(e => e.tabIndex >= 0 && !e.disabled && e.type != 'hidden' && e.checkVisibility())
    .filter(e => e.type != 'radio' || !groups.has(e.name) && groups.add(e.name));
const clickable = [...document.querySelectorAll('[onclick], [role=button], [role=tab]')]
    .filter(e => e.tabIndex < 0 && e.checkVisibility());
window.looks = e => { const s = getComputedStyle(e);
  return [s.outlineStyle, s.outlineWidth, s.boxShadow, s.borderColor, s.backgroundColor, s.textDecoration].join(); };
window.before_focus = new Map(window.to_reach.map(e => [e, looks(e)]));
window.reached = new Set(), window.unseen = new Set();
window.naming = e => `${e.tagName.toLowerCase()}#${e.id} '${(e.textContent || e.name || '').trim().slice(0, 30)}'`;
window.not_focusable = clickable.map(naming);
if (document.activeElement) document.activeElement.blur();
return window.to_reach.length;
)js";

constexpr const char* kReachedScript = R"js(
const e = document.activeElement;
reached.add(e);
if (before_focus.has(e) && before_focus.get(e) == looks(e)) unseen.add(e);
)js";

constexpr const char* kUnreachedScript = R"js(
const radio = e => e.type == 'radio' && [...reached].some(r => r.type == 'radio' && r.name == e.name);
return not_focusable.map(n => 'cannot get the focus: ' + n)
    .concat(to_reach.filter(e => !reached.has(e) && !radio(e)).map(e => 'not reached: ' + naming(e)))
    .concat([...unseen].map(e => 'looks the same with the focus: ' + naming(e)));
)js";

}  // namespace

std::vector<std::string> faint_texts(Browser& browser) {
  return browser.run(kContrastScript).get<std::vector<std::string>>();
}

std::vector<std::string> sideways_overflow(Browser& browser) {
  return browser.run(kOverflowScript).get<std::vector<std::string>>();
}

std::vector<std::string> unreached_by_tab(Browser& browser) {
  constexpr std::int64_t kSpare = 10;  // boxes that scroll take the focus, too
  const std::int64_t count = browser.run(kMarkScript);
  for (std::int64_t i = 0; i < count + kSpare; ++i) {
    browser.keys(kTabKey);
    browser.run(kReachedScript);
  }
  return browser.run(kUnreachedScript).get<std::vector<std::string>>();
}

}  // namespace headroom::testing
