"use strict";
// Makes elements of plain data, and changes of what is on the page only what is another. So focus, selection and scrolling
// stay where they are while the figures change. Text goes in as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";
const DRAWN = new Set(["svg", "g", "line", "path", "circle", "rect", "text", "title", "polygon", "marker", "defs"]);

// h("p", { class: "note" }, "text", h("b", {}, "more")): what should be there. `key` tells which of several alike it is.
const h = (tag, attributes, ...kids) => ({ tag, attributes: attributes || {}, kids: kids.flat(Infinity).filter(kid => kid !== null && kid !== undefined && kid !== false) });

const same = (node, wanted) => typeof wanted === "object"
  ? node.nodeType === 1 && node.localName === wanted.tag && (node.zenKey ?? "") === (wanted.attributes.key ?? "")
  : node.nodeType === 3;

function build(wanted, inside) {
  if (typeof wanted !== "object") return document.createTextNode(String(wanted));
  const drawn = DRAWN.has(wanted.tag) && (wanted.tag === "svg" || inside === SVG);
  const element = drawn ? document.createElementNS(SVG, wanted.tag) : document.createElement(wanted.tag);
  element.zenKey = wanted.attributes.key ?? "";
  dress(element, wanted.attributes);
  settle(element, wanted.kids);
  return element;
}

function dress(element, attributes) {
  const before = element.zenAttributes || {};
  for (const name of Object.keys(before)) if (!(name in attributes)) wear(element, name, null);
  for (const [name, value] of Object.entries(attributes)) if (before[name] !== value) wear(element, name, value);
  element.zenAttributes = attributes;
}

function wear(element, name, value) {
  if (name === "key") return;
  if (name.startsWith("on")) element[name.toLowerCase()] = value;
  else if (name === "value") { if (element.value !== String(value)) element.value = value; }
  else if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? "" : String(value));
}

function settle(element, kids) {
  let at = element.firstChild;
  for (const wanted of kids) {
    let found = at;
    // What is further down is taken up, so that a row that moves stays the same row.
    if (typeof wanted === "object" && "key" in wanted.attributes) while (found && !same(found, wanted)) found = found.nextSibling;
    if (found && same(found, wanted)) {
      if (found !== at) element.insertBefore(found, at);
      if (found.nodeType === 3) { if (found.data !== String(wanted)) found.data = String(wanted); }
      else { dress(found, wanted.attributes); settle(found, wanted.kids); }
      at = found.nextSibling;
    } else {
      element.insertBefore(build(wanted, element.namespaceURI), at);
    }
  }
  while (at) { const next = at.nextSibling; at.remove(); at = next; }
}

const show = (element, ...kids) => settle(element, kids.flat(Infinity).filter(kid => kid !== null && kid !== undefined && kid !== false));
