// SPDX-License-Identifier: Apache-2.0
// Polls rdmad while the page is visible, and shows the responses.

import { el, fill, name, setText } from "./dom.js";
import { filterDevices, holdersByDevice, showDevices, showTraffic } from "./devices.js";
import { daemon, events, resources, summary } from "./lists.js";
import { allocations, attachments, nccl, smc } from "./pods.js";
import { isBetter, makeCompact } from "./compact.js";
import { span, time } from "./format.js";
import { matrix } from "./matrix.js";
import { problems, showVerdict } from "./verdict.js";
import * as history from "./history.js";

const PERIOD = 2500, PATIENCE = 10000, EVENTS = 20, CHECKUP = 10000;

const state = { devices: [], events: [], lastEvent: 0, problems: [], answered: null, asking: false,
	checked: 0, checkedFor: "", placesOf: "", status: null, timer: null, compact: null };

const at = (id) => document.getElementById(id);
const [compactTable, compactBody] = makeCompact();

// From where the page is: a proxy may have it below another path.
function ask(path) {
	return fetch(path, { signal: AbortSignal.timeout(PATIENCE), cache: "no-store" });
}

async function get(resource) {
	const answer = await ask(`api/v1/${resource}`);

	if (!answer.ok)
		throw new Error(`${resource}: ${answer.status}`);
	return answer.json();
}

function showHead(status) {
	const node = status.machine.name ?? "this node";

	document.title = `${node} \u2013 rdmad`;
	fill(at("node"), node, () => name(node));
	setText(at("properties"), `rdmad ${status.version}, up ${span(status.uptime_seconds)}`
		+ (status.machine.live ? "" : ", on a recorded machine"));
}

function showFilter() {
	const left = filterDevices(at("filter").value), all = state.devices.length;

	setText(at("devices-note"), left === all ? String(all) : `${left} of ${all}`);
}

// Until the reader chooses, what suits the number of devices and the screen.
function showView() {
	const compact = state.compact ?? isBetter(state.devices);

	at("cards").hidden = compact && state.devices.length > 0;
	at("compact").hidden = !compact || !state.devices.length;
	at("view").ariaPressed = String(compact);
}

// A section that has nothing to show is not there.
function showSection(id, data, make) {
	fill(at(id), data, make);
	at(id).parentElement.hidden = !at(id).hasChildNodes();
}

async function showPods(status, held) {
	const running = (wanted) => status.modules.some(({ name: module, state: now }) =>
		module === wanted && now === "running");
	const { containers } = running("nccl") ? await get("nccl/containers") : { containers: [] };

	fill(at("allocations"), held, allocations);
	showSection("attachments", held, attachments);
	showSection("nccl", containers, nccl);
	showSection("smc", status.modules.flatMap((module) => module.status?.smc?.pods ?? []), smc);
}

function takeEvents({ events: more, last }) {
	if (last < state.lastEvent) {	// another daemon: begin again
		state.events = [];
		state.lastEvent = 0;
		return;
	}
	state.lastEvent = last;
	state.events = [...more.reverse(), ...state.events].slice(0, EVENTS);
}

// Resources that change rarely are requested rarely.
async function checkUp(inventory) {
	const now = Date.now();

	if (state.placesOf !== inventory) {
		const places = await get("topology");

		fill(at("matrix"), places, matrix);
		state.placesOf = inventory;
	}
	if (state.checkedFor !== inventory || now - state.checked > CHECKUP) {
		const { findings } = await get("doctor");

		state.problems = problems(findings, await (await ask("readyz?verbose")).text());
		state.checkedFor = inventory;
		state.checked = now;
	}
}

function nameOf(id) {
	return state.devices.find((device) => device.device_id === id)?.device_name ?? id;
}

async function update() {
	const status = await get("status");
	const { devices } = await get("devices");
	const { allocations: held } = await get("allocations");
	const holders = holdersByDevice(held);

	takeEvents(await get(`events?after=${state.lastEvent}`));
	state.devices = devices;
	await checkUp(JSON.stringify([devices.map((d) => [d.device_id, d.device_name, d.fatal, d.problems,
		d.ports.map((port) => port.state)]), status.config.error, status.modules.map((m) => m.state)]));
	showHead(status);
	showDevices(at("cards"), compactBody, devices, holders);
	showFilter();
	showView();
	showVerdict(state.problems, devices, summary(devices, holders));
	await showPods(status, held);
	fill(at("resources"), status.modules, resources);
	fill(at("events"), [state.events, devices.map((d) => d.device_name)], () => events(state.events, nameOf));
	fill(at("daemon"), { ...status, uptime_seconds: 0, recent_errors: [] }, daemon);
}

async function updateTraffic() {
	const answer = await get(`traffic?after=${history.after()}`);

	history.take(answer, Date.now());
}

function showFreshness(error) {
	const note = at("freshness");

	document.body.classList.toggle("stale", error !== null);
	if (error === null) {
		state.answered = new Date().toISOString();
		fill(note, "live", () => [el("span", { class: "beat" }), "live"]);
	} else {
		fill(note, [state.answered], () => state.answered
			? ["No answer since ", time(state.answered), "; trying again"] : "No answer; trying again");
	}
	note.setAttribute("role", error === null ? "none" : "alert");
}

async function poll() {
	const begin = Date.now();

	clearTimeout(state.timer);
	if (document.hidden || state.asking)
		return;
	state.asking = true;
	try {
		// One that waits for a slow device holds up only the traffic.
		await Promise.all([update(), updateTraffic()]);
		showTraffic(state.devices, history, Date.now());
		showFreshness(null);
	} catch (error) {
		console.error(error);
		showFreshness(error);
	}
	state.asking = false;
	state.timer = setTimeout(poll, Math.max(500, PERIOD - (Date.now() - begin)));
}

at("compact").append(compactTable);
at("filter").addEventListener("input", showFilter);
at("view").addEventListener("click", () => {
	state.compact = at("compact").hidden;
	showView();
});
matchMedia("(max-width: 600px)").addEventListener("change", showView);
document.addEventListener("visibilitychange", poll);
poll();
