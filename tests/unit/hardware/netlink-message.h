/* SPDX-License-Identifier: Apache-2.0 */
/* Handmade netlink messages, for tests of parsers */
#pragma once

#include <glib.h>
#include <linux/netlink.h>
#include <string.h>

typedef union {
	struct nlmsghdr hdr;
	char bytes[1024];
} Message;

/* Not inlined: gcc with the sanitizers would report false writes beyond the end. */
static G_GNUC_UNUSED G_GNUC_NO_INLINE void message_add(Message *msg, const void *data, gsize size)
{
	const gsize padded = NLMSG_ALIGN(size);
	const gsize at = msg->hdr.nlmsg_len;

	g_assert_cmpuint(at + padded, <=, sizeof(msg->bytes));
	memset(msg->bytes + at, 0, padded);
	if (size)
		memcpy(msg->bytes + at, data, size);
	msg->hdr.nlmsg_len += padded;
}

/* `header` is the fixed part that some families have before the attributes; may be NULL. */
static inline void message_init(Message *msg, guint16 type, const void *header, gsize size)
{
	msg->hdr = (struct nlmsghdr){ .nlmsg_len = NLMSG_HDRLEN, .nlmsg_type = type };
	if (header)
		message_add(msg, header, size);
}

static inline void message_add_attr(Message *msg, guint16 type, const void *data, gsize size)
{
	const struct nlattr attr = { .nla_len = NLA_HDRLEN + size, .nla_type = type };

	message_add(msg, &attr, sizeof(attr));
	message_add(msg, data, size);
}

static inline void message_add_u8(Message *msg, guint16 type, guint8 value)
{
	message_add_attr(msg, type, &value, sizeof(value));
}

static inline void message_add_u32(Message *msg, guint16 type, guint32 value)
{
	message_add_attr(msg, type, &value, sizeof(value));
}

static inline void message_add_u64(Message *msg, guint16 type, guint64 value)
{
	message_add_attr(msg, type, &value, sizeof(value));
}

static inline void message_add_text(Message *msg, guint16 type, const char *value)
{
	message_add_attr(msg, type, value, strlen(value) + 1);
}

/* Begins a nested attribute, which message_end() completes. */
static inline gsize message_begin(Message *msg, guint16 type)
{
	const gsize at = msg->hdr.nlmsg_len;

	message_add_attr(msg, type, NULL, 0);
	return at;
}

static inline void message_end(Message *msg, gsize at)
{
	const guint16 len = (guint16)(msg->hdr.nlmsg_len - at);

	memcpy(msg->bytes + at + G_STRUCT_OFFSET(struct nlattr, nla_len), &len, sizeof(len));
}
