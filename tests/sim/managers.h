/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other programs that configure the host's elastic NICs: a DHCP client, an administrator
 *
 * The addresses that they set must stay; what they change of rdmad's must be repaired.
 */
#pragma once

#include <rdmad/network.h>

#include "decisions.h"

void managers_begin(Decisions *decisions);
void managers_end(void);
/* After a boot a NIC has its first configuration again. */
void managers_reboot(void);
/* Changes a NIC, unless a pod has it. */
void managers_change(void);
/* Sets the first NIC down, unless a pod has it. */
void managers_set_down(void);
/* Returns an array of RdmadIp: the addresses that the programs have set on a NIC. */
const GArray *managers_addresses(guint nic);
