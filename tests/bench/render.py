#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The text of one scrape, from readings that are there, against copying as many bytes."""

import benchlib
from benchlib import Table

PORTS = (8, 64, 512)
ROUNDS = {8: 401, 64: 101, 512: 21}


def main():
    build = benchlib.build_from_command_line()
    found = {n: build.ask("bench-render", n, ROUNDS[n]) for n in PORTS}
    table = Table("The text of one scrape", "us")
    for n in PORTS:
        table.at_most_times(f"{n} ports, {found[n]['series']} series", found[n]["render_us"],
                            "copying it", found[n]["copy_us"])
    table.value("1000 series, of 512 ports",
                1000 * found[512]["render_us"] / found[512]["series"], 100)
    table.at_most_times("gzip of 512 ports", found[512]["gzip_us"],
                        "making it", found[512]["render_us"])
    table.note(f"512 ports: {found[512]['bytes']} bytes, {found[512]['gzip_bytes']} as gzip")
    table.print()


if __name__ == "__main__":
    main()
