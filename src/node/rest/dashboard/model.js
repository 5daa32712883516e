"use strict";
// What the answers of the nodes mean. Nothing is asked and nothing is drawn here.

const rank = id => id ? [id.term, id.version] : [0, 0];
const later = (a, b) => rank(a)[0] - rank(b)[0] || rank(a)[1] - rank(b)[1];
const plural = (count, one, many = one + "s") => `${count} ${count === 1 ? one : many}`;

// Whoever was seen is remembered by name, so that it can be named when it is gone.
const known = new Map();

function span(millis) {
  if (millis === null || millis === undefined) return "–";
  if (millis < 1000) return `${Math.round(millis)} ms`;
  const seconds = Math.floor(millis / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ${String(Math.floor(seconds / 60) % 60).padStart(2, "0")} min`;
  return `${Math.floor(seconds / 86400)} days`;
}
const two = number => String(number).padStart(2, "0");
const clock = (millis, fine) => { const d = new Date(millis); return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}${fine ? "." + String(d.getMilliseconds()).padStart(3, "0") : ""}`; };
const bytes = count => count === undefined || count === null ? "–" : count < 1024 ? `${count} B` : count < 1048576 ? `${(count / 1024).toFixed(1)} KiB` : count < 1073741824 ? `${(count / 1048576).toFixed(1)} MiB` : `${(count / 1073741824).toFixed(1)} GiB`;
const duration = micros => micros < 1000 ? `${micros} µs` : micros < 100000 ? `${(micros / 1000).toFixed(1)} ms` : `${Math.round(micros / 1000)} ms`;

// Only what is shown is kept of an answer, so that much history has room.
function slim(over) {
  for (const member of over.members) {
    const figures = member.sight && member.sight.figures;
    if (!figures) continue;
    const { pid, http_address, release, at_millis, uptime_millis, memory, files, process, disk, publishes } = figures;
    member.sight.figures = { pid, http_address, release, at_millis, uptime_millis, memory, files, process, disk, publishes };
  }
  return over;
}

// What is kept of an explanation that asked all.
function brief({ standing, summary, verdicts, advice }) {
  const kept = (verdicts || []).slice(0, 12).map(({ code, certainty, node, summary, evidence, mend }) => ({ code, certainty, node, summary, evidence: (evidence || []).slice(0, 3).map(({ by, what }) => ({ by, what })), mend: mend ? { line: mend.line, place: placeOf(mend) } : null }));
  return { standing, summary, verdicts: kept, advice: (advice || []).slice(0, 12) };
}

// Where a line belongs, and what must be given besides.
function placeOf({ is_setting, file, host, node, withheld }) {
  const on = host ? ` on ${host}` : "", of = node || "the node", besides = withheld && withheld.length ? ` (give ${withheld.join(", ")} again, which is kept secret)` : "";
  if (!is_setting) return `Type${on}${besides}:`;
  return `${file ? `In ${file}${on}` : `In the configuration of ${of}${on}`}, then restart ${file ? of : "it"}${besides}:`;
}

const STATUS = { leading: "leads", following: "follows", finding: "searches", electing: "searches", joining: "searches" };

function member(over, given) {
  const sight = given.sight, explanation = sight ? sight.explanation : null, figures = (sight && sight.figures) || {};
  const one = {
    id: given.id, name: given.name || given.id.slice(0, 7), address: given.address, roles: given.roles || [], inState: given.in_state,
    eligible: (given.roles || []).includes("master"), silence: given.silence || null, drained: Boolean(sight && sight.drained), explanation, figures, settings: sight ? sight.settings : {},
    reaches: new Map((sight ? sight.reaches : []).map(reach => [reach.node, reach])), attributes: given.attributes || {},
    status: explanation ? STATUS[explanation.mode] || "searches" : "silent", mode: explanation ? explanation.mode : null,
    term: explanation ? explanation.term : null, committed: explanation ? explanation.committed : null,
    master: explanation && explanation.master_node ? explanation.master_node.id : null,
    http: figures.http_address || (known.get(given.id) || {}).http || null,
  };
  one.skew = figures.at_millis ? figures.at_millis - over.at_millis : null;
  known.set(one.id, { name: one.name, address: one.address, http: one.http, roles: one.roles });
  return one;
}

function view(sample) {
  const over = sample.over;
  for (const { id, name, address } of over.gone || []) if (!known.has(id)) known.set(id, { name, address });
  const members = over.members.map(given => member(over, given)), byId = new Map(members.map(one => [one.id, one]));
  const asked = byId.get(over.asked), voters = over.state.voting ? over.state.voting.own : [];
  for (const id of voters) {
    if (byId.has(id)) continue;
    const was = known.get(id) || namedIn(asked, id);
    const gone = { id, name: was.name || id.slice(0, 7), address: was.address || "", http: was.http || null, roles: was.roles || ["master"], eligible: true, status: "gone", silence: "gone", reaches: new Map(), settings: {}, figures: {}, explanation: null, attributes: {}, inState: false };
    members.push(gone); byId.set(id, gone);
  }
  members.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  const newest = members.reduce((best, one) => one.committed && later(one.committed, best) > 0 ? one.committed : best, null);
  for (const one of members) {
    one.voter = voters.includes(one.id);
    one.lag = one.committed && newest ? (one.committed.term === newest.term ? newest.version - one.committed.version : newest.version - one.committed.version || 1) : null;
  }
  const leaders = members.filter(one => one.status === "leads").sort((a, b) => b.term - a.term);
  const master = leaders.find(one => members.some(other => other.master === one.id)) || leaders[0] || null;
  const links = pairs(members);
  const seen = { over, at: over.at_millis, members, byId, asked, voters, newest, master, leaders, links, explanation: asked ? asked.explanation : null, diagnosis: sample.diagnosis || null };
  return { ...seen, ...judge(seen) };
}

function namedIn(asked, id) {
  const groups = asked && asked.explanation ? asked.explanation.needed : [];
  return groups.flatMap(group => group.members).find(one => one.id === id) || {};
}

// Whether one hears another: what it found when it tried, or that the other is silent to all.
function pairs(members) {
  const links = [];
  for (const from of members) for (const to of members) {
    if (from === to || !from.explanation) continue;
    const reach = from.reaches.get(to.id);
    if (reach) links.push({ from, to, works: reach.outcome === "answered", outcome: reach.outcome, micros: reach.micros });
  }
  return links;
}

const OUTCOMES = { answered: "answers", not_connected: "no connection", timed_out: "no answer in time", other_process: "another process answers", strange: "not understood", gone: "gone" };
const linkBetween = (seen, a, b) => seen.links.find(link => link.from === a && link.to === b);

function judge(seen) {
  const { explanation, asked, members, master, diagnosis } = seen, troubles = [];
  const askedSees = explanation && explanation.master_node;
  const verdicts = diagnosis ? diagnosis.verdicts : [], explained = new Set(verdicts.map(verdict => verdict.node));
  for (const one of members) {
    if (one.drained) troubles.push(`${one.name} is drained, to be stopped soon: it tells users to go elsewhere.`);
    if (explained.has(one.name)) continue;
    if (one.status === "silent") troubles.push(`${one.name} is a member and does not answer ${asked ? asked.name : "the node that is asked"}: ${OUTCOMES[one.silence] || one.silence}.`);
    if (one.status === "gone") troubles.push(`${one.name} counts in elections and is gone${one.address ? `; it was at ${one.address}` : ""}.`);
    if (one.explanation && one.explanation.disk_hangs_millis) troubles.push(`The disk of ${one.name} has not finished a write for ${span(one.explanation.disk_hangs_millis)}.`);
    if (one.lag > 1) troubles.push(`${one.name} lags ${plural(one.lag, "state")} behind.`);
    if (Math.abs(one.skew || 0) > 2000) troubles.push(`The clock of ${one.name} is ${span(Math.abs(one.skew))} ${one.skew > 0 ? "ahead" : "behind"}.`);
    if (one.explanation && one !== asked && !one.master && askedSees) troubles.push(`${one.name} follows no master: ${one.explanation.summary}`);
    if (one.status === "leads" && master && one !== master) troubles.push(`${one.name} still takes itself for the master of term ${one.term}; nothing of it can be committed.`);
  }
  for (const link of seen.links) {
    if (explained.has(link.from.name) || explained.has(link.to.name)) continue;
    if (link.works || link.to.status === "gone" || link.to.status === "silent") continue;
    troubles.push(`${link.from.name} does not reach ${link.to.name}: ${OUTCOMES[link.outcome] || link.outcome}.`);
  }
  // As `zazen explain` does: a verdict knows more than what the node would advise by itself.
  const advice = !diagnosis || (verdicts.length && !askedSees) ? [] : diagnosis.advice;
  const spare = ((explanation && explanation.needed) || []).filter(group => group.of !== "master_eligible_nodes" || group.needed > 0).map(group => group.found - group.needed);
  const losses = askedSees && spare.length ? Math.max(0, Math.min(...spare)) : null;
  if (losses === 0 && seen.voters.length > 2) troubles.push("No more voter may be lost.");
  const amiss = troubles.length || (diagnosis && diagnosis.standing === "reduced");
  const level = !askedSees ? "bad" : amiss ? "warn" : "good";
  const title = !askedSees ? "No master" : amiss ? "Works, with something amiss" : "All is well";
  return { level, title, verdicts, troubles: [...new Set(troubles)].slice(0, 12), advice: [...new Set(advice)], losses };
}

// ---- the histories of the nodes, each entry once

const KINDS = {
  "started": ["↻", "warn", "was started"], "election-won": ["◆", "good", "was elected"], "election-failed": ["×", "warn", "stood in vain"],
  "master-changed": ["→", "good", "follows a new master"], "master-left": ["×", "bad", "lost its master"], "stepped-down": ["▽", "bad", "leads no longer"],
  "handed-over": ["⇢", "warn", "asks another to lead"], "term-raised": ["△", "warn", "took a higher term"], "node-joined": ["+", "good", "sees a node come"],
  "node-left": ["−", "warn", "sees a node go"], "join-refused": ["!", "bad", "a join was refused"], "voting-set-changed": ["≡", "quiet", "changed who votes"],
  "publish-slow": ["…", "warn", "published slowly"], "publish-failed": ["×", "bad", "could not publish"], "publish-behind": ["…", "warn", "nodes are behind"],
  "settings-changed": ["=", "quiet", "sees settings change"], "recovered": ["✓", "good", "brought the state back"], "stalled": ["!", "bad", "stood still"], "disk-slow": ["!", "bad", "has a slow disk"],
};
const history = new Map();

function learn(over) {
  for (const given of over.members) {
    for (const entry of (given.sight && given.sight.events) || []) history.set(`${given.id} ${entry.sequence} ${entry.timestamp_millis}`, { ...entry, by: given.id, byName: given.name });
    if (given.sight) delete given.sight.events;
  }
  if (history.size > 3000) for (const key of [...history.entries()].sort((a, b) => a[1].timestamp_millis - b[1].timestamp_millis).slice(0, history.size - 2500).map(([key]) => key)) history.delete(key);
}
const told = () => [...history.values()].sort((a, b) => a.timestamp_millis - b.timestamp_millis || a.sequence - b.sequence);
const listed = value => (Array.isArray(value) ? value : value ? [value] : []).map(one => typeof one === "object" && one ? one.name || one.id || JSON.stringify(one) : String(one));

function sentence(entry) {
  const [sign, level, what] = KINDS[entry.kind] || ["·", "quiet", entry.kind.replaceAll("-", " ")], about = entry.node && entry.node.id !== entry.by ? ` (${entry.node.name})` : "";
  return { at: entry.timestamp_millis, sign, level, text: `${entry.byName} ${what}${about}${entry.kind === "election-won" ? `, term ${entry.term}` : ""}${entry.reason ? `: ${entry.reason}` : ""}` };
}

// All that nodes told of an election: who won, and what each saw of it, from the loss of the master before.
function electionsOf(entries) {
  return entries.filter(entry => entry.kind === "election-won").map(won => {
    const at = won.timestamp_millis, took = Math.max(won.details && won.details.duration_millis || 0, won.details && won.details.candidacy_millis || 0);
    const around = entries.filter(entry => entry.timestamp_millis >= at - took - 2000 && entry.timestamp_millis <= at + 1500 && (Math.abs(entry.term - won.term) <= 1) && entry.kind !== "settings-changed");
    return { won, at, took, around };
  });
}

// What happened between two looks, in words. [sign, level, text]
function changes(before, after) {
  const found = [], at = after.at, say = (level, sign, text, more) => found.push({ at, level, sign, text, ...more });
  const was = before.explanation && before.explanation.master_node, is = after.explanation && after.explanation.master_node;
  if (was && !is) say("bad", "×", after.asked && was.id === after.asked.id ? `${was.name} leads no longer` : `${after.asked ? after.asked.name : "This node"} lost its master ${was.name}`);
  if (is && (!was || was.id !== is.id || before.explanation.term !== after.explanation.term)) say("good", "◆", `${is.name} is master of term ${after.explanation.term}`, { term: after.explanation.term, kind: "election" });
  for (const one of after.members) {
    const old = before.byId.get(one.id);
    if (one.inState && (!old || !old.inState)) say("good", "+", `${one.name} is a member`);
    if (!old) continue;
    if (one.status === "silent" && old.status !== "silent") say("bad", "!", `${one.name} does not answer: ${OUTCOMES[one.silence] || one.silence}`);
    if (old.status === "silent" && one.explanation) say("good", "✓", `${one.name} answers again`);
    if (old.explanation && one.explanation && old.figures.pid && one.figures.pid && old.figures.pid !== one.figures.pid) say("warn", "↻", `${one.name} was started again, pid ${one.figures.pid}`);
  }
  for (const one of before.members) {
    const now = after.byId.get(one.id);
    if (one.inState && (!now || !now.inState)) say("warn", "−", `${one.name} is no member any more`);
  }
  const broken = seen => new Set(seen.links.filter(link => !link.works && link.to.explanation).map(link => `${link.from.name} → ${link.to.name}`));
  const then = broken(before), now = broken(after);
  for (const link of now) if (!then.has(link)) say("bad", "⚡", `the link ${link} is broken`);
  for (const link of then) if (!now.has(link)) say("good", "✓", `the link ${link} is whole`);
  const states = before.newest && after.newest && before.newest.term === after.newest.term ? after.newest.version - before.newest.version : 0;
  if (states > 0) say("quiet", "·", `${plural(states, "state")} published, up to ${after.newest.term}/${after.newest.version}`, { kind: "publish" });
  return found;
}
