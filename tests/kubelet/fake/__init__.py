# SPDX-License-Identifier: Apache-2.0
"""A kubelet for tests and first tries: the part of it that device plugins meet.

It does what kubelet's device manager does, on gRPC's own library, so that rdmad is tried
against a counterpart that shares nothing with it.  `Kubelet` is the way in for tests; the
programs `kubelet` and `kubelet-ctl` beside this directory are the way in for people.
"""

from .control import ControlClient
from .devices import AdmissionError
from .kubelet import Kubelet
from .runtime import Runtime

__all__ = ["AdmissionError", "ControlClient", "Kubelet", "Runtime"]
