// SPDX-License-Identifier: Apache-2.0
// Traffic of one port over the last minutes: received filled, transmitted as a line above it.

import { svg } from "./dom.js";
import { rate } from "./format.js";

const WIDTH = 240, HEIGHT = 36;
export const MINUTES = 10, LEAST = 2;

export function sparkline() {
	const received = svg("path", { class: "received" });
	const transmitted = svg("path", { class: "transmitted" });

	return svg("svg", { class: "sparkline", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none",
		role: "img" }, received, transmitted);
}

// Stretches of known values: an unknown value is a gap, not zero.
function stretches(points, key) {
	const found = [[]];

	for (const point of points)
		if (point[key] === null)
			found.push([]);
		else
			found.at(-1).push(point);
	return found.filter((stretch) => stretch.length > 1);
}

function line(stretch, key, x, y) {
	return stretch.map((point, i) => `${i ? "L" : "M"}${x(point)} ${y(point[key])}`).join("");
}

function area(stretch, key, x, y) {
	return `${line(stretch, key, x, y)}L${x(stretch.at(-1))} ${HEIGHT}L${x(stretch[0])} ${HEIGHT}Z`;
}

// How far back to draw, in ms: as far as there is something to see.
export function reach(series, now) {
	const oldest = Math.min(now, ...series.map(({ points }) => points[0]?.time ?? now));

	return Math.min(MINUTES * 60000, Math.max(LEAST * 60000, now - oldest));
}

// points: [{ time (ms), received, transmitted }], oldest first; back: from reach().  Returns the highest
// rate.
export function drawSparkline(node, points, unit, now, back) {
	const recent = points.filter((point) => point.time >= now - back);
	const peak = Math.max(0, ...recent.flatMap((point) => [point.received ?? 0, point.transmitted ?? 0]));
	const x = (point) => ((point.time - now + back) / back * WIDTH).toFixed(1);
	const y = (value) => (HEIGHT - 1 - value / (peak || 1) * (HEIGHT - 3)).toFixed(1);
	const [received, transmitted] = node.children;

	received.setAttribute("d", stretches(recent, "received")
		.map((stretch) => area(stretch, "received", x, y)).join(""));
	transmitted.setAttribute("d", stretches(recent, "transmitted")
		.map((stretch) => line(stretch, "transmitted", x, y)).join(""));
	node.setAttribute("aria-label", recent.length > 1
		? `Traffic of the last ${Math.round(back / 60000)} minutes, at most ${rate(peak, unit)}`
		: "No traffic known yet");
	return peak;
}
