#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The status page, as a browser shows it: test-page.py RDMAD EXPAND MODULE-DIR PAGE-DIR
SLOW-FILES"""

import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import browser
from machine_changes import Machine, post
from machine_daemon import PATIENCE, Daemon
from ports import free_port
from slow_files import SlowFiles

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402

EXPAND, PAGE, SLOW_FILES = sys.argv[2], pathlib.Path(sys.argv[4]), sys.argv[5]
CONFIG = 'modules = {{ metrics = {{ listen = "{address}"; {more} }}; {others} }};\n'

# The ways by which text could become markup or code.
MARKUP = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc"
                    r"|createContextualFragment|DOMParser|\bon[a-z]+\s*=|setHTML|javascript:")

# Each text that is seen, with the contrast to what is behind it and the one that WCAG's AA asks for.
CONTRASTS = """
const parse = (text) => text.match(/[\\d.]+/g).map(Number);
const part = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
function behind(node) {
    for (; node; node = node.parentElement) {
        const color = parse(getComputedStyle(node).backgroundColor);
        if (color.length === 3 || color[3] === 1)
            return color;
    }
    return [255, 255, 255];
}
const found = [];
for (const node of document.querySelectorAll("body *")) {
    const style = getComputedStyle(node);
    const words = [...node.childNodes].filter((c) => c.nodeType === 3).map((c) => c.data).join("").trim();
    if (!words || style.visibility === "hidden" || !node.getClientRects().length)
        continue;
    const [a, b] = [light(parse(style.color)), light(behind(node))];
    const size = parseFloat(style.fontSize), bold = style.fontWeight >= 700;
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    found.push([words.slice(0, 40), ratio, size >= 24 || (bold && size >= 18.66) ? 3 : 4.5]);
}
return found;
"""


def free_address():
    return f"127.0.0.1:{free_port()}"


class Client(unittest.TestCase):
    """Without a browser."""

    def get(self, path, method="GET", address=None, **headers):
        connection = http.client.HTTPConnection(address or self.address, timeout=PATIENCE)
        try:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return answer, answer.read()
        finally:
            connection.close()

    def reload(self, daemon, address, more, status):
        """Until the page is answered with `status`."""
        daemon.configure(CONFIG.format(address=address, more=more, others=""))
        daemon.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + PATIENCE
        while self.get("/", address=address)[0].status != status:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)


class Files(Client):
    @classmethod
    def setUpClass(cls):
        cls.address = free_address()
        cls.daemon = Daemon("gpu-8rail", CONFIG.format(address=cls.address, more="", others=""))
        cls.addClassCleanup(cls.daemon.close)

    def paths(self):
        return ["/", *(f"/page/{file.name}" for file in PAGE.iterdir()
                       if file.suffix in (".css", ".js", ".svg"))]

    def test_every_file_is_served_as_it_is_with_a_policy_of_its_own(self):
        for path in self.paths():
            with self.subTest(path):
                answer, body = self.get(path)
                file = "index.html" if path == "/" else os.path.basename(path)
                self.assertEqual(answer.status, 200)
                self.assertEqual(body, (PAGE / file).read_bytes())
                policies = answer.headers.get_all("Content-Security-Policy")
                self.assertEqual(len(policies), 1)
                self.assertIn("default-src 'none'; script-src 'self'; style-src 'self'", policies[0])
                self.assertNotIn("unsafe", policies[0])
                head, nothing = self.get(path, "HEAD")
                self.assertEqual((head.status, nothing), (200, b""))
                self.assertEqual(head.getheader("Content-Length"), str(len(body)))

    def test_what_the_browser_has_is_not_sent_again(self):
        for path in self.paths():
            tag = self.get(path)[0].getheader("ETag")
            for tags, status in ((tag, 304), (f'"other", W/{tag}', 304), ('"other"', 200), ("", 200)):
                with self.subTest(path=path, tags=tags):
                    answer, body = self.get(path, **{"If-None-Match": tags})
                    self.assertEqual(answer.status, status)
                    self.assertEqual(body == b"", status == 304)
                    self.assertEqual(answer.getheader("ETag"), tag)
                    self.assertEqual(answer.getheader("Cache-Control"), "no-cache")

    def test_nothing_but_the_files_is_served(self):
        for path in ("/page/", "/page", "/index.html", "/page/index.html", "/page/embed", "/page/../page.c",
                     "/page/%2e%2e/page.c", "/favicon.ico"):
            with self.subTest(path):
                self.assertEqual(self.get(path)[0].status, 404)
        self.assertEqual(self.get("/", "POST")[0].status, 405)

    def test_no_text_from_outside_can_become_markup(self):
        for file in PAGE.glob("*.js"):
            self.assertIsNone(MARKUP.search(file.read_text()), file.name)

    def test_the_document_has_no_script_style_or_address_of_its_own(self):
        text = (PAGE / "index.html").read_text()
        self.assertIsNone(re.search(r"<style|style=|<script[^>]*>[^<]|\bon[a-z]+=|https?://|src=\"//", text))
        for file in (*PAGE.glob("*.js"), *PAGE.glob("*.css")):
            addresses = set(re.findall(r"https?://[^\"')\s]*", file.read_text()))
            self.assertLessEqual(addresses, {"http://www.w3.org/2000/svg"}, file.name)

    def test_it_works_below_any_path_of_a_proxy(self):
        self.assertEqual(re.findall(r"""(?:href|src)="/[^"]*""", (PAGE / "index.html").read_text()), [])
        for file in PAGE.glob("*.js"):
            self.assertEqual(re.findall(r"""(?:ask|fetch|from)[( ]["`]/[^"`]*""", file.read_text()), [], file.name)

    def test_whoever_does_not_want_the_page_has_none_until_he_does(self):
        address = free_address()
        daemon = Daemon("gpu-8rail", CONFIG.format(address=address, more="page = false;", others=""))
        self.addCleanup(daemon.close)
        for path in ("/", "/page/page.js", "/api/v1/traffic"):
            self.assertEqual(self.get(path, address=address)[0].status, 404, path)
        for more, status in (("", 200), ("page = false;", 404)):
            self.reload(daemon, address, more, status)
            self.assertEqual(self.get("/api/v1/traffic", address=address)[0].status, status)

    def test_traffic_is_told_between_two_readings(self):
        machine = Machine(self.daemon.root)
        counter = "infiniband/mlx5_3/ports/1/counters/port_xmit_data"
        last = json.loads(self.get("/api/v1/traffic")[1])["last"]
        time.sleep(1.2)
        machine.write(counter, str(int(machine.read(counter)) + 1000000))
        answer = json.loads(self.get(f"/api/v1/traffic?after={last}")[1])
        port = next(port for port in answer["ports"] if port["device_name"] == "mlx5_3")
        self.assertEqual(port["unit"], "bytes")
        self.assertEqual([len(port[key]) for key in ("ages_ms", "received", "transmitted")], [1, 1, 1])
        self.assertEqual(port["received"], [0])
        # Four bytes a word, in a little more than 1.2 seconds.
        self.assertGreater(port["transmitted"][0], 4000000 / 60)
        self.assertLess(port["transmitted"][0], 4000000 / 1.2)
        for wrong in ("x", "-1", "", "99999999999999999999"):
            self.assertEqual(self.get(f"/api/v1/traffic?after={wrong}")[0].status, 400, wrong)

    def test_traffic_is_written_on_a_worker(self):
        self.get("/api/v1/traffic")
        self.assertRegex(self.get("/metrics")[1].decode(), r'rdmad_work_jobs_total\{job="traffic"[^}]*\} [1-9]')

    def test_who_leaves_while_the_devices_are_read_harms_nobody(self):
        for _ in range(50):
            with socket.create_connection(self.address.split(":")) as client:
                client.sendall(b"GET /api/v1/traffic HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertEqual(self.get("/api/v1/traffic")[0].status, 200)


class Hanging(Client):
    """A device whose counters never come."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="rdmad-machine-")
        self.addCleanup(directory.cleanup)
        root = os.path.join(directory.name, "machine")
        subprocess.run([EXPAND, "gpu-8rail", root], check=True)
        self.slow = SlowFiles(SLOW_FILES, root, "*/mlx5_4/ports/1/counters/*=block")
        self.slow.rules(False)
        self.address = free_address()
        self.daemon = Daemon(None, CONFIG.format(address=self.address, more="", others=""), root=self.slow.path)
        self.addCleanup(self.daemon.close)
        self.addCleanup(self.slow.close)     # first: the daemon waits for reads under way

    def test_the_others_are_told_in_time(self):
        self.get("/api/v1/traffic")
        self.slow.rules(True)
        time.sleep(1.2)
        begin = time.monotonic()
        ports = json.loads(self.get("/api/v1/traffic")[1])["ports"]
        self.assertLess(time.monotonic() - begin, 10)
        self.assertEqual({port["device_name"]: len(port["ages_ms"]) for port in ports},
                         {f"mlx5_{i}": int(i != 4) for i in range(11)})

    def statuses_when_the_page_ends(self):
        """Of clients that asked for the counters before the page was switched off."""
        statuses = []
        threads = [threading.Thread(target=lambda: statuses.append(self.get("/api/v1/traffic")[0].status))
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        self.reload(self.daemon, self.address, "page = false;", 404)
        for thread in threads:
            thread.join()
        self.reload(self.daemon, self.address, "", 200)
        return statuses

    def test_who_waits_for_it_is_refused_when_the_page_ends(self):
        self.get("/api/v1/traffic")
        self.slow.rules(True)
        time.sleep(1.2)
        for _ in range(10):
            # A slow machine may answer with what was read, or get the request, on the other side of the reload.
            if self.statuses_when_the_page_ends() == [503] * 4:
                return
        self.fail("nobody was refused")


class Shown(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            cls.driver = browser.start()
        except browser.Missing as missing:
            raise unittest.SkipTest(str(missing)) from missing
        cls.addClassCleanup(browser.close, cls.driver)

    def open(self, machine, width=1280, theme="light", change=None, expect="article", names=(), others=""):
        self.address = free_address()
        self.daemon = Daemon(machine, CONFIG.format(address=self.address, more="", others=others), names=names)
        self.addCleanup(self.daemon.close)
        self.machine = Machine(self.daemon.root)
        if change:
            change(self.machine)
            self.look_again()
        browser.show(self.driver, width, theme=theme)
        # A page that is gone asks nobody any more.
        self.addCleanup(self.driver.get, "about:blank")
        self.driver.get_log("browser")
        self.driver.get(f"http://{self.address}/")
        self.until(f"return document.querySelector('{expect}') && document.querySelector('.beat')")

    def look_again(self):
        self.assertEqual(post(self.daemon.socket, "/api/v1/rescan"), 200)

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def until(self, script, *arguments):
        end = time.monotonic() + PATIENCE
        while True:
            value = self.js(script, *arguments)
            if value:
                return value
            self.assertLess(time.monotonic(), end, f"never true: {script}\n{self.text()}")
            time.sleep(0.1)

    def text(self):
        return self.js("return document.body.innerText")

    def names(self):
        return self.js("return [...document.querySelectorAll('article h3')].map((h) => h.textContent)")

    def assert_quiet(self):
        """Neither an error nor a violation of the policy."""
        self.assertEqual(self.driver.get_log("browser"), [])

    def test_it_shows_the_node_and_all_its_devices(self):
        self.open("gpu-8rail")
        self.assertEqual(self.names(), [f"mlx5_{i}" for i in range(11)])
        text = self.text()
        for words in ("RDMA is fine: 11 devices active, none held by a pod", "400\u00a0Gb/s", "enp24s0np0",
                      "NUMA 1", "GPU0 PIX", "No pod holds a device.", "held by no pod", "device-added",
                      "Exports counters of RDMA devices", "6.8.0-60-generic"):
            self.assertIn(words, text)
        self.assertEqual(self.js("return document.querySelector('.matrix').querySelectorAll('.pix').length"), 8)
        self.js("document.querySelectorAll('details').forEach((d) => d.open = true)")
        self.assertIn("0000:0000:0000:0000:0000:ffff:ac10:0011", self.text())
        self.assert_quiet()

    def test_it_follows_what_happens_on_the_machine(self):
        self.open("gpu-8rail")
        self.js("document.querySelectorAll('details').forEach((d) => d.open = true)")
        self.machine.write("infiniband/mlx5_2/ports/1/state", "1: DOWN")
        self.machine.write("infiniband/mlx5_2/ports/1/phys_state", "3: Disabled")
        self.look_again()
        self.until("return document.querySelectorAll('article')[2].querySelector('.pill').textContent === 'down'")
        self.until("return document.getElementById('verdict-line').textContent.startsWith('1 problem: 10 of 11')")
        self.assertIn("mlx5_2", self.js("return document.getElementById('verdict-why').textContent"))
        self.assertEqual(self.js("return document.getElementById('verdict-line').ariaLive"), "polite")
        self.machine.unplug("mlx5_5")
        self.look_again()
        self.until("return document.querySelectorAll('article').length === 10")
        self.machine.plug("mlx5_5")
        self.machine.write("infiniband/mlx5_2/ports/1/state", "4: ACTIVE")
        self.machine.write("infiniband/mlx5_2/ports/1/phys_state", "5: LinkUp")
        self.look_again()
        self.until("return document.getElementById('verdict-line').textContent.startsWith('RDMA is fine: 11')")
        self.assertRegex(self.js("return document.querySelectorAll('.changes')[2].textContent"),
                         r"^2 link changes, last \d\d:\d\d:\d\d$")
        self.assertEqual(self.names(), [f"mlx5_{i}" for i in range(11)])
        # Parts that the reader has opened stay open.
        self.assertTrue(self.js("return document.querySelector('article details').open"))
        self.assert_quiet()

    def test_traffic_is_shown_as_it_runs(self):
        self.open("gpu-8rail")
        self.until("return document.querySelector('.traffic dd').textContent !== '\u2013'")
        counter, begin = "infiniband/mlx5_0/ports/1/counters/port_rcv_data", time.monotonic()
        end = begin + PATIENCE
        while True:
            # 50e9 bytes a second, in words of 4.
            self.machine.write(counter, str(int(50e9 / 4 * (time.monotonic() - begin)) + 10**9))
            shown = self.js("return document.querySelector('.traffic dd').textContent")
            if re.fullmatch(r"(3[89]\d|4[01]\d)\u00a0Gb/s", shown):
                break
            self.assertLess(time.monotonic(), end, shown)
            time.sleep(0.05)
        self.assertRegex(self.js("return document.querySelector('.sparkline .received').getAttribute('d')"), "^M")
        self.assertIn("bytes per second", self.js("return document.querySelector('.traffic dd').title"))
        self.assert_quiet()

    def assert_contrast(self):
        for words, ratio, wanted in self.js(CONTRASTS):
            self.assertGreaterEqual(round(ratio, 2), wanted, words)

    def test_light_and_dark_can_be_read(self):
        self.open("gpu-8rail")
        self.machine.write("infiniband/mlx5_2/ports/1/state", "1: DOWN")
        self.look_again()
        self.until("return document.querySelector('.pill.bad')")
        grounds = []
        for theme in ("light", "dark"):
            browser.show(self.driver, 1280, theme=theme)
            grounds.append(self.js("return getComputedStyle(document.documentElement).backgroundColor"))
            with self.subTest(theme):
                self.assert_contrast()
        self.assertNotEqual(*grounds)

    def test_it_fits_any_width(self):
        self.open("gpu-8rail")
        self.js("document.querySelectorAll('details').forEach((d) => d.open = true)")
        for width in (320, 400, 768, 1280, 2560):
            with self.subTest(width):
                browser.show(self.driver, width)
                self.assertLessEqual(self.js("return document.documentElement.scrollWidth"), width)
        browser.show(self.driver, 1280)
        self.assertIn(self.js("""
            const top = document.querySelector("article").offsetTop;
            return [...document.querySelectorAll("article")].filter((card) => card.offsetTop === top).length"""),
            (2, 3, 4))

    def test_the_keyboard_reaches_everything_in_order_and_is_seen(self):
        from selenium.webdriver import ActionChains, Keys
        self.open("gpu-8rail")
        ways = []
        for _ in range(80):
            ActionChains(self.driver).send_keys(Keys.TAB).perform()
            ways.append(self.js("""
                const now = document.activeElement, before = window.focusedBefore;
                const style = getComputedStyle(now);
                window.focusedBefore = now;
                return [now.tagName, now.id || now.className,
                    style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
                    !before || Boolean(before.compareDocumentPosition(now) & Node.DOCUMENT_POSITION_FOLLOWING)]"""))
            if ways[-1][0] == "BODY":
                ways.pop()
                break
        self.assertEqual(ways[0][:2], ["A", "skip"])
        self.assertEqual([way[:2] for way in ways[1:3]], [["BUTTON", "view"], ["INPUT", "filter"]])
        self.assertEqual(len([way for way in ways if way[0] == "SUMMARY"]), 23)
        self.assertEqual(ways[-1][0], "A")
        for way in ways:
            self.assertTrue(way[2] and way[3], way)

    def test_the_filter_leaves_what_was_meant(self):
        from selenium.webdriver.common.by import By
        self.open("gpu-8rail")
        field = self.driver.find_element(By.ID, "filter")
        for words, left in (("enp42", ["mlx5_8"]), ("MLX5_1", ["mlx5_1", "mlx5_10"]), ("nothing", []),
                            ("", [f"mlx5_{i}" for i in range(11)])):
            field.clear()
            field.send_keys(words or " ")
            self.assertEqual(self.js("""return [...document.querySelectorAll("article")]
                .filter((card) => card.checkVisibility()).map((card) => card.querySelector("h3").textContent)"""),
                left)

    def test_sixty_four_devices_are_shown(self):
        self.open("rails", names=("RAILS=64", "LAST=3"))
        self.assertEqual(self.names(), [f"mlx5_{i}" for i in range(64)])
        self.assert_quiet()

    def test_many_devices_and_a_phone_have_a_table_and_the_reader_may_choose(self):
        shown = """return ["cards", "compact"].filter((id) => document.getElementById(id).checkVisibility())
            .join()"""
        self.open("rails", names=("RAILS=64", "LAST=3"))
        self.until(shown + " === 'compact'")
        self.assertEqual(self.js("return document.querySelectorAll('#compact tbody tr').length"), 64)
        self.js("document.getElementById('view').click()")
        self.assertEqual(self.js(shown), "cards")
        self.open("gpu-8rail")
        self.until(shown + " === 'cards'")
        browser.show(self.driver, 400)
        self.until(shown + " === 'compact'")
        self.assertLessEqual(self.js("return document.documentElement.scrollWidth"), 400)
        self.assertIn("mlx5_10", self.js("return document.getElementById('compact').innerText"))
        self.assert_contrast()
        browser.show(self.driver, 1280)
        self.until(shown + " === 'cards'")

    def test_errors_have_their_rate(self):
        self.open("gpu-8rail")
        counter, begin = "infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence", time.monotonic()
        end = begin + PATIENCE
        line = "return document.querySelector('article .errors .now')?.innerText ?? ''"
        while not re.search(r"Out of sequence\s+[\d,]+ · ([89]\d|1[01]\d)/s", self.js(line)):
            self.machine.write(counter, str(10**4 + int(100 * (time.monotonic() - begin))))
            self.assertLess(time.monotonic(), end, self.text())
            time.sleep(0.05)
        self.assert_contrast()
        self.assert_quiet()

    def test_a_port_that_loses_packets_is_a_problem(self):
        """An alert's condition: more than 0.01 % out of sequence, of more than 1000 packets a second."""
        self.open("gpu-8rail")
        self.assertIn("RDMA is fine", self.text())
        rates = {"counters/port_rcv_packets": 10**6, "hw_counters/out_of_sequence": 1000}
        paths = {name: f"infiniband/mlx5_3/ports/1/{name}" for name in rates}
        before = {name: int(self.machine.read(path)) for name, path in paths.items()}
        line, begin = "return document.getElementById('verdict-line').textContent", time.monotonic()
        while not self.js(line).startswith("1 problem: 11 devices active"):
            ran = time.monotonic() - begin
            for name, rate in rates.items():
                self.machine.write(paths[name], str(before[name] + int(rate * ran)))
            self.assertLess(ran, PATIENCE, self.text())
            time.sleep(0.1)
        why = self.js("return document.getElementById('verdict-why').innerText")
        self.assertRegex(why, r"mlx5_3 port 1 receives packets out of sequence: \d+ in \d+ s")
        self.assertIn("RdmaOutOfSequence", why)
        [finding] = [f for f in self.daemon.json("doctor")["findings"] if "out of sequence" in f["text"]]
        self.assertEqual((finding["level"], finding["subject"]), ("problem", "mlx5_3"))

    def test_distances_are_those_of_the_cli(self):
        self.open("gpu-8rail")
        self.js("document.querySelectorAll('details').forEach((d) => d.open = true)")
        wanted = self.daemon.json("topology")["distances"]
        self.assertEqual(self.js("""const tables = document.querySelectorAll("#matrix table");
            return [...tables[1].querySelectorAll("tbody tr")].map((row) =>
                [...row.querySelectorAll("td")].map((cell) => cell.textContent))"""), wanted)
        near = [row.split()[6:8] for row in self.daemon.run("devices", "--no-headers").stdout.splitlines()]
        cards = self.js("return [...document.querySelectorAll('article .place')].map((p) => p.textContent)")
        for card, (gpu, word) in zip(cards, near):
            self.assertEqual(gpu.startswith("GPU"), f"{gpu} {word}" in card, (card, gpu, word))

    def test_the_same_advice_is_given_once(self):
        self.open("gpu-8rail")
        for number in (1, 2, 3):
            self.machine.write(f"infiniband/mlx5_{number}/ports/1/state", "1: DOWN")
        self.look_again()
        self.until("return document.getElementById('verdict-line').textContent.startsWith('3 problems')")
        (why,) = self.js("return [...document.querySelectorAll('#verdict-why > li')].map((li) => li.innerText)")
        self.assertTrue(why.startswith("mlx5_1, mlx5_2, mlx5_3 port 1 is down"), why)

    def test_pods_are_shown_with_interfaces_settings_and_smc(self):
        """Modules that need hardware of their own are stood in for by their answers."""
        self.open("gpu-8rail")
        text = self.driver.execute_async_script("""
            const [held, containers, pods, done] = arguments;
            import("/page/pods.js").then((made) => {
                const root = document.createElement("div");
                root.append(...[made.attachments(held), made.nccl(containers), made.smc(pods)].flat());
                document.body.append(root);
                done([root.innerText, made.attachments([]).length, made.nccl([]).length, made.smc([]).length]);
            });""",
            [{"namespace": "ml", "pod": "train-0", "container": "main", "attachments": [
                {"interface": "net1", "device_name": "mlx5_0", "addresses": ["192.0.2.7/24", "2001:db8::7/64"],
                 "gid_index": 3}]}],
            [{"namespace": "ml", "pod": "train-0", "container": "main", "refused": False, "reason": None,
              "env": {"NCCL_IB_HCA": "=mlx5_0:1", "NCCL_IB_GID_INDEX": "3"}},
             {"namespace": "ml", "pod": "train-1", "container": "main", "refused": True, "reason": "no GID", "env": {}}],
            [{"namespace": "ml", "pod": "web-0", "state": "tcp", "reason": "no SMC in this kernel", "interface": None,
              "device_name": None}])
        for words in ("train-0", "net1", "192.0.2.7/24", "2001:db8::7/64", "NCCL_IB_HCA==mlx5_0:1", "refused", "no GID",
                      "web-0", "tcp", "no SMC in this kernel"):
            self.assertIn(words, text[0])
        self.assertEqual(text[1:], [0, 0, 0])
        self.assert_quiet()

    def test_names_from_outside_are_text(self):
        evil = "<img src=x onerror=alert(1)>"

        def change(machine):
            os.rename(machine.path("infiniband/mlx5_3"), machine.path("infiniband", evil))
            pathlib.Path(machine.root, "proc/sys/kernel/hostname").write_text("<b>node-17</b>\n")
            machine.write("infiniband/mlx5_4/fw_ver", "</bdi><script>alert(2)<\\/script>")
            machine.write("infiniband/mlx5_5/board_id", "\u202egpj.\"'&lt;")
            machine.write("infiniband/mlx5_6/hca_type", "<style>*{display:none}</style>")
        self.open("gpu-8rail", change=change)
        self.until("return [...document.querySelectorAll('h3')].some((h) => h.textContent === arguments[0])", evil)
        self.assertEqual(self.driver.title, "<b>node-17</b> \u2013 rdmad")
        self.js("document.querySelectorAll('details').forEach((d) => d.open = true)")
        text = self.text()
        for words in ("<b>node-17</b>", "</bdi><script>alert(2)<\\/script>", "\u202egpj.\"'&lt;", "<style>*{display:none}</style>"):
            self.assertIn(words, text)
        self.assertEqual(self.js("return document.querySelectorAll('main img, main script, main style').length"), 0)
        self.assertEqual(self.js("return getComputedStyle(document.querySelector('article h3 bdi')).unicodeBidi"),
                         "isolate")
        self.assert_quiet()

    def test_the_strangest_machine_is_shown_without_an_error(self):
        for machine in ("broken", "mixed", "bond", "infiniband", "erdma", "sriov", "ipv6"):
            with self.subTest(machine):
                self.open(machine)
                self.assertEqual(len(self.names()), len(self.daemon.json("devices")["devices"]))
                browser.show(self.driver, 400)
                self.assertLessEqual(self.js("return document.documentElement.scrollWidth"), 400)
                self.assert_contrast()
                self.assert_quiet()

    def test_an_empty_node_is_told_in_words(self):
        self.open(None, expect=".nothing")
        text = self.text()
        for words in ("No RDMA device on this node", "No pod holds a device.",
                      "No resource is offered to kubelet."):
            self.assertIn(words, text)
        self.assert_quiet()

    def test_what_does_not_work_is_told_with_its_reason(self):
        self.open("gpu-8rail", others="device-plugin = { };")
        self.assertEqual(self.js("return document.getElementById('verdict').dataset.level"), "bad")
        self.assertIn("rdma/hca not registered", self.js("return document.getElementById('verdict-why').textContent"))

    def test_without_a_finding_readiness_says_what_does_not_work(self):
        self.open("gpu-8rail")
        found = self.driver.execute_async_script("""
            const [findings, readiness, done] = arguments;
            import("/page/verdict.js").then((verdict) => done([verdict.problems([], readiness),
                verdict.problems(findings, readiness), verdict.problems([], "ok")]));""",
            [{"level": "ok"}, {"level": "problem", "text": "found"}],
            "[+]hardware ok\n[-]state failed: the disk failed: it is full\nreadyz check failed\n")
        self.assertEqual(found, [
            [{"subject": "state", "text": "the disk failed: it is full", "advice": None}],
            [{"level": "problem", "text": "found"}], []])

    def test_when_the_daemon_goes_the_page_says_so_and_keeps_what_it_knew(self):
        self.open("gpu-8rail")
        self.assertEqual(self.daemon.stop(), 0)
        self.until("return document.body.className === 'stale'")
        self.assertRegex(self.js("return document.getElementById('freshness').textContent"),
                         r"^No answer since \d\d:\d\d:\d\d; trying again$")
        self.assertEqual(self.js("return document.getElementById('freshness').role"), "alert")
        self.assertEqual(len(self.names()), 11)
        self.daemon.start()
        self.until("return document.body.className === '' && document.querySelector('.beat')")
        self.assertEqual(len(self.names()), 11)

    def test_a_page_that_nobody_sees_asks_nothing(self):
        self.open("gpu-8rail")
        self.js("""
            window.asked = () => performance.getEntriesByType("resource")
                .filter((entry) => entry.name.includes("/api/") && entry.startTime > window.hiddenAt
                    && !(entry.startTime > window.shownAt)).length;
            document.addEventListener("visibilitychange", () => {
                if (document.hidden) window.hiddenAt = performance.now();
                else window.shownAt = performance.now();
            });""")
        page = self.driver.current_window_handle
        self.driver.switch_to.new_window("tab")
        time.sleep(6)
        self.driver.close()
        self.driver.switch_to.window(page)
        if not self.js("return window.hiddenAt"):
            self.skipTest("this Chromium hides no page")
        self.until("return window.shownAt && performance.now() > window.shownAt + 1000")
        # The look that was under way may end; no other begins.
        self.assertLessEqual(self.js("return window.asked()"), 6)


if __name__ == "__main__":
    tap.main()
