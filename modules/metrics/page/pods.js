// SPDX-License-Identifier: Apache-2.0
// What pods have: devices, interfaces, settings of NCCL, SMC-R.

import { el, name, nothing, pill, table } from "./dom.js";
import { time } from "./format.js";

function commas(texts) {
	return texts.flatMap((text, i) => i ? [", ", name(text)] : [name(text)]);
}

// Of anything that has `namespace` and `pod`, and perhaps `container`.
function pod(holder) {
	if (!holder.pod)
		return el("span", { class: "quiet" }, "not known yet");
	return [name(holder.pod), el("small", null, name(holder.namespace),
		holder.container ? [" \u00b7 ", name(holder.container)] : [])];
}

export function allocations(list) {
	if (!list.length)
		return nothing("No pod holds a device.");
	return table("Allocations", [["Pod", ""], ["Devices", ""], ["Resource", ""], ["Since", "number"]],
		list.map((allocation) => [pod(allocation),
			[...commas([...new Set(allocation.device_names.map((device, i) => device ?? allocation.device_ids[i]))]),
				...allocation.wrong_files.map((file) => el("p", null, name(file.reason)))],
			[name(allocation.resource), el("small", null, allocation.mode ?? "")], time(allocation.since)]));
}

export function attachments(list) {
	const rows = list.flatMap((allocation) => allocation.attachments.map((one) => [allocation, one]));

	return rows.length ? table("CNI attachments",
		[["Pod", ""], ["Interface", ""], ["Device", ""], ["Addresses", "address"], ["GID", "number"]],
		rows.map(([allocation, one]) => [pod(allocation), name(one.interface), name(one.device_name),
			one.addresses.flatMap((address, i) => i ? [el("br"), name(address)] : [name(address)]),
			one.gid_index === null ? "\u2013" : String(one.gid_index)])) : [];
}

function settings(container) {
	if (container.refused)
		return [pill("bad", "refused"), el("p", null, container.reason)];
	return Object.entries(container.env).map(([key, value]) =>
		el("div", { class: "address" }, name(`${key}=${value}`)));
}

export function nccl(list) {
	return list.length ? table("NCCL settings", [["Container", ""], ["Settings", ""]],
		list.map((container) => [pod(container), settings(container)])) : [];
}

export function smc(list) {
	return list.length ? table("SMC-R", [["Pod", ""], ["State", ""], ["Interface", ""], ["Device", ""]],
		list.map((one) => [pod(one), [pill(one.state === "tcp" ? "bad" : "good", one.state),
			one.reason ? el("p", null, one.reason) : []].flat(),
		name(one.interface ?? "\u2013"), name(one.device_name ?? "\u2013")])) : [];
}
