// SPDX-License-Identifier: Apache-2.0
// Elements.  Names of devices, pods and files come from outside: all of it goes in as text.

const SVG = "http://www.w3.org/2000/svg";

function build(node, attributes, children) {
	for (const [name, value] of Object.entries(attributes ?? {}))
		if (value !== null && value !== undefined && value !== false)
			node.setAttribute(name, value === true ? "" : value);
	node.append(...children.flat().filter((child) => child !== null && child !== undefined));
	return node;
}

export function el(tag, attributes, ...children) {
	return build(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
	return build(document.createElementNS(SVG, tag), attributes, children);
}

// A name from outside, whose writing direction ends with it.
export function name(text, attributes) {
	return el("bdi", attributes, text ?? "?");
}

export function setText(node, text) {
	if (node.textContent !== text)
		node.textContent = text;
}

const shown = new WeakMap();

// Replaces the content of a node only when the `data` that it is made of has changed, so that the reader's
// selection and focus stay.
export function fill(node, data, make) {
	const key = JSON.stringify(data);

	if (shown.get(node) === key)
		return;
	shown.set(node, key);
	node.replaceChildren(...[make(data)].flat().filter((child) => child !== null));
}

// Columns: [title, class]; rows: arrays of nodes or text, one a column.
export function table(caption, columns, rows) {
	const head = columns.map(([title, style]) => el("th", { scope: "col", class: style }, title));
	const body = rows.map((row) => el("tr", null,
		row.map((cell, i) => el("td", { class: columns[i][1] }, cell))));

	return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
		el("table", null, el("thead", null, el("tr", null, head)), el("tbody", null, body)));
}

export function nothing(text) {
	return el("p", { class: "nothing" }, text);
}

export function pill(level, word) {
	return el("span", { class: `pill ${level}` }, word);
}
