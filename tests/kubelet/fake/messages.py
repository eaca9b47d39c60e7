# SPDX-License-Identifier: Apache-2.0
"""The messages of kubelet's gRPC interfaces, made at run time from the tables below.

They are written from the wire attributes and not from rdmad's own .proto files, so that a wrong
field number in either shows.  `type[]` is a repeated field, `map` is map<string, string>.
"""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

DEVICE_PLUGIN = """
Empty
DevicePluginOptions: bool pre_start_required 1, bool get_preferred_allocation_available 2
RegisterRequest: string version 1, string endpoint 2, string resource_name 3, DevicePluginOptions options 4
ListAndWatchResponse: Device[] devices 1
Device: string ID 1, string health 2, TopologyInfo topology 3
TopologyInfo: NUMANode[] nodes 1
NUMANode: int64 ID 1
PreStartContainerRequest: string[] devices_ids 1
PreStartContainerResponse
PreferredAllocationRequest: ContainerPreferredAllocationRequest[] container_requests 1
ContainerPreferredAllocationRequest: string[] available_deviceIDs 1, string[] must_include_deviceIDs 2, int32 allocation_size 3
PreferredAllocationResponse: ContainerPreferredAllocationResponse[] container_responses 1
ContainerPreferredAllocationResponse: string[] deviceIDs 1
AllocateRequest: ContainerAllocateRequest[] container_requests 1
ContainerAllocateRequest: string[] devices_ids 1
AllocateResponse: ContainerAllocateResponse[] container_responses 1
ContainerAllocateResponse: map envs 1, Mount[] mounts 2, DeviceSpec[] devices 3, map annotations 4, CDIDevice[] cdi_devices 5
Mount: string container_path 1, string host_path 2, bool read_only 3
DeviceSpec: string container_path 1, string host_path 2, string permissions 3
CDIDevice: string name 1
"""

PLUGIN_REGISTRATION = """
InfoRequest
PluginInfo: string type 1, string name 2, string endpoint 3, string[] supported_versions 4
RegistrationStatus: bool plugin_registered 1, string error 2
RegistrationStatusResponse
"""

POD_RESOURCES = """
ListPodResourcesRequest
ListPodResourcesResponse: PodResources[] pod_resources 1
AllocatableResourcesRequest
AllocatableResourcesResponse: ContainerDevices[] devices 1, int64[] cpu_ids 2
GetPodResourcesRequest: string pod_name 1, string pod_namespace 2
GetPodResourcesResponse: PodResources pod_resources 1
PodResources: string name 1, string namespace 2, ContainerResources[] containers 3
ContainerResources: string name 1, ContainerDevices[] devices 2, int64[] cpu_ids 3
ContainerDevices: string resource_name 1, string[] device_ids 2, TopologyInfo topology 3
TopologyInfo: NUMANode[] nodes 1
NUMANode: int64 ID 1
"""

CRI = """
PodSandboxMetadata: string name 1, string uid 2, string namespace 3, int32 attempt 4
PodSandboxStateValue: int32 state 1
PodSandboxFilter: string id 1, PodSandboxStateValue state 2, map label_selector 3
ListPodSandboxRequest: PodSandboxFilter filter 1
PodSandbox: string id 1, PodSandboxMetadata metadata 2, int32 state 3, int64 created_at 4, map labels 5, map annotations 6, string runtime_handler 7
ListPodSandboxResponse: PodSandbox[] items 1
PodSandboxStatusRequest: string pod_sandbox_id 1, bool verbose 2
NamespaceOption: int32 network 1, int32 pid 2, int32 ipc 3, string target_id 4
Namespace: NamespaceOption options 2
LinuxPodSandboxStatus: Namespace namespaces 1
PodSandboxStatus: string id 1, PodSandboxMetadata metadata 2, int32 state 3, int64 created_at 4, LinuxPodSandboxStatus linux 6, map labels 7, map annotations 8
PodSandboxStatusResponse: PodSandboxStatus status 1, map info 2
"""

FIELD = descriptor_pb2.FieldDescriptorProto
SCALARS = {"bool": FIELD.TYPE_BOOL, "string": FIELD.TYPE_STRING, "int32": FIELD.TYPE_INT32,
           "int64": FIELD.TYPE_INT64}


def _add_map(message, field, package):
    """protoc's form of map<string, string>: a repeated nested message of two fields."""
    entry = message.nested_type.add(name=field.name.title().replace("_", "") + "Entry")
    entry.options.map_entry = True
    for number, name in enumerate(("key", "value"), 1):
        entry.field.add(name=name, number=number, type=FIELD.TYPE_STRING, label=FIELD.LABEL_OPTIONAL)
    field.label = FIELD.LABEL_REPEATED
    field.type = FIELD.TYPE_MESSAGE
    field.type_name = f".{package}.{message.name}.{entry.name}"


def _add_field(message, text, package):
    kind, name, number = text.split()
    field = message.field.add(name=name, number=int(number))
    if kind == "map":
        _add_map(message, field, package)
        return
    repeated, kind = kind.endswith("[]"), kind.replace("[]", "")
    field.label = FIELD.LABEL_REPEATED if repeated else FIELD.LABEL_OPTIONAL
    field.type = SCALARS.get(kind, FIELD.TYPE_MESSAGE)
    if kind not in SCALARS:
        field.type_name = f".{package}.{kind}"


class Messages:
    """The message classes of one package, as attributes."""

    def __init__(self, package, table):
        file = descriptor_pb2.FileDescriptorProto(name=package + ".proto", package=package,
                                                  syntax="proto3")
        for line in table.strip().splitlines():
            name, _, fields = line.partition(":")
            message = file.message_type.add(name=name.strip())
            for text in filter(None, map(str.strip, fields.split(","))):
                _add_field(message, text, package)
        pool = descriptor_pool.DescriptorPool()
        pool.Add(file)
        factory = message_factory.MessageFactory(pool)
        for message in file.message_type:
            descriptor = pool.FindMessageTypeByName(f"{package}.{message.name}")
            setattr(self, message.name, factory.GetPrototype(descriptor))


plugin = Messages("v1beta1", DEVICE_PLUGIN)
registration = Messages("pluginregistration", PLUGIN_REGISTRATION)
pods = Messages("v1", POD_RESOURCES)
cri = Messages("runtime.v1", CRI)
