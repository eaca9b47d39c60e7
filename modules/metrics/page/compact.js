// SPDX-License-Identifier: Apache-2.0
// One line a device, for many of them and for a phone.

import { el, fill, name, pill, setText } from "./dom.js";
import { linkRate, rate } from "./format.js";

const MANY = 16, NARROW = "(max-width: 600px)";
const COLUMNS = [["Device", ""], ["State", ""], ["Rate", "number rate"], ["In / Out", "number both"],
	["Errors", "number errors-now"], ["Pods", ""]];

// The table, and its body.
export function makeCompact() {
	const body = el("tbody");

	return [el("div", { class: "scroll whole", tabindex: "0", role: "region", "aria-label": "Devices" },
		el("table", null, el("thead", null, el("tr", null, COLUMNS.map(([title, style]) =>
			el("th", { scope: "col", class: style }, title)))), body)), body];
}

export function isBetter(devices) {
	return devices.length > MANY || matchMedia(NARROW).matches;
}

export function makeLine() {
	const cells = COLUMNS.map(([, style]) => el("td", { class: style }));

	const received = el("div"), transmitted = el("div");

	cells[3].append(received, transmitted);
	return { root: el("tr", null, cells), cells, received, transmitted };
}

export function updateLine({ cells }, device, [level, word], holders) {
	const netdevs = [...new Set(device.ports.map((port) => port.netdev).filter(Boolean))];

	fill(cells[0], [device.device_name, netdevs], () => [name(device.device_name),
		el("small", null, name(netdevs.join(", ")))]);
	fill(cells[1], [level, word], () => pill(level, word));
	setText(cells[2], linkRate(device.ports[0]?.rate_mbps ?? null) ?? "\u2013");
	fill(cells[5], holders, (list) => list.length ? [name(list[0].pod),
		el("small", null, name(list[0].namespace ?? ""), list.length > 1 ? ` +${list.length - 1}` : "")] : "\u2013");
}

function sum(values) {
	const known = values.filter((value) => value !== null && value !== undefined);

	return known.length ? known.reduce((total, value) => total + value, 0) : null;
}

// ports: as the module history.js has them.
export function showLine({ cells, received, transmitted }, ports) {
	const unit = ports[0]?.unit ?? null;
	const errors = sum(ports.flatMap((port) => port.errors.map((error) => error.per_second)));

	setText(received, rate(sum(ports.map((port) => port.points.at(-1)?.received)), unit));
	setText(transmitted, rate(sum(ports.map((port) => port.points.at(-1)?.transmitted)), unit));
	setText(cells[4], errors === null ? "\u2013" : `${Math.round(errors).toLocaleString("en")}/s`);
}
