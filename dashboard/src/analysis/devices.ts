/** Work per device under one scheduler: shares, and the bars of the timeline. */
import type { ComparativeItem } from "../api/types";
import { overtakers } from "./order";

export interface DeviceShare {
  device: string;
  seconds: number;
  /** Of all busy seconds. */
  share: number;
}

export interface Split {
  tasks: number;
  devices: DeviceShare[];
  /** Busy seconds on GPUs over all busy seconds; null without work. */
  gpuShare: number | null;
  /** Mean `gpu_fraction` over the tasks; null without tasks. */
  meanFraction: number | null;
}

export const isGpu = (device: string): boolean => device.startsWith("gpu");

/** CPUs first, then by number. */
export function byDevice(a: string, b: string): number {
  return Number(isGpu(a)) - Number(isGpu(b)) || a.localeCompare(b, "en", { numeric: true });
}

export function split(items: readonly ComparativeItem[], scheduler: string): Split {
  const busy = new Map<string, number>();
  let tasks = 0;
  let fractions = 0;
  for (const item of items) {
    const result = item.results[scheduler];
    if (result === undefined || result.failed) continue;
    tasks += 1;
    fractions += result.gpu_fraction;
    for (const part of result.parts) busy.set(part.device, (busy.get(part.device) ?? 0) + part.end - part.start);
  }
  const total = [...busy.values()].reduce((sum, seconds) => sum + seconds, 0);
  const gpu = [...busy].filter(([device]) => isGpu(device)).reduce((sum, [, seconds]) => sum + seconds, 0);
  const devices = [...busy]
    .map(([device, seconds]) => ({ device, seconds, share: total > 0 ? seconds / total : 0 }))
    .sort((a, b) => byDevice(a.device, b.device));
  return {
    tasks,
    devices,
    gpuShare: total > 0 ? gpu / total : null,
    meanFraction: tasks > 0 ? fractions / tasks : null,
  };
}

export interface Bar {
  taskId: number;
  device: string;
  share: number;
  arrival: number;
  start: number;
  end: number;
  /** How often a task that was ready later was decided first; null where nobody knows. */
  overtaken: number | null;
  /** Whether it was decided before a task, among those given, that was ready earlier. */
  overtook: boolean;
}

export interface Timeline {
  devices: string[];
  bars: Bar[];
  from: number;
  to: number;
}

/** The newest `count` tasks of one run: simulated clocks of different runs do not compare. */
export function timeline(
  items: readonly ComparativeItem[],
  scheduler: string,
  count: number,
  devices: readonly string[] = [],
): Timeline {
  const run = items[0]?.run_id;
  const bars: Bar[] = [];
  const sameRun = items.filter((candidate) => candidate.run_id === run);
  const first = overtakers(sameRun, scheduler);
  for (const { task_id: taskId, arrival_time: arrival, results } of sameRun.slice(0, count)) {
    const overtaken = results[scheduler]?.overtaken ?? null;
    for (const { device, share, start, end } of results[scheduler]?.parts ?? []) {
      bars.push({ taskId, device, share, arrival, start, end, overtaken, overtook: first.has(taskId) });
    }
  }
  const names = [...new Set([...devices, ...bars.map((bar) => bar.device)])].sort(byDevice);
  return {
    devices: names,
    bars,
    from: Math.min(...bars.map((bar) => bar.start)),
    to: Math.max(...bars.map((bar) => bar.end)),
  };
}
