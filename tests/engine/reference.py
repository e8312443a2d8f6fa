"""The physics of SPEC section 3 once more, in 50 lines that share nothing with the product: plain Python, no speed."""

# Tasks and devices are dictionaries: id, arrival, duration, intensity, memory, parents, megabytes (of each parent that
# hands any over); kind, speed, bandwidth, latency, memory, node. Policies: cpu_only, gpu_only, mct, oracle. Returns for
# each id its (device, share, start, end).
# mypy: disable-error-code="no-untyped-def, no-untyped-call, var-annotated"


def simulate(tasks, devices, policy, speedup="linear", split="concurrent", penalty=0.05, network=1250.0):
    cpus, gpus = ([d for d, device in enumerate(devices) if device["kind"] == kind] for kind in ("cpu", "gpu"))
    stretch = 1 + penalty if split == "concurrent" else 1
    ends, finish, plan = [[0.0] for _ in devices], {}, {}

    def data(task, d):
        there, resident = 0.0, 0.0
        for parent, megabytes in task["megabytes"].items():
            for e, share, _, _ in plan[parent]:
                way = 1 / devices[e]["bandwidth"] if e in gpus else 0.0
                way += 1 / network if devices[e]["node"] != devices[d]["node"] else 0.0
                there = max(there, finish[parent] + share * megabytes * way) if e != d else there
                resident += share * megabytes if e == d else 0.0
        return there, resident

    def seconds(task, d, share=1.0):
        device, intensity = devices[d], task["intensity"]
        if d in cpus:
            return device["latency"] + share * task["duration"] / device["speed"]
        gain = 1 + 3 * intensity if speedup == "linear" else 1 / (1 - intensity + intensity / 4)
        moved = max(0.0, task["memory"] - data(task, d)[1])
        whole = task["duration"] / (device["speed"] * gain) + moved / device["bandwidth"]
        return device["latency"] + share * whole

    def parts(task, now, *pieces):
        result, begin, factor = [], now, stretch if len(pieces) == 2 else 1
        for d, share in pieces:
            start = max(begin, ends[d][-1], data(task, d)[0])
            result.append((d, share, start, start + factor * seconds(task, d, share)))
            begin = result[-1][3] if split == "serial" else now
        return result

    def decide(task, now):
        whole = [d for d in cpus + gpus if d in cpus or task["memory"] <= devices[d]["memory"]]
        if policy in ("cpu_only", "gpu_only"):
            least = min(cpus if policy == "cpu_only" else gpus, key=lambda d: sum(end > now for end in ends[d]))
            return parts(task, now, (least if least in whole else cpus[0], 1.0))
        if policy == "mct":
            return min((parts(task, now, (d, 1.0)) for d in sorted(whole)), key=lambda option: option[0][3])
        options = [parts(task, now, (d, 1.0)) for d in whole if d in cpus]
        for g in gpus:
            mates = [c for c in cpus if devices[c]["node"] == devices[g]["node"]]
            fitting = [k / 20 for k in range(1, 20) if k / 20 * task["memory"] <= devices[g]["memory"]]
            options += [parts(task, now, (g, f), (c, 1 - f)) for f in fitting for c in mates]
            options += [parts(task, now, (g, 1.0))] if g in whole else []
        return min(options, key=lambda option: max(end for *_, end in option))

    while len(finish) < len(tasks):
        waiting = (t for t in tasks if t["id"] not in finish and all(p in finish for p in t["parents"]))
        now, name, task = min((max([t["arrival"], *(finish[p] for p in t["parents"])]), t["id"], t) for t in waiting)
        plan[name] = decide(task, now)
        for d, _, _, end in plan[name]:
            ends[d].append(end)
        finish[name] = max(end for *_, end in plan[name])
    return plan
