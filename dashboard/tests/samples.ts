/** Small, hand-checkable data in the service's shapes. */
import type {
  ComparativeItem,
  ComparisonEntry,
  ExperimentJob,
  LogLine,
  MetricDescription,
  Result,
  SchedulerInfo,
  SimulationUpdate,
  StoredRun,
} from "../src/api/types";

function described(name: string, short: string, unit: string, given: Partial<MetricDescription> = {}) {
  return { name, title: short, short, unit, symbol: unit, bigger_is_better: false, description: `${short}.`, ...given };
}

/** As the service describes its figures. */
export const METRICS: MetricDescription[] = [
  described("avg_response", "response", "s", { title: "mean response time" }),
  described("avg_time", "execution", "s"),
  described("energy", "energy", "J"),
  described("cost", "cost", "$"),
  described("gap", "gap", "share", { symbol: "" }),
  described("win_share", "wins", "share", { symbol: "", bigger_is_better: true }),
  described("throughput", "throughput", "tasks/s", { bigger_is_better: true }),
  described("tasks", "tasks", "tasks", { symbol: "", bigger_is_better: null }),
];

export function result(given: Partial<Result> = {}): Result {
  return {
    gpu_fraction: 0,
    gpu_id: null,
    actual_time: 1,
    wait_time: 0,
    response_time: 1,
    finish_time: 1,
    energy_consumption: 30,
    execution_cost: 0.00002,
    failed: false,
    parts: [{ device: "cpu_0", share: 1, start: 0, end: 1, expected: 1 }],
    reason: null,
    ...given,
  };
}

export function item(
  taskId: number,
  results: Record<string, Result>,
  given: Partial<ComparativeItem> = {},
): ComparativeItem {
  return {
    task_id: taskId,
    run_id: 1,
    size: 1000,
    compute_intensity: 0.5,
    memory_required: 100,
    arrival_time: 0,
    dependencies: [],
    results,
    ...given,
  };
}

export function entry(name: string, response: number | null, given: Partial<ComparisonEntry> = {}): ComparisonEntry {
  return {
    name,
    tasks: 10,
    failed: 0,
    avg_time: response,
    avg_wait: 0,
    avg_response: response,
    avg_energy: response,
    avg_cost: response,
    gpu_share: 0.5,
    gap: response === null ? null : response * 2,
    unfinished: 0,
    waiting: 0,
    overloaded: false,
    state: "racing",
    reason: "",
    given_up: 0,
    ...given,
  };
}

export function update(seq: number, given: Partial<SimulationUpdate> = {}): SimulationUpdate {
  return {
    type: "simulation_update",
    seq,
    state: "running",
    run_id: 1,
    simulated_time: seq,
    turn: null,
    tasks_processed: seq,
    rates: { arrival_rate: 2, tasks_per_second: 2 },
    settings: {
      preset: "mixed",
      trace: null,
      arrival_rate: 2,
      load: 0.05,
      speed: 1,
      flat_out: false,
      node: "simulated",
      devices: [],
      schedulers: ["greedy", "oracle"],
      weights: { time: 0.5, energy: 0.5, money: 0 },
      energy_weight: 0.5,
    },
    task: null,
    latest_results: {},
    comparison: [],
    lower_bound: { avg_time: null, avg_response: null, avg_energy: null, avg_cost: null },
    utilization: {},
    learning: [],
    ...given,
  };
}

export function line(id: number, given: Partial<LogLine> = {}): LogLine {
  return {
    type: "log",
    id,
    time: id,
    level: "info",
    kind: "event",
    message: `line ${id}`,
    scheduler: null,
    skipped: 0,
    ...given,
  };
}

export function scheduler(name: string, given: Partial<SchedulerInfo> = {}): SchedulerInfo {
  return {
    name,
    summary: `${name} does something`,
    colour: "#22c55e",
    parameters: {},
    is_learner: false,
    learns_from_labels: false,
    knows_truth: false,
    lets_wait: false,
    in_race: true,
    available: true,
    reason: "",
    ...given,
  };
}

export function experimentJob(given: Partial<ExperimentJob> = {}): ExperimentJob {
  return {
    id: "5",
    name: "mixed",
    state: "running",
    done: 1,
    total: 4,
    seconds_left: 12,
    run_id: null,
    message: "",
    files: [],
    ...given,
  };
}

export function storedRun(given: Partial<StoredRun> = {}): StoredRun {
  return {
    id: 7,
    kind: "experiment",
    name: "mixed",
    seed: 42,
    status: "finished",
    started: "2026-01-01T10:00:00Z",
    ended: "2026-01-01T10:01:00Z",
    schedulers: ["greedy"],
    first_task_id: 1,
    configuration: {},
    summary: { schedulers: { greedy: { avg_response: 0.5 } } },
    ...given,
  };
}

const EMPTY: Record<string, unknown> = {
  "/api/models": { items: [], next_cursor: null },
  "/api/graph": {
    run_id: null,
    scheduler_name: "greedy",
    devices: [],
    searched: 0,
    tasks: [],
    critical_path: [],
    next_cursor: null,
  },
  "/api/runs": { items: [], next_cursor: null },
  "/api/history/retrainings": { items: [], next_cursor: null },
  "/api/history/means": {
    since: "2026-01-01T00:00:00Z",
    until: "2026-01-02T00:00:00Z",
    stretch_seconds: 900,
    items: [],
    marks: [],
  },
  "/api/history/collected": {
    runs: 0,
    tasks: 0,
    results: 0,
    labels: 0,
    model_versions: 0,
    retrainings: 0,
    tasks_ever: 0,
    first: null,
    last: null,
  },
};

/** What a service answers that has stored nothing yet. */
export function emptyAnswer(path: string): unknown {
  return EMPTY[path] ?? [];
}
