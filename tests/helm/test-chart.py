#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The chart for each set of modules and values: its objects, and the values that it rejects.

usage: test-chart.py RDMAD MODULE-DIR [TEST...]
"""

import glob
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]
import tap  # noqa: E402
from chart import CHART, CONTRIB, HELM, VALUES, VERSIONS, helm, needs_helm, render, template, write_config  # noqa: E402

RDMAD, MODULES = (os.path.abspath(path) for path in sys.argv[1:3])
FILES = sorted(os.path.basename(path)[:-5] for path in glob.glob(f"{VALUES}/*.yaml"))
ALL = ("devicePlugin", "nccl", "metrics", "cni", "erdma", "kube")
# As the chart has them and as rdmad has them.
NAMES = {"devicePlugin": "device-plugin"}
# Beside the configuration and /tmp, all that a container may change of the node.
WRITABLE = {"/run/rdmad", "/var/lib/rdmad", "/var/lib/kubelet/device-plugins", "/var/lib/kubelet/plugins_registry",
            "/var/run/cdi", "/var/run/k8s.cni.cncf.io/devinfo/dp", "/run/netns", "/var/lib/cni", "/proc/sys/net"}
# What kubelet gives every container.
IN_CLUSTER = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}
REFUSED = [
    ("modules.cnii=true", "cnii"),
    ("modules.cni=yes please", "cni"),
    ("metrics.port=65536", "port"),
    ("metrics.port=http", "port"),
    ("metrics.address=node", "address"),
    ("metrics.webConfigSecret=/etc", "webConfigSecret"),
    ("profile=vkee", "profile"),
    ("kubeletDir=var/lib/kubelet", "kubeletDir"),
    ("image.digest=sha256:12", "digest"),
    ("image.repository=", "repository"),
    ("cni.leaseDirs={relative}", "leaseDirs"),
    ("cni.attachments[0].name=Upper", "attachments"),
    ("metrics.podMonitor.interval=often", "interval"),
    ("devicePlugin.criSocket=containerd.sock", "criSocket"),
    ("appArmorProfile=none", "appArmorProfile"),
    ("privileged=true", "privileged"),
]


def on(*modules):
    return [option for module in ALL for option in ("--set", f"modules.{module}={str(module in modules).lower()}")]


def sets():
    """Every module alone, those of the default, and all."""
    yield from ((module,) for module in ALL)
    yield ("devicePlugin", "nccl", "metrics")
    yield ALL


class Pod:
    def __init__(self, *options, **more):
        self.objects = render(*options, **more)
        self.template = self.objects["DaemonSet"][0]["spec"]["template"]
        self.spec = self.template["spec"]
        self.main, = self.spec["containers"]
        self.init = self.spec.get("initContainers", [])
        self.volumes = {volume["name"]: volume for volume in self.spec["volumes"]}

    def capabilities(self):
        return set(self.main["securityContext"]["capabilities"].get("add", ()))

    def host_paths(self, container):
        """[(mount, path on the node)]"""
        return [(mount, self.volumes[mount["name"]]["hostPath"]["path"]) for mount in container["volumeMounts"]
                if "hostPath" in self.volumes[mount["name"]]]


@needs_helm
class Render(unittest.TestCase):
    def test_lint_is_silent_about_every_values_file(self):
        for name in FILES:
            with self.subTest(name):
                done = helm("lint", "--strict", CHART, "--values", f"{VALUES}/{name}.yaml")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertNotIn("WARN", done.stdout + done.stderr)
                self.assertNotIn("symbolic link", done.stdout + done.stderr)

    def test_every_values_file_renders_for_old_and_new_clusters(self):
        for name, kube in itertools.product(FILES, VERSIONS):
            with self.subTest(f"{name} {kube}"):
                objects = render("--values", f"{VALUES}/{name}.yaml", kube=kube)
                self.assertEqual(len(objects["DaemonSet"]), 1)

    def test_misspelt_and_impossible_values_are_refused_by_name(self):
        for value, word in REFUSED:
            with self.subTest(value):
                done = template("--set", value)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(word, done.stderr)

    def test_every_value_has_a_line_of_the_schema(self):
        with open(f"{CHART}/values.yaml", encoding="utf-8") as values, \
                open(f"{CHART}/values.schema.json", encoding="utf-8") as schema:
            self.check_schema(yaml.safe_load(values), json.load(schema), "")

    def check_schema(self, values, schema, path):
        for name, value in values.items():
            self.assertIn(name, schema["properties"], path)
            below = schema["properties"][name]
            if isinstance(value, dict) and "properties" in below:
                self.assertIs(below["additionalProperties"], False, name)
                self.check_schema(value, below, f"{path}.{name}")

    def test_plain_manifests_are_those_of_the_chart(self):
        done = subprocess.run([f"{CONTRIB}/kubernetes/render", "--kube-version", "1.31.0"], check=True, text=True,
                              capture_output=True, env={**os.environ, "HELM": HELM})
        self.assertEqual(done.stdout, template().stdout)

    def test_every_object_is_in_the_namespace_of_the_release(self):
        objects = render(*on(*ALL), "--set", "metrics.podMonitor.enabled=true,metrics.prometheusRule.enabled=true,"
                         "metrics.dashboards.enabled=true,cni.attachments[0].name=a,"
                         "cni.attachments[0].resourceName=rdma/hca")
        for kind, items in objects.items():
            for item in items:
                if not kind.startswith("Cluster"):
                    self.assertEqual(item["metadata"].get("namespace"), "kube-system", kind)


@needs_helm
class Privilege(unittest.TestCase):
    """Rows 8 to 11 of known faults: plugins of other names, links, sockets, binaries that can be written."""

    def each(self):
        for modules in sets():
            with self.subTest(modules):
                yield modules, Pod(*on(*modules))

    def test_no_container_has_more_than_its_capabilities(self):
        for _, pod in self.each():
            for container in (pod.main, *pod.init):
                context = container["securityContext"]
                self.assertIs(context["privileged"], False)
                self.assertIs(context["allowPrivilegeEscalation"], False)
                self.assertIs(context["readOnlyRootFilesystem"], True)
                self.assertEqual(context["capabilities"]["drop"], ["ALL"])
                self.assertEqual(context["seccompProfile"], {"type": "RuntimeDefault"})
            for container in pod.init:
                self.assertEqual(set(container["securityContext"]["capabilities"]), {"drop"})

    def test_capabilities_are_those_of_the_modules(self):
        expected = {"cni": {"NET_ADMIN", "NET_RAW", "SYS_ADMIN", "SYS_PTRACE"},
                    "erdma": {"NET_ADMIN", "SYS_ADMIN", "SYS_CHROOT", "SYS_MODULE", "SYS_PTRACE"}}
        for modules, pod in self.each():
            self.assertEqual(pod.capabilities(), set().union(*(expected.get(module, ()) for module in modules)))

    def test_rdmad_asks_for_the_same_capabilities(self):
        if subprocess.run([RDMAD, "--privileges", "--module-dir", MODULES, "--module=metrics"], check=False,
                          capture_output=True).returncode:
            self.skipTest("this rdmad has no --privileges")
        built = [module for module in ALL if os.path.exists(f"{MODULES}/{NAMES.get(module, module)}.so")]
        for module in built:
            told = subprocess.run([RDMAD, "--privileges", "--module-dir", MODULES,
                                   f"--module={NAMES.get(module, module)}"], check=True, text=True,
                                  capture_output=True).stdout
            wanted = {line.split("\t")[2].removeprefix("CAP_") for line in told.splitlines()}
            with self.subTest(module):
                self.assertEqual(Pod(*on(module), "--set", "metrics.port=80").capabilities(),
                                 wanted)

    def test_metrics_alone_is_nobody_and_sees_little(self):
        pod = Pod(*on("metrics"))
        context = pod.main["securityContext"]
        self.assertEqual((context["runAsUser"], context["runAsGroup"], context["runAsNonRoot"]), (65534, 65534, True))
        self.assertEqual({path for _, path in pod.host_paths(pod.main)}, {"/var/log/pods", "/dev/infiniband"})
        low = Pod(*on("metrics"), "--set", "metrics.port=80")
        self.assertEqual(low.main["securityContext"]["runAsUser"], 0)
        self.assertEqual(low.capabilities(), {"NET_BIND_SERVICE"})

    def test_only_a_few_directories_of_the_node_can_be_written(self):
        for _, pod in self.each():
            writable = {path for mount, path in pod.host_paths(pod.main) if not mount.get("readOnly")}
            self.assertLessEqual(writable, WRITABLE)

    def test_cni_plugins_can_be_written_by_the_init_container_alone(self):
        pod = Pod(*on("cni"))
        init, = pod.init
        self.assertEqual([path for _, path in pod.host_paths(init)], ["/opt/cni/bin"])
        for mount, path in pod.host_paths(pod.main):
            if path == "/opt/cni/bin":
                self.assertIs(mount["readOnly"], True)
        without = Pod(*on("cni"), "--set", "cni.ipamPluginDir=")
        self.assertNotIn("/opt/cni/bin", [path for _, path in without.host_paths(without.main)])
        self.assertFalse(Pod(*on("devicePlugin", "metrics")).init)

    def test_no_socket_of_the_runtime_unless_it_is_asked_for(self):
        for _, pod in self.each():
            for _, path in pod.host_paths(pod.main):
                self.assertNotRegex(path, r"^/(var/)?run/?$|containerd|crio|docker")
        pod = Pod("--set", "devicePlugin.criSocket=/run/containerd/containerd.sock")
        mount, = (mount for mount, path in pod.host_paths(pod.main) if path == "/run/containerd")
        self.assertIs(mount["readOnly"], True)
        config = pod.objects["ConfigMap"][0]["data"]["rdmad.conf"]
        self.assertIn('cri_socket = "/run/containerd/containerd.sock";', config)

    def test_the_api_server_is_for_module_kube_alone(self):
        for modules, pod in self.each():
            kube = "kube" in modules
            self.assertIs(pod.spec["automountServiceAccountToken"], kube)
            self.assertIs(pod.objects["ServiceAccount"][0]["automountServiceAccountToken"], False)
            self.assertEqual("ClusterRole" in pod.objects, kube)
            if kube:
                role, = pod.objects["ClusterRole"]
                verbs = {resource: set(rule["verbs"]) for rule in role["rules"] for resource in rule["resources"]}
                self.assertEqual(verbs, {"nodes": {"list", "watch", "patch"}, "pods": {"get"},
                                         "events": {"create", "patch"}})
                binding, = pod.objects["ClusterRoleBinding"]
                self.assertEqual(binding["roleRef"]["name"], role["metadata"]["name"])
                self.assertEqual(binding["subjects"], [{"kind": "ServiceAccount", "name": "rdmad",
                                                        "namespace": "kube-system"}])

    def test_elastic_rdma_has_its_driver_and_what_smc_needs(self):
        pod = Pod("--values", f"{VALUES}/ack-erdma.yaml")
        self.assertIn("erdma = { enabled = true; };", pod.objects["ConfigMap"][0]["data"]["rdmad.conf"])
        self.assertLessEqual({"/lib/modules", "/run/netns", "/proc/sys/net", "/run/containerd"},
                             {path for _, path in pod.host_paths(pod.main)})
        # What `config` says of a module does not switch it on.
        config = Pod(*on("metrics")).objects["ConfigMap"][0]["data"]["rdmad.conf"]
        for name in ("cni", "erdma", "kube"):
            self.assertIn(f"{name} = {{ enabled = false; }};", config)

    def test_apparmor_is_said_in_the_words_of_the_cluster(self):
        annotation = "container.apparmor.security.beta.kubernetes.io/rdmad"
        for kube, field in (("1.24.0", False), ("1.31.0", True)):
            pod = Pod(*on("erdma"), kube=kube)
            context = pod.main["securityContext"]
            self.assertEqual(context.get("appArmorProfile"), {"type": "Unconfined"} if field else None)
            self.assertEqual(pod.template["metadata"]["annotations"].get(annotation),
                             None if field else "unconfined")
        self.assertNotIn("appArmorProfile", Pod().main["securityContext"])


@needs_helm
class Node(unittest.TestCase):
    """What rdmad-device-plugin(7) and rdmad-cni(7) ask of a DaemonSet."""

    def test_directories_have_the_same_path_in_the_container(self):
        """Kubelet and the runtime get paths of sockets and mounts from rdmad."""
        for file in (None, *FILES):
            options = ["--values", f"{VALUES}/{file}.yaml"] if file else []
            pod = Pod(*options, *on(*ALL), "--set", "devicePlugin.criSocket=/run/containerd/containerd.sock")
            for mount, path in pod.host_paths(pod.main):
                if path != "/proc/sys/net":
                    self.assertEqual(mount["mountPath"], path)

    def test_kubelets_directories_are_mounted_and_not_its_sockets(self):
        for file, root in ((None, "/var/lib/kubelet"), ("k0s", "/var/lib/k0s/kubelet")):
            options = ["--values", f"{VALUES}/{file}.yaml"] if file else []
            pod = Pod(*options)
            mounts = {path: mount for mount, path in pod.host_paths(pod.main)}
            for name in ("device-plugins", "plugins_registry", "pod-resources"):
                self.assertIn(f"{root}/{name}", mounts)
            config = pod.objects["ConfigMap"][0]["data"]["rdmad.conf"]
            self.assertIn(f'root_dir = "{root}";', config)
        for volume in pod.volumes.values():
            self.assertNotEqual(volume.get("hostPath", {}).get("type"), "Socket")

    def test_the_end_of_a_pod_can_be_seen(self):
        pod = Pod(*on("devicePlugin"))
        paths = [path for _, path in pod.host_paths(pod.main)]
        self.assertIn("/sys/fs/cgroup", paths)
        self.assertIn("/var/log/pods", paths)

    def test_limits_of_rdma_objects_need_the_cgroups_to_be_writable(self):
        for value in (False, True):
            pod = Pod("--set", f"devicePlugin.rdmaLimits={str(value).lower()}")
            mount, = (mount for mount, path in pod.host_paths(pod.main) if path == "/sys/fs/cgroup")
            self.assertIs(mount.get("readOnly", False), not value)

    def test_namespaces_of_new_pods_arrive(self):
        pod = Pod(*on("cni"))
        mount, = (mount for mount, path in pod.host_paths(pod.main) if path == "/run/netns")
        self.assertEqual(mount["mountPropagation"], "HostToContainer")

    def test_pods_are_guaranteed_and_probed(self):
        for modules in sets():
            pod = Pod(*on(*modules))
            for container in (pod.main, *pod.init):
                resources = container["resources"]
                self.assertEqual(resources["requests"], resources["limits"])
                self.assertEqual(set(resources["limits"]), {"cpu", "memory"})
            self.assertIn("readinessProbe", pod.main)
            self.assertIn("livenessProbe", pod.main)
            self.assertEqual(pod.spec["priorityClassName"], "system-node-critical")
            self.assertTrue(pod.spec["hostNetwork"])

    def test_a_listener_that_kubelet_cannot_ask_is_not_probed(self):
        for value, line in (("metrics.address=127.0.0.1", 'listen = "127.0.0.1:9889";'),
                            ("metrics.address=[::1]", 'listen = "[::1]:9889";'),
                            ("metrics.webConfigSecret=web", 'web_config = "/etc/rdmad-web/web-config.yml";')):
            with self.subTest(value):
                pod = Pod("--set", value)
                self.assertIn(line, pod.objects["ConfigMap"][0]["data"]["rdmad.conf"])
                self.assertNotIn("startupProbe", pod.main)
                self.assertNotIn("httpGet", json.dumps(pod.main))
        self.assertEqual(pod.volumes["web-config"]["secret"]["secretName"], "web")
        self.assertIn({"name": "web-config", "mountPath": "/etc/rdmad-web", "readOnly": True}, pod.main["volumeMounts"])

    def test_volumes_are_all_used_and_named_once(self):
        for modules in sets():
            pod = Pod(*on(*modules), "--set", "metrics.webConfigSecret=web")
            names = [volume["name"] for volume in pod.spec["volumes"]]
            used = {mount["name"] for container in (pod.main, *pod.init) for mount in container["volumeMounts"]}
            self.assertEqual(sorted(names), sorted(used))
            places = [mount["mountPath"] for mount in pod.main["volumeMounts"]]
            self.assertEqual(len(set(places)), len(places))

    def test_names_are_good_for_the_api_server(self):
        for _, items in Pod(*on(*ALL), "--set", "cni.leaseDirs={/var/lib/cni,/run/cni}").objects.items():
            for item in items:
                self.assertRegex(item["metadata"]["name"], r"\A[a-z0-9]([-a-z0-9.]*[a-z0-9])?\Z")
        for name in Pod(*on(*ALL), "--set", "cni.leaseDirs={/var/lib/cni,/run/cni}").volumes:
            self.assertRegex(name, r"\A[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")


@needs_helm
class Configuration(unittest.TestCase):
    def test_rdmad_takes_what_each_values_file_renders(self):
        for name in FILES:
            with self.subTest(name), tempfile.TemporaryDirectory() as directory:
                path = write_config(directory, "--values", f"{VALUES}/{name}.yaml")
                done = subprocess.run([RDMAD, "--check", "--config", path, "--module-dir", MODULES, "--profile-dir",
                                       f"{CONTRIB}/../etc/profiles"], capture_output=True, text=True, check=False,
                                      env=os.environ | IN_CLUSTER)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_operators_text_wins_over_profile_and_chart(self):
        with tempfile.TemporaryDirectory() as directory:
            text = 'modules = { device-plugin = { health_delay = "7s"; }; metrics = { enabled = false; }; };'
            path = write_config(directory, "--set-literal", f"config={text}", "--set", "profile=ack")
            shown = subprocess.run([RDMAD, "--print-config", "--config", path, "--module-dir", MODULES, "--profile-dir",
                                    f"{CONTRIB}/../etc/profiles"], capture_output=True, text=True, check=True).stdout
            self.assertIn('health_delay = "7s"', shown)
            self.assertIn('"rdma/hca"', shown)
            self.assertRegex(shown, r"metrics[\s\S]*enabled = false")


@needs_helm
class Monitoring(unittest.TestCase):
    SET = ("--set", "metrics.podMonitor.enabled=true,metrics.prometheusRule.enabled=true,"
           "metrics.dashboards.enabled=true")

    def test_the_rule_object_has_all_groups_as_they_are(self):
        rule, = render(*self.SET)["PrometheusRule"]
        groups = []
        for name in ("recording", "alerts"):
            with open(f"{CONTRIB}/prometheus/{name}.yml", encoding="utf-8") as file:
                groups += yaml.safe_load(file)["groups"]
        self.assertEqual(rule["spec"], {"groups": groups})

    def test_the_pod_monitor_takes_more_of_its_endpoint(self):
        monitor, = render(*self.SET, "--set", "metrics.podMonitor.endpoint.scheme=https")["PodMonitor"]
        endpoint, = monitor["spec"]["podMetricsEndpoints"]
        self.assertEqual(endpoint["scheme"], "https")
        self.assertEqual(endpoint["interval"], "15s")

    def test_the_pod_monitor_keeps_the_labels_of_pods_free_for_those_that_use_rdma(self):
        monitor, = render(*self.SET)["PodMonitor"]
        endpoint, = monitor["spec"]["podMetricsEndpoints"]
        steps = endpoint["relabelings"]
        self.assertEqual(steps[-1]["action"], "labeldrop")
        for label in ("namespace", "pod", "container"):
            self.assertTrue(re.fullmatch(steps[-1]["regex"], label))
        self.assertFalse(re.fullmatch(steps[-1]["regex"], "instance"))
        pod = Pod(*self.SET)
        addresses = [step for step in steps if step.get("targetLabel") == "__address__"]
        for address, target in (("192.0.2.7", "192.0.2.7:9889"), ("2001:db8::7", "[2001:db8::7]:9889")):
            found = [re.sub(step["regex"], step["replacement"].replace("$1", r"\1"), address)
                     for step in addresses if re.fullmatch(step["regex"], address)]
            self.assertEqual(found, [target])
        for key, value in monitor["spec"]["selector"]["matchLabels"].items():
            self.assertEqual(pod.template["metadata"]["labels"][key], value)

    def test_an_update_with_two_pods_on_a_node_takes_over_and_declares_no_port(self):
        one = ("--set", "updateStrategy.rollingUpdate.maxSurge=0,updateStrategy.rollingUpdate.maxUnavailable=1")
        pod = Pod(*self.SET)
        self.assertIn("--take-over", pod.main["args"])
        self.assertNotIn("ports", pod.main)
        # The old pod answers the probes of the new one, which must not count as ready by that.
        self.assertEqual(render(*self.SET)["DaemonSet"][0]["spec"]["minReadySeconds"], 30)
        pod = Pod(*self.SET, *one)
        self.assertNotIn("--take-over", pod.main["args"])
        self.assertNotIn("minReadySeconds", render(*self.SET, *one)["DaemonSet"][0]["spec"])
        monitor, = render(*self.SET, *one)["PodMonitor"]
        endpoint, = monitor["spec"]["podMetricsEndpoints"]
        self.assertIn(endpoint["port"], [port["name"] for port in pod.main["ports"]])
        self.assertFalse([step for step in endpoint["relabelings"] if step.get("targetLabel") == "__address__"])

    def test_a_pod_of_another_release_is_another_instance(self):
        for modules in (), ("metrics",):
            pod = Pod(*on("cni", *modules))
            arguments = pod.main["args"]
            name = arguments[arguments.index("--instance") + 1]
            self.assertEqual(name, "kube-system/rdmad")
            self.assertIn("instance=kube-system%2Frdmad" if modules else name, json.dumps(pod.main["readinessProbe"]))
            self.assertNotIn("rdmad%2F", json.dumps(pod.main["livenessProbe"]), "one that waits is not restarted")

    def test_a_pod_that_has_no_run_directory_is_never_beside_another(self):
        """It cannot give over the port."""
        pod = Pod(*on("metrics"))
        self.assertNotIn("--take-over", pod.main["args"])
        self.assertEqual([port["hostPort"] for port in pod.main["ports"]], [9889])
        spec = pod.objects["DaemonSet"][0]["spec"]
        self.assertEqual(spec["updateStrategy"],
                         {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"}})
        self.assertNotIn("minReadySeconds", spec)

    def test_dashboards_are_as_they_are(self):
        boards = {name: text for item in render(*self.SET)["ConfigMap"] for name, text in item["data"].items()
                  if name.endswith(".json")}
        files = {os.path.basename(path): path for path in glob.glob(f"{CONTRIB}/grafana/*.json")}
        self.assertEqual(set(boards), set(files))
        for name, path in files.items():
            with open(path, encoding="utf-8") as file:
                self.assertEqual(json.loads(boards[name]), json.load(file))


if __name__ == "__main__":
    tap.main(sys.argv[3:])
