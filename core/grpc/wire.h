/* SPDX-License-Identifier: Apache-2.0 */
/* gRPC's encodings: status texts, timeouts, messages in DATA */
#pragma once

#include <rdmad/grpc.h>

#define RDMAD_GRPC_PREFIX   5u	  /* compressed flag, 4 bytes of length, big-endian */
#define RDMAD_GRPC_TEXT_MAX 1024u /* bytes of an encoded status text */

/* Encodes a grpc-message, truncated between characters to RDMAD_GRPC_TEXT_MAX bytes. */
char *rdmad_grpc_text_encode(const char *text);
/* Keeps malformed escapes.  The result is valid UTF-8. */
char *rdmad_grpc_text_decode(const char *text, gsize size);

/* Parses a grpc-timeout, 1 to 8 digits and one of H M S m u n, to milliseconds, rounded up. */
gboolean rdmad_grpc_timeout_parse(const char *text, gsize size, guint *milliseconds);
char *rdmad_grpc_timeout_format(guint milliseconds);

/* Appends one message with its prefix. */
void rdmad_grpc_message_append(GByteArray *out, const guint8 *message, gsize size);

/* Assembles messages from DATA frames with arbitrary boundaries. */
typedef struct {
	guint8 prefix[RDMAD_GRPC_PREFIX];
	guint prefix_len;
	guint32 length; /* of the current message */
	gsize max;
	GByteArray *body; /* the received part */
} RdmadGrpcReader;

typedef enum {
	RDMAD_GRPC_READ_MORE,	    /* all bytes are consumed, the message is incomplete */
	RDMAD_GRPC_READ_MESSAGE,    /* `body` has one; call rdmad_grpc_reader_next() to continue */
	RDMAD_GRPC_READ_TOO_LARGE,  /* `length` is above `max` */
	RDMAD_GRPC_READ_COMPRESSED, /* flag set without a negotiated compression */
} RdmadGrpcRead;

void rdmad_grpc_reader_init(RdmadGrpcReader *reader, gsize max);
void rdmad_grpc_reader_clear(RdmadGrpcReader *reader);
/* Advances `data` and `size` past the consumed bytes. */
RdmadGrpcRead rdmad_grpc_reader_take(RdmadGrpcReader *reader, const guint8 **data, gsize *size);
/* Drops the message in `body`. */
void rdmad_grpc_reader_next(RdmadGrpcReader *reader);
/* Returns TRUE if the data ends within a message. */
gboolean rdmad_grpc_reader_partial(const RdmadGrpcReader *reader);
