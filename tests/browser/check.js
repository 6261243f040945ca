// Put into a page by browser_test.cpp: says of the page as a browser shows it what is wrong, as a list of sentences.
(function () {
  "use strict";
  var wrong = [];
  function pointer(text) {
    var value = JSON.parse(document.getElementById("result").textContent);
    decodeURI(text).split("/").slice(1).forEach(function (key) {
      value = value[key.replace(/~1/g, "/").replace(/~0/g, "~")];
    });
    return value;
  }
  var units = { ps: [1e-12], ns: [1e-9], us: [1e-6], ms: [1e-3], s: [1], min: [60], h: [3600], d: [86400],
    days: [86400], "%": [0.01], KiB: [1024], MiB: [1048576], GiB: [1073741824], TiB: [1099511627776],
    PiB: [1125899906842624], B: [1, 1e9], K: [1e3], M: [1e6], T: [1e12], "B/s": [1], "kB/s": [1e3], "MB/s": [1e6],
    "GB/s": [1e9], "TB/s": [1e12], "GFLOP/s": [1e9], "TFLOP/s": [1e12], "PFLOP/s": [1e15], Hz: [1], MHz: [1e6],
    GHz: [1e9], USD: [1], J: [1], kJ: [1e3], MJ: [1e6], GJ: [1e9] };
  function check(element) {
    var expected = pointer(element.dataset.value);
    if (element.dataset.less) expected -= pointer(element.dataset.less);
    if (element.dataset.over) expected /= pointer(element.dataset.over);
    var words = element.textContent.trim().split(/\s+/);
    var digits = words[0].replace(/,/g, ""), place = Math.pow(10, -(digits.split(".")[1] || "").length);
    if (/e/.test(digits)) return Number(digits) === expected;
    var readings = [Number(digits)];
    words.slice(1).forEach(function (word) {
      var all = [];
      readings.forEach(function (reading) { (units[word] || [NaN]).forEach(function (unit) { all.push(reading * unit); }); });
      place *= Math.max.apply(null, units[word] || [0]);
      readings = all;
    });
    return readings.some(function (reading) { return Math.abs(reading - expected) <= 0.5 * place * (1 + 1e-9); });
  }
  var figures = document.querySelectorAll("[data-value]");
  if (figures.length < 15) wrong.push("only " + figures.length + " figures");
  figures.forEach(function (element) {
    if (!check(element)) wrong.push(element.dataset.value + " is shown as " + element.textContent);
  });

  // Every point and every row of a timeline says something under the pointer.
  var tip = document.getElementById("tip");
  if (!tip) wrong.push("the script did not run");
  document.querySelectorAll("svg a.point, svg rect.hit").forEach(function (part) {
    var box = part.getBoundingClientRect();
    part.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + box.width / 2, clientY: box.top + 1 }));
    if (tip.hidden || tip.textContent.trim() === "") wrong.push("no tip for " + part.outerHTML.slice(0, 80));
    if (/NaN|undefined/.test(tip.textContent)) wrong.push("a tip says " + tip.textContent);
    part.dispatchEvent(new PointerEvent("pointerleave"));
    if (!tip.hidden) wrong.push("the tip stays");
  });

  // A tap says it as well, until the next one, and only a second on the same point leads to its row.
  document.querySelectorAll("svg a.point, svg rect.hit").forEach(function (part) {
    var box = part.getBoundingClientRect();
    function tap(on) {
      var finger = { pointerType: "touch", bubbles: true, clientX: box.left + box.width / 2, clientY: box.top + 1 };
      on.dispatchEvent(new PointerEvent("pointerdown", finger));
      on.dispatchEvent(new PointerEvent("pointerup", finger));
      on.dispatchEvent(new PointerEvent("pointerleave", finger));
    }
    function leads() {
      var followed = false;
      function seen(event) {
        followed = !event.defaultPrevented;
        event.preventDefault();
      }
      document.addEventListener("click", seen);
      part.dispatchEvent(new PointerEvent("click", { bubbles: true, cancelable: true }));
      document.removeEventListener("click", seen);
      return followed;
    }
    tap(part);
    if (tip.hidden || tip.textContent.trim() === "") wrong.push("no tip for a tap on " + part.outerHTML.slice(0, 80));
    if (part.matches("a.point")) {
      if (leads()) wrong.push("the first tap leads away");
      tap(part);
      if (!leads()) wrong.push("the second tap leads nowhere");
    }
    tap(document.body);
    if (!tip.hidden) wrong.push("the tip of a tap stays");
  });

  // Nothing is cut, and nothing makes the page wider than the window.
  var wide = document.documentElement;
  if (wide.scrollWidth > wide.clientWidth + 1) wrong.push("wider than the window: " + wide.scrollWidth);
  document.querySelectorAll("figure svg").forEach(function (picture) {
    var frame = picture.getBoundingClientRect();
    if (frame.width === 0 || frame.height === 0) wrong.push("a picture of no size");
    var texts = [];
    picture.querySelectorAll(":scope > text").forEach(function (text) {
      var box = text.getBoundingClientRect();
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1)
        wrong.push("cut: " + text.textContent);
      texts.forEach(function (other) {
        var across = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
        var along = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
        if (across > 1 && along > 3) wrong.push("over one another: " + text.textContent + " and " + other.text);
      });
      texts.push({ box: box, text: text.textContent });
    });
  });
  parent.postMessage(wrong, "*");
})();
