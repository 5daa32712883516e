"use strict";
// Pictures: who hears whom, what each node did over time, and how a master came to be.

const MAP_MAX = 9;

// The members in a circle, the links between them. A broken link is drawn at the end of whoever does not reach the other.
function drawMap(seen) {
  const count = seen.members.length, size = 380, middle = size / 2, radius = count === 1 ? 0 : 128;
  const place = new Map(seen.members.map((one, at) => {
    const angle = -Math.PI / 2 + 2 * Math.PI * at / count;
    return [one, [middle + radius * Math.cos(angle), middle + radius * Math.sin(angle)]];
  }));
  const lines = [];
  seen.members.forEach((a, at) => {
    for (const b of seen.members.slice(at + 1)) {
      const there = linkBetween(seen, a, b), back = linkBetween(seen, b, a), [x1, y1] = place.get(a), [x2, y2] = place.get(b);
      if (!there && !back) continue;
      const broken = [there, back].filter(link => link && !link.works), main = seen.master && (a === seen.master && b.master === a.id || b === seen.master && a.master === b.id);
      const told = [there, back].filter(Boolean).map(link => `${link.from.name} → ${link.to.name}: ${OUTCOMES[link.outcome]}${link.works ? `, ${duration(link.micros)}` : ""}`).join("\n");
      if (!broken.length) lines.push(h("line", { key: `${a.id} ${b.id}`, class: `link${main ? " main" : ""}`, x1, y1, x2, y2 }, h("title", {}, told)));
      for (const link of broken) {
        const [fx, fy] = place.get(link.from), [tx, ty] = place.get(link.to), half = broken.length === 2 ? .5 : 1;
        lines.push(h("line", { key: `${link.from.id} ${link.to.id} broken`, class: "link broken", x1: fx, y1: fy, x2: fx + (tx - fx) * half, y2: fy + (ty - fy) * half }, h("title", {}, told)));
        const cx = fx + (tx - fx) * .42, cy = fy + (ty - fy) * .42;
        lines.push(h("path", { key: `${link.from.id} ${link.to.id} cross`, class: "link broken", "stroke-dasharray": "0", d: `M${cx - 6} ${cy - 6}l12 12m0 -12l-12 12` }, h("title", {}, told)));
      }
    }
  });
  const balls = seen.members.map(one => {
    const [x, y] = place.get(one), leads = one === seen.master, r = leads ? 29 : 23, below = y >= middle - 1 || count === 1;
    const word = { leads: "leads", follows: "follows", searches: one.mode || "searches", silent: "silent", gone: "gone" }[one.status];
    return h("g", { key: one.id, role: "img", "aria-label": `${one.name} ${word}` },
      h("circle", { class: `ball ${one.status}`, cx: x, cy: y, r }, h("title", {}, `${one.name} ${word}\n${one.address}`)),
      h("text", { class: one.explanation ? "in" : "out", x, y: y + 5 }, leads ? "★" : one.status === "silent" ? "!" : one.status === "gone" ? "†" : one.status === "searches" ? "?" : "✓"),
      h("text", { class: "label", x, y: below ? y + r + 17 : y - r - 22 }, clip(one.name, 22)),
      h("text", { class: "sub", x, y: below ? y + r + 31 : y - r - 8 }, `${word}${one.committed ? ` · ${one.committed.term}/${one.committed.version}` : ""}`));
  });
  return h("svg", { class: "map", viewBox: `0 -12 ${size} ${size + 24}`, role: "img", "aria-label": "Who hears whom" }, lines, balls);
}

const clip = (text, most) => text.length > most ? text.slice(0, most - 1) + "…" : text;

// The same as a table: for many members, and for those who read rather than look.
function drawMatrix(seen) {
  const from = seen.members.filter(one => one.explanation), to = seen.members;
  return h("div", { class: "scroll", tabindex: "0" }, h("table", { class: "matrix" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "hears ↓ from →"), to.map(one => h("th", { key: one.id, scope: "col" }, clip(one.name, 14))))),
    h("tbody", {}, from.map(one => h("tr", { key: one.id }, h("th", { scope: "row" }, one.name), to.map(other => {
      if (one === other) return h("td", { key: other.id, class: "soft" }, "·");
      const link = linkBetween(seen, one, other);
      if (!link) return h("td", { key: other.id, class: "soft" }, "–");
      return h("td", { key: other.id, class: link.works ? "yes" : "no", title: OUTCOMES[link.outcome] }, link.works ? duration(link.micros) : `✗ ${OUTCOMES[link.outcome]}`);
    }))))));
}

// A lane for each node: what it did, and above all what happened. `views` are those of the window, oldest first.
function drawLanes(views, events, [from, until], at, choose) {
  const names = new Map();
  for (const seen of views) for (const one of seen.members) names.set(one.id, one.name);
  const rows = [...names].sort((a, b) => a[1].localeCompare(b[1], "en", { numeric: true })).slice(0, 40);
  const width = 1000, left = 120, row = 27, height = 44 + rows.length * row, x = time => left + (Math.min(Math.max(time, from), until) - from) / Math.max(1, until - from) * (width - left - 8);
  const drawn = [];
  rows.forEach(([id, name], index) => {
    const y = 24 + index * row;
    drawn.push(h("text", { key: `name ${id}`, x: 0, y: y + 14 }, clip(name, 17), h("title", {}, name)));
    let open = null;
    const close = end => { if (open) drawn.push(h("rect", { key: `${id} ${open.since}`, class: `lane ${open.status}`, x: x(open.since), y: open.status === "leads" ? y : y + 5, width: Math.max(1.5, x(end) - x(open.since)), height: open.status === "leads" ? 18 : 8, rx: 2 }, h("title", {}, `${name}: ${open.status}, ${clock(open.since)} to ${clock(end)}`))); open = null; };
    let last = from;
    for (const seen of views) {
      const one = seen.byId.get(id), status = one ? one.status : null;
      // A page that slept knows nothing of that time.
      if (seen.at - last > 15000) close(last);
      if (!open || open.status !== status) { close(seen.at); if (status) open = { status, since: seen.at }; }
      last = seen.at;
    }
    close(Math.min(until, last));
  });
  for (let step = 0; step <= 5; step++) {
    const time = from + (until - from) * step / 5;
    drawn.push(h("line", { key: `axis ${step}`, class: "axis", x1: x(time), x2: x(time), y1: 20, y2: height - 18 }), h("text", { key: `time ${step}`, class: "soft", x: x(time), y: height - 3, "text-anchor": step === 5 ? "end" : step === 0 ? "start" : "middle" }, clock(time)));
  }
  events.filter(event => event.at >= from && event.at <= until).slice(-400).forEach((event, index) => {
    if (event.kind === "publish") drawn.push(h("line", { key: `tick ${index}`, class: "tick", x1: x(event.at), x2: x(event.at), y1: height - 20, y2: height - 14 }));
    if (event.kind === "election") drawn.push(h("path", { key: `mark ${index}`, class: "mark", d: `M${x(event.at)} 4l6 7l-6 7l-6 -7z` }, h("title", {}, `${clock(event.at, true)} ${event.text}`)));
  });
  if (at) drawn.push(h("line", { key: "cursor", class: "cursor", x1: x(at), x2: x(at), y1: 0, y2: height - 14 }));
  const pick = event => { const box = event.currentTarget.getBoundingClientRect(); choose(from + ((event.clientX - box.left) / box.width * width - left) / (width - left - 8) * (until - from)); };
  return h("div", { class: "scroll" }, h("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "What each node did", onclick: pick }, drawn));
}

// Time runs to the right, nodes are lines. A vote goes from who gave it to who stood; whoever follows later hears of the
// new master. Nodes keep when something came to be, each by its own clock: an arrow ends where its receiver noted it.
function drawElection({ won, took, around, votes, candidates }) {
  const names = [...new Set([won.byName, ...votes, ...candidates, ...around.map(entry => entry.byName), ...around.filter(entry => entry.node).map(entry => entry.node.name)])].slice(0, 20);
  const times = around.map(entry => entry.timestamp_millis), begin = Math.min(won.timestamp_millis - took, ...times), end = Math.max(won.timestamp_millis, ...times) + 1;
  const width = 1000, left = 120, row = 46, height = 40 + names.length * row, x = time => left + 20 + (time - begin) / Math.max(1, end - begin) * (width - left - 60), y = name => 26 + names.indexOf(name) * row;
  const stood = won.timestamp_millis - (won.details && won.details.candidacy_millis || 0), drawn = [];
  const wonAt = x(won.timestamp_millis);
  for (const name of names) drawn.push(h("line", { class: "axis", x1: left, x2: width, y1: y(name), y2: y(name) }), h("text", { x: 0, y: y(name) + 4 }, clip(name, 17)));
  drawn.push(h("line", { class: "link main", x1: wonAt, x2: width, y1: y(won.byName), y2: y(won.byName), "stroke-width": 7 }));
  if (stood < won.timestamp_millis) drawn.push(h("line", { class: "link", stroke: "#d99a1b", x1: x(stood), x2: wonAt, y1: y(won.byName), y2: y(won.byName), "stroke-width": 7 }, h("title", {}, `${won.byName} stood for ${won.timestamp_millis - stood} ms`)));
  votes.filter(name => name !== won.byName).forEach((name, at) => {
    const from = Math.max(left + 10, Math.min(x(stood) + 6, wonAt - 34)) - at * 3, title = h("title", {}, `${name} voted for ${won.byName} in term ${won.term}`);
    drawn.push(h("line", { class: "arrow vote", x1: from, y1: y(name), x2: wonAt, y2: y(won.byName), "marker-end": "url(#tip)" }, title), h("text", { class: "soft", x: (from + wonAt) / 2 - 8, y: (y(name) + y(won.byName)) / 2, "text-anchor": "end" }, "votes"));
  });
  around.forEach((entry, at) => {
    if (entry.kind === "master-changed" && entry.byName !== won.byName) drawn.push(h("line", { class: "arrow", x1: wonAt, y1: y(won.byName), x2: Math.max(wonAt + 4, x(entry.timestamp_millis)), y2: y(entry.byName), "marker-end": "url(#tip)" }, h("title", {}, `${entry.byName} follows ${won.byName}`)));
    const { sign, level, text } = sentence(entry);
    drawn.push(h("text", { key: `sign ${at}`, class: `sign ${level}`, x: x(entry.timestamp_millis), y: y(entry.byName) - 7, "text-anchor": "middle" }, sign, h("title", {}, `${clock(entry.timestamp_millis, true)} ${text}`)));
  });
  for (const [time, anchor] of [[begin, "start"], [won.timestamp_millis, "middle"], [end, "end"]]) drawn.push(h("text", { class: "soft", x: x(time), y: height - 4, "text-anchor": anchor }, `${time - won.timestamp_millis > 0 ? "+" : ""}${time - won.timestamp_millis} ms`));
  const tip = h("defs", {}, h("marker", { id: "tip", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" }, h("path", { class: "tip", d: "M0 0L8 4L0 8z" })));
  return h("div", { class: "scroll", tabindex: "0" }, h("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `The election of ${won.byName} in term ${won.term}` }, tip, drawn));
}
