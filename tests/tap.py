# SPDX-License-Identifier: Apache-2.0
"""unittest that speaks TAP: tap.main() in the place of unittest.main()."""

import os
import sys
import traceback
import unittest

LIBRARY = os.path.dirname(os.__file__)      # Python's own


class TapResult(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.number = 0

    def _say(self, verdict, test, reason=""):
        self.number += 1
        print(f"{verdict} {self.number} - {test.id().removeprefix('__main__.')}{reason}", flush=True)

    def _fail(self, test, error):
        """The reason first: a report may have only the first lines."""
        self._say("not ok", test)
        place = [frame for frame in traceback.extract_tb(error[2]) if not frame.filename.startswith(LIBRARY)][-1:]
        reason = "".join(traceback.format_exception_only(*error[:2])).splitlines()[:5]
        lines = [*(f"{frame.filename}:{frame.lineno}: {frame.line}" for frame in place), *reason,
                 *"".join(traceback.format_exception(*error)).splitlines()]
        for line in lines:
            print(f"# {line}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._say("ok", test)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._fail(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self._fail(test, error)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._say("ok", test, f" # SKIP {reason}")

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error:
            self._fail(subtest, error)


def main(names=()):
    """Runs all tests of the program, or those named."""
    loader = unittest.defaultTestLoader
    module = sys.modules["__main__"]
    suite = (loader.loadTestsFromNames(names, module) if names
             else loader.loadTestsFromModule(module))
    result = TapResult()
    suite.run(result)
    print(f"1..{result.number}", flush=True)  # a failed subtest counts as well
    sys.exit(0 if result.wasSuccessful() else 1)
