# SPDX-License-Identifier: Apache-2.0
"""The part of the Kubernetes API server that rdmad asks, over TLS, for what a real one does seldom.

Authority makes certificates.  ApiServer holds one Node, pods and Events; `modes` maps a verb (list, watch, get,
patch, create) to what happens to requests of it: an integer is a status, "applied" a patch of the Node that takes
effect and is answered by 504, else see Handler.misbehave().
"""

import contextlib
import copy
import gzip
import http.server
import itertools
import json
import queue
import select
import re
import socket
import ssl
import subprocess
import threading
import time
from urllib.parse import parse_qs, urlsplit


class Authority:
    """A CA, and a server's certificate of it for 127.0.0.1."""

    def __init__(self, directory, name, days=2):
        self.ca, self.key = directory / f"{name}-ca.crt", directory / f"{name}-ca.key"
        self.pem = directory / f"{name}-server.pem"
        request, extensions = directory / f"{name}.csr", directory / f"{name}.ext"
        key, certificate = directory / f"{name}.key", directory / f"{name}.crt"
        new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        self.openssl("req", "-x509", *new_key, "-keyout", self.key, "-out", self.ca, "-days", "2",
                     "-subj", f"/CN={name} CA")
        self.openssl("req", *new_key, "-keyout", key, "-out", request, "-subj", f"/CN={name}")
        extensions.write_text("subjectAltName=IP:127.0.0.1\n")
        self.openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self.key, "-CAcreateserial",
                     "-out", certificate, "-days", str(days), "-extfile", extensions)
        self.pem.write_text(key.read_text() + certificate.read_text())

    @staticmethod
    def openssl(*args):
        subprocess.run(["openssl", *args], check=True, capture_output=True)


def merge(into, patch):
    """RFC 7396."""
    for key, value in patch.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict):
            merge(into.setdefault(key, {}), value)
        else:
            into[key] = value


class Wire:
    """TCP to the server, which can be cut: neither end sees it."""

    def __init__(self, port):
        self.port, self.pairs = port, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "https://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.port))
                pair = {"whole": True, "sockets": (near, far)}
                self.pairs.append(pair)
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self.carry, args=(pair, one, other), daemon=True).start()

    @staticmethod
    def carry(pair, one, other):
        with contextlib.suppress(OSError):
            while (data := one.recv(65536)) and pair["whole"]:
                other.sendall(data)
            if pair["whole"]:
                other.shutdown(socket.SHUT_WR)

    def cut(self):
        for pair in self.pairs:
            pair["whole"] = False

    def end(self):
        self.listener.close()
        for pair in self.pairs:
            for end in pair["sockets"]:
                end.close()


class ApiServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, authority, node="n1", labels=()):
        self.lock = threading.RLock()
        self.versions = itertools.count(1001)
        self.version = 1000
        self.oldest = 0             # older resourceVersions are gone
        self.tokens = {"one"}
        self.modes = {}
        self.retry_after = None
        self.asked = []             # (verb, path, query, token, when)
        self.patches = []
        self.before_patch = None    # called once, ahead of the next
        self.patches_answered = threading.Event()   # cleared: what they change is told before they are answered
        self.patches_answered.set()
        self.lists_answered = threading.Event()     # cleared: they are made, and answered later
        self.lists_answered.set()
        self.watches = []           # a queue for each
        self.withheld = None        # a list: what watches are told later, by tell_withheld()
        self.connections = set()
        self.events = {}
        self.pods = {}
        self.expired = 0            # watches that got a 410 in a 200
        self.node = {"apiVersion": "v1", "kind": "Node",
                     "metadata": {"name": node, "uid": "u-node", "labels": dict(labels),
                                  "resourceVersion": "1000"}}
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"https://127.0.0.1:{self.server_address[1]}"
        self.use(authority)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def use(self, authority):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.pem)
        self.context = context
        # A connection that is kept would not see the certificate.
        self.drop_watches()
        self.cut()

    def cut(self):
        """As a proxy that has had enough of them: in the middle of a response."""
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def finish_request(self, request, client_address):
        # In the connection's own thread: a handshake that fails or hangs is its own.
        request.settimeout(60)
        with self.context.wrap_socket(request, server_side=True) as connection:
            self.connections.add(connection)
            try:
                self.RequestHandlerClass(connection, client_address, self)
            finally:
                self.connections.discard(connection)

    def handle_error(self, request, client_address):
        """Clients that leave early are what is tested."""

    def end(self):
        self.drop_watches()
        self.shutdown()
        self.server_close()

    # ---- the Node ----

    def label(self, **labels):
        """As an administrator does; None removes."""
        self.patch_node({"metadata": {"labels": {name.replace("__", "/").replace("_", "."): value
                                                 for name, value in labels.items()}}})

    def patch_node(self, patch):
        with self.lock:
            merge(self.node, patch)
            self.version = next(self.versions)
            self.node["metadata"]["resourceVersion"] = str(self.version)
            self.tell("MODIFIED", copy.deepcopy(self.node))

    def labels(self):
        with self.lock:
            return dict(self.node["metadata"]["labels"])

    def tell(self, kind, what):
        self.say(json.dumps({"type": kind, "object": what}).encode() + b"\n")

    def bookmark(self):
        with self.lock:
            self.version = next(self.versions)
            self.tell("BOOKMARK", {"kind": "Node", "metadata": {"resourceVersion": str(self.version)}})

    def say(self, line):
        with self.lock:
            if self.withheld is not None:
                self.withheld.append(line)
                return
            for watch in self.watches:
                watch.put(line)

    def tell_withheld(self, n=None):
        """The oldest N lines, or all and those to come."""
        with self.lock:
            lines, rest = self.withheld[:n], self.withheld[n:] if n else None
            self.withheld = None
            for line in lines:
                self.say(line)
            self.withheld = rest

    def drop_watches(self):
        with self.lock:
            for watch in self.watches:
                watch.put(None)

    def expire(self):
        """What etcd's compaction does."""
        with self.lock:
            self.version = next(self.versions)
            self.oldest = self.version

    def count(self, verb):
        return sum(asked[0] == verb for asked in list(self.asked))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, headers=()):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, message="refused by the test", headers=(), details=None):
        self.answer(status, {"kind": "Status", "status": "Failure", "message": message, "code": status,
                             "details": details}, headers)

    def verb(self, path, query):
        if self.command == "GET":
            return "watch" if "watch" in query else "list" if path.endswith("/nodes") else "get"
        return {"PATCH": "patch", "POST": "create"}[self.command]

    def handle_one(self):
        server, parts = self.server, urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        verb = self.verb(parts.path, query)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        server.asked.append((verb, parts.path, query, token, time.monotonic()))
        if token not in server.tokens:
            return self.refuse(401, "Unauthorized")
        mode = server.modes.get(verb)
        if mode and mode != "applied":
            return self.misbehave(mode)
        return getattr(self, verb)(parts.path, query, json.loads(body) if body else None)

    do_GET = do_PATCH = do_POST = handle_one

    def misbehave(self, mode):
        server = self.server
        if isinstance(mode, int):
            return self.refuse(mode, headers=[("Retry-After", server.retry_after)] if server.retry_after else ())
        if mode == "terminating":
            return self.refuse(403, "the namespace is being terminated",
                               details={"causes": [{"reason": "NamespaceTerminating"}]})
        if mode == "garbage":
            return self.answer(200, b'{"items": [}\n')
        if mode == "list-of-nothing":
            return self.answer(200, b"[]\n")
        if mode == "redirect":
            return self.answer(302, b"", [("Location", server.url + "/elsewhere")])
        if mode == "huge":
            return self.answer(200, b'{"a": "' + b"x" * (8 << 20) + b'"}\n')
        if mode == "gzip":      # which was not asked for
            return self.answer(200, gzip.compress(b'{"items": []}'), [("Content-Encoding", "gzip")])
        if mode == "cut":
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"kind"')
            self.close_connection = True
            return None
        if mode == "gone":      # as the API server does: an event of a watch with the status 200
            server.expired += 1
            return self.answer(200, {"type": "ERROR", "object": {
                "kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}})
        if mode == "empty":     # a watch that ends at once, each time
            return self.answer(200, b"")
        if mode == "endless":   # a line that never ends
            self.send_response(200)
            self.end_headers()
            self.close_connection = True
            while True:
                self.wfile.write(b"x" * 65536)
        if mode == "trickle":   # never a line
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            self.close_connection = True
            while True:
                self.wfile.write(b" ")
                self.wfile.flush()
                threading.Event().wait(0.1)
        raise AssertionError(mode)

    def list(self, _path, query, _body):
        server = self.server
        with server.lock:
            name = query.get("fieldSelector", "").removeprefix("metadata.name=")
            items = [copy.deepcopy(server.node)] if server.node["metadata"]["name"] == name else []
            version = str(server.version)
        server.lists_answered.wait()
        return self.answer(200, {"kind": "NodeList", "metadata": {"resourceVersion": version}, "items": items})

    def watch(self, _path, query, _body):
        server, lines = self.server, queue.Queue()
        with server.lock:
            if int(query["resourceVersion"]) < server.oldest:
                return self.misbehave("gone")
            if int(query["resourceVersion"]) < int(server.node["metadata"]["resourceVersion"]):
                lines.put(json.dumps({"type": "MODIFIED", "object": server.node}).encode() + b"\n")
            lines.list = server.count("list")       # that it follows
            server.watches.append(lines)
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            while (line := self.next_line(lines)) is not None:
                # In two parts, as it may come.
                for part in (line[:7], line[7:]):
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                    self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        finally:
            with server.lock:
                server.watches.remove(lines)
        return None

    def next_line(self, lines):
        """A watch that nobody reads any more is none."""
        hang_up = select.poll()
        hang_up.register(self.connection, select.POLLRDHUP)
        while True:
            try:
                return lines.get(timeout=0.05)
            except queue.Empty:
                if hang_up.poll(0):
                    raise ConnectionResetError("the client is gone") from None

    def get(self, path, _query, _body):
        match = re.fullmatch("/api/v1/namespaces/([^/]+)/pods/([^/]+)", path)
        pod = self.server.pods.get(match.groups() if match else None)
        return self.answer(200, pod) if pod else self.refuse(404, "pod not found")

    def patch(self, path, _query, body):
        server = self.server
        assert self.headers["Content-Type"] == "application/merge-patch+json"
        if path == "/api/v1/nodes/" + server.node["metadata"]["name"]:
            before, server.before_patch = server.before_patch, None
            if before:
                before()
            with server.lock:
                server.patches.append(body)
                server.patch_node(body)
                node = copy.deepcopy(server.node)
            server.patches_answered.wait()
            if server.modes.get("patch") == "applied":
                return self.refuse(504, "the server was unable to return a response in the time allotted")
            return self.answer(200, node)
        event = server.events.get(path.rpartition("/")[2])
        if not event:
            return self.refuse(404, "event not found")
        merge(event, body)
        return self.answer(200, event)

    def create(self, path, _query, body):
        match = re.fullmatch("/api/v1/namespaces/([^/]+)/events", path)
        assert match and body["metadata"]["namespace"] == match[1], path
        self.server.events[body["metadata"]["name"]] = body
        return self.answer(201, body)
