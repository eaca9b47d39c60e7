# SPDX-License-Identifier: Apache-2.0
"""Writes the resources as an rdmad.conf for people to read and edit"""

from resources import Group, Import, Resource, escape

SHARED = """\
				mode = "shared";
				count = {count};
				count_per = "pool";
				expose = "pool";	# a slot gives every device here; "device": only its own
				busy_pfs = true;	# also a PF whose VFs are in use
"""
BY_ATTRIBUTE = """\
				mode = "shared";
				mode_from = "{mode_from}";
				count = {count};
				count_per = "device";
"""
PER_DEVICE = """\
				count = {count};
				count_per = "device";
				ids = "name";	# erdma_0/7, as before
				smcr_pnet = true;
				expose = "{expose}";
"""
OTHER_FILES = """\
				umad = true;	# as before; most pods do without these three
				issm = true;
				ucm = true;
"""
CNI = """\
	cni = {{
		annotation_networks = {network};
		# The fabric knows only the NICs' own MAC addresses.
		networks = ( {{ name = "vke"; link = "ipvlan"; }} );
	}};
"""
ERDMA = """\
	erdma = {{
		driver = {{
			prefer_driver = "{driver}";
		}};
	}};
"""


def quoted(text: str) -> str:
    def character(char: str) -> str:
        if char in '"\\':
            return "\\" + char
        return f"\\x{ord(char):02x}" if char < " " or char == "\x7f" else char
    return f'"{"".join(map(character, text))}"'


def strings(key: str, values: list[str]) -> str:
    """`key = "x";`, or a list of several values."""
    if len(values) == 1:
        return f"{key} = {quoted(values[0])};"
    return f"{key} = ( {', '.join(map(quoted, values))} );"


def group_text(group: Group, indent: str) -> str:
    lines = [f"{indent}\t{strings(key, choice.values)}" + (f"\t# {choice.why}" if choice.why else "")
             for key, choice in group.items()]
    return "\n".join(["{", *lines, indent + "}"])


def selectors(groups: list[Group]) -> str:
    indent = "\t" * 4
    if groups == [{}]:
        return ""  # the default: every device
    if len(groups) == 1:
        return f"{indent}selectors = {group_text(groups[0], indent)};\n"
    inner = indent + "\t"
    return (f"{indent}selectors = (\n" + ",\n".join(inner + group_text(group, inner) for group in groups)
            + f"\n{indent});\n")


def slots(resource: Resource) -> str:
    if resource.exclusive:
        return '\t\t\t\tmode = "exclusive";\n'
    if resource.mode_from:
        return BY_ATTRIBUTE.format(mode_from=resource.mode_from, count=resource.count)
    if resource.per_device:
        return PER_DEVICE.format(count=resource.count, expose="pool" if resource.all_devices else "device")
    return SHARED.format(count=resource.count)


def resource_text(resource: Resource) -> str:
    out = f"\t\t\t{{\t# {resource.origin}\n\t\t\t\tname = {quoted(resource.name)};\n" + slots(resource)
    if not resource.numa:
        out += "\t\t\t\tnuma = false;	# no topology was advertised\n"
    if resource.cdi:
        out += '\t\t\t\tcdi = "on";	# as before\n'
    out += selectors(resource.groups)
    if resource.shared_with:
        out += f"\t\t\t\t{strings('shared_with', resource.shared_with)}\n"
    if not resource.per_device and not resource.mode_from:
        out += OTHER_FILES
    return out + "\t\t\t}"


def text_of(imported: Import) -> str:
    out = (f"# rdmad.conf, made by rdmad import-config from {escape(imported.options.file)}\n"
           "# Read it, then try it: rdmad --check --config THIS-FILE\n")
    if imported.notes:
        out += "#\n" + "".join(f"# {note}\n" for note in imported.notes)
    out += "\nmodules = {\n\tdevice-plugin = {\n\t\tresources = (\n"
    out += ",\n".join(map(resource_text, imported.resources)) + "\n\t\t);\n\t};\n"
    if imported.erdma_driver:
        out += ERDMA.format(driver=imported.erdma_driver)
    if imported.cni_network:
        out += CNI.format(network=quoted(imported.cni_network))
    return out + "};\n"
