#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""core/grpc against grpcio: test-grpc.py GRPC-ECHO GRPC-CALL"""

import concurrent.futures
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import grpc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402

ECHO, CALL = sys.argv[1:3]
UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


def wait_until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


class Server:
    """grpc-echo at a socket of its own."""

    def __init__(self, *args):
        self.directory = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.directory.name, "echo.sock")
        self.process = subprocess.Popen([ECHO, self.path, *args], stdout=subprocess.PIPE)
        self.process.stdout.readline()

    def channel(self, options=UNLIMITED):
        # Channels of the same arguments share a connection: each test wants its own.
        return grpc.insecure_channel(
            "unix:" + self.path, options=[*options, ("grpc.use_local_subchannel_pool", 1)])

    def close(self):
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(20)
        self.process.stdout.close()
        self.directory.cleanup()
        return code


def unary(channel, method, request=b"", **kwargs):
    return channel.unary_unary("/test.Echo/" + method)(request, **kwargs)


def failure(call):
    """The status and text that `call` fails with."""
    try:
        call()
    except grpc.RpcError as error:
        return error.code(), error.details()
    raise AssertionError("the call did not fail")


class WithServer(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.channel = self.server.channel()

    def tearDown(self):
        self.channel.close()
        self.assertEqual(self.server.close(), 0)

    def stats(self):
        names = "connections calls connections_total refused calls_total failed ended".split()
        return dict(zip(names, map(int, unary(self.channel, "Stats").split())))


class Unary(WithServer):
    def test_a_call_is_answered(self):
        self.assertEqual(unary(self.channel, "Echo", b"hello"), b"hello")

    def test_an_empty_message_is_a_message(self):
        self.assertEqual(unary(self.channel, "Echo", b""), b"")

    def test_a_status_text_keeps_its_characters(self):
        text = "größer\nals 100% – ☃"
        code, details = failure(lambda: unary(self.channel, "Fail", b"5 " + text.encode()))
        self.assertEqual((code, details), (grpc.StatusCode.NOT_FOUND, text))

    def test_a_long_status_text_is_cut(self):
        code, details = failure(lambda: unary(self.channel, "Fail", b"9 " + b"x" * 20000))
        self.assertEqual((code, details), (grpc.StatusCode.FAILED_PRECONDITION, "x" * 1024))

    def test_an_unknown_method_is_unimplemented(self):
        code, details = failure(lambda: unary(self.channel, "Nope"))
        self.assertEqual(code, grpc.StatusCode.UNIMPLEMENTED)
        self.assertIn("/test.Echo/Nope", details)

    def test_a_dropped_call_fails(self):
        self.assertEqual(failure(lambda: unary(self.channel, "Drop"))[0],
                         grpc.StatusCode.INTERNAL)

    def test_a_deadline_is_kept(self):
        began = time.monotonic()
        code, _ = failure(lambda: unary(self.channel, "Slow", timeout=0.2))
        self.assertEqual(code, grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertGreater(time.monotonic() - began, 0.19)
        self.assertLess(time.monotonic() - began, 5)  # a busy machine is late, not wrong
        self.assertTrue(wait_until(lambda: self.stats()["ended"] == 1))

    def test_compression_is_unimplemented(self):
        code, _ = failure(lambda: unary(self.channel, "Echo", b"x" * 2000,
                                        compression=grpc.Compression.Gzip))
        self.assertEqual(code, grpc.StatusCode.UNIMPLEMENTED)

    def test_metadata_above_8_kib_is_refused_and_the_connection_lives(self):
        code, _ = failure(lambda: unary(self.channel, "Echo", b"x",
                                        metadata=[("big", "y" * 12000)]))
        self.assertEqual(code, grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertEqual(unary(self.channel, "Echo", b"x"), b"x")
        self.assertEqual(self.stats()["connections_total"], 1)


class Sizes(WithServer):
    def test_a_request_of_3_8_mb_comes_whole(self):
        body = os.urandom(3_800_000)
        self.assertEqual(int(unary(self.channel, "Sum", body)), sum(body))

    def test_a_request_above_4_mib_is_refused_as_grpc_go_does(self):
        code, details = failure(lambda: unary(self.channel, "Sum", bytes(5_000_000)))
        self.assertEqual(code, grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertEqual(details, "received message larger than max (5000000 vs. 4194304)")

    def test_a_response_of_3_2_mb_comes_through_flow_control(self):
        self.assertEqual(unary(self.channel, "BigReply", b"3200000"), b"x" * 3_200_000)

    def test_many_large_responses_come_side_by_side(self):
        call = self.channel.unary_unary("/test.Echo/BigReply")
        for future in [call.future(b"1000000") for _ in range(12)]:
            self.assertEqual(len(future.result(20)), 1_000_000)


class Streams(WithServer):
    def stream(self, method, request=b"", **kwargs):
        return self.channel.unary_stream("/test.Echo/" + method)(request, **kwargs)

    def test_a_stream_comes_in_order_and_ends(self):
        self.assertEqual([int(m) for m in self.stream("Stream", b"1000")], list(range(1000)))

    def test_a_stream_of_large_messages_comes_whole(self):
        self.assertEqual([len(m) for m in self.stream("Stream", b"20 300000")], [300000] * 20)

    def test_an_empty_stream_ends(self):
        self.assertEqual(list(self.stream("Stream", b"0")), [])

    def test_a_cancelled_stream_ends_on_the_server(self):
        watch = self.stream("Watch", b"first")
        self.assertEqual(next(watch), b"first")
        watch.cancel()
        self.assertTrue(wait_until(lambda: self.stats()["ended"] == 1))

    def test_a_client_that_goes_away_ends_its_streams(self):
        with self.server.channel() as other:
            next(other.unary_stream("/test.Echo/Watch")(b"x"))
        self.assertTrue(wait_until(lambda: self.stats()["ended"] == 1))
        self.assertTrue(wait_until(lambda: self.stats()["connections"] == 1))

    def test_50_watchers_are_served(self):
        watches = [self.stream("Watch", b"%d" % i) for i in range(50)]
        self.assertEqual([next(w) for w in watches], [b"%d" % i for i in range(50)])
        self.assertEqual(self.stats()["calls"], 51)
        for watch in watches:
            watch.cancel()
        self.assertTrue(wait_until(lambda: self.stats()["calls"] == 1))

    def test_the_deadline_of_a_stream_is_kept(self):
        code, _ = failure(lambda: list(self.stream("Watch", b"x", timeout=0.2)))
        self.assertEqual(code, grpc.StatusCode.DEADLINE_EXCEEDED)


class Load(WithServer):
    def test_16_threads_of_200_calls(self):
        def work(i):
            return [unary(self.channel, "Echo", b"%d.%d" % (i, n)) for n in range(200)]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            for i, answers in enumerate(pool.map(work, range(16))):
                self.assertEqual(answers, [b"%d.%d" % (i, n) for n in range(200)])

    def test_1000_calls_in_flight_over_100_streams(self):
        call = self.channel.unary_unary("/test.Echo/Echo")
        futures = [call.future(b"%d" % n) for n in range(1000)]
        self.assertEqual([f.result(20) for f in futures], [b"%d" % n for n in range(1000)])
        self.assertEqual(self.stats()["connections_total"], 1)

    def test_keepalive_pings_are_answered(self):
        options = [("grpc.keepalive_time_ms", 100), ("grpc.keepalive_timeout_ms", 3000),
                   ("grpc.keepalive_permit_without_calls", 1),
                   ("grpc.http2.max_pings_without_data", 0),
                   ("grpc.http2.min_sent_ping_interval_without_data_ms", 50)]
        with self.server.channel(options) as channel:
            watch = channel.unary_stream("/test.Echo/Watch")(b"x")
            next(watch)
            time.sleep(4)
            self.assertTrue(watch.is_active())


class Connections(unittest.TestCase):
    def test_connections_above_the_limit_are_closed_and_the_others_live(self):
        server = Server("2")
        with server.channel() as a, server.channel() as b, server.channel() as c:
            watches = [channel.unary_stream("/test.Echo/Watch")(b"x") for channel in (a, b)]
            for watch in watches:
                next(watch)
            self.assertEqual(failure(lambda: unary(c, "Echo", b"c"))[0],
                             grpc.StatusCode.UNAVAILABLE)
            self.assertEqual(unary(a, "Echo", b"a"), b"a")
            for watch in watches:
                watch.cancel()
        self.assertEqual(server.close(), 0)

    def test_an_idle_connection_yields_to_a_new_one_and_comes_again(self):
        server = Server("2")
        with server.channel() as a, server.channel() as b, server.channel() as c:
            for channel in (a, b, c, a, b, c):
                self.assertEqual(unary(channel, "Echo", b"x"), b"x")
        self.assertEqual(server.close(), 0)

    def test_a_server_that_ends_says_unavailable(self):
        server = Server()
        with server.channel() as channel:
            watch = channel.unary_stream("/test.Echo/Watch")(b"x")
            next(watch)
            server.process.send_signal(signal.SIGINT)
            self.assertEqual(failure(lambda: next(watch))[0], grpc.StatusCode.UNAVAILABLE)
        self.assertEqual(server.process.wait(20), 0)
        server.close()

    def test_a_drain_lets_open_calls_finish_and_unlinks_the_socket(self):
        server = Server()
        with server.channel() as channel:
            stream = channel.unary_stream("/test.Echo/Stream")(b"200 300000")
            sizes = [len(next(stream))]
            server.process.send_signal(signal.SIGTERM)
            self.assertTrue(wait_until(lambda: not os.path.exists(server.path)))
            self.assertIsNone(server.process.poll())
            sizes += [len(m) for m in stream]
            self.assertEqual(sizes, [300000] * 200)
        self.assertEqual(server.process.wait(20), 0)
        server.close()

    def test_a_stale_socket_is_replaced_and_a_live_one_is_not(self):
        server = Server()
        second = subprocess.run([ECHO, server.path], capture_output=True, text=True, timeout=20)
        self.assertEqual(second.returncode, 1)
        self.assertIn("another process listens", second.stderr)
        server.process.kill()
        server.process.wait()
        self.assertTrue(os.path.exists(server.path))
        with subprocess.Popen([ECHO, server.path], stdout=subprocess.PIPE) as third:
            self.assertEqual(third.stdout.readline(), b"ready\n")
            third.send_signal(signal.SIGINT)
        server.close()


class Handler(grpc.GenericRpcHandler):
    """The service of grpc-echo, by grpcio."""

    def service(self, details):
        name = details.method.rsplit("/", 1)[-1]
        if name == "Stream":
            return grpc.unary_stream_rpc_method_handler(
                lambda request, context: (b"%d" % i for i in range(int(request))))
        functions = {
            "Echo": lambda request, context: request,
            "BigReply": lambda request, context: b"x" * int(request),
            "Slow": lambda request, context: time.sleep(1) or b"",
            "Authority": self.authority,
            "Fail": self.fail,
            "Gzip": self.gzip,
        }
        if name in functions:
            return grpc.unary_unary_rpc_method_handler(functions[name])
        return None

    @staticmethod
    def authority(_, context):
        return dict(context.invocation_metadata()).get("user-agent", "").encode()

    @staticmethod
    def fail(_, context):
        context.abort(grpc.StatusCode.ALREADY_EXISTS, "schon da: ü\n100%")

    @staticmethod
    def gzip(_, context):
        context.set_compression(grpc.Compression.Gzip)
        return b"x" * 5000


class Client(unittest.TestCase):
    """grpc-call against a server of grpcio."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.directory.name, "py.sock")
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(4), [Handler()],
                                  options=UNLIMITED)
        self.server.add_insecure_port("unix:" + self.path)
        self.server.start()

    def tearDown(self):
        self.server.stop(None).wait()
        self.directory.cleanup()

    def call(self, method, text, *more):
        result = subprocess.run([CALL, self.path, "/test.Echo/" + method, text, *map(str, more)],
                                capture_output=True, text=True, timeout=20)
        self.assertEqual(result.stderr, "")
        return result.stdout.split("\n", 1) if method == "Fail" else result.stdout.splitlines()

    def test_a_call_is_answered(self):
        self.assertEqual(self.call("Echo", "hello"), ["message 5 hello", "OK: "])

    def test_an_empty_message_is_a_message(self):
        self.assertEqual(self.call("Echo", ""), ["message 0 ", "OK: "])

    def test_a_status_text_keeps_its_characters(self):
        self.assertEqual("\n".join(self.call("Fail", "x")),
                         "ALREADY_EXISTS: schon da: ü\n100%\n")

    def test_an_unknown_method_is_unimplemented(self):
        self.assertTrue(self.call("Nope", "x")[0].startswith("UNIMPLEMENTED: "))

    def test_a_stream_comes_in_order(self):
        self.assertEqual(self.call("Stream", "3"),
                         ["message 1 0", "message 1 1", "message 1 2", "OK: "])

    def test_a_large_response_comes_whole(self):
        self.assertEqual(self.call("BigReply", "9000000")[0][:16], "message 9000000 ")

    def test_a_response_above_the_limit_is_refused(self):
        self.assertEqual(self.call("BigReply", "2000", 0, 1000),
                         ["RESOURCE_EXHAUSTED: received message larger than max (2000 vs. 1000)"])

    def test_a_deadline_is_kept(self):
        self.assertTrue(self.call("Slow", "x", 100)[0].startswith("DEADLINE_EXCEEDED: "))

    def test_a_server_that_compresses_all_the_same_is_refused(self):
        self.assertEqual(self.call("Gzip", "x"),
                         ["INTERNAL: the server sent a compressed message"])

    def test_no_server_is_unavailable(self):
        self.server.stop(None).wait()
        line = self.call("Echo", "x")[0]
        self.assertTrue(line.startswith("UNAVAILABLE: cannot connect to " + self.path), line)

    def test_a_server_that_dies_during_a_call_is_unavailable(self):
        threading.Timer(0.3, lambda: self.server.stop(None)).start()
        self.assertRegex(self.call("Slow", "x")[0], "^(UNAVAILABLE|CANCELLED|UNKNOWN): ")

    def test_calls_follow_one_another_on_one_connection(self):
        self.assertIn("200 calls, p50", self.call("Echo", "x", "bench", 200)[0])


if __name__ == "__main__":
    tap.main()
