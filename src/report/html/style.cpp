#include "html/style.h"

namespace cairn::report::html {

std::string_view page_style() {
  return R"css(
:root { color-scheme: light dark; --ink: #1d2126; --muted: #565d66; --paper: #ffffff; --panel: #f4f6f8; --line: #cfd4da;
  --grid: #e3e6ea; --link: #2456a6; --good: #1a6e36; --bad: #b3261e; --idle: #eef0f3; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --muted: #aab1bb; --paper: #15171b; --panel: #1f2328;
  --line: #454b54; --grid: #2b3037; --link: #8ab4f8; --good: #7bd88f; --bad: #ff8a80; --idle: #23272d; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0 auto; padding: 1rem 1rem 3rem; max-width: 72rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .4rem; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .5rem; padding-top: .6rem; border-top: 1px solid var(--line); }
p { margin: .4rem 0; max-width: 52rem; }
.made { margin: 0; color: var(--muted); font-size: .85rem; }
.what, .note, figcaption, .caption, .legend { color: var(--muted); font-size: .9rem; }
.lead { font-size: 1.05rem; margin: 1rem 0; }
.warn { border-left: .25rem solid var(--bad); padding-left: .7rem; }
.good { color: var(--good); } .bad { color: var(--bad); }
a { color: var(--link); }
code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .88em; }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(16rem, 1fr)); gap: .7rem; margin: 1rem 0 0; }
.tile { background: var(--panel); border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .8rem; margin: 0; }
.tile dt { color: var(--muted); font-size: .85rem; }
.tile dd { margin: 0; font-size: .85rem; }
.tile dd.figure { font-size: 1.45rem; font-weight: 600; line-height: 1.3; }
figure { margin: .8rem 0; max-width: 52rem; }
figure svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--ink); font-family: inherit; }
svg .dim { fill: var(--muted); }
svg .numbers text { fill: #1d2126; }
svg .grid { stroke: var(--grid); fill: none; }
svg .frame { stroke: var(--line); fill: none; }
svg .idle { fill: var(--idle); }
svg .capacity { stroke: var(--bad); fill: none; }
svg .hit { fill: transparent; }
svg .hollow { fill: var(--paper); }
svg .ring { fill: none; stroke: var(--ink); stroke-width: 1.6; }
svg a { cursor: pointer; }
svg a:focus { outline: none; }
svg a:focus .mark, svg a:hover .mark { stroke: var(--ink); stroke-width: 2; }
.bar { display: block; width: 100%; min-width: 5rem; height: .8rem; }
.stack { display: block; width: 100%; height: 1.8rem; border-radius: .3rem; margin: .6rem 0; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1rem; padding: 0; margin: .3rem 0; }
.legend svg { width: .85rem; height: .85rem; vertical-align: -.08rem; margin-right: .35rem; }
.scroll { overflow-x: auto; margin: .2rem 0 .8rem;
  background: linear-gradient(to left, var(--paper) 40%, transparent) right / 3rem 100% no-repeat local,
    linear-gradient(to left, var(--line), transparent) right / 1rem 100% no-repeat scroll; }
table { border-collapse: collapse; font-size: .9rem; min-width: 100%; overflow-wrap: normal; }
.caption { margin-top: 1.2rem; }
th, td { text-align: left; vertical-align: top; padding: .22rem .7rem .22rem 0; border-bottom: 1px solid var(--grid); }
thead th { color: var(--muted); font-weight: 600; vertical-align: bottom; }
tbody th { font-weight: 500; }
tbody th.t { min-width: 7.5rem; }
thead > :first-child > :first-child, tbody th { position: sticky; left: 0; background: var(--paper); }
.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td.t { min-width: 13rem; }
td.b { min-width: 6rem; }
tr.best th, tr.best td { font-weight: 700; }
tr.best td.t { font-weight: inherit; }
tr:target, tr:target > th { background: var(--panel); }
tr:target { outline: 2px solid var(--link); }
ul.texts { padding-left: 1.2rem; }
ul.texts li { margin: .25rem 0; }
details { margin: .8rem 0; }
summary { cursor: pointer; color: var(--link); }
.strategy { background: var(--panel); border: 1px solid var(--line); border-radius: .4rem; padding: .6rem .8rem; display: block; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); color: var(--muted); font-size: .85rem; }
#tip { position: fixed; z-index: 9; max-width: min(22rem, 92vw); padding: .5rem .7rem; border-radius: .4rem;
  background: var(--ink); color: var(--paper); font-size: .82rem; line-height: 1.4; pointer-events: none; }
#tip[hidden] { display: none; }
#tip div { display: flex; justify-content: space-between; gap: 1rem; }
#tip span:first-child { opacity: .75; }
#tip span:last-child { text-align: right; }
@media (max-width: 40rem) {
  body { padding: .8rem .8rem 2rem; }
  h1 { font-size: 1.35rem; }
  svg text { font-size: 17px; }
  svg text.small { font-size: 13px; }
  .tiles { grid-template-columns: repeat(auto-fill, minmax(9.2rem, 1fr)); gap: .5rem; }
  .tile dd.figure { font-size: 1.2rem; }
  td.t { min-width: 15rem; }
  tbody th { max-width: 10rem; overflow-wrap: break-word; }
}
@media print {
  :root { --ink: #000000; --muted: #444444; --paper: #ffffff; --panel: #ffffff; --line: #999999; --grid: #dddddd;
    --link: #000000; --good: #000000; --bad: #000000; --idle: #f2f2f2; color-scheme: light; }
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  h2 { break-after: avoid; margin-top: 1.4rem; }
  figure, .tile, tr, .stack { break-inside: avoid; }
  thead { display: table-header-group; }
  .scroll { overflow: visible; background: none; }
  table { font-size: 7.5pt; }
  th, td { padding-right: .35rem; }
  td.t, td.b, tbody th.t { min-width: 0; }
  .tiles { grid-template-columns: repeat(3, 1fr); }
  .legend svg, .bar, .stack, figure svg { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  a { text-decoration: none; }
  #tip, details { display: none; }
}
)css";
}

std::string_view page_script() {
  return R"js(
(function () {
  "use strict";
  var result = JSON.parse(document.getElementById("result").textContent);
  var tip = document.createElement("div");
  tip.id = "tip";
  tip.setAttribute("role", "status");
  tip.hidden = true;
  document.body.appendChild(tip);

  var told = null;  // the part of a picture that the tip is of
  function show(part, lines, x, y) {
    told = part;
    tip.textContent = "";
    lines.forEach(function (line) {
      var row = document.createElement("div");
      line.forEach(function (text) {
        var cell = document.createElement("span");
        cell.textContent = text;
        row.appendChild(cell);
      });
      tip.appendChild(row);
    });
    tip.hidden = false;
    var box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 12, window.innerWidth - box.width - 4)) + "px";
    tip.style.top = (y + 16 + box.height > window.innerHeight ? Math.max(4, y - box.height - 12) : y + 16) + "px";
  }
  function hide() { told = null; tip.hidden = true; }
  // A finger that is lifted leaves, too: its tip stays until the next touch, so that it can be read.
  function answer(part, tell) {
    part.addEventListener("pointerdown", tell);
    part.addEventListener("pointermove", tell);
    part.addEventListener("pointerleave", function (event) { if (event.pointerType !== "touch") hide(); });
  }
  document.addEventListener("pointerdown", function (event) {
    if (!event.target.closest("svg a.point, svg rect.hit")) hide();
  });

  // A point leads to a row: its cells, each with the name of its column.
  function figures(row) {
    var names = row.closest("table").tHead.rows[0].cells;
    var lines = [];
    Array.prototype.forEach.call(row.children, function (cell, i) {
      var text = cell.textContent.trim();
      if (text !== "") lines.push([names[i].textContent.trim(), text]);
    });
    return lines;
  }
  document.querySelectorAll("svg a.point").forEach(function (point) {
    var row = document.getElementById(point.getAttribute("href").slice(1));
    if (!row) return;
    var first = false;  // a touch of a point whose figures were not shown: only the next one leads to its row
    point.addEventListener("pointerdown", function (event) {
      first = event.pointerType === "touch" ? told !== point : false;
    });
    point.addEventListener("click", function (event) {
      if (first) event.preventDefault();
      first = false;
    });
    answer(point, function (event) { show(point, figures(row), event.clientX, event.clientY); });
    point.addEventListener("focus", function () {
      if (told === point) return;
      var box = point.getBoundingClientRect();
      show(point, figures(row), box.left, box.bottom);
    });
    point.addEventListener("blur", function () { if (told === point) hide(); });
  });

  // The name of a whole picture is no tip of its parts.
  document.querySelectorAll("figure svg").forEach(function (picture) {
    var title = picture.querySelector("title");
    if (title) {
      picture.setAttribute("aria-label", title.textContent);
      picture.removeAttribute("aria-labelledby");
      title.remove();
    }
  });

  function time(seconds) {
    var most = seconds >= 1 ? 1 : seconds >= 1e-3 ? 1e3 : 1e6;
    return Number((seconds * most).toPrecision(4)) + (most === 1 ? " s" : most === 1e3 ? " ms" : " us");
  }
  document.querySelectorAll("svg rect.hit").forEach(function (row) {
    var part = result.result.timeline[row.dataset.window];
    var stage = Number(row.dataset.stage);
    var passes = part.passes.filter(function (pass) { return pass[0] === stage; });
    answer(row, function (event) {
      var box = row.getBoundingClientRect();
      var at = part.from_s + (part.until_s - part.from_s) * (event.clientX - box.left) / box.width;
      var here = passes.filter(function (pass) { return at >= pass[4] ? pass[5] > at : false; })[0];
      var lines = [["stage", String(stage)]];
      if (!here) {
        lines.push(["waits", "at " + time(at)]);
      } else {
        lines.push([here[1].replace("_", " "), here[2] === null ? "" : "micro-batch " + here[2]]);
        if (here[3]) lines.push(["chunk", String(here[3])]);
        lines.push(["from", time(here[4])], ["until", time(here[5])], ["takes", time(here[5] - here[4])]);
      }
      show(row, lines, event.clientX, event.clientY);
    });
  });
  window.addEventListener("scroll", hide, { passive: true });
  document.addEventListener("keydown", function (event) { if (event.key === "Escape") hide(); });
})();
)js";
}

}  // namespace cairn::report::html
