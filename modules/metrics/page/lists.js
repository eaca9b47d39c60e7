// SPDX-License-Identifier: Apache-2.0
// Resources, events; modules and configuration.

import { el, name, nothing, pill, table } from "./dom.js";
import { count, time } from "./format.js";

function use(resource) {
	return [el("meter", { min: 0, max: resource.slots, value: resource.allocated,
		"aria-label": `${resource.allocated} of ${resource.slots}` }),
		`${resource.allocated} of ${resource.slots}`];
}

function registration(resource) {
	if (!resource.registered)
		return pill("bad", "not registered");
	if (resource.healthy < resource.slots)
		return pill("note", `${resource.slots - resource.healthy} unhealthy`);
	return pill("good", "registered");
}

export function resources(modules) {
	const list = modules.flatMap((module) => module.status?.resources ?? []);

	if (!list.length)
		return nothing("No resource is offered to kubelet.");
	return table("Resources",
		[["Resource", ""], ["Devices", "number"], ["Allocated", "use"], ["Registration", ""]],
		list.map((resource) => [[name(resource.name), el("small", null, resource.mode)],
			String(resource.devices), use(resource), registration(resource)]));
}

const LEVELS = { emerg: "bad", alert: "bad", crit: "bad", err: "bad", error: "bad", warning: "note" };

// Newest first.
export function events(list, nameOf) {
	if (!list.length)
		return nothing("Nothing has happened yet.");
	return table("Recent events", [["Time", "clock"], ["Event", ""]], list.map((event) => [
		time(event.time),
		[el("div", { class: `kind ${LEVELS[event.level] ?? ""}` }, event.kind ?? event.level),
			event.device_id && !event.message.includes(nameOf(event.device_id))
				? [name(nameOf(event.device_id)), ": "] : [], name(event.message)].flat()]));
}

function module(one) {
	const level = { running: "good", failed: "bad" }[one.state] ?? "note";

	return el("li", null, el("strong", null, one.name), " ", pill(level, one.state),
		el("p", null, one.error ?? one.description ?? ""));
}

export function daemon(status) {
	const { config, directories, machine } = status;
	const properties = [["Configuration", config.path ? name(config.path) : "none; defaults are in use"],
		["Loaded", time(config.loaded)], ["Refused", config.error],
		["Kubelet", name(directories.kubelet)], ["State", name(directories.state)],
		["Kernel", name(machine.kernel)], ["Process", String(status.pid)]];

	return [el("ul", { class: "modules" }, status.modules.map(module)),
		el("dl", { class: "properties" }, properties.filter(([, value]) => value).map(([key, value]) =>
			el("div", null, el("dt", null, key), el("dd", null, value))))];
}

export function summary(devices, holders) {
	const held = devices.filter((device) => holders.has(device.device_id)).length;
	const pods = new Set([...holders.values()].flat().map((holder) => holder.pod)).size;
	const active = devices.filter((device) => device.ports.some((port) =>
		port.state === "active" || port.state === "active_defer")).length;
	const up = active === devices.length ? `${count(active, "device")} active`
		: `${active} of ${count(devices.length, "device")} active`;

	return `${up}, ${held ? `${held} held by ${count(pods, "pod")}` : "none held by a pod"}`;
}
