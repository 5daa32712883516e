"use strict";
// The page itself: asks the node that it came from, keeps what it was told, and shows one moment of that.

const SAMPLES_MAX = 1800, LENGTH_MAX = 12e6, EVENTS_MAX = 1000, PAUSE = 1000, HURRY = 250, PATIENCE = 4000;
// A node that is well answers sooner, since it gives the others 600 ms; and what is wrong is asked for rarely while nothing is.
const LATE = 1500, EXPLAINED_EVERY = 10000, EXPLAINED_WITHIN = 15000;

const record = document.getElementById("record");
const saved = record ? JSON.parse(record.textContent) : null;
const samples = saved ? saved.samples : [], events = [];
const views = new WeakMap();
const viewOf = sample => { if (!views.has(sample)) views.set(sample, view(sample)); return views.get(sample); };
const ui = { at: null, open: new Set(), links: "map", window: 300, filter: "", defaults: null, keyFilter: "", failed: null, election: null, asking: null };
let extra = saved ? saved.extra : { tasks: null, keys: null, leases: null, settings: null };

const page = document.getElementById("page");
const store = { get: name => { try { return localStorage.getItem(name); } catch { return null; } }, set: (name, value) => { try { localStorage.setItem(name, value); } catch { /* A page from a file may not keep anything. */ } } };
const theme = store.get("zazen-theme");
if (theme) document.documentElement.dataset.theme = theme;

for (const entry of saved ? saved.history : []) history.set(`${entry.by} ${entry.sequence} ${entry.timestamp_millis}`, entry);
for (let at = 1; at < samples.length; at++) events.push(...changes(viewOf(samples[at - 1]), viewOf(samples[at])));

// ---- asking

async function ask(path, patience = PATIENCE) {
  const response = await fetch(location.origin + path, { signal: AbortSignal.timeout(patience), headers: { accept: "application/json" }, cache: "no-store" });
  if (!response.ok) throw new Error(`${path} is answered with ${response.status}`);
  return response.json();
}
const maybe = (path, before) => ask(path).catch(() => before);

let length = 0;
function keep(over) {
  const sample = { over: slim(over), diagnosis };
  Object.defineProperty(sample, "size", { value: JSON.stringify(sample).length, enumerable: false });
  const before = samples[samples.length - 1];
  samples.push(sample);
  length += sample.size;
  while (samples.length > SAMPLES_MAX || length > LENGTH_MAX) { const gone = samples.shift(); length -= gone.size || 0; if (ui.at !== null) ui.at = Math.max(0, ui.at - 1); }
  if (before) events.push(...changes(viewOf(before), viewOf(sample)));
  events.splice(0, Math.max(0, events.length - EVENTS_MAX));
}

// What is wrong, as `zazen explain` tells it. It is asked for beside the looks, since it waits longer for who is silent.
let diagnosis = null, explaining = false, explainedAt = -Infinity;
async function explain(well) {
  if (explaining || performance.now() - explainedAt < (well ? EXPLAINED_EVERY : PAUSE)) return;
  explaining = true;
  diagnosis = await ask("/_zazen/explain?max_age=1s", EXPLAINED_WITHIN).then(brief, () => null);
  explaining = false;
  explainedAt = performance.now();
}

let lastState = "", lastShape = "", hurryUntil = 0, round = 0;
async function look() {
  // A node asks all others once for all pages that are open there.
  const age = performance.now() < hurryUntil ? HURRY - 50 : PAUSE - 100;
  const over = await ask(`/_zazen/overview?timeout=600ms&max_age=${age}ms&events=${round % 20 === 0 ? 300 : 40}`);
  learn(over);
  keep(over);
  const seen = viewOf(samples[samples.length - 1]), state = JSON.stringify(over.state.id) + (seen.explanation && seen.explanation.master_node ? "" : "-");
  // Writes of keys change the state all the time, and are looked at once a second like the rest.
  const shape = JSON.stringify([over.state.id.term, over.state.master_node, over.state.voting, over.members.map(one => [one.ephemeral_id, one.in_state])]);
  explain(seen.level === "good" && shape === lastShape);
  if (shape !== lastShape || seen.level === "bad") hurryUntil = performance.now() + (shape !== lastShape ? 3000 : 0);
  const more = { ...extra };
  const jobs = [
    (async () => { more.tasks = seen.master ? await maybe("/_cluster/pending_tasks?master_timeout=1s", null) : null; })(),
  ];
  if (state !== lastState || round % 10 === 0) {
    jobs.push((async () => { more.keys = await maybe("/_zazen/kv?local=true&values=true&limit=200", extra.keys); })(),
      (async () => { more.leases = await maybe("/_zazen/lease?local=true", extra.leases); })(),
      (async () => { more.settings = await maybe("/_cluster/settings?local=true&flat_settings=true", extra.settings); })());
  }
  lastState = state; lastShape = shape; round++;
  await Promise.all(jobs);
  extra = more;
  ui.failed = null;
}

async function watch() {
  for (;;) {
    const began = performance.now();
    ui.asking = Date.now();
    try { await look(); } catch (error) { ui.failed = { since: ui.failed ? ui.failed.since : ui.asking, why: error.name === "TimeoutError" ? "no answer" : "no connection" }; }
    ui.asking = null;
    draw();
    const pause = document.hidden ? 5 * PAUSE : performance.now() < hurryUntil ? HURRY : PAUSE;
    await new Promise(done => setTimeout(done, Math.max(50, pause - (performance.now() - began))));
  }
}

// Time goes on while nothing is answered.
function wait() {
  if (!ui.failed && ui.asking !== null && Date.now() - ui.asking > LATE) ui.failed = { since: ui.asking, why: "no answer" };
  if (ui.failed) draw();
}

// ---- drawing

const nowAt = () => ui.at === null ? samples.length - 1 : Math.min(ui.at, samples.length - 1);
function go(to) { ui.at = to === null || (!saved && to >= samples.length - 1) ? null : Math.max(0, Math.min(samples.length - 1, to)); draw(); }
function hold(live) { ui.at = live ? samples.length - 1 : null; draw(); }
function toggle(what) { if (ui.open.has(what)) ui.open.delete(what); else ui.open.add(what); draw(); }

function draw() {
  if (!samples.length) {
    if (ui.failed) show(page, h("p", { class: "empty" }, `This node does not answer: ${ui.failed.why}. It is asked again and again.`));
    return;
  }
  const seen = viewOf(samples[nowAt()]);
  document.title = `${{ good: "●", warn: "▲", bad: "✕" }[ui.failed ? "bad" : seen.level]} ${seen.over.cluster_name} – Zazen`;
  page.className = ui.failed ? "stale" : "";
  show(page, top_(seen), verdict(seen), facts(seen), h("div", { key: "grid", class: "grid" }, linksPanel(seen), h("div", { class: "stack" }, membersPanel(seen), eventsPanel())),
    timeline(seen), elections(seen), h("div", { key: "held", class: "grid even" }, keysPanel(), h("div", { class: "stack" }, leasesPanel(), tasksPanel(seen))), settingsPanel(seen), player(seen), help());
}

const mark = () => h("svg", { class: "mark", viewBox: "0 0 32 32", "aria-hidden": "true" }, h("path", { d: "M21 4.5A12.5 12.5 0 1 0 28 13", fill: "none", stroke: "currentColor", "stroke-width": "4", "stroke-linecap": "round" }));

function top_(seen) {
  return h("header", { key: "top" }, mark(),
    h("h1", {}, seen.over.cluster_name, h("small", {}, saved ? `recorded by ${saved.by}, saved ${new Date(saved.at).toLocaleString()}` : `as ${seen.asked ? seen.asked.name : "this node"} sees it · Zazen ${seen.over.release}`)),
    h("span", { class: "grow" }),
    saved ? null : h("button", { id: "save", onclick: save, title: "One file with all that this page has seen, for a colleague (s)" }, "Save"),
    h("button", { onclick: nextTheme, title: "Light, dark, or as the system has it (t)" }, { light: "Light", dark: "Dark" }[document.documentElement.dataset.theme] || "Auto"),
    h("button", { onclick: () => document.getElementById("help").showModal(), "aria-label": "Keys", title: "Keys (?)" }, "?"));
}

function verdict(seen) {
  const others = seen.members.filter(one => one.http && one !== seen.asked);
  if (ui.failed) {
    return h("div", { key: "verdict", class: "verdict bad", role: "status" }, h("h2", {}, `${seen.asked ? seen.asked.name : "This node"} does not answer`),
      h("p", {}, `${ui.failed.why}, for ${span(Date.now() - ui.failed.since)}. What is below is from ${clock(seen.at)}; it goes on by itself when the node is back.`),
      others.length ? h("p", {}, "The same page at another node: ", others.slice(0, 6).map((one, at) => [at ? ", " : "", h("a", { href: pageOf(one) }, one.name)])) : null);
  }
  return h("div", { key: "verdict", class: `verdict ${seen.level}`, role: "status", id: "verdict" }, h("h2", {}, seen.title),
    seen.explanation ? h("p", {}, seen.diagnosis ? seen.diagnosis.summary : seen.explanation.summary) : h("p", {}, "The node that is asked told nothing."),
    seen.diagnosis || seen.level === "good" ? null : h("p", { class: "soft" }, "All others are being asked what is wrong."),
    seen.verdicts.length ? h("ul", { class: "verdicts" }, seen.verdicts.map(shownVerdict)) : null,
    seen.troubles.length ? h("ul", {}, seen.troubles.map(text => h("li", {}, text))) : null,
    seen.advice.map(text => h("p", {}, h("span", { class: "soft" }, "What to do: "), text, ".")));
}

// A verdict, who says it, and what to type.
function shownVerdict({ code, certainty, summary, evidence, mend }) {
  return h("li", { key: `${code} ${summary}` }, h("b", {}, code), certainty === "certain" ? "" : ` (${certainty})`, `: ${summary}`,
    evidence.map(({ by, what }) => h("p", { class: "soft" }, `${by} says: ${what}`)),
    mend ? h("div", { class: "mend" }, h("span", { class: "soft" }, mend.place), h("code", {}, mend.line), h("button", { onclick: event => copy(event, mend.line) }, "Copy")) : null);
}

const pageOf = one => `${location.protocol}//${one.http}/_dashboard`;

function copy(event, text) {
  const button = event.currentTarget;
  const done = word => { button.textContent = word; setTimeout(() => { button.textContent = "Copy"; }, 1200); };
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => done("Copied"), () => done("Not allowed"));
  else done("Select it");
}

function facts(seen) {
  const fact = (what, value, title) => h("div", { class: "fact", key: what, title }, h("b", {}, value), h("span", {}, what));
  const e = seen.explanation, answering = seen.members.filter(one => one.explanation).length, members = seen.members.filter(one => one.inState).length;
  return h("div", { key: "facts", class: "facts" },
    fact("master", seen.explanation && seen.explanation.master_node ? seen.explanation.master_node.name : "none"),
    fact(e && e.master_node ? "master for" : "without a master for", span(e && e.master_node ? seen.master && seen.master.explanation.since_millis : e && e.since_millis), "As the master itself knows it"),
    fact("term", e ? e.term : "–"), fact("state", seen.newest ? `${seen.newest.term}/${seen.newest.version}` : "–", "Term and version of the newest committed state"),
    fact("members that answer", `${answering} of ${Math.max(members, answering)}`),
    fact("voters it can lose", seen.losses === null ? "–" : seen.losses, "How many more voters may fail before there is no quorum"),
    fact("keys", seen.over.state.keys), fact("leases", seen.over.state.leases));
}

function panel(id, title, note, controls, ...body) {
  return h("section", { key: id, id, "aria-labelledby": `${id}-title` },
    h("div", { class: "head" }, h("h2", { id: `${id}-title` }, title), note ? h("span", { class: "note" }, note) : null, h("span", { class: "grow" }), controls), body);
}

function linksPanel(seen) {
  const many = seen.members.length > MAP_MAX, table = ui.links === "table" || many;
  return panel("links", "Who hears whom", many ? "each member asked" : null,
    many ? null : h("button", { "aria-pressed": String(table), onclick: () => { ui.links = table ? "map" : "table"; draw(); } }, "Table"),
    table ? drawMatrix(seen) : drawMap(seen),
    h("div", { class: "legend" }, ["leads", "follows", "searches", "silent", "gone"].map(status => h("span", {}, h("i", { class: `dot ${status}` }), status))));
}

function membersPanel(seen) {
  const row = one => {
    const open = ui.open.has(one.id), leads = one === seen.master, e = one.explanation;
    const heard = leads ? "" : e && e.master_heard_millis !== undefined ? span(e.master_heard_millis) : "";
    const lag = one.lag === null ? "" : one.lag === 0 ? "0" : String(one.lag);
    return [h("tr", { key: one.id, class: `row${open ? " chosen" : ""}` },
      h("td", { class: "first" }, h("i", { class: `dot ${one.status}` }), h("button", { class: "plain name", "aria-expanded": String(open), onclick: () => toggle(one.id) }, one.name), " ",
        leads ? h("span", { class: "pill lead" }, "master") : null, one.voter ? h("span", { class: "pill", title: "Counts in elections and commits" }, "voter") : null, one === seen.asked ? h("span", { class: "pill", title: "The node that this page asks" }, "asked") : null,
        one.drained ? h("span", { class: "pill over", title: "To be stopped soon: it tells users to go elsewhere" }, "drained") : null),
      h("td", { "data-label": "does", class: one.status === "silent" || one.status === "gone" ? "badtext" : one.status === "searches" ? "warntext" : "" }, one.mode || (one.status === "gone" ? "gone" : OUTCOMES[one.silence] || one.silence)),
      h("td", { class: "num", "data-label": "state" }, one.committed ? `${one.committed.term}/${one.committed.version}` : ""),
      h("td", { class: `num${one.lag > 1 ? " warntext" : ""}`, "data-label": "lag" }, lag),
      h("td", { class: "num nowrap", "data-label": "heard master" }, heard),
      h("td", { class: "num nowrap", "data-label": "memory" }, one.figures.memory ? bytes(one.figures.memory.used) : ""),
      h("td", { class: "num", "data-label": "CPU" }, one.figures.process && one.figures.process.cpu_percent !== null && one.figures.process.cpu_percent !== undefined ? `${one.figures.process.cpu_percent} %` : ""),
      h("td", { class: "num nowrap", "data-label": "up" }, one.figures.uptime_millis ? span(one.figures.uptime_millis) : "")),
    open ? h("tr", { key: `${one.id} detail` }, h("td", { colspan: 8 }, memberDetail(seen, one))) : null];
  };
  return panel("members", "Members", `${seen.members.length} known · select one for more`, null,
    h("div", { class: "scroll" }, h("table", { class: "cards" }, h("thead", {}, h("tr", {}, ["node", "does"].map(name => h("th", { scope: "col" }, name)), ["state", "lag", "heard master", "memory", "CPU", "up"].map(name => h("th", { scope: "col", class: "num" }, name)))), h("tbody", {}, seen.members.map(row)))));
}

function memberDetail(seen, one) {
  const e = one.explanation, f = one.figures;
  const lines = [
    ["id", h("span", { class: "mono" }, one.id)], ["transport", one.address || "–"],
    ["users", one.http ? (saved ? one.http : h("a", { href: pageOf(one) }, one.http)) : "–"],
    ["roles", one.roles.join(", ") || "none"], Object.keys(one.attributes).length ? ["attributes", Object.entries(one.attributes).map(([k, v]) => `${k}=${v}`).join(", ")] : null,
    e ? ["says", e.summary] : null, e && e.attempt ? ["is about to", typeof e.attempt === "string" ? e.attempt : Object.entries(e.attempt).map(([what, of]) => `${what}${of.term ? ` in term ${of.term}` : ""}${of.candidate ? ` for ${of.candidate.name}` : ""}${of.master ? ` ${of.master.name}` : ""}`).join(", ")] : null,
    e ? ["accepted", `${e.accepted.term}/${e.accepted.version}`] : null, f.pid ? ["process", `pid ${f.pid}, ${f.process && f.process.threads ? plural(f.process.threads, "thread") + ", " : ""}Zazen ${f.release}`] : null,
    f.files ? ["files open", `${f.files.used} of ${f.files.max}`] : null, f.disk ? ["disk free", `${bytes(f.disk.available)} of ${bytes(f.disk.total)}`] : null,
    e && e.hosts.length ? ["pinged", h("ul", {}, e.hosts.slice(0, 20).map(host => h("li", {}, `${host.node ? host.node.name + " " : ""}${host.address}: ${host.outcome.replaceAll("_", " ")}${host.not_joined ? `, not joined: ${host.not_joined}` : ""}`)))] : null,
    e && e.nodes.length ? ["watches", h("ul", {}, e.nodes.slice(0, 20).map(peer => h("li", {}, `${peer.node.name}: ${peer.failed || (peer.leaves ? "leaves" : peer.missed_pings ? plural(peer.missed_pings, "missed ping") : `at ${peer.applied.term}/${peer.applied.version}`)}`)))] : null,
  ].filter(Boolean);
  return h("div", { class: "detail" }, h("dl", {}, lines.map(([what, told]) => [h("dt", {}, what), h("dd", {}, told)])));
}

// What stands in the timeline besides what each node did.
const marks = () => [...events.filter(event => event.kind === "publish"), ...electionsOf(told()).map(({ won }) => ({ ...sentence(won), kind: "election" }))];

function timeline(seen) {
  const last = samples[samples.length - 1].over.at_millis, end = saved ? last : Math.max(seen.at, last), from = saved ? samples[0].over.at_millis : end - ui.window * 1000;
  let first = samples.findIndex(sample => sample.over.at_millis >= from);
  first = Math.max(0, first - 1);
  const shown = samples.slice(first).map(viewOf);
  const choose = time => { let best = 0; samples.forEach((sample, at) => { if (Math.abs(sample.over.at_millis - time) < Math.abs(samples[best].over.at_millis - time)) best = at; }); go(best); };
  return panel("timeline", "Timeline", "◆ a master was elected · ticks: states published · click to go there",
    saved ? null : [60, 300, 900].map(seconds => h("button", { "aria-pressed": String(ui.window === seconds), onclick: () => { ui.window = seconds; draw(); } }, `${seconds / 60} min`)),
    drawLanes(shown, marks(), [from, end], ui.at === null ? null : seen.at, choose));
}

// What the history of the nodes tells of an election; filled in by what it knows.
function elections() {
  const all = electionsOf(told());
  if (!all.length) return panel("election", "How the master was elected", null, null, h("p", { class: "empty" }, "No node that answers remembers an election."));
  const at = ui.election === null ? all.length - 1 : Math.min(ui.election, all.length - 1), { won, took, around } = all[at], details = won.details || {};
  const names = new Map([...known].map(([id, one]) => [id, one.name])), name = text => names.get(text) || text;
  const votes = listed(details.votes).map(name), candidates = listed(details.candidates).map(name);
  const story = h("dl", {}, [["winner", `${won.byName}, term ${won.term}, at ${clock(won.timestamp_millis, true)}`], ["why", won.reason || "nobody said"], ["candidates", candidates.join(", ") || "–"],
    ["voted for it", `${votes.join(", ") || "–"}${details.vote_count ? ` (${details.vote_count})` : ""}`], ["took", `${took} ms without a master${details.candidacy_millis !== undefined ? `, of which it stood ${details.candidacy_millis} ms` : ""}`]].map(([what, text]) => [h("dt", {}, what), h("dd", {}, text)]));
  return panel("election", "How the master was elected", `${at + 1} of ${all.length} elections that the nodes remember`, [
    h("button", { onclick: () => { ui.election = Math.max(0, at - 1); draw(); }, "aria-label": "The election before" }, "◀"),
    h("button", { onclick: () => { ui.election = at + 1 >= all.length - 1 ? null : at + 1; draw(); }, "aria-label": "The next election" }, "▶")],
    h("div", { class: "detail" }, story), drawElection({ won, took, around, votes, candidates }));
}

function eventsPanel() {
  const all = [...events.filter(event => event.kind !== "election"), ...told().map(sentence)].sort((a, b) => a.at - b.at);
  const shown = all.filter(event => event.level !== "quiet" || ui.open.has("publishes")).slice(-200).reverse();
  return panel("events", "What happened", "as the nodes remember it, and as this page saw it",
    h("button", { "aria-pressed": String(ui.open.has("publishes")), onclick: () => toggle("publishes") }, "All"),
    shown.length ? h("ol", { class: "events tall", tabindex: "0" }, shown.map(event => h("li", {}, h("time", {}, clock(event.at, true)), h("span", { class: `sign ${event.level}`, "aria-hidden": "true" }, event.sign), h("span", {}, event.text)))) : h("p", { class: "empty" }, "Nothing, since the page was opened."));
}

const fits = text => !ui.keyFilter || text.toLowerCase().includes(ui.keyFilter.toLowerCase());
const shownValue = value => typeof value === "string" ? clip(value, 120) : value && value.base64 !== undefined ? `${clip(value.base64, 60)} (base64)` : JSON.stringify(value);

function keysPanel() {
  const list = extra.keys ? extra.keys.keys.filter(key => fits(key.key)) : null;
  return panel("keys", "Keys", extra.keys ? `as of ${extra.keys.at}${extra.keys.more ? " · only the first 200" : ""}` : null,
    h("input", { type: "search", placeholder: "part of a key", "aria-label": "Show keys with this in their names", value: ui.keyFilter, oninput: event => { ui.keyFilter = event.target.value; draw(); } }),
    !list || !list.length ? h("p", { class: "empty" }, extra.keys && extra.keys.keys.length ? "No key has this in its name." : "No keys.") :
      h("div", { class: "scroll tall", tabindex: "0" }, h("table", { class: "cards" }, h("thead", {}, h("tr", {}, ["key", "value", "changed", "lease"].map(name => h("th", { scope: "col" }, name)))),
        h("tbody", {}, list.map(key => h("tr", { key: key.key }, h("td", { class: "key first mono" }, key.key), h("td", { class: "wide mono", "data-label": "value" }, shownValue(key.value)), h("td", { class: "nowrap", "data-label": "changed" }, key.changed ?? key.modified ?? key.version ?? ""), h("td", { "data-label": "lease" }, key.lease ? key.lease.name || key.lease : "")))))));
}

function leasesPanel() {
  const list = extra.leases ? extra.leases.leases : [];
  return panel("leases", "Leases", extra.leases ? `as of ${extra.leases.at}` : null, null,
    !list.length ? h("p", { class: "empty" }, "Nobody holds a lease.") :
      h("div", { class: "scroll tall", tabindex: "0" }, h("table", { class: "cards" }, h("thead", {}, h("tr", {}, ["lease", "holder", "token", "runs", "granted in state"].map(name => h("th", { scope: "col" }, name)))),
        h("tbody", {}, list.map(lease => h("tr", { key: lease.name }, h("td", { class: "key first mono" }, lease.name), h("td", { class: "wide", "data-label": "holder" }, lease.holder), h("td", { "data-label": "token" }, lease.token), h("td", { "data-label": "runs" }, span(lease.ttl_millis)), h("td", { "data-label": "granted in" }, lease.granted)))))));
}

function tasksPanel(seen) {
  const list = extra.tasks ? extra.tasks.tasks : [];
  const empty = extra.tasks ? "The master has nothing to do." : seen.master ? "The master did not tell." : "There is no master that could have tasks.";
  return panel("tasks", "Pending tasks", null, null,
    !list.length ? h("p", { class: "empty" }, empty) :
      h("div", { class: "scroll tall", tabindex: "0" }, h("table", { class: "cards" }, h("thead", {}, h("tr", {}, ["task", "priority", "waits", ""].map(name => h("th", { scope: "col" }, name)))),
        h("tbody", {}, list.slice(0, 200).map(task => h("tr", { key: task.insert_order }, h("td", { class: "wide first" }, task.source), h("td", { "data-label": "priority" }, task.priority), h("td", { "data-label": "waits" }, task.time_in_queue), h("td", {}, task.executing ? h("span", { class: "pill lead" }, "is being done") : null)))))));
}

// Which keys are set where. The first that sets one wins: a node's own command line, the cluster, then the node's file.
function settingsPanel(seen) {
  const rows = [];
  for (const set of ["transient", "persistent"]) for (const [key, value] of Object.entries((extra.settings && extra.settings[set]) || {})) rows.push({ key, value: Array.isArray(value) ? value.join(", ") : String(value), from: `cluster, ${set}`, who: "all nodes" });
  const given = new Map();
  for (const one of seen.members) for (const [key, { value, from }] of Object.entries(one.settings)) {
    const pattern = from.replaceAll(one.name, "*"), name = `${key}\n${value}\n${pattern}`, found = given.get(name);
    if (found) found.who.push(one.name); else given.set(name, { key, value, from, pattern, who: [one.name] });
  }
  const telling = seen.members.filter(one => one.explanation).length;
  for (const row of given.values()) rows.push({ ...row, who: row.who.length === telling && telling > 1 ? `all ${telling}` : row.who.join(", "), from: row.who.length > 1 ? row.pattern : row.from });
  if (ui.defaults) for (const [key, value] of Object.entries(ui.defaults)) if (!rows.some(row => row.key === key)) rows.push({ key, value: Array.isArray(value) ? value.join(", ") : String(value), from: "default", who: seen.asked ? seen.asked.name : "" });
  const shown = rows.filter(row => !ui.filter || `${row.key} ${row.value} ${row.from}`.toLowerCase().includes(ui.filter.toLowerCase())).sort((a, b) => a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
  const defaults = async () => {
    if (ui.defaults) { ui.defaults = null; draw(); return; }
    const all = await maybe("/_cluster/settings?local=true&flat_settings=true&include_defaults=true", null);
    ui.defaults = all && all.defaults; draw();
  };
  return panel("settings", "Settings", "and where each value comes from", [
    h("input", { type: "search", placeholder: "part of a setting", "aria-label": "Show settings with this in them", value: ui.filter, oninput: event => { ui.filter = event.target.value; draw(); } }),
    saved ? null : h("button", { "aria-pressed": String(Boolean(ui.defaults)), onclick: defaults }, "Defaults")],
    h("div", { class: "scroll tall", tabindex: "0" }, h("table", { class: "cards" }, h("thead", {}, h("tr", {}, ["setting", "value", "from", "of"].map(name => h("th", { scope: "col" }, name)))),
      h("tbody", {}, shown.slice(0, 600).map(row => h("tr", { key: `${row.key} ${row.from} ${row.who}` }, h("td", { class: "key first mono" }, row.key), h("td", { class: "wide mono", "data-label": "value" }, clip(row.value, 200)), h("td", { class: "wide", "data-label": "from" }, row.from.includes("over the cluster") ? h("span", { class: "pill over" }, row.from) : row.from), h("td", { class: "wide soft", "data-label": "of" }, row.who)))))));
}

function player(seen) {
  const live = ui.at === null && !saved, word = saved ? "record" : !live ? "past" : ui.failed ? "no answer since" : "live";
  return h("div", { key: "player", class: "player", role: "group", "aria-label": "Moment that is shown" },
    saved ? null : h("button", { id: "pause", onclick: () => hold(live), title: "Hold this moment, or go on (space)" }, live ? "Pause" : "Go live"),
    h("span", { class: "when", id: "when" }, h("span", { class: word === "live" ? "live" : "past" }, word), " ", clock(seen.at)),
    h("button", { onclick: () => go(nowAt() - 1), "aria-label": "One look back" }, "◀"),
    h("input", { type: "range", min: 0, max: samples.length - 1, value: nowAt(), "aria-label": "Moment", "aria-valuetext": clock(seen.at), oninput: event => go(Number(event.target.value)) }),
    h("button", { onclick: () => go(nowAt() + 1), "aria-label": "One look on" }, "▶"));
}

function help() {
  const keys = [["space", "hold the moment, or go live"], ["← →", "one look back, one on"], ["s", "save all that was seen as one file"], ["t", "light, dark, as the system"], ["m", "map or table of links"], ["g then l m t e k s", "go to links, members, timeline, events, keys, settings"], ["?", "this"]];
  return h("dialog", { key: "help", id: "help", "aria-label": "Keys" }, h("h2", {}, "Keys"), h("dl", {}, keys.map(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])),
    h("p", { class: "soft" }, "The page asks the node that it came from, which asks the others. It changes nothing in the cluster."), h("button", { onclick: () => document.getElementById("help").close() }, "Close"));
}

// ---- keys, themes, saving

function nextTheme() {
  const root = document.documentElement, next = { "": "light", light: "dark", dark: "" }[root.dataset.theme || ""];
  if (next) root.dataset.theme = next; else delete root.dataset.theme;
  store.set("zazen-theme", next); draw();
}

const PLACES = { l: "links", m: "members", t: "timeline", e: "events", k: "keys", s: "settings", p: "tasks" };
let goes = false;
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input[type=search]")) return;
  const inRange = event.target.matches("input[type=range]"), key = event.key;
  if (goes && PLACES[key]) {
    goes = false;
    const place = document.getElementById(PLACES[key]);
    place.tabIndex = -1; place.scrollIntoView({ block: "start" }); place.focus({ preventScroll: true });
  } else if (key === "g") goes = true;
  else if (key === " " && !event.target.matches("button")) { event.preventDefault(); if (!saved) document.getElementById("pause").click(); }
  else if (key === "ArrowLeft" && !inRange) go(nowAt() - 1);
  else if (key === "ArrowRight" && !inRange) go(nowAt() + 1);
  else if (key === "s" && !saved) save();
  else if (key === "t") nextTheme();
  else if (key === "m") { ui.links = ui.links === "map" ? "table" : "map"; draw(); }
  else if (key === "?") document.getElementById("help").showModal();
  if (key !== "g") goes = false;
});

// The same page with what it has seen in it, and nothing that it would have to load. Text within it cannot end its scripts.
async function makeFile() {
  const names = ["dom.js", "model.js", "draw.js", "app.js"];
  const [style, ...scripts] = await Promise.all(["style.css", ...names].map(name => fetch(`${location.origin}/_dashboard/${name}`, { signal: AbortSignal.timeout(PATIENCE) }).then(response => { if (!response.ok) throw new Error(name); return response.text(); })));
  const seen = viewOf(samples[samples.length - 1]);
  const kept = JSON.stringify({ at: Date.now(), by: seen.asked ? seen.asked.name : "a node", samples, extra, history: [...history.values()] }).replaceAll("<", "\\u003c");
  const script = scripts.join("\n").replaceAll("</script", "<\\/script");
  const escaped = seen.over.cluster_name.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return ["<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">', `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">', `<title>${escaped} – Zazen</title>`, `<style>${style}</style></head><body><div id="page"></div>`,
    `<script type="application/json" id="record">${kept}</scr` + "ipt>", `<script>${script}</scr` + "ipt></body></html>", ""].join("\n");
}

async function save() {
  const button = document.getElementById("save");
  try {
    const link = document.createElement("a"), seen = viewOf(samples[samples.length - 1]);
    link.href = URL.createObjectURL(new Blob([await makeFile()], { type: "text/html" }));
    link.download = `zazen-${seen.over.cluster_name.replace(/[^\w.-]/g, "_")}-${new Date(seen.at).toISOString().slice(0, 19).replaceAll(":", "")}.html`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    button.textContent = "Saved";
  } catch { button.textContent = "Could not be saved"; }
  setTimeout(draw, 2500);
}

if (saved) { ui.at = samples.length - 1; draw(); } else { watch(); setInterval(wait, PAUSE); }
