/* SPDX-License-Identifier: Apache-2.0 */
/* gRPC's own encodings: status texts, timeouts, messages within DATA. */
#pragma once

#include <rdmad/grpc.h>

#define RDMAD_GRPC_PREFIX   5u	  /* compressed flag, 4 bytes of length, big-endian */
#define RDMAD_GRPC_TEXT_MAX 1024u /* of a status text, encoded */

/* For grpc-message: never more than RDMAD_GRPC_TEXT_MAX bytes, cut between characters. */
char *rdmad_grpc_text_encode(const char *text);
/* Malformed escapes stay as they are; the result is valid UTF-8. */
char *rdmad_grpc_text_decode(const char *text, gsize size);

/* grpc-timeout: 1 to 8 digits and one of H M S m u n; milliseconds, rounded up. */
gboolean rdmad_grpc_timeout_parse(const char *text, gsize size, guint *milliseconds);
char *rdmad_grpc_timeout_format(guint milliseconds);

/* Appends one message with its prefix. */
void rdmad_grpc_message_append(GByteArray *out, const guint8 *message, gsize size);

/* Puts messages together from DATA that is cut anywhere. */
typedef struct {
	guint8 prefix[RDMAD_GRPC_PREFIX];
	guint prefix_len;
	guint32 length; /* of the message under way */
	gsize max;
	GByteArray *body; /* what came of it */
} RdmadGrpcReader;

typedef enum {
	RDMAD_GRPC_READ_MORE,	    /* all bytes are taken, no message is whole */
	RDMAD_GRPC_READ_MESSAGE,    /* one is in `body`; rdmad_grpc_reader_next() before going on */
	RDMAD_GRPC_READ_TOO_LARGE,  /* `length` is above `max` */
	RDMAD_GRPC_READ_COMPRESSED, /* flag set, but no compression was agreed on */
} RdmadGrpcRead;

void rdmad_grpc_reader_init(RdmadGrpcReader *reader, gsize max);
void rdmad_grpc_reader_clear(RdmadGrpcReader *reader);
/* Moves `data` and `size` past what it took. */
RdmadGrpcRead rdmad_grpc_reader_take(RdmadGrpcReader *reader, const guint8 **data, gsize *size);
/* Forgets the message in `body`. */
void rdmad_grpc_reader_next(RdmadGrpcReader *reader);
/* TRUE when the data ended within a message. */
gboolean rdmad_grpc_reader_partial(const RdmadGrpcReader *reader);
