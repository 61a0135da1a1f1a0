// SPDX-License-Identifier: BSD-3-Clause
//
// The timeline of a page of oshtrace: draws `data` into a canvas, and lets the reader come closer and move.
"use strict";
const canvas = document.getElementById("timeline"), told = document.getElementById("told");
const ROW = 18, HEAD = 22, FONT = "12px sans-serif";
const rows = data.rows.map(() => []); // the events of each track, by their begin
for (const event of data.events) rows[event[0]].push(event);
let from = 0, length = data.span, names = 0;

const colour = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const width = () => canvas.clientWidth;
const xOf = time => names + (time - from) / length * (width() - names);
const timeOf = x => from + (x - names) / (width() - names) * length;

function timeText(us) {
  for (const [limit, unit] of [[1e6, "s"], [1e3, "ms"], [1, "us"]])
    if (Math.abs(us) >= limit) return Number((us / limit).toPrecision(6)) + " " + unit;
  return us ? Math.round(us * 1e3) + " ns" : "0";
}

// Keeps what is shown inside of the trace.
function look(begin, long) {
  length = Math.min(Math.max(long, data.span / 1e6, 1e-3), data.span);
  from = Math.min(Math.max(begin, 0), data.span - length);
  draw();
}

function zoom(factor, x) {
  const at = timeOf(x === undefined ? (names + width()) / 2 : Math.max(x, names));
  look(at - (at - from) * factor, length * factor);
}

// The first event of a track that ends after this time: tracks have no overlapping events.
function firstAfter(events, time) {
  let low = 0, high = events.length;
  while (low < high) {
    const middle = low + high >> 1;
    if (events[middle][1] + events[middle][2] < time) low = middle + 1; else high = middle;
  }
  return low;
}

function steps() {
  const room = Math.max(2, Math.floor((width() - names) / 110)), raw = length / room;
  const decade = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map(m => m * decade).find(step => step >= raw);
}

function drawScale(pen, height) {
  const step = steps();
  pen.fillStyle = colour("quiet");
  pen.strokeStyle = colour("rule");
  pen.textAlign = "left";
  for (let time = Math.ceil(from / step) * step; time <= from + length; time += step) {
    const x = Math.round(xOf(time)) + .5, words = timeText(Number(time.toPrecision(12)));
    pen.beginPath(); pen.moveTo(x, HEAD - 4); pen.lineTo(x, height); pen.stroke();
    if (x + pen.measureText(words).width + 3 < width()) pen.fillText(words, x + 3, HEAD - 8);
  }
}

// Events that are thinner than a pixel are drawn as one; the longest of a pixel gives it its colour.
function drawRow(pen, events, y, colours) {
  let drawn = -1, longest = 0;
  for (let i = firstAfter(events, from); i < events.length && events[i][1] <= from + length; i++) {
    const [, begin, took, , kind] = events[i];
    const x = Math.max(xOf(begin), names), end = Math.max(Math.min(xOf(begin + took), width()), x + 1);
    if (Math.floor(x) === drawn && end - x <= 1 && took <= longest) continue;
    longest = Math.floor(x) === drawn ? Math.max(took, longest) : took;
    drawn = Math.floor(x);
    pen.fillStyle = colours[kind];
    pen.fillRect(x, y + 2, end - x, ROW - 4);
  }
}

function fitted(pen, words, room) {
  if (pen.measureText(words).width <= room) return words;
  while (words && pen.measureText(words + "...").width > room) words = words.slice(0, -1);
  return words + "...";
}

function draw() {
  const height = HEAD + ROW * rows.length + 4, scale = window.devicePixelRatio || 1;
  canvas.style.height = height + "px";
  canvas.width = Math.round(width() * scale);
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  pen.font = FONT;
  pen.fillStyle = colour("paper");
  pen.fillRect(0, 0, width(), height);
  const longest = Math.max(...data.rows.map(name => pen.measureText(name).width));
  names = Math.min(longest + 12, width() * .4);
  drawScale(pen, height);
  const colours = data.classes.map(name => colour(name.replace(" ", "-")));
  rows.forEach((events, i) => {
    const y = HEAD + i * ROW;
    drawRow(pen, events, y, colours);
    pen.fillStyle = colour("ink");
    if (data.rows[i] !== data.rows[i - 1]) pen.fillText(fitted(pen, data.rows[i], names - 10), 4, y + 13);
  });
}

function eventAt(x, y) {
  const events = rows[Math.floor((y - HEAD) / ROW)], near = length / width() * 2;
  if (!events || x < names) return undefined;
  const time = timeOf(x), event = events[firstAfter(events, time - near)];
  return event && event[1] <= time + near ? event : undefined;
}

function tell(event) {
  const [row, begin, took, word] = event;
  told.textContent = `${data.rows[row]}: ${data.words[word]}; takes ${timeText(took)}, begins at ${timeText(begin)}`;
}

let held; // where a drag has begun, and what was shown
canvas.addEventListener("pointerdown", e => { held = {x: e.offsetX, from}; canvas.setPointerCapture(e.pointerId); });
canvas.addEventListener("pointerup", () => { held = undefined; });
canvas.addEventListener("pointermove", e => {
  if (held) look(held.from - (e.offsetX - held.x) / (width() - names) * length, length);
  const event = eventAt(e.offsetX, e.offsetY);
  if (event) tell(event);
});
canvas.addEventListener("dblclick", e => {
  const event = eventAt(e.offsetX, e.offsetY);
  if (event) look(event[1] - event[2] / 2, event[2] * 2);
});
canvas.addEventListener("wheel", e => {
  if (e.shiftKey) return;
  e.preventDefault();
  zoom(e.deltaY > 0 ? 1.25 : .8, e.offsetX);
}, {passive: false});
const acts = {
  in: () => zoom(.5), out: () => zoom(2), all: () => look(0, data.span),
  left: () => look(from - length / 4, length), right: () => look(from + length / 4, length),
};
const keys = {"+": "in", "=": "in", "-": "out", "0": "all", ArrowLeft: "left", ArrowRight: "right"};
for (const name in acts) document.getElementById(name).addEventListener("click", acts[name]);
canvas.addEventListener("keydown", e => { if (keys[e.key]) { e.preventDefault(); acts[keys[e.key]](); } });
window.addEventListener("resize", draw);
for (const media of ["(prefers-color-scheme: dark)", "print"]) window.matchMedia(media).addEventListener("change", draw);
draw();
