// SPDX-License-Identifier: BSD-3-Clause
//
// Looks at pages as a reader would, in a browser. look.py puts this and the pages into a page of its own: `pages`
// ({name: HTML or SVG}), `widths` of screens for
// pages, `largest` for pictures. What is wrong stands in the element "found" afterwards, a line for each.
"use strict";
const found = [];
const shown = element => element.checkVisibility ? element.checkVisibility() : true;
const brief = element => (element.textContent || element.tagName).trim().replace(/\s+/g, " ").slice(0, 40);

// [red, green, blue, alpha] of a computed colour.
function parts(colour) {
  const numbers = (colour.match(/[\d.]+/g) || []).map(Number);
  return numbers.length < 3 ? [0, 0, 0, 0] : [...numbers.slice(0, 3), numbers.length > 3 ? numbers[3] : 1];
}

function luminance(rgb) { // WCAG 2.1, relative luminance
  const [r, g, b] = rgb.slice(0, 3).map(c => c / 255).map(c => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4);
  return .2126 * r + .7152 * g + .0722 * b;
}

function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + .05) / (low + .05);
}

// What is behind an element: the paper of its picture, or the first background that is not transparent.
function paper(view, element) {
  const rect = element.closest("svg") && element.closest("svg").querySelector(":scope > rect.paper");
  if (rect) return parts(view.getComputedStyle(rect).fill);
  for (let at = element; at; at = at.parentElement) {
    const colour = parts(view.getComputedStyle(at).backgroundColor);
    if (colour[3] > 0) return colour;
  }
  return dark ? [18, 18, 18, 1] : [255, 255, 255, 1];
}

function checkWidth(tell, view, doc) {
  const wide = view.innerWidth;
  if (doc.documentElement.scrollWidth > wide) tell(`the page is ${doc.documentElement.scrollWidth} px wide`);
  for (const element of doc.body.querySelectorAll("*")) {
    if (element.closest(".wide") !== null && !element.matches(".wide") || !shown(element)) continue;
    if (element.getBoundingClientRect().right > wide + 1) tell(`${element.tagName} "${brief(element)}" leaves the page`);
  }
}

function overlap(a, b) {
  return Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
}

// Text of a picture is inside of it, large enough, and none lies on another.
function checkPicture(tell, svg) {
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].map(text => [text, text.getBoundingClientRect()]);
  texts.forEach(([text, box], i) => {
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1)
      tell(`text "${brief(text)}" is cut`);
    if (box.height < 9) tell(`text "${brief(text)}" is ${box.height.toFixed(1)} px high`);
    for (const [other, where] of texts.slice(i + 1))
      if (overlap(box, where)) tell(`text "${brief(text)}" and "${brief(other)}" overlap`);
  });
  if (!svg.querySelector("title")) tell("a picture has no title");
}

function checkContrast(tell, view, doc) {
  for (const element of doc.body.querySelectorAll("*")) {
    const has = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    if (!has || !shown(element) || element.closest("script, style, title, desc, noscript")) continue;
    const style = view.getComputedStyle(element);
    const ratio = contrast(parts(element.tagName === "text" ? style.fill : style.color), paper(view, element));
    if (ratio < 4.5) tell(`contrast of "${brief(element)}" is ${ratio.toFixed(1)}`);
  }
  for (const mark of doc.body.querySelectorAll("rect:not(.paper), polyline, path")) {
    const style = view.getComputedStyle(mark), fill = style.fill === "none" ? style.stroke : style.fill;
    const ratio = contrast(parts(fill), paper(view, mark));
    if (ratio < 3) tell(`contrast of a ${mark.tagName} of class ${mark.getAttribute("class")} is ${ratio.toFixed(1)}`);
  }
}

// The timeline of oshtrace: something is drawn, and coming closer draws something else.
function checkTimeline(tell, doc) {
  const canvas = doc.getElementById("timeline");
  if (!canvas) return;
  const colours = () => new Set(new Uint32Array(
    canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size;
  if (colours() < 4) tell("the timeline is empty");
  const before = canvas.toDataURL();
  doc.getElementById("in").click();
  if (canvas.toDataURL() === before) tell("the timeline does not come closer");
  doc.getElementById("all").click();
  if (canvas.toDataURL() !== before) tell("the timeline does not show all again");
}

function check(name, width, frame) {
  const view = frame.contentWindow, doc = frame.contentDocument, count = found.length;
  const tell = words => { if (found.length < count + 12) found.push(`${name} at ${width} px: ${words}`); };
  view.faults.forEach(fault => tell(`script: ${fault}`));
  checkWidth(tell, view, doc);
  doc.querySelectorAll("svg").forEach(svg => { if (!svg.parentElement.closest("svg")) checkPicture(tell, svg); });
  checkContrast(tell, view, doc);
  checkTimeline(tell, doc);
}

function open(name, width) {
  return new Promise(done => {
    const frame = document.createElement("iframe");
    frame.style.cssText = `width:${width}px;height:900px;border:0`;
    frame.onload = () => { check(name, width, frame); frame.remove(); done(); };
    const listener = "<script>window.faults=[];window.onerror=m=>{window.faults.push(m)}</" + "script>";
    frame.srcdoc = pages[name].replace(/<head>|^(?=<svg)/, match => match + listener);
    document.body.append(frame);
  });
}

(async () => {
  const is_dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  if (is_dark !== dark) found.push("the browser does not take the colour scheme");
  for (const name in pages)
    for (const width of name.endsWith(".svg") ? [largest] : widths) await open(name, width);
  document.getElementById("found").textContent = ["looked at " + Object.keys(pages).length, ...found].join("\n");
})();
