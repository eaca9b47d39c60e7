// SPDX-License-Identifier: Apache-2.0
// NIC x GPU, coloured by distance; the word stands in each cell.

import { el, name, nothing } from "./dom.js";

const MEANINGS = [["PIX", "at most one PCIe bridge"], ["PXB", "several PCIe bridges"],
	["PHB", "the same host bridge"], ["NODE", "the same NUMA node"], ["SYS", "across NUMA nodes"]];

function legend() {
	return el("ul", { class: "legend" }, MEANINGS.map(([word, meaning]) =>
		el("li", null, el("span", { class: `distance ${word.toLowerCase()}` }, word), meaning)));
}

function row(nic, distances) {
	return el("tr", null, el("th", { scope: "row" }, name(nic.device_name)),
		distances.map((word) => el("td", { class: `distance ${word.toLowerCase()}` }, word)));
}

export function matrix({ gpus, nics, distances }) {
	if (!gpus.length || !nics.length)
		return nothing(nics.length ? "No GPU on this node." : "No RDMA device on this node.");
	return [el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Distances" },
		el("table", { class: "matrix" },
			el("thead", null, el("tr", null, el("td"), gpus.map((gpu) =>
				el("th", { scope: "col", title: gpu.pci_address }, `GPU${gpu.index}`)))),
			el("tbody", null, nics.map((nic, i) =>
				row(nic, distances[gpus.length + i].slice(0, gpus.length)))))),
		legend()];
}
