// SPDX-License-Identifier: Apache-2.0
// The rates from /api/v1/traffic, by port, as far back as the sparklines go.

import { MINUTES } from "./sparkline.js";

const ports = new Map();
let users = new Map(), last = 0;

export function after() {
	return last;
}

export function take(answer, now) {
	if (answer.last < last)
		ports.clear();	// the node was started again: its marks begin again as well
	last = answer.last;
	for (const { device_id: id, port, unit, ages_ms: ages, received, transmitted, errors } of answer.ports) {
		const key = `${id}/${port}`;
		const points = (ports.get(key)?.points ?? []).concat(ages.map((age, i) =>
			({ time: now - age, received: received[i], transmitted: transmitted[i] })));

		ports.set(key, { unit, errors, points: points.filter((point) => point.time > now - MINUTES * 60000) });
	}
	users = new Map(answer.users.map((one) => [one.device_id, one]));
}

export function trafficOf(id, port) {
	return ports.get(`${id}/${port}`) ?? { unit: null, errors: [], points: [] };
}

export function usersOf(id) {
	return users.get(id) ?? null;
}
