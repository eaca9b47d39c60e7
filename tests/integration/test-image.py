#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The image of contrib/image/build: its layout, its contents, and rdmad in it as the user that it names.

usage: test-image.py SOURCE BUILD-DIR EXPAND [TEST...]

With RDMAD_TEST_SLOW=1 also: two clones at different places give the same bytes.
"""

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
import tap  # noqa: E402
from podman_processes import wait_for_podman  # noqa: E402
from ports import free_port  # noqa: E402

SOURCE, BUILD, EXPAND = (os.path.abspath(path) for path in sys.argv[1:4])
MEDIA = "application/vnd.oci.image."
MIB = 1 << 20
PATIENCE = 1800
# Other tests run these programs.
AS_BUILT = ("--build-dir", BUILD, "--no-rebuild")
PODMAN = ("podman", "crun", "unshare")


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, **options)


def build(directory, *options, source=SOURCE):
    done = run(os.path.join(source, "contrib/image/build"), *options, directory)
    if done.returncode:
        raise AssertionError(done.stdout + done.stderr)
    return done.stdout


class ImageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """The first one builds, for all."""
        if hasattr(ImageTest, "layout"):
            return
        holder = tempfile.TemporaryDirectory(prefix="rdmad-image-")
        unittest.addModuleCleanup(holder.cleanup)
        ImageTest.dir = Path(holder.name)
        os.chmod(cls.dir, 0o755)
        ImageTest.layout = cls.dir / "image"
        ImageTest.told = build(cls.layout, *AS_BUILT, "--tag", "rdmad:test")
        ImageTest.index = json.loads((cls.layout / "index.json").read_bytes())
        ImageTest.manifest = json.loads(cls.blob(cls.index["manifests"][0]))
        ImageTest.config = json.loads(cls.blob(cls.manifest["config"]))
        ImageTest.layer = gzip.decompress(cls.blob(cls.manifest["layers"][0]))
        ImageTest.root = cls.dir / "root"
        with tarfile.open(fileobj=io.BytesIO(cls.layer)) as tar:
            ImageTest.entries = {entry.name: entry for entry in tar}
            tar.extractall(cls.root)
        for name in ("proc", "machine", "out"):
            (cls.root / name).mkdir()
        ImageTest.program = cls.config["config"]["Entrypoint"][0]
        ImageTest.prefix = os.path.dirname(os.path.dirname(cls.program))
        cls.make_machine()

    @classmethod
    def blob(cls, descriptor):
        return (cls.layout / "blobs" / descriptor["digest"].replace(":", "/")).read_bytes()

    @classmethod
    def make_machine(cls):
        """A recorded machine, and a list of the nodes that it would have, as in-private-node wants both."""
        subprocess.run([EXPAND, "gpu-8rail", cls.dir / "machine"], check=True)
        (cls.dir / "cdi").mkdir()
        (cls.dir / "nodes").write_text("rdma_cm\n")


class LayoutTest(ImageTest):
    """https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md, manifest.md, config.md"""

    def test_each_descriptor_has_the_size_and_the_digest_of_its_blob(self):
        self.assertEqual(json.loads((self.layout / "oci-layout").read_bytes()), {"imageLayoutVersion": "1.0.0"})
        kinds = [(self.index["manifests"][0], "manifest.v1+json"), (self.manifest["config"], "config.v1+json"),
                 (self.manifest["layers"][0], "layer.v1.tar+gzip")]
        for descriptor, kind in kinds:
            blob = self.blob(descriptor)
            self.assertEqual(descriptor["mediaType"], MEDIA + kind)
            self.assertEqual(descriptor["size"], len(blob))
            self.assertEqual(descriptor["digest"], "sha256:" + hashlib.sha256(blob).hexdigest())
        self.assertEqual(sorted(path.name for path in (self.layout / "blobs/sha256").iterdir()),
                         sorted(descriptor["digest"][7:] for descriptor, _ in kinds))

    def test_index_manifest_and_configuration_fit_together(self):
        for document, kind in ((self.index, "index.v1+json"), (self.manifest, "manifest.v1+json")):
            self.assertEqual(document["schemaVersion"], 2)
            self.assertEqual(document["mediaType"], MEDIA + kind)
        self.assertEqual(self.index["manifests"][0]["annotations"], {
            "org.opencontainers.image.ref.name": "rdmad:test",
            "io.containerd.image.name": "docker.io/library/rdmad:test"})
        self.assertEqual(self.config["rootfs"], {
            "type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(self.layer).hexdigest()]})
        self.assertEqual(self.config["os"], "linux")
        self.assertIn(self.config["architecture"], ("amd64", "arm64"))
        self.assertEqual(self.config["config"]["User"], "65534:65534")

    def test_labels_say_what_it_is_and_from_where(self):
        labels = self.config["config"]["Labels"]
        self.assertEqual(labels, self.manifest["annotations"])
        for name, form in {"title": "rdmad", "licenses": "Apache-2.0", "version": r"\d+\.\d+\.\d+", "description": ".+",
                           "revision": "[0-9a-f]{40}(-modified)?|unknown",
                           "created": r"\d{4}(-\d\d){2}T\d\d(:\d\d){2}Z"}.items():
            self.assertRegex(labels[f"org.opencontainers.image.{name}"], rf"\A({form})\Z")
        self.assertIn(self.index["manifests"][0]["digest"], self.told)

    def test_it_is_small(self):
        self.assertLessEqual(sum(layer["size"] for layer in self.manifest["layers"]), 15 * MIB)

    def test_the_archive_has_the_same_files(self):
        with tarfile.open(f"{self.layout}.tar") as tar:
            packed = {entry.name: tar.extractfile(entry).read() for entry in tar if entry.isfile()}
        self.assertEqual(packed, {str(path.relative_to(self.layout)): path.read_bytes()
                                  for path in self.layout.rglob("*") if path.is_file()})

    def test_a_second_build_gives_the_same_bytes(self):
        again = self.dir / "again"
        self.assertEqual(build(again, *AS_BUILT, "--tag", "rdmad:test").split()[1], self.told.split()[1])
        self.assertEqual(Path(f"{again}.tar").read_bytes(), Path(f"{self.layout}.tar").read_bytes())

    def test_a_directory_of_something_else_is_left_alone(self):
        other = self.dir / "other"
        other.mkdir()
        (other / "letter").write_text("dear")
        with self.assertRaisesRegex(AssertionError, "neither empty nor an OCI layout"):
            build(other, *AS_BUILT)
        self.assertEqual((other / "letter").read_text(), "dear")

    @unittest.skipUnless(os.environ.get("RDMAD_TEST_SLOW"), "takes two builds: RDMAD_TEST_SLOW=1")
    def test_clones_at_different_places_give_the_same_bytes(self):
        digests = set()
        for place, where in (("a", ["--build-dir", self.dir / "a/build"]), ("a/much/deeper/b", [])):
            clone = self.dir / place / "src"
            subprocess.run(["git", "clone", "-q", SOURCE, clone], check=True)
            digests.add(build(self.dir / place / "image", *where, source=clone).split()[1])
        self.assertEqual(len(digests), 1, digests)


class ContentsTest(ImageTest):
    def test_files_are_roots_and_nobody_else_may_change_them(self):
        for name, entry in self.entries.items():
            with self.subTest(name):
                self.assertEqual((entry.uid, entry.gid), (0, 0))
                self.assertFalse(entry.mode & 0o6000)
                self.assertTrue(entry.isfile() or entry.isdir() or entry.issym())
                if not entry.issym() and name != "tmp":
                    self.assertFalse(entry.mode & 0o022)

    def test_links_lead_to_files(self):
        for name, entry in self.entries.items():
            if entry.issym():
                target = os.path.normpath(os.path.join("/", os.path.dirname(name), entry.linkname))
                target = re.sub(r"^/(bin|lib|lib64|sbin)/", r"/usr/\1/", target)
                self.assertIn(target.lstrip("/"), self.entries, name)

    def test_what_the_chart_and_the_builder_start_is_there_in_a_build_of_any_prefix(self):
        for path in ("contrib/helm/rdmad/templates/daemonset.yaml", "contrib/image/Containerfile"):
            text = Path(SOURCE, path).read_text()
            programs = re.findall(r'(?:command: \[|ENTRYPOINT \[")(/[^,"\]]+)', text)
            self.assertTrue(programs, path)
            for program in programs:
                with self.subTest(path):
                    self.assertTrue(program[1:] in self.entries, program)
                    self.assertTrue(os.access(self.root / program[1:], os.X_OK), program)

    def test_the_bill_of_materials_names_every_package(self):
        bill = json.loads(Path(f"{self.layout}.spdx.json").read_bytes())
        self.assertEqual(bill, json.loads((self.root / "usr/share/doc/rdmad/sbom.spdx.json").read_bytes()))
        self.check_spdx(bill)
        packages = {package["name"]: package for package in bill["packages"]}
        self.assertEqual(len(packages), len(bill["packages"]))
        copyrights = {path.parent.name for path in (self.root / "usr/share/doc").glob("*/copyright")}
        self.assertEqual(set(packages), copyrights)
        files = [f"/{name}" for name, entry in self.entries.items() if entry.isfile() and re.search(r"\.so", name)
                 and not name.startswith(self.prefix.lstrip("/") + "/lib") or name.startswith("etc/libibverbs.d/")]
        owners = run("dpkg-query", "-S", *files, *(name.removeprefix("/usr") for name in files)).stdout
        owners = {re.split("[:,]", line)[0] for line in owners.splitlines()}
        self.assertTrue(owners)
        self.assertLessEqual(owners, set(packages))
        for name in owners:
            self.assertEqual(packages[name]["versionInfo"],
                             run("dpkg-query", "-W", "-f", "${Version}\n", name).stdout.split()[0])

    def check_spdx(self, bill):
        """What SPDX 2.3 requires: clauses 6, 7 and 11."""
        self.assertEqual((bill["spdxVersion"], bill["dataLicense"], bill["SPDXID"]),
                         ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"))
        self.assertRegex(bill["documentNamespace"], r"\Ahttps://[^#]+\Z")
        self.assertRegex(bill["creationInfo"]["created"], r"\A\d{4}(-\d\d){2}T\d\d(:\d\d){2}Z\Z")
        for creator in bill["creationInfo"]["creators"]:
            self.assertRegex(creator, r"\A(Tool|Person|Organization): .")
        ids = [package["SPDXID"] for package in bill["packages"]]
        self.assertEqual(len(set(ids)), len(ids))
        for package in bill["packages"]:
            self.assertRegex(package["SPDXID"], r"\ASPDXRef-[A-Za-z0-9.-]+\Z")
            self.assertTrue(package["name"] and package["downloadLocation"])
            self.assertIs(package["filesAnalyzed"], False)
        for relationship in bill["relationships"]:
            self.assertIn(relationship["relationshipType"], ("DESCRIBES", "DEPENDS_ON"))
            for end in ("spdxElementId", "relatedSpdxElement"):
                self.assertIn(relationship[end], ids + ["SPDXRef-DOCUMENT"])
        self.assertEqual({entry["relatedSpdxElement"] for entry in bill["relationships"]}, set(ids))

    def test_the_tree_for_a_builder_has_the_same_files(self):
        tree = self.dir / "tree"
        build(tree, *AS_BUILT, "--tree")
        found = {str(path.relative_to(tree)) for path in tree.rglob("*")}
        self.assertEqual(found, set(self.entries))


class Running(ImageTest):
    """rdmad of the image on the recorded machine, in each kind of container."""

    def setUp(self):
        self.out = Path(tempfile.mkdtemp(dir=self.dir))
        os.chmod(self.out, 0o777)

    def check(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def serve(self, command):
        """Runs the daemon with module metrics until the test ends; returns its address."""
        address = f"127.0.0.1:{free_port()}"
        conf = self.out / "rdmad.conf"
        conf.write_text(f'modules = {{ metrics = {{ listen = "{address}"; }}; }};')
        log = open(self.out / "log", "w+", encoding="utf-8")
        self.addCleanup(log.close)
        daemon = subprocess.Popen([*command, "--config", "/out/rdmad.conf", "--sysroot", "/machine",
                                   "--run-dir", "/out/run"], stdout=log, stderr=log,
                                  start_new_session=True)
        self.addCleanup(self.stop, daemon)
        return daemon, address

    def stop(self, daemon):
        """unshare(1) and podman hand no signal on, or not all of them."""
        os.killpg(daemon.pid, signal.SIGTERM)
        daemon.wait(PATIENCE)

    def fetch(self, daemon, address, path):
        end = time.monotonic() + PATIENCE
        while True:
            try:
                with urllib.request.urlopen(f"http://{address}{path}", timeout=PATIENCE) as answer:
                    return answer.read().decode()
            except OSError as error:
                if daemon.poll() is not None or time.monotonic() > end:
                    self.fail(f"{error}\n{(self.out / 'log').read_text()}")
                time.sleep(0.1)

    def check_served(self, command):
        daemon, address = self.serve(command)
        page = self.fetch(daemon, address, "/metrics")
        self.assertIn('device="mlx5_0"', page)
        owner = os.stat(self.out / "run")
        self.assertEqual((owner.st_uid, owner.st_gid), (65534, 65534))


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class ChrootTest(Running):
    """With nothing but the kernel: a root of its own, read-only, with /proc and the machine."""

    SCRIPT = """set -e
        mount --make-rprivate /
        mount --bind "$1" "$1"
        mount -t proc proc "$1/proc"
        mount --bind "$2" "$1/machine"
        mount --bind "$3" "$1/out"
        mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
        mount -o remount,ro,bind "$1"
        root=$1 user=$4
        shift 4
        exec env -i "$(command -v chroot)" --userspec="$user" "$root" "$@" """

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.loader = next(f"/{path}" for path in cls.entries if re.search(r"/ld-linux-[^/]*\.so\.\d$", path))

    def command(self, *command, user="65534:65534"):
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", self.SCRIPT, "sh", self.root,
                self.dir / "machine", self.out, user, *map(str, command)]

    def in_image(self, *command, **options):
        return self.check(run(*self.command(*command, **options)))

    def test_it_knows_its_version(self):
        self.assertIn(self.config["config"]["Labels"]["org.opencontainers.image.version"],
                      self.in_image(self.program, "--version"))

    def test_it_says_where_configurations_are_imported(self):
        done = run(*self.command(self.program, "import-config", "-"), input="")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("the importer is not installed", done.stderr)

    def test_modules_and_providers_load_with_the_libraries_of_the_image(self):
        objects = [name for name in self.entries if re.search(r"/(rdmad|libibverbs)/[^/]*\.so$", name)]
        names = {os.path.basename(name) for name in objects}
        self.assertLessEqual({"cni.so", "device-plugin.so", "metrics.so", "nccl.so", "rdmad-crypt.so", "rdmad-curl.so",
                              "rdmad-tls.so"}, names)
        self.assertTrue([name for name in names if name.startswith("libmlx5-")], names)
        for name in objects:
            self.in_image(self.loader, "--list", f"/{name}")

    def test_a_configuration_with_all_modules_is_taken(self):
        (self.out / "rdmad.conf").write_text(
            'profile = "vke"; modules = { device-plugin = { }; nccl = { }; metrics = { }; cni = { }; };')
        self.in_image(self.program, "--check", "--config", "/out/rdmad.conf", "--sysroot", "/machine")

    def test_metrics_are_served_by_the_user_of_the_image(self):
        self.check_served(self.command(self.program))

    def test_the_cni_plugin_is_installed_by_rename(self):
        shim = "usr/libexec/cni/rdmad-cni"
        for _ in range(2):
            self.in_image(f"/{shim}", "--install", "/out", user="0:0")
            self.assertEqual([path.name for path in self.out.iterdir()], ["rdmad-cni"])
            self.assertEqual((self.out / "rdmad-cni").read_bytes(), (self.root / shim).read_bytes())
            self.assertEqual((self.out / "rdmad-cni").stat().st_mode & 0o777, 0o755)
        installed = run(self.out / "rdmad-cni", env={"CNI_COMMAND": "VERSION"}, input='{"cniVersion": "1.0.0"}')
        self.assertIn("1.1.0", json.loads(self.check(installed))["supportedVersions"])


class PodmanTest(Running):
    """With podman and crun, from the archive."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        missing = [tool for tool in PODMAN if shutil.which(tool) is None]
        if missing:
            raise unittest.SkipTest(f"{', '.join(missing)} missing")
        if os.geteuid() != 0:
            raise unittest.SkipTest("needs root")
        cls.addClassCleanup(wait_for_podman, cls.dir / "storage")
        loaded = run(*cls.podman("load", "-i", f"{cls.layout}.tar"))
        if loaded.returncode:
            raise unittest.SkipTest(f"podman cannot load an image here: {loaded.stderr.strip().splitlines()[-1]}")
        probe = run(*cls.container([], "--version"))
        if probe.returncode:
            raise unittest.SkipTest(f"podman cannot run here: {probe.stderr.strip().splitlines()[-1]}")

    @classmethod
    def podman(cls, *command):
        return ["unshare", "--mount", os.path.join(HERE, "in-private-node"), str(cls.dir), "podman",
                "--root", str(cls.dir / "storage"), "--runroot", "/run/podman", "--storage-driver", "vfs",
                "--cgroup-manager", "cgroupfs", "--runtime", "crun", *command]

    @classmethod
    def container(cls, options, *command):
        return cls.podman("run", "--rm", "--network", "host", "--cgroups", "disabled", "--log-driver", "none",
                          "--security-opt", "seccomp=unconfined", "--ulimit", "nofile=1024:1024",
                          "--ulimit", "nproc=64:64", "--cap-drop", "all", "--read-only", *options,
                          "rdmad:test", *command)

    def test_metrics_are_served_without_a_capability(self):
        self.check_served(self.container([f"--volume={self.dir}/machine:/machine:ro", f"--volume={self.out}:/out"]))

    def test_the_init_container_installs_the_plugin(self):
        self.check(run(*self.container([f"--volume={self.out}:/host/cni-bin", "--user=0", "--entrypoint",
                                        "/usr/libexec/cni/rdmad-cni"], "--install", "/host/cni-bin")))
        self.assertTrue(os.access(self.out / "rdmad-cni", os.X_OK))


if __name__ == "__main__":
    tap.main(sys.argv[4:])
