// SPDX-License-Identifier: Apache-2.0
// One line: is this node's RDMA fine?  Below it what is wrong, and what to do about it.

import { el, fill, name, setText } from "./dom.js";
import { count } from "./format.js";

const SHOWN = 8;

// "[-]device-plugin failed: why", as /readyz has it.
function unready(lines) {
	return lines.split("\n").filter((line) => line.startsWith("[-]")).map((line) => {
		const [subject, ...why] = line.slice(3).split(" failed: ");

		return { subject, text: why.join(" failed: "), advice: null };
	});
}

// Doctor's findings; where there are none, the reasons why rdmad is not ready.
export function problems(findings, readiness) {
	const found = findings.filter((finding) => finding.level === "problem");

	return found.length ? found : unready(readiness);
}

// Advice has commands between backticks.
function advice(text) {
	return el("p", { class: "advice" },
		text.split("`").map((part, i) => i % 2 ? el("code", null, part) : part));
}

// What is said of several in the same words is said once, of all of them.
export function grouped(found) {
	const groups = new Map();

	for (const { subject, text, advice: what } of found) {
		const key = JSON.stringify([text, what]);

		groups.set(key, { subjects: [...groups.get(key)?.subjects ?? [], subject], text, advice: what });
	}
	return [...groups.values()];
}

function reason({ subjects, text, advice: what }) {
	return el("li", null, el("strong", null,
		subjects.flatMap((subject, i) => i ? [", ", name(subject)] : [name(subject)])), " ", name(text),
	what ? advice(what) : null);
}

export function showVerdict(found, devices, summary) {
	const verdict = document.getElementById("verdict");
	const line = document.getElementById("verdict-line");
	const why = document.getElementById("verdict-why");

	if (found.length) {
		verdict.dataset.level = "bad";
		setText(line, `${count(found.length, "problem")}: ${summary}`);
	} else {
		verdict.dataset.level = devices.length ? "good" : "note";
		setText(line, devices.length ? `RDMA is fine: ${summary}` : "No RDMA device on this node");
	}
	fill(why, grouped(found), (list) => [...list.slice(0, SHOWN).map(reason), list.length > SHOWN
		? el("li", null, `and ${list.length - SHOWN} more: `, el("code", null, "rdmad doctor")) : null]);
}
