"""This machine's lanes: which devices are there, and how they share the cores.

A lane for every GPU, and lanes on the CPU that divide the cores. Devices are looked for without loading PyTorch here:
by NVIDIA's driver, else by PyTorch in a process of its own, and that only where a driver's files say it could find one.
"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from hybrid_scheduler.hardware.machine import usable_cores
from hybrid_scheduler.hardware.nodes.lanes import Work
from hybrid_scheduler.hardware.nodes.power import Meter, NvmlGpu, NvmlMeter, RaplMeter, nvml_gpus
from hybrid_scheduler.hardware.nodes.processes import ProcessLanes
from hybrid_scheduler.hardware.nodes.slot import VISIBLE, Slot
from hybrid_scheduler.model.errors import InvalidInputError
from hybrid_scheduler.physics.device import MOST_CPUS, Device

BUS_ORDER = ("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
"""CUDA's own order is by speed; the driver's, and so ours, is by place on the bus."""
DRIVER_FILES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
"""There when a driver for NVIDIA, AMD or Windows' GPUs is loaded."""
TOPOLOGY = Path("/sys/devices/system/cpu")
CORES_OF_A_GPU = 4
"""Where there are at least so many cores for each GPU, each GPU's process gets one to itself: it spins while it waits,
and the threads of a computation on the CPU wait for the slowest of them."""
CORES_TO_SPARE = 8
"""Where there are at least so many cores, one belongs to no lane, unless as many lanes are asked for: whoever decides
would otherwise take it from one of the threads for which all others wait."""
LANES_WITHOUT_GPU = 2
ASK_SECONDS = 120.0
ASK_PYTORCH = """
import json, torch
found = []
if torch.cuda.is_available():
    for i in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(i)
        found.append(["cuda", properties.name, properties.total_memory / 1e6])
elif torch.backends.mps.is_available():
    found.append(["mps", "Apple GPU", torch.mps.recommended_max_memory() / 1e6])
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One GPU of this machine.

    Attributes:
        name: The product's name.
        memory_mb: Its memory in MB (10⁶ bytes).
        kind: What PyTorch calls it, `cuda` or `mps`; None where PyTorch cannot use it.
        variables: The environment of a process that sees this one only.
        meter: What measures its energy; None where nothing does.
    """

    name: str
    memory_mb: float
    kind: str | None
    variables: tuple[tuple[str, str], ...] = ()
    meter: Meter | None = None


def find_lanes(cpu_lanes: int | None = None, *, for_pytorch: bool = False, warm_up: Work | None = None) -> ProcessLanes:
    """The lanes of this machine, `cpu_0`, `gpu_0` and so on, starting.

    Args:
        cpu_lanes: How many lanes share the cores. By default one beside GPUs, else two (one on a single core): work
            that computes with many threads has most of the machine then, and there is still something to decide. Work
            of one thread wants as many lanes as there are cores.
        for_pytorch: Whether GPUs are left out that the PyTorch installed here cannot use.
        warm_up: What every lane runs before it is up (`ProcessLanes`).

    Raises:
        InvalidInputError: There are fewer cores than lanes asked for, or none was asked for.
        OSError: The system does not start the processes.
    """
    return ProcessLanes(find_slots(cpu_lanes, for_pytorch=for_pytorch), warm_up=warm_up)


def find_slots(cpu_lanes: int | None = None, *, for_pytorch: bool = False) -> tuple[Slot, ...]:
    """The lanes `find_lanes` starts.

    Raises:
        InvalidInputError: There are fewer cores than lanes asked for, or none was asked for.
    """
    accelerators = [each for each in find_accelerators() if each.kind is not None or not for_pytorch]
    return divide(cpu_lanes, accelerators, bindable_cores(), usable_cores(), rapl=RaplMeter.find())


def divide(
    cpu_lanes: int | None,
    accelerators: Sequence[Accelerator],
    cores: Sequence[int],
    count: int,
    *,
    rapl: Meter | None = None,
) -> tuple[Slot, ...]:
    """Divide a machine into lanes.

    Args:
        cpu_lanes: As for `find_lanes`.
        accelerators: Its GPUs.
        cores: The cores that processes can be bound to, those that share parts beside each other; empty where the
            system does not bind processes.
        count: How many cores there are.
        rapl: What measures the processor's energy.

    Raises:
        InvalidInputError: There are fewer cores than lanes asked for, or none was asked for.
    """
    gpus = len(accelerators)
    own = gpus if gpus and count >= CORES_OF_A_GPU * gpus else 0
    spares = count >= CORES_TO_SPARE and (cpu_lanes is None or cpu_lanes < count - own)
    end = count - spares
    left = end - own
    if cpu_lanes is None:
        cpu_lanes = 1 if gpus else min(left, LANES_WITHOUT_GPU)
    if not 1 <= cpu_lanes <= min(left, MOST_CPUS):
        raise InvalidInputError(
            f"{cpu_lanes} CPU lanes are asked for, but it must be 1 to {min(left, MOST_CPUS)}, the cores this process "
            "may use"
            + (" less one for whoever decides" if spares else "")
            + (f" less one for each of {own} GPUs" if own else "")
        )
    ends = [own + left * lane // cpu_lanes for lane in range(cpu_lanes + 1)]
    slots = [
        Slot(
            Device(f"cpu_{lane}", "cpu"),
            hardware=f"CPU, {end - begin} threads",
            cores=tuple(cores[begin:end]),
            threads=end - begin,
            # With several lanes on a processor nobody can tell whose energy it was.
            meter=rapl if cpu_lanes == 1 else None,
        )
        for lane, (begin, end) in enumerate(pairwise(ends))
    ]
    for number, each in enumerate(accelerators):
        slots.append(
            Slot(
                Device(f"gpu_{number}", "gpu", memory_mb=each.memory_mb),
                accelerator=each.kind,
                hardware=each.name,
                cores=tuple(cores[number : number + 1]) if own else tuple(cores),
                threads=1 if own else count,
                variables=each.variables,
                meter=each.meter,
            )
        )
    return tuple(slots)


def bindable_cores() -> list[int]:
    """The cores this process may use, those of one processor beside each other, and so the threads of one core.

    None in a container that is given time, not cores: on those it would choose, others may have chosen to run.
    """
    if sys.platform != "linux":
        return []
    cores = os.sched_getaffinity(0)
    return sorted(cores, key=_position) if usable_cores() == len(cores) else []


def _position(core: int) -> tuple[int, int, int]:
    folder = TOPOLOGY / f"cpu{core}" / "topology"
    try:
        package, physical = (int((folder / name).read_text()) for name in ("physical_package_id", "core_id"))
    except (OSError, ValueError):  # not every container shows it
        return (0, core, core)
    return (package, physical, core)


def find_accelerators(environment: Mapping[str, str] = os.environ) -> list[Accelerator]:
    """The GPUs of this machine that this process may see."""
    if environment.get(VISIBLE) == "":
        return []
    gpus = nvml_gpus()
    found = visible_gpus(gpus, environment, "cuda" if pytorch_uses_cuda() else None) if gpus else []
    if found:
        return found
    apple = sys.platform == "darwin" and platform.machine() == "arm64"
    if importlib.util.find_spec("torch") is None or not (apple or any(map(os.path.exists, DRIVER_FILES))):
        return []
    return [
        Accelerator(name, memory_mb, kind, () if kind == "mps" else ((VISIBLE, _nth_visible(number, environment)),))
        for number, (kind, name, memory_mb) in enumerate(_ask_pytorch())
    ]


def visible_gpus(gpus: Sequence[NvmlGpu], environment: Mapping[str, str], kind: str | None) -> list[Accelerator]:
    """Those of the driver's GPUs that `CUDA_VISIBLE_DEVICES` shows, in its order; without it, all of them."""
    chosen = environment.get(VISIBLE)
    if chosen is None:
        return [
            _accelerator(gpu, kind, ((VISIBLE, str(number)), BUS_ORDER), known=True) for number, gpu in enumerate(gpus)
        ]
    # Numbers are by speed unless the user said otherwise; that is the driver's order only where all GPUs are alike.
    ordered = environment.get(BUS_ORDER[0]) == BUS_ORDER[1] or len({gpu.name for gpu in gpus}) == 1
    found = []
    for word in (word.strip() for word in chosen.split(",")):
        if word.isdecimal():
            gpu = gpus[int(word)] if int(word) < len(gpus) else None
            known = ordered
        else:
            gpu = next((gpu for gpu in gpus if word and gpu.uuid.startswith(word)), None)
            known = True
        if gpu is None:  # CUDA, too, ignores what comes after a word it does not know
            break
        found.append(_accelerator(gpu, kind, ((VISIBLE, word),), known=known))
    return found


def _accelerator(gpu: NvmlGpu, kind: str | None, variables: tuple[tuple[str, str], ...], *, known: bool) -> Accelerator:
    meter = NvmlMeter(gpu.uuid) if known and gpu.counts_energy else None
    return Accelerator(gpu.name, gpu.memory_mb, kind, variables, meter)


def _nth_visible(number: int, environment: Mapping[str, str]) -> str:
    """What shows the GPU of this number, and only it, to a process."""
    chosen = environment.get(VISIBLE)
    return str(number) if chosen is None else chosen.split(",")[number].strip()


def pytorch_uses_cuda() -> bool:
    """Whether the PyTorch installed here is a build for CUDA or ROCm; it says so in a file that loads nothing."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return False
    try:
        text = (Path(spec.origin).parent / "version.py").read_text(encoding="utf-8")
    except OSError:
        return False
    return re.search(r"^(cuda|hip)\b[^=\n]*=\s*['\"]", text, re.MULTILINE) is not None


def _ask_pytorch() -> list[tuple[str, str, float]]:
    """Kind, name and memory of what PyTorch finds; nothing when it does not load."""
    try:
        said = subprocess.run(
            [sys.executable, "-c", ASK_PYTORCH], capture_output=True, text=True, check=True, timeout=ASK_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return [(str(kind), str(name), float(memory_mb)) for kind, name, memory_mb in json.loads(said.stdout)]
