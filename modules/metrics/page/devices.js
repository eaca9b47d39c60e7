// SPDX-License-Identifier: Apache-2.0
// One card a device, made once and kept up to date.

import { el, fill, name, nothing, pill, setText, table } from "./dom.js";
import { count, exactRate, linkRate, perSecond, rate, time } from "./format.js";
import { makeLine, showLine, updateLine } from "./compact.js";
import { drawSparkline, reach, sparkline } from "./sparkline.js";

// Farther ones are not neighbours, as in `rdmad devices`.
const NEAR = ["PIX", "PXB"];
const ERRORS = { retransmissions: "Retransmissions", acknowledgement_timeouts: "Ack timeouts",
	out_of_sequence: "Out of sequence", congestion_notifications: "CNPs", receive_errors: "Receive errors",
	discards: "Discards", retries_exceeded: "Retries exceeded" };

const cards = new Map();
let made = 0;	// cards, so that no two ever have one id

// The verdict on a device: "good", "note" or "bad", and the word for it.
export function deviceState(device) {
	const down = device.ports.find((port) => port.state !== "active" && port.state !== "active_defer");

	if (device.fatal)
		return ["bad", "failed"];
	if (!device.ports.length)
		return ["note", "no port"];
	if (device.role !== "nic")
		return ["note", device.role];
	if (device.rest_reason)
		return ["note", "idle"];
	if (down)
		return device.health === "healthy" ? ["note", down.state ?? "unknown"] : ["bad", down.state ?? "unhealthy"];
	return device.health === "healthy" ? ["good", "active"] : ["bad", "unhealthy"];
}

function words(parts) {
	return parts.filter((part) => part !== null).flatMap((part, i) => i ? [" \u00b7 ", part] : [part]);
}

function what(device) {
	const port = device.ports[0];
	const netdevs = [...new Set(device.ports.map((p) => p.netdev).filter(Boolean))];

	return words([device.transport ?? port?.link_layer ?? device.node_type,
		port && el("span", { title: port.rate_text }, linkRate(port.rate_mbps) ?? "rate unknown"),
		...netdevs.map((netdev) => name(netdev))].map((part) => part ?? null));
}

function physical(port) {
	return port.phys_state && port.phys_state !== "link up" ? port.phys_state : null;
}

function place(device) {
	const gpu = device.nearest_gpu;
	const alone = device.ports.length === 1 ? device.ports[0] : null;

	return words([device.numa_node === null ? "no NUMA node" : `NUMA ${device.numa_node}`,
		gpu && NEAR.includes(gpu.distance)
			? el("span", { title: gpu.pci_address }, `GPU${gpu.index} ${gpu.distance}`) : null,
		alone && physical(alone)]);
}

function portLine(port) {
	return words([`Port ${port.number}`, port.state ?? "state unknown", physical(port),
		linkRate(port.rate_mbps)]);
}

function changes(port) {
	if (!port.transitions)
		return [];
	return [count(port.transitions, "link change"), port.last_state_change ? ", last " : "",
		port.last_state_change ? time(port.last_state_change) : ""];
}

function portBlock(several) {
	const block = {
		line: el("p", { hidden: !several }),
		chart: sparkline(),
		received: el("dd"), transmitted: el("dd"),
		errors: el("dl", { class: "errors" }), changes: el("p", { class: "changes" }),
	};

	block.root = el("div", { class: "port" }, block.line, block.chart,
		el("dl", { class: "traffic" },
			el("div", { class: "received" }, el("dt", null, "received"), block.received),
			el("div", { class: "transmitted" }, el("dt", null, "transmitted"), block.transmitted)),
		block.errors, block.changes);
	return block;
}

function gidTable(port) {
	return table(`GIDs of port ${port.number}`, [["", "number"], ["Type", ""], ["GID", "address"]],
		port.gids.map((gid) => [String(gid.index), gid.type ?? "?",
			name(gid.gid, { title: gid.netdev })]));
}

function gids(ports) {
	return ports.map((port) => port.gids.length ? gidTable(port)
		: nothing(`Port ${port.number} has no GID.`));
}

function hardware(device) {
	const port = device.ports[0];
	const netdevs = device.netdevs.map((netdev) => `${netdev.name} ${netdev.mtu ?? "?"}`);
	const properties = [["PCI", device.pci_address], ["Driver", device.driver], ["Firmware", device.firmware],
		["Board", device.board_id], ["Type", device.hca_type], ["Node GUID", device.node_guid],
		["Role", device.pci_role], ["Part of", device.pf_address], ["Bond", device.bond],
		["LID", port?.lid ? String(port.lid) : null], ["MTU", netdevs.join(", ")]];

	return el("dl", { class: "properties" }, properties.filter(([, value]) => value).map(([key, value]) =>
		el("div", null, el("dt", null, key), el("dd", null, name(value)))));
}

function podName({ namespace, pod }) {
	return namespace ? `${namespace}/${pod}` : pod;
}

function holderList(holders) {
	if (!holders.length)
		return "held by no pod";
	return holders.slice(0, 3).map((holder) => el("span", { class: "holder", title: holder.resource },
		name(podName(holder)), holder.slots > 1 ? ` \u00d7${holder.slots}` : ""))
		.concat(holders.length > 3 ? [`and ${holders.length - 3} more`] : []);
}

function makeCard(device) {
	const id = `device-${made++}`;
	const card = {
		name: el("h3", { id }), state: el("span"), what: el("p", { class: "what" }),
		place: el("p", { class: "place" }), ports: el("div"), blocks: [],
		holders: el("p", { class: "holders" }), users: el("p", { class: "users" }),
		problems: el("ul", { class: "problems" }),
		gidCount: el("summary"), gids: el("div"), hardware: el("div"),
	};

	card.line = makeLine();
	card.root = el("article", { class: "card", "aria-labelledby": id },
		el("div", { class: "head" }, card.name, card.state), card.what, card.place,
		card.problems, card.ports, card.holders, card.users,
		el("div", { class: "more" }, el("details", null, card.gidCount, card.gids),
			el("details", null, el("summary", null, "Hardware"), card.hardware)));
	return card;
}

function updatePorts(card, ports) {
	if (card.blocks.length !== ports.length) {
		card.blocks = ports.map(() => portBlock(ports.length > 1));
		card.ports.replaceChildren(...card.blocks.map((block) => block.root));
	}
	ports.forEach((port, i) => {
		fill(card.blocks[i].line, [port.state, port.phys_state, port.rate_mbps], () => portLine(port));
		fill(card.blocks[i].changes, [port.transitions, port.last_state_change], () => changes(port));
	});
}

function updateCard(card, device, holders) {
	const [level, word] = deviceState(device);
	const total = device.ports.reduce((sum, port) => sum + port.gids.length, 0);

	card.root.dataset.level = level;
	card.search = [device.device_name, device.device_id, device.driver, device.transport, word,
		...device.netdevs.map((netdev) => netdev.name), ...holders.map(podName)]
		.join(" ").toLowerCase();
	fill(card.name, device.device_name, () => name(device.device_name));
	fill(card.state, [level, word], () => pill(level, word));
	fill(card.what, [device.transport, device.ports.map((p) => [p.rate_mbps, p.rate_text, p.netdev])],
		() => what(device));
	fill(card.place, [device.numa_node, device.nearest_gpu, device.ports.map((port) => port.phys_state)],
		() => place(device));
	fill(card.problems, device.problems, (list) => list.map((text) => el("li", null, text)));
	fill(card.holders, holders, holderList);
	fill(card.gidCount, total, () => count(total, "GID"));
	fill(card.gids, device.ports.map((port) => port.gids), () => gids(device.ports));
	fill(card.hardware, device, hardware);
	updatePorts(card, device.ports);
	updateLine(card.line, device, [level, word], holders);
}

// Holders of devices, by allocations: Map of device id to [{ namespace, pod, resource, slots }].
export function holdersByDevice(allocations) {
	const holders = new Map();

	for (const allocation of allocations) {
		const { namespace, resource } = allocation, pod = allocation.pod ?? "a pod not yet known";

		for (const id of new Set(allocation.device_ids)) {
			// Behind the devices of the slots are those that the container can open without one.
			const slots = allocation.slots.filter((slot, i) => allocation.device_ids[i] === id).length;

			holders.set(id, [...holders.get(id) ?? [], { namespace, pod, resource, slots }]);
		}
	}
	return holders;
}

// `table`: the body of that of makeCompact().
export function showDevices(root, table, devices, holders) {
	const here = new Set(devices.map((device) => device.device_id));

	for (const [id, card] of cards)
		if (!here.has(id)) {
			card.root.remove();
			card.line.root.remove();
			cards.delete(id);
		}
	for (const device of devices) {
		if (!cards.has(device.device_id))
			cards.set(device.device_id, makeCard(device));
		updateCard(cards.get(device.device_id), device, holders.get(device.device_id) ?? []);
	}
	fill(root, devices.map((device) => device.device_id), (ids) => ids.length
		? ids.map((id) => cards.get(id).root)
		: nothing("No RDMA device on this node."));
	fill(table, devices.map((device) => device.device_id), (ids) => ids.map((id) => cards.get(id).line.root));
}

// Hides what does not contain the text; returns how many are left.
export function filterDevices(text) {
	const wanted = text.trim().toLowerCase();
	let left = 0;

	for (const card of cards.values()) {
		card.root.hidden = card.line.root.hidden = !card.search.includes(wanted);
		left += !card.root.hidden;
	}
	return left;
}

// Those that have happened since the driver was loaded.
function errors(list) {
	return list.filter(({ total }) => total).map(({ kind, total, per_second: rate }) =>
		el("div", { class: rate ? "now" : null }, el("dt", null, ERRORS[kind] ?? kind),
			el("dd", { title: "Since the driver was loaded, and now" }, total.toLocaleString("en"),
				rate ? ` \u00b7 ${perSecond(rate)}` : "")));
}

function showPort(block, { unit, points, errors: counted }, now, back) {
	const latest = points.at(-1);
	const peak = drawSparkline(block.chart, points, unit, now, back);

	fill(block.errors, counted, errors);

	for (const key of ["received", "transmitted"]) {
		setText(block[key], rate(latest?.[key], unit));
		block[key].title = `${exactRate(latest?.[key], unit)}; at most ${rate(peak, unit)}`;
	}
}

function users(one) {
	return one ? `${count(one.queue_pairs, "queue pair")} of ${count(one.processes, "process", "processes")}`
		: [];
}

// history: the module history.js.
export function showTraffic(devices, { trafficOf, usersOf }, now) {
	const back = reach(devices.flatMap((device) =>
		device.ports.map((port) => trafficOf(device.device_id, port.number))), now);

	for (const device of devices) {
		const card = cards.get(device.device_id);

		device.ports.forEach((port, i) => showPort(card.blocks[i], trafficOf(device.device_id, port.number),
			now, back));
		showLine(card.line, device.ports.map((port) => trafficOf(device.device_id, port.number)));
		fill(card.users, usersOf(device.device_id), users);
	}
}
