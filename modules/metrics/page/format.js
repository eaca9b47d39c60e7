// SPDX-License-Identifier: Apache-2.0
// Numbers and times for people; the exact value goes in the title.

import { el } from "./dom.js";

const STEPS = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];

function scaled(value, unit) {
	const [step, prefix] = STEPS.find(([size]) => value >= size) ?? [1, ""];
	const number = value / step;

	return `${number.toFixed(number >= 100 || step === 1 ? 0 : 1)}\u00a0${prefix}${unit}`;
}

// A rate of traffic: bytes a second as bits, as links are sold.
export function rate(perSecond, unit) {
	if (perSecond === null || perSecond === undefined)
		return "\u2013";
	return unit === "packets" ? scaled(perSecond, "packets/s") : scaled(perSecond * 8, "b/s");
}

export function exactRate(perSecond, unit) {
	if (perSecond === null || perSecond === undefined)
		return "not known";
	return `${perSecond.toLocaleString("en")} ${unit} per second`;
}

// Of events.
export function perSecond(number) {
	return `${number >= 10 || !number ? Math.round(number).toLocaleString("en") : number.toFixed(1)}/s`;
}

export function linkRate(mbps) {
	return mbps === null ? null : scaled(mbps * 1e6, "b/s").replace(".0", "");
}

export function count(number, one, many) {
	return `${number.toLocaleString("en")} ${number === 1 ? one : many ?? `${one}s`}`;
}

const SPANS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

export function span(seconds) {
	const [size, unit] = SPANS.find(([least]) => seconds >= least) ?? [1, "s"];

	return `${Math.max(0, Math.floor(seconds / size))}\u00a0${unit}`;
}

function isToday(date) {
	return date.toDateString() === new Date().toDateString();
}

// Local time; the day where it is another one.
export function time(iso) {
	const date = new Date(iso);

	if (!iso || Number.isNaN(date.getTime()))
		return el("span", null, "\u2013");
	const clock = date.toLocaleTimeString([], { hourCycle: "h23" });
	const day = isToday(date) ? "" : `${date.toLocaleDateString([], { day: "numeric", month: "short" })} `;

	return el("time", { datetime: iso, title: iso }, day + clock);
}
