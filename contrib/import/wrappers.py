# SPDX-License-Identifier: Apache-2.0
"""Finds configurations in the text: the text itself, or what it is wrapped in

A ConfigMap may hold one configuration a key, for different nodes or with other files beside it; a file may have several
ConfigMaps, one for each plugin, and the manifests of everything else.  Operators have the configurations in resources
of their own, Helm's and GitOps' releases in values, and DaemonSets settings in their arguments.
"""

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from cello import import_cello, is_cello
from charts import import_operator, import_spiderpool, is_operator, is_spiderpool
from documents import SIZE_MAX, Plain, Refused, Value, flag, is_json, json_parse, yaml_parse
from erdma import import_erdma, is_erdma
from fields import below, items, name_of
from legacy import MODES, import_legacy, is_legacy
from resources import Import, Options, Source, escape
from shared import import_shared, is_shared
from sriov import import_sriov, is_sriov

LIST_DEPTH_MAX = 4
VALUES_DEPTH_MAX = 6
PARAMETER_MAX = 256  # characters of its path, and so half as many values inside of each other
NOTHING = "neither configList, resourceList or mode, as device plugins have them"

# What a text has that is meant to be a configuration, also if it is broken.
OURS = re.compile(b"configList|resourceList|rdmaSharedDevicePlugin|sriovDevicePlugin|preferDriver")

Format = tuple[Callable[[Value], bool], Callable[[Import], None]]

FORMATS: list[Format] = [
    (is_shared, import_shared), (is_sriov, import_sriov), (is_legacy, import_legacy), (is_erdma, import_erdma),
    (is_cello, import_cello), (is_operator, import_operator), (is_spiderpool, import_spiderpool),
]
# Those that are not taken for something else inside of other values.
NESTED = [(test, take) for test, take in FORMATS if test not in (is_legacy, is_cello)]


def import_source(imported: Import, source: Source) -> None:
    imported.source = source
    for test, take in FORMATS:
        if test(source.config):
            take(imported)
            return
    imported.refuse("", NOTHING)


def is_config(value: Value) -> bool:
    return any(test(value) for test, _ in FORMATS)


# ---- kinds that are known and hold no configuration ----

A_NETWORK = ("a network stays with Multus, in a NetworkAttachmentDefinition whose plugin is rdmad-cni instead: "
             "rdmad-cni(7)")
AN_IPAM = "addresses stay with their IPAM plugin, which rdmad-cni calls as others do"
OF_NICS = "settings of NICs and their firmware stay with their operator"
OF_SRIOV = "the operator's own settings stay; it goes on making the virtual functions"

KNOWN = {
    "SriovNetworkNodePolicy": "the operator makes virtual functions of it, which stay, and the plugin's configuration: "
                              "import its ConfigMap device-plugin-config with --key NODE",
    "SriovNetworkNodeState": "what a node has; rdmad reads the node itself",
    "SriovNetworkPoolConfig": OF_SRIOV,
    "SriovOperatorConfig": OF_SRIOV,
    **dict.fromkeys(("NetworkAttachmentDefinition", "SriovNetwork", "SriovIBNetwork", "OVSNetwork", "HostDeviceNetwork",
                     "MacvlanNetwork", "IPoIBNetwork", "SpiderMultusConfig"), A_NETWORK),
    **dict.fromkeys(("IPPool", "CIDRPool", "SpiderIPPool", "SpiderSubnet", "SpiderReservedIP"), AN_IPAM),
    **dict.fromkeys(("NicDevice", "NicConfigurationTemplate", "NicFirmwareSource", "NicFirmwareTemplate",
                     "NicInterfaceNameTemplate"), OF_NICS),
    "ERdmaDevice": "what the controller has attached to a node; the controller stays",
}


# ---- the arguments of device plugins ----

@dataclass(frozen=True)
class Daemon:
    """What the arguments of a device plugin's container say."""
    name: str
    test: Callable[[Value], bool]  # of its configurations
    prefix: str | None
    cdi: bool
    config: tuple[str | None, str]  # the ConfigMap, if it is known, and its key


# Words of image and command, and the default of --config-file.
PLUGINS = [
    (re.compile("rdma-shared-d"), is_shared, "/k8s-rdma-shared-dev-plugin/config.json"),
    (re.compile("sriovdp|sriov-network-device-plugin|sriov-(network-)?dp"), is_sriov, "/etc/pcidp/config.json"),
]


def words_of(container: Value) -> list[str]:
    words = items(below(container, "command")) + items(below(container, "args"))
    return [word if isinstance(word, str) else "" for word in words]


def arguments_of(container: Value) -> dict[str, str | None]:
    """By their names without dashes.  A word behind an argument is its value only for one that has values."""
    words = words_of(container)
    found: dict[str, str | None] = {}
    for word, following in zip(words, [*words[1:], None]):
        argument = re.fullmatch("--?([^=]*)(?:=(.*))?", word, re.DOTALL)
        if argument:
            with_value = argument[1] in ("prefer-driver", "config-file", "resource-prefix")
            found[argument[1]] = argument[2] if argument[2] is not None else following if with_value else "true"
    return found


def is_true(argument: str | None) -> bool:
    return (argument or "").lower() in ("true", "t", "1")


def config_of(pod: Value, container: Value, path: str) -> tuple[str | None, str]:
    """The ConfigMap and its key behind a path in the container."""
    volumes = {below(volume, "name"): volume for volume in items(below(pod, "volumes"))
               if isinstance(below(volume, "name"), str)}
    for mount in items(below(container, "volumeMounts")):
        directory = below(mount, "mountPath")
        name = below(mount, "name")
        if not isinstance(directory, str) or not path.startswith(directory.rstrip("/") + "/"):
            continue
        config_map = below(volumes.get(name) if isinstance(name, str) else None, "configMap")
        file = path[len(directory.rstrip("/")) + 1:]
        keys = [below(item, "key") for item in items(below(config_map, "items")) if below(item, "path") == file]
        if isinstance(below(config_map, "name"), str):
            return str(config_map["name"]), str(keys[0]) if keys else file
    return None, path.rpartition("/")[2]


def agent_of(document: Value, container: Value) -> dict[str, Value] | None:
    """The settings of the eRDMA controller's agent."""
    arguments = arguments_of(container)
    program = "".join(words_of({"command": items(below(container, "command"))[:1]}))
    agent: dict[str, Value] = {}
    if "prefer-driver" in arguments:
        agent["preferDriver"] = arguments["prefer-driver"] or ""
    if "allocate-all-devices" in arguments:
        agent["allocateAllDevices"] = is_true(arguments["allocate-all-devices"])
    # Of the agents without arguments, which have the defaults, the controller's has this program.
    if not agent and not ("erdma" in name_of(document) and program.endswith("/agent")):
        return None
    return {"preferDriver": "", **agent}


def daemon_of(name: str, pod: Value, container: Value) -> Daemon | None:
    what = " ".join([str(below(container, "image")), str(below(container, "name")), *words_of(container)[:1]])
    arguments = arguments_of(container)
    for words, test, path in PLUGINS:
        if words.search(what):
            return Daemon(name, test, arguments.get("resource-prefix"),
                          is_true(arguments.get("use-cdi")),
                          config_of(pod, container, arguments.get("config-file") or path))
    return None


# ---- values of Helm ----

def set_value(values: Value, path: str, value: Value) -> Value:
    """Changes the values as `helm --set` does, and returns them: a.b[0].c, dots of a key after a backslash."""
    part = re.match(r"\[([0-9]{1,3})\]\.?|((?:\\.|[^.\[\\])+)\.?", path)
    if not part:
        return value
    rest = path[part.end():]
    if part[1]:
        at = int(part[1])
        values = items(values)
        values += [None] * (at + 1 - len(values))
        values[at] = set_value(values[at], rest, value)
        return values
    key = re.sub(r"\\(.)", r"\1", part[2])
    values = values if isinstance(values, dict) else {}
    values[key] = set_value(values.get(key), rest, value)
    return values


def set_text(text: str) -> Value:
    """{a,b} is a list; a number and true are texts without quotes."""
    if text.startswith("{") and text.endswith("}"):
        return [Plain(part.strip()) for part in text[1:-1].split(",") if part.strip()]
    return Plain(text)


def encode(text: Value) -> bytes:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else b""


# ---- the finder ----

@dataclass
class ConfigMap:
    """Where a ConfigMap has several configurations, a DaemonSet or the user chooses."""
    name: str
    sources: dict[str, list[Source]] = field(default_factory=dict)  # by key
    keys: str = ""  # seen up to here, for messages


class Finder:
    def __init__(self, options: Options):
        self.options = options
        self.sources: list[Source] = []
        self.keys = ""  # seen in ConfigMaps, for messages
        self.maps: list[ConfigMap] = []
        self.daemons: list[Daemon] = []
        self.agents: list[Source] = []  # of the eRDMA controller; they come first
        self.policies: list[str] = []  # NicNodePolicies with a configuration
        self.lost: list[tuple[str, str]] = []  # what is not carried over, and why
        self.hints: list[tuple[str, str]] = []  # what could have been a configuration, if there is none

    def refuse(self, why: str) -> NoReturn:
        raise Refused(f"{self.options.file}: {why}")

    def place(self, name: str | None) -> str:
        return f"{self.options.file}: {name}" if name else self.options.file

    def source(self, name: str | None, config: Value) -> Source:
        return Source(self.place(name), f"{name}: " if name else "", config)

    def add(self, name: str | None, config: Value) -> None:
        self.sources.append(self.source(name, config))

    # -- texts inside of others

    def yaml_inside(self, name: str, text: bytes) -> Value:
        """The document of a text in a manifest, or None if it is not one, as a template or another program's file."""
        try:
            documents = yaml_parse(self.place(name), text)
        except Refused:
            if OURS.search(text):
                raise
            return None
        return documents[0] if len(documents) == 1 else None

    def parse_file(self, name: str, text: bytes) -> Value:
        """A file of a ConfigMap, or None if it is no configuration."""
        if is_json(text):
            return json_parse(self.place(name), text)
        config = self.yaml_inside(name, text)
        # Many programs have a mode of their own.
        return config if isinstance(config, dict) and config.get("mode") in (None, *MODES) else None

    def find_in_file(self, name: str, key: str, text: bytes) -> None:
        """A file that is no configuration is skipped, unless it was requested."""
        requested = self.options.key == key
        if self.options.key is not None and not requested:
            return
        config = self.parse_file(name, text)
        if requested and config is None:
            config = json_parse(self.place(name), text)
        n_before = len(self.sources)
        if is_config(config):
            self.add(name, config)
        else:
            self.find_in_values(name, config)
        if requested and len(self.sources) == n_before:
            self.add(name, config)

    def find_in_values(self, name: str | None, values: Value, depth: int = 0) -> None:
        """Values of a chart may be those of a chart inside of it, and have a configuration as text."""
        if isinstance(values, str) and "List" in values and is_json(encode(values)):
            values = json_parse(self.place(name), encode(values))
        if any(test(values) for test, _ in NESTED):
            self.add(name, values)
        elif depth < VALUES_DEPTH_MAX:
            for key, inner in values.items() if isinstance(values, dict) else ():
                self.find_in_values(f"{name}/{key}" if name else key, inner, depth + 1)
            for i, inner in enumerate(items(values)):
                self.find_in_values(f"{name or ''}[{i}]", inner, depth + 1)

    # -- ConfigMaps and Secrets

    def decoded(self, name: str, text: Value) -> bytes:
        try:
            return base64.b64decode(re.sub(rb"\s", b"", encode(text)), validate=True)
        except binascii.Error as error:
            raise Refused(f"{self.place(name)}: this is not base64") from error

    def find_in_map(self, document: Value) -> None:
        config_map = ConfigMap(name_of(document) or document["kind"])
        secret = document["kind"] == "Secret"
        if secret and below(document, "type") == "helm.sh/release.v1":
            self.hints.append((f"Secret/{config_map.name}", "a release of Helm, which `helm get values --all` prints"))
            return
        for group, is_encoded in (("data", secret), ("stringData", False), ("binaryData", True)):
            files = below(document, group)
            for key, text in (files if isinstance(files, dict) else {}).items():
                name = f"{config_map.name}/{key}"
                n_before = len(self.sources)
                self.keys += f" {key}"
                self.find_in_file(name, key, self.decoded(name, text) if is_encoded else encode(text))
                if len(self.sources) > n_before:
                    config_map.sources[key] = self.sources[n_before:]
        config_map.keys = self.keys
        self.maps.append(config_map)

    # -- NVIDIA's network operator: spec.<plugin>.config

    def find_in_policy(self, document: Value) -> None:
        kind = document["kind"]
        n_before = len(self.sources)
        for plugin in ("rdmaSharedDevicePlugin", "sriovDevicePlugin"):
            settings = below(document, "spec", plugin)
            config = encode(below(settings, "config"))
            n_of_plugin = len(self.sources)
            if is_json(config):
                self.find_in_file(f"{kind}/{plugin}", plugin, config)
            elif settings is not None:
                self.lost.append(
    (f"{kind}/{plugin}", "its config is absent or not JSON, so the plugin has no resources"))
            for source in self.sources[n_of_plugin:]:
                source.cdi = flag(below(settings, "useCdi")) is True
        if len(self.sources) == n_before:
            return
        if kind == "NicNodePolicy":
            self.policies.append(name_of(document))
        for key in ("nodeSelector", "nodeAffinity"):
            if below(document, "spec", key):
                self.lost.append((f"{kind}/{key}", "only those nodes get this configuration: give the DaemonSet of "
                                                   "rdmad the same"))

    # -- DaemonSets

    def find_in_daemon_set(self, document: Value) -> None:
        pod = below(document, "spec", "template", "spec")
        name = f"DaemonSet/{name_of(document)}" if name_of(document) else "DaemonSet"
        for container in items(below(pod, "containers")):
            agent = agent_of(document, container)
            daemon = daemon_of(name, pod, container)
            if agent is not None:
                self.agents.insert(0, self.source(name, {"agent": agent}))
            elif daemon:
                self.daemons.append(daemon)

    # -- releases of Helm

    def find_in_release(self, name: str, values: Value, beside: list[str]) -> None:
        """`beside`: other places of values, which are not in the file."""
        n_before = len(self.sources)
        self.find_in_values(name, values)
        found = len(self.sources) > n_before
        for place in beside:
            (self.lost if found else self.hints).append(
                (name, f"{place} is not in this file: give what `helm get values --all` prints"))
        if not found:
            self.hints.append((name, "no device plugin is configured in its values"))

    def set(self, name: str, values: Value, path: Value, value: Value) -> Value:
        if not isinstance(path, str) or len(path) > PARAMETER_MAX:
            raise Refused(f"{self.place(name)}: a parameter without a name, or with one of more than "
                          f"{PARAMETER_MAX} characters")
        return set_value(values, path, set_text(value) if isinstance(value, str) else value)

    def find_in_helm_release(self, document: Value) -> None:
        spec = below(document, "spec")
        beside = [f"valuesFrom[{i}] ({below(value, 'kind')} {below(value, 'name')})"
                  for i, value in enumerate(items(below(spec, "valuesFrom")))]
        self.find_in_release(f"HelmRelease/{name_of(document)}", below(spec, "values"), beside)

    def find_in_helm_chart(self, document: Value) -> None:
        """k3s and RKE2 install charts by it."""
        name = f"{document['kind']}/{name_of(document)}"
        values = self.yaml_inside(name, encode(below(document, "spec", "valuesContent")))
        settings = below(document, "spec", "set")
        for path, value in (settings if isinstance(settings, dict) else {}).items():
            values = self.set(name, values, path, value)
        self.find_in_release(name, values, [])

    def find_in_application(self, document: Value) -> None:
        """Argo CD; an ApplicationSet has a template of it."""
        kind = document["kind"]
        spec = below(document, "spec", "template", "spec") if kind == "ApplicationSet" else below(document, "spec")
        names = {f"{kind}/{name_of(document)}": below(spec, "source")}
        names |= {f"{kind}/{name_of(document)}/sources[{i}]": source
                  for i, source in enumerate(items(below(spec, "sources")))}
        for name, source in names.items():
            helm = below(source, "helm")
            if helm is not None:
                self.find_in_helm_source(name, helm)

    def find_in_helm_source(self, name: str, helm: Value) -> None:
        values = below(helm, "valuesObject")
        if values is None:
            values = self.yaml_inside(name, encode(below(helm, "values")))
        for parameter in items(below(helm, "parameters")):
            values = self.set(name, values, below(parameter, "name"), below(parameter, "value"))
        beside = [str(file) for file in items(below(helm, "valueFiles"))]
        beside += [f"fileParameters {below(file, 'name')}" for file in items(below(helm, "fileParameters"))]
        self.find_in_release(name, values, beside)

    # -- Kustomize

    def find_in_kustomization(self, document: Value) -> None:
        for i, generator in enumerate(items(below(document, "configMapGenerator"))):
            literals = [literal.partition("=") for literal in items(below(generator, "literals"))
                        if isinstance(literal, str)]
            self.find_in_map({"kind": "ConfigMap", "metadata": {"name": below(generator, "name")},
                              "data": {key: text for key, _, text in literals}})
            if below(generator, "files"):
                self.hints.append((f"configMapGenerator[{i}]", "its files are beside this one: give what `kubectl "
                                                               "kustomize` prints, or the file itself"))
        for i, chart in enumerate(items(below(document, "helmCharts"))):
            beside = [str(chart["valuesFile"])] if below(chart, "valuesFile") else []
            self.find_in_release(f"helmCharts[{i}]", below(chart, "valuesInline"), beside)

    # -- any document

    def find_in_document(self, document: Value, depth: int = 0) -> None:
        if isinstance(document, list):
            self.find_in_documents(document, depth)
        kind = below(document, "kind")
        if not isinstance(kind, str):
            self.find_without_kind(document)
        elif kind in FINDERS:
            FINDERS[kind](self, document)
        elif kind in KNOWN:
            self.lost.append((f"{kind}/{name_of(document)}", KNOWN[kind]))
        elif kind.endswith("List"):
            self.find_in_documents(items(document.get("items")), depth)

    def find_in_documents(self, documents: list[Value], depth: int) -> None:
        for document in documents if depth < LIST_DEPTH_MAX else []:
            self.find_in_document(document, depth + 1)

    def find_without_kind(self, document: Value) -> None:
        if is_config(document):
            self.add(None, document)
        elif isinstance(document, dict) and document.keys() & {"configMapGenerator", "helmCharts"}:
            self.find_in_kustomization(document)
        elif isinstance(document, dict):
            self.find_in_values(None, document)

    # -- all

    def choose(self, config_map: ConfigMap) -> None:
        """Of several configurations in a ConfigMap, takes that of the plugin's arguments."""
        if len(config_map.sources) < 2:
            return
        chosen = [key for key, sources in config_map.sources.items() for daemon in self.daemons
                  if daemon.test(sources[0].config) and daemon.config in ((None, key), (config_map.name, key))]
        if len(chosen) != 1:
            self.refuse(f"ConfigMap {config_map.name} has a configuration in each of several keys, choose with "
                        f"--key:{config_map.keys}")
        for key, sources in config_map.sources.items():
            if key != chosen[0]:
                self.sources = [source for source in self.sources if all(source is not other for other in sources)]

    def apply_daemon(self, daemon: Daemon) -> None:
        of_daemon = [source for source in self.sources if daemon.test(source.config)]
        for source in of_daemon:
            if None is not source.prefix != daemon.prefix:
                self.refuse(f"{daemon.name}: another plugin has another --resource-prefix; import them one by one")
            source.prefix = daemon.prefix
            source.cdi |= daemon.cdi
        if not of_daemon:
            config_map = daemon.config[0] or "that it mounts"
            self.lost.append(
    (daemon.name, f"the plugin's configuration is in the ConfigMap {config_map}: give that too"))

    def refuse_nothing(self) -> NoReturn:
        if self.options.key is not None:
            self.refuse(f'no ConfigMap with the key "{self.options.key}"; there are:{self.keys or " none"}')
        for name, why in self.lost[:1] or self.hints:
            del self.lost[:1]
            self.refuse(f"{name}: {why}")
        self.refuse(f"{NOTHING}, nor a ConfigMap with one of them")

    def notes(self) -> list[str]:
        return [escape(f"not carried over: {name}: {why}") for name, why in self.lost]

    def find(self, text: bytes) -> None:
        if len(text) > SIZE_MAX:
            self.refuse("larger than 1 MiB, no ConfigMap is")
        documents = [json_parse(self.options.file, text)] if is_json(text) else yaml_parse(self.options.file, text)
        for document in documents:
            self.find_in_document(document)
        for config_map in self.maps:
            self.choose(config_map)
        for daemon in self.daemons:
            self.apply_daemon(daemon)
        if len(self.policies) > 1:
            self.refuse(
                f"several NicNodePolicies, each for other nodes; import them one by one: {' '.join(self.policies)}")
        if not self.sources and (self.options.key is not None or not self.agents):
            self.refuse_nothing()
        self.sources = self.agents + self.sources


FINDERS: dict[str, Callable[[Finder, Value], None]] = {
    "ConfigMap": Finder.find_in_map,
    "Secret": Finder.find_in_map,
    "NicClusterPolicy": Finder.find_in_policy,
    "NicNodePolicy": Finder.find_in_policy,
    "DaemonSet": Finder.find_in_daemon_set,
    "HelmRelease": Finder.find_in_helm_release,
    "HelmChart": Finder.find_in_helm_chart,
    "HelmChartConfig": Finder.find_in_helm_chart,
    "Application": Finder.find_in_application,
    "ApplicationSet": Finder.find_in_application,
    "Kustomization": Finder.find_in_kustomization,
}
