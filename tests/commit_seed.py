# SPDX-License-Identifier: Apache-2.0
"""The seed of tests that make their inputs at random."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(os.path.dirname(os.path.realpath(__file__))).parent


def git(*arguments):
    return subprocess.run(["git", "-c", "safe.directory=*", "-C", ROOT, *arguments],
                          capture_output=True, text=True, check=False)


def seed_of_commit():
    """What is found in a commit once is found always; another commit has other seeds.  None with changes that are not
    committed, or without git: the seeds are the clock's."""
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        return None
    changes, tree = git("status", "--porcelain", "--untracked-files=no"), git("rev-parse", "HEAD^{tree}")
    return None if changes.returncode or changes.stdout or tree.returncode else int(tree.stdout[:8], 16)
