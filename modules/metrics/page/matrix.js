// SPDX-License-Identifier: Apache-2.0
// Distances of the NICs to the GPUs, coloured; the word stands in each cell.  All of them, as `rdmad topology`
// has them, are below.

import { el, name, nothing } from "./dom.js";

// In the words of `rdmad topology`.
const MEANINGS = [["PIX", "at most one PCIe bridge between them"], ["PXB", "several PCIe bridges, but no host bridge"],
	["PHB", "through a PCIe host bridge (the CPU)"], ["NODE", "through several host bridges of one NUMA node"],
	["SYS", "from one NUMA node to another"]];

function legend() {
	return el("ul", { class: "legend" }, MEANINGS.map(([word, meaning]) =>
		el("li", null, el("span", { class: `distance ${word.toLowerCase()}` }, word), meaning)));
}

function row(place, distances) {
	return el("tr", null, el("th", { scope: "row" }, name(place.label)),
		distances.map((word) => el("td", { class: `distance ${word.toLowerCase()}` }, word)));
}

function grid(label, rows, columns) {
	return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
		el("table", { class: "matrix" },
			el("thead", null, el("tr", null, el("td"), columns.map((place) =>
				el("th", { scope: "col", title: place.title }, name(place.label))))),
			el("tbody", null, rows)));
}

export function matrix({ gpus, nics, distances }) {
	const accelerators = gpus.map((gpu) => ({ label: `GPU${gpu.index}`, title: gpu.pci_address }));
	const devices = nics.map((nic) => ({ label: nic.device_name, title: nic.device_id }));
	const all = [...accelerators, ...devices];
	const near = devices.map((nic, i) =>
		row(nic, distances[gpus.length + i].slice(0, gpus.length)));

	if (!nics.length)
		return nothing("No RDMA device on this node.");
	return [gpus.length ? grid("Distances of NICs and GPUs", near, accelerators)
		: nothing("No GPU on this node."), legend(),
	el("details", null, el("summary", null, "All distances"), el("div", null,
		grid("All distances", all.map((place, i) => row(place, distances[i])), all)))];
}
