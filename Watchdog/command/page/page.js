"use strict";
const report = JSON.parse(document.getElementById("report").textContent);
const find = id => document.getElementById(id);
const words = {"blocks": "blocks", "may-block": "may block", "note": "note"};
const commas = number => number.toLocaleString("en-US");

function time(nanoseconds) {
  const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
  for (const [size, unit] of units)
    if (nanoseconds >= size || size === 1) {
      const value = nanoseconds / size;
      return value.toFixed(size === 1 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2) + " " + unit;
    }
}

// An element with classes and children; text is never read as markup.
function make(name, classes, ...children) {
  const element = document.createElement(name);
  if (classes) element.className = classes;
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}

function svg(name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  return element;
}

const tip = find("tip");
function showTip(event, text) {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + "px";
  tip.style.top = (event.clientY + 20 + box.height > innerHeight ? event.clientY - box.height - 12 : event.clientY + 18) + "px";
}
const hideTip = () => { tip.hidden = true; };

const source = frame => frame.file ? frame.file + (frame.line ? ":" + frame.line : "") : null;
const shortSource = frame => frame.file ? frame.file.split("/").slice(-2).join("/") + (frame.line ? ":" + frame.line : "") : null;
const base = path => path ? path.split("/").pop() : "";
const frameName = frame => frame.function || base(frame.module) + "+0x" + frame.offset.toString(16);
const cyclesOf = at => at.first_cycle === at.last_cycle ? "in cycle " + commas(at.first_cycle)
  : "in cycles " + commas(at.first_cycle) + " to " + commas(at.last_cycle);

function head() {
  document.title = "rtwatch: " + report.command.join(" ");
  find("command").textContent = report.command.join(" ");
  const count = {"blocks": 0, "may-block": 0, "note": 0};
  for (const place of report.places) count[place.tier]++;
  const verdict = find("verdict");
  const parts = [];
  if (count.blocks) parts.push(make("b", "blocks", count.blocks + (count.blocks === 1 ? " place blocks" : " places block")));
  if (count["may-block"])
    parts.push(make("b", "may-block", count["may-block"] + (count["may-block"] === 1 ? " place may block" : " places may block")));
  if (count.note) parts.push(make("b", "note", count.note + (count.note === 1 ? " note" : " notes")));
  if (!report.watched) verdict.append(report.refused ? "The program ran unwatched." : "No audio thread was seen.");
  else if (!count.blocks && !count["may-block"]) verdict.append(make("b", "good", "Nothing found"), " that blocks or may block",
    ...(count.note ? ["; ", parts[0]] : []), ".");
  else parts.forEach((part, index) => verdict.append(index ? ", " : "", part));
  if (report.verdict) verdict.append(make("span", "source", "exit status " + report.status + ", " + report.verdict));
  const numbers = [["ran", time(report.program.ran_ns)], ["cycles", commas(report.cycles)],
    ["deadlines missed", commas(report.deadline_misses), report.deadline_misses > 0]];
  const loads = report.threads.filter(thread => thread.load);
  if (loads.length) {
    const worst = loads.reduce((a, b) => a.load.max > b.load.max ? a : b);
    const whose = loads.length > 1 ? " of " + worst.name : "";
    numbers.push(["load p50" + whose, percent(worst.load.p50)], ["load p99" + whose, percent(worst.load.p99)],
      ["worst load" + whose, percent(worst.load.max), worst.load.max > 1]);
  }
  if (report.hangs) numbers.push(["hangs", commas(report.hangs), true]);
  const lost = report.lost.blocks + report.lost.may_block + report.lost.notes;
  if (lost) numbers.push(["records lost", commas(lost), true]);
  if (report.suppressed) numbers.push(["suppressed", commas(report.suppressed)]);
  for (const [name, value, bad] of numbers)
    find("numbers").append(make("div", "", make("dt", "", name), make("dd", bad ? "bad" : "", value)));
}
const percent = load => (load < 0.0995 ? (load * 100).toFixed(1) : commas(Math.round(load * 100))) + " %";

const paper = {left: 58, right: 10, top: 8, height: 140, width: 1130};

// One thread: points are [start, end, longest, mean, period, cycles, misses]; marks are [index, blocks, may block, notes].
function lane(thread) {
  const points = thread.timeline, all = [0, Math.max(points.at(-1)[1], ...thread.marks.slice(-1).map(m => (m[0] + 1) * thread.mark_width_ns))];
  all[0] = Math.min(points[0][0], thread.marks.length ? thread.marks[0][0] * thread.mark_width_ns : Infinity);
  let range = all.slice();
  const picture = svg("svg", {viewBox: "0 0 1130 212", preserveAspectRatio: "none", role: "img", "aria-label": "Cycle times of " + thread.name});
  const facts = make("p", "", make("b", "", thread.name), " (" + (report.processes.length > 1 ? "process " + thread.process + ", " : "") + "thread " + thread.tid + ", found by " + thread.found_by + "): "
    + commas(thread.cycles) + (thread.cycles === 1 ? " cycle" : " cycles") + (thread.period_ns ? " of " + time(thread.period_ns) : ", no deadline known")
    + ", mean " + time(thread.mean_ns) + ", longest " + time(thread.longest_ns)
    + (thread.deadline_misses ? ", " + commas(thread.deadline_misses) + " missed" : ""));
  const x = at => paper.left + (at - range[0]) / (range[1] - range[0]) * (paper.width - paper.left - paper.right);
  const timeAt = pixel => range[0] + (pixel - paper.left) / (paper.width - paper.left - paper.right) * (range[1] - range[0]);
  const value = point => point[4] ? point[2] / point[4] : thread.period_ns ? point[2] / thread.period_ns : point[2];
  const mean = point => point[4] ? point[3] / point[4] : thread.period_ns ? point[3] / thread.period_ns : point[3];

  function draw() {
    picture.replaceChildren();
    paper.width = Math.max(320, picture.clientWidth || 1130);
    picture.setAttribute("viewBox", "0 0 " + paper.width + " 212");
    const seen = points.filter(point => point[1] >= range[0] && point[0] <= range[1]);
    let most = Math.max(1e-9, ...seen.map(value));
    if (thread.period_ns) most = Math.max(1.15, Math.min(most * 1.08, 1e4)); else most *= 1.08;
    // Up to the deadline the scale is linear. Far above it, it is logarithmic, so that a hang does not flatten the rest.
    const far = thread.period_ns && most > 2.5, knee = far ? 1.25 : most, share = far ? .62 : 1;
    const height = at => at <= knee ? at / knee * share : share + (1 - share) * Math.log(at / knee) / Math.log(most / knee);
    const y = at => paper.top + paper.height * (1 - Math.min(height(at), 1));
    const bottom = paper.top + paper.height;
    const top = at => Math.min(y(at), bottom - 3);   // a cycle that took next to nothing was there, too
    const label = at => thread.period_ns ? commas(Math.round(at * 100)) + " %" : at ? time(at) : "0";
    const lines = !far ? steps(most, 4)
      : [0, .5, 1, 2, 5, 10, 20, 50, 100, 1e3, 1e4].filter(step => step < most).reduce((kept, step) =>
          step <= 1 || y(kept.at(-1)) - y(step) > 15 ? [...kept, step] : kept, []);
    for (const step of lines) {
      picture.append(svg("line", {class: "grid", x1: paper.left, x2: paper.width - paper.right, y1: y(step), y2: y(step)}));
      if (!thread.period_ns || step === 0 || Math.abs(y(step) - y(1)) > 11)
        picture.append(svg("text", {x: paper.left - 6, y: y(step) + 4, "text-anchor": "end"}, label(step)));
    }
    let bars = "", late = "", means = "";
    for (const point of seen) {
      const left = Math.max(x(point[0]), paper.left), width = Math.max(1, Math.min(x(point[1]), paper.width - paper.right) - left - .3);
      const box = (to, from) => "M" + left.toFixed(1) + " " + to.toFixed(1) + "h" + width.toFixed(1) + "V" + from.toFixed(1) + "h-" + width.toFixed(1) + "z";
      if (point[6]) late += box(top(value(point)), bottom); else bars += box(top(value(point)), bottom);
      if (point[5] > 1) means += box(top(mean(point)), bottom);
    }
    picture.append(svg("path", {class: "bars", d: bars}), svg("path", {class: "late", d: late}), svg("path", {class: "means", d: means}));
    if (thread.period_ns) {
      picture.append(svg("line", {class: "deadline", x1: paper.left, x2: paper.width - paper.right, y1: y(1), y2: y(1)}));
      picture.append(svg("text", {class: "deadline-name", x: paper.left - 6, y: y(1) + 4, "text-anchor": "end"}, "100 %"));
    }
    ["blocks", "may-block", "note"].forEach((tier, row) => {
      let path = "";
      const top = bottom + 6 + row * 10;
      for (const mark of thread.marks) {
        if (!mark[row + 1]) continue;
        const from = mark[0] * thread.mark_width_ns, to = from + thread.mark_width_ns;
        if (to < range[0] || from > range[1]) continue;
        const left = Math.max(x(from), paper.left), width = Math.max(1.4, Math.min(x(to), paper.width - paper.right) - left);
        path += "M" + left.toFixed(1) + " " + top + "h" + width.toFixed(1) + "v8h-" + width.toFixed(1) + "z";
      }
      picture.append(svg("path", {class: "mark-" + tier, d: path}));
    });
    const every = steps(range[1] - range[0], Math.max(3, Math.floor(paper.width / 140)))[1] || range[1] - range[0];
    for (let at = Math.ceil(range[0] / every) * every; at <= range[1]; at += every)
      picture.append(svg("text", {x: x(at), y: 208, "text-anchor": x(at) > paper.width - 40 ? "end" : "middle"}, at ? time(at) : "0"));
    picture.append(svg("line", {class: "grid", x1: paper.left, x2: paper.width - paper.right, y1: bottom, y2: bottom}));
  }

  let from = null;
  const pixel = event => (event.clientX - picture.getBoundingClientRect().left) / picture.clientWidth * paper.width;
  picture.addEventListener("pointerdown", event => { from = pixel(event); picture.setPointerCapture(event.pointerId); });
  picture.addEventListener("pointermove", event => {
    const at = timeAt(pixel(event));
    if (from !== null) {
      picture.querySelector(".choice")?.remove();
      const to = pixel(event);
      picture.append(svg("rect", {class: "choice", x: Math.min(from, to), width: Math.abs(to - from), y: paper.top, height: paper.height + 36}));
    }
    showTip(event, describe(thread, at, (range[1] - range[0]) / paper.width * 2));
  });
  picture.addEventListener("pointerup", event => {
    const to = pixel(event);
    if (from !== null && Math.abs(to - from) > 5) {
      const ends = [timeAt(Math.min(from, to)), timeAt(Math.max(from, to))];
      range = [Math.max(ends[0], all[0]), Math.min(ends[1], all[1])];
    }
    from = null;
    draw();
  });
  picture.addEventListener("pointerleave", hideTip);
  picture.addEventListener("dblclick", () => { range = all.slice(); draw(); });
  const card = make("div", "lane", facts);
  card.append(picture);
  find("cycles").append(card);
  draw();
  addEventListener("resize", draw);
}

function steps(most, count) {
  const raw = most / count, size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(factor => factor * size).find(candidate => candidate >= raw);
  const list = [];
  for (let at = 0; at <= most * 1.0001; at += step) list.push(at);
  return list;
}

function describe(thread, at, reach) {
  const point = thread.timeline.find(candidate => candidate[0] - reach <= at && candidate[1] + reach >= at);
  const lines = [time(Math.max(0, at)) + " after the start"];
  if (point) {
    lines.push(point[5] === 1 ? "one cycle: " + time(point[2]) : commas(point[5]) + " cycles: mean " + time(point[3]) + ", longest " + time(point[2]));
    if (point[4]) lines.push((point[2] / point[4] * 100).toFixed(0) + " % of " + time(point[4]) + (point[6] ? ", " + point[6] + " late" : ""));
  }
  const sums = [0, 0, 0];
  for (const mark of thread.marks) {
    const from = mark[0] * thread.mark_width_ns;
    if (from - reach <= at && from + thread.mark_width_ns + reach >= at) for (let i = 0; i < 3; i++) sums[i] += mark[i + 1];
  }
  if (sums[0]) lines.push(commas(sums[0]) + " that block");
  if (sums[1]) lines.push(commas(sums[1]) + " that may block");
  if (sums[2]) lines.push(commas(sums[2]) + " notes");
  return lines.join("\n");
}

// The stacks of all findings as one tree: outermost frame first, the call itself as the leaf.
let weight = "count", zoomed = null, withNotes = !report.places.some(place => place.tier !== "note");
function tree() {
  const root = {name: "all", value: 0, children: new Map(), kind: "system"};
  for (const place of report.places)
    for (const finding of place.findings) {
      const value = weight === "count" ? finding.count : finding.total_ns;
      if (!value || (finding.tier === "note" && !withNotes)) continue;
      let at = root;
      root.value += value;
      const path = finding.stack.slice().reverse().map(frame => ({name: frameName(frame), key: frameName(frame) + "|" + source(frame),
        kind: frame.origin, detail: source(frame) || base(frame.module),
        line: frame.origin === "user" && frame.line ? " :" + frame.line : ""}));
      path.push({name: finding.call, key: "leaf:" + finding.tier + finding.call, kind: "leaf " + finding.tier, detail: words[finding.tier], line: ""});
      for (const step of path) {
        if (!at.children.has(step.key)) at.children.set(step.key, {...step, value: 0, children: new Map(), parent: at});
        at = at.children.get(step.key);
        at.value += value;
      }
    }
  return root;
}

function flames() {
  const area = find("flames"), root = tree();
  area.replaceChildren();
  if (!root.value) { area.append(make("p", "empty", "No durations were measured.")); area.style.height = "48px"; return; }
  let from = root;
  const path = [];
  for (let node = zoomed; node && node.parent; node = node.parent) path.unshift(node.key);
  for (const key of path) if (from.children.has(key)) from = from.children.get(key);
  find("flames-all").hidden = from === root;
  let deepest = 0;
  const draw = (node, left, width, row, above) => {
    deepest = Math.max(deepest, row);
    if (node.parent) {
      const box = make("button", "flame " + node.kind + (above ? " above" : ""), width > .02 ? node.name + node.line : "");
      box.style.left = left * 100 + "%";
      box.style.width = width * 100 + "%";
      box.style.top = (row - 1) * 20 + "px";
      const text = node.name + "\n" + (node.detail || "") + "\n" + (weight === "count" ? commas(node.value) + " violations" : time(node.value))
        + ", " + (node.value / root.value * 100).toFixed(1) + " %";
      box.addEventListener("pointermove", event => showTip(event, text));
      box.addEventListener("pointerleave", hideTip);
      box.addEventListener("click", () => { hideTip(); zoomed = node; flames(); });
      area.append(box);
    }
    if (above) return;
    let at = left;
    for (const child of [...node.children.values()].sort((a, b) => b.value - a.value)) {
      const part = width * child.value / node.value;
      if (part > .0008) draw(child, at, part, row + 1, false);
      at += part;
    }
  };
  const outer = [];
  for (let node = from.parent; node; node = node.parent) outer.unshift(node);
  outer.forEach((node, row) => draw(node, 0, 1, row, true));
  draw(from, 0, 1, outer.length, false);
  area.style.height = deepest * 20 + 2 + "px";
}

function stack(finding) {
  const list = make("ol", "stack mono");
  for (const frame of finding.stack) {
    const line = make("li", frame.place ? "here" : frame.origin,
      make("span", "", frameName(frame), frame.inlined ? make("em", "", " inlined") : frame.left_the_stack ? make("em", "", " left the stack") : null),
      make("span", "", shortSource(frame) || base(frame.module)));
    line.title = [frame.symbol, source(frame), frame.module].filter(Boolean).join("\n");
    list.append(line);
  }
  return list;
}

function card(place, open) {
  const name = make("span", "name mono", (place.function || "an unknown place")
    + (place.only_caller_known ? ", or a function called through a pointer in it (only the caller is known)" : "")
    + (place.findings[0].foreign_code ? ", in the foreign code " + place.findings[0].foreign_code : ""));
  if (place.file) {
    const where = make("span", "source", shortSource(place));
    where.title = source(place);
    name.append(where);
  } else if (place.module) name.append(make("span", "source", base(place.module)));
  const hang = place.findings.some(finding => finding.kind === "hang");
  const times = commas(place.count) + " ×" + (place.longest_ns ? "  longest " + time(place.longest_ns) : "");
  const what = hang ? "a cycle did not end here, " + cyclesOf(place)
    : place.called === place.findings[0].kind.replace("-", " ") ? place.does + ", " + cyclesOf(place)
    : ["calls ", make("code", "", place.called), ", which " + place.does + ", " + cyclesOf(place)];
  const box = make("details", "card", make("summary", "", make("span", "badge " + place.tier, words[place.tier]), name,
    make("span", "times", times), make("span", "what", ...[what].flat())));
  const body = make("div", "body", make("p", "advice", place.instead));
  for (const finding of place.findings) {
    const mean = finding.measured ? ", mean " + time(finding.total_ns / finding.measured) + ", longest " + time(finding.longest_ns) : "";
    body.append(make("h3", "", make("code", "", finding.call + (finding.kind === "system-call" ? " (system call)" : "")),
      make("span", "", words[finding.tier] + ", " + commas(finding.count) + " × " + cyclesOf(finding) + mean)), stack(finding));
  }
  box.append(body);
  box.open = open;
  return box;
}

const shown = new Set(["blocks", "may-block", "note"]);
function places() {
  const area = find("places"), wanted = find("filter").value.toLowerCase();
  area.replaceChildren();
  const list = report.places.filter(place => shown.has(place.tier) && (!wanted || JSON.stringify(place).toLowerCase().includes(wanted)));
  list.slice(0, 400).forEach((place, index) => area.append(card(place, index === 0 && !wanted)));
  if (list.length > 400) area.append(make("p", "empty", "… and " + (list.length - 400) + " more: filter to see them."));
  if (!list.length) area.append(make("p", "empty card", report.places.length ? "Nothing fits the filter." : "Nothing was found."));
}

function tierButtons() {
  for (const tier of ["blocks", "may-block", "note"]) {
    const count = report.places.filter(place => place.tier === tier).length;
    if (!count) continue;
    const button = make("button", "", words[tier] + " " + count);
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => {
      if (shown.has(tier)) shown.delete(tier); else shown.add(tier);
      button.setAttribute("aria-pressed", shown.has(tier));
      places();
    });
    find("tiers").append(button);
  }
}

function events() {
  const lists = [["Page faults", report.page_fault_count, report.page_faults], ["Preemptions", report.preemption_count, report.preemptions]];
  if (!report.page_fault_count && !report.preemption_count) { find("events-section").hidden = true; return; }
  for (const [name, count, list] of lists) {
    if (!count) continue;
    find("events").append(make("p", "", make("b", "", name), ": " + commas(count)));
    for (const place of list.slice(0, 50)) find("events").append(card(place, false));
  }
}

function about() {
  const area = find("about"), table = make("table");
  const row = (...cells) => table.append(make("tr", "", ...cells.map((cell, index) => make(index ? "td" : "th", "", cell))));
  row("Program", report.program.path);
  row("Ended", report.program.signal ? "by signal " + report.program.signal : "with status " + report.program.exit_status
    + (report.program.ended_by_duration ? ", by --duration" : ""));
  if (report.crash)
    row("Crash", report.crash.stack.map(frame => frameName(frame) + (frame.file ? "  " + shortSource(frame) : "")).join(" ← "));
  for (const process of report.processes)
    row("Process " + process.pid, Object.entries(process).filter(([key]) => key !== "pid")
      .map(([key, value]) => key.replaceAll("_", " ") + (value ? " ✓" : " –")).join("   "));
  const lost = report.lost;
  if (lost.blocks + lost.may_block + lost.notes)
    row("Lost", commas(lost.blocks) + " that block, " + commas(lost.may_block) + " that may block, " + commas(lost.notes) + " notes: there was no room");
  if (report.skipped) row("Skipped", commas(report.skipped) + " violations in the first cycles");
  if (report.notes_not_shown) row("Notes", commas(report.notes_not_shown) + " not shown (--notes)");
  for (const suppression of report.suppressions)
    row("Suppression", suppression.pattern + " (" + suppression.from + "): " + (suppression.used ? commas(suppression.used) + " taken out" : "unused"));
  area.append(table);
  if (report.messages.length) area.append(make("ul", "", ...report.messages.map(message => make("li", "", message))));
}

head();
const lanes = report.threads.filter(thread => thread.timeline.length);
lanes.sort((a, b) => b.violations.blocks - a.violations.blocks || b.cycles - a.cycles).slice(0, 12).forEach(lane);
if (lanes.length > 12) find("cycles").append(make("p", "hint", "… and " + (lanes.length - 12) + " more threads, in the JSON report."));
if (!lanes.length) find("cycles-section").hidden = true;
for (const [id, kind] of [["by-count", "count"], ["by-time", "time"]])
  find(id).addEventListener("click", () => {
    weight = kind;
    find("by-count").setAttribute("aria-pressed", kind === "count");
    find("by-time").setAttribute("aria-pressed", kind === "time");
    flames();
  });
find("with-notes").hidden = withNotes || !report.places.some(place => place.findings.some(finding => finding.tier === "note"));
find("with-notes").addEventListener("click", () => {
  withNotes = !withNotes;
  find("with-notes").setAttribute("aria-pressed", withNotes);
  flames();
});
find("flames-all").addEventListener("click", () => { zoomed = null; flames(); });
find("filter").addEventListener("input", places);
if (report.places.length) flames(); else find("flames-section").hidden = true;
tierButtons();
places();
events();
about();
