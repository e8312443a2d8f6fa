import { describe, expect, it } from "vitest";
import { binOf, fastest, gpuHeatmap, histogram, sizeEdges } from "../src/analysis/bins";
import { correlations, pearson, VARIABLES } from "../src/analysis/correlation";
import { split, timeline } from "../src/analysis/devices";
import { ledgerRows } from "../src/analysis/ledger";
import { bestOf, liveMetrics, type Metric, type RaceField, raceMetric, ranked } from "../src/analysis/metrics";
import { decisionWait, overtakers } from "../src/analysis/order";
import { logTicks, makeScale } from "../src/analysis/scale";
import { duel, schedulersIn } from "../src/analysis/wins";
import type { MetricDescription } from "../src/api/types";
import { entry, item, METRICS, result } from "./samples";

describe("scale", () => {
  it("is linear for values of one size and goes from zero to the largest", () => {
    const scale = makeScale([1, 2, 4], "auto");
    expect(scale.kind).toBe("linear");
    expect([0, 2, 4].map(scale.position)).toEqual([0, 0.5, 1]);
  });
  it("turns logarithmic by itself when values differ by 1000, and every bar stays visible and in order", () => {
    const scale = makeScale([0.05, 0.07, 50], "auto");
    expect(scale.kind).toBe("log");
    const [a, b, c] = [0.05, 0.07, 50].map(scale.position) as [number, number, number];
    expect(a).toBeGreaterThan(0.1);
    expect(b).toBeGreaterThan(a);
    expect(c).toBe(1);
    for (const tick of scale.ticks) expect(Math.log10(tick) % 1).toBeCloseTo(0);
  });
  it("obeys the person's choice", () => {
    expect(makeScale([1, 1000], "linear").kind).toBe("linear");
    expect(makeScale([1, 2], "log").kind).toBe("log");
  });
  it("survives having nothing to show", () => {
    expect(makeScale([], "auto").position(3)).toBe(0);
    expect(makeScale([0, Number.NaN], "log").ticks).toEqual([]);
  });
  it("puts ticks at 1, 2 and 5", () => expect(logTicks(90, 1100)).toEqual([100, 200, 500, 1000]));
});

describe("ranking", () => {
  const entries = [entry("slow", 3), entry("newer", null), entry("fast", 1), entry("new", null)];
  const response = (given: Partial<MetricDescription> = {}): Metric<RaceField> => {
    return raceMetric(
      "response",
      METRICS.map((info) => ({ ...info, ...given })),
    );
  };
  it("puts the least first and those without a figure last", () => {
    expect(ranked(entries, response()).map(({ name }) => name)).toEqual(["fast", "slow", "new", "newer"]);
    expect([bestOf(entries, response()), bestOf([entry("new", null)], response())]).toEqual([1, null]);
  });
  it("goes the way the service says", () => {
    const throughput = response({ bigger_is_better: true });
    expect(ranked(entries, throughput).map(({ name }) => name)).toEqual(["slow", "fast", "new", "newer"]);
    expect(bestOf(entries, throughput)).toBe(3);
  });
  it("calls figures what the service calls them, and says little before it has", () => {
    const shown = (metrics: Metric[]) => metrics.map(({ label, unit, format }) => [label, unit, format(2000)]);
    expect(shown(liveMetrics(METRICS))).toEqual([
      ["Response", "s", "2,000 s"],
      ["Execution", "s", "2,000 s"],
      ["Energy", "J", "2.00 kJ"],
      ["Cost", "$", "$2,000"],
    ]);
    expect(shown(liveMetrics([]))[1]).toEqual(["Execution", "", "2,000"]);
    expect(liveMetrics(METRICS.map((info) => ({ ...info, short: "my words" })))[0]?.label).toBe("My words");
  });
});

describe("wins", () => {
  const items = [
    item(1, { a: result({ response_time: 1 }), b: result({ response_time: 2 }) }),
    item(2, { a: result({ response_time: 2 }), b: result({ response_time: 2 }) }),
    item(3, { a: result({ response_time: 0.1, failed: true }), b: result({ response_time: 9 }) }),
    item(4, { a: result() }),
  ];
  it("counts only tasks both have; ties are nobody's; a failure loses", () => {
    expect(duel(items, "a", "b")).toEqual({ wins: 1, losses: 1, ties: 1, total: 3 });
    expect(duel(items, "b", "a")).toEqual({ wins: 1, losses: 1, ties: 1, total: 3 });
  });
  it("keeps the order of the line-up and adds others by name", () => {
    expect(schedulersIn([item(1, { z: result(), c: result(), b: result() })], ["z", "absent"])).toEqual([
      "z",
      "b",
      "c",
    ]);
  });
});

describe("bins", () => {
  it("covers every size, the largest included", () => {
    const sizes = [100, 150, 1000, 5000];
    const edges = sizeEdges(sizes, 4);
    expect(edges[0]).toBe(100);
    expect(edges.at(-1)).toBe(5000);
    expect(histogram(sizes, edges).reduce((sum, bin) => sum + bin.count, 0)).toBe(4);
    expect(binOf(99, edges)).toBe(-1);
  });
  it("copes with a single size", () => expect(histogram([7, 7], sizeEdges([7, 7], 5))).toMatchObject([{ count: 2 }]));
  it("takes the fastest finished result", () => {
    const best = result({ response_time: 2, gpu_fraction: 0.6 });
    expect(
      fastest(item(1, { a: result({ response_time: 1, failed: true }), b: best, c: result({ response_time: 3 }) })),
    ).toBe(best);
  });
  it("averages the GPU share per cell and leaves empty cells empty", () => {
    const items = [
      item(1, { a: result({ gpu_fraction: 1 }) }, { size: 100, compute_intensity: 0.9 }),
      item(2, { a: result({ gpu_fraction: 0.5 }) }, { size: 100, compute_intensity: 1 }),
    ];
    const cells = gpuHeatmap(items, [100, 1000, 10000], (task) => task.results.a);
    expect(cells[4]?.[0]).toEqual({ count: 2, gpuShare: 0.75 });
    expect(cells[0]?.[0]).toEqual({ count: 0, gpuShare: null });
  });
});

describe("correlation", () => {
  it("is 1, -1 or nothing", () => {
    expect(pearson([1, 2, 3], [2, 4, 6])).toBeCloseTo(1);
    expect(pearson([1, 2, 3], [3, 2, 1])).toBeCloseTo(-1);
    expect(pearson([1, 2, 3], [0.1, 0.1, 0.1])).toBeNull();
    expect(pearson([1, 2], [1, 2])).toBeNull();
  });
  it("agrees with a value computed by hand", () => expect(pearson([1, 2, 3, 4], [1, 3, 2, 4])).toBeCloseTo(0.8));
  it("leaves failed tasks out", () => {
    const items = [1, 2, 3].map((n) => item(n, { a: result({ energy_consumption: n }) }, { size: n }));
    const spoiled = [...items, item(4, { a: result({ failed: true, energy_consumption: -99 }) }, { size: 4 })];
    const energy = VARIABLES.findIndex(({ label }) => label === "energy");
    expect(correlations(spoiled, "a")[0]?.[energy]).toBeCloseTo(1);
  });
});

describe("correlation of what is not always known", () => {
  it("takes the tasks of which both are", () => {
    const told = [1, 2, 3].map((n) => item(n, { a: result({ energy_consumption: n }) }, { size: n }));
    const items = [...told, item(4, { a: result({ energy_consumption: null }) }, { size: -99 })];
    const energy = VARIABLES.findIndex(({ label }) => label === "energy");
    expect(correlations(items, "a")[0]?.[energy]).toBeCloseTo(1);
    expect(correlations(items.slice(2), "a")[0]?.[energy]).toBeNull();
  });
});

describe("devices", () => {
  const both = result({
    gpu_fraction: 0.75,
    gpu_id: 1,
    parts: [
      { device: "cpu_0", share: 0.25, start: 2, end: 3, expected: 1 },
      { device: "gpu_1", share: 0.75, start: 1, end: 4, expected: 3 },
    ],
  });
  it("shares busy seconds by device, CPUs first", () => {
    const work = split([item(2, { a: both }), item(1, { a: result() })], "a");
    expect(work.devices).toEqual([
      { device: "cpu_0", seconds: 2, share: 0.4 },
      { device: "gpu_1", seconds: 3, share: 0.6 },
    ]);
    expect(work.gpuShare).toBeCloseTo(0.6);
    expect(work.meanFraction).toBeCloseTo(0.375);
    expect(split([], "a")).toEqual({ tasks: 0, devices: [], gpuShare: null, meanFraction: null });
  });
  it("draws the newest tasks of the newest run only", () => {
    const chart = timeline([item(3, { a: both }, { run_id: 2 }), item(2, { a: result() })], "a", 10, ["gpu_0"]);
    expect(chart.bars.map((bar) => bar.taskId)).toEqual([3, 3]);
    expect(chart.devices).toEqual(["cpu_0", "gpu_0", "gpu_1"]);
    expect([chart.from, chart.to]).toEqual([1, 4]);
  });
});

describe("order", () => {
  const raced = (id: number, ready: number | null, decided: number | null, overtaken = 0) =>
    item(id, { a: result({ ready_time: ready, decided_time: decided, overtaken }) });
  it("knows who went before one that was ready earlier", () => {
    const items = [raced(4, 3, 5), raced(3, 2, 2), raced(2, 1, 4, 1), raced(1, 0, 0)];
    expect([...overtakers(items, "a")]).toEqual([3]);
    expect([...overtakers(items, "b")]).toEqual([]);
    const marked = timeline(items, "a", 10).bars.map((bar) => [bar.taskId, bar.overtook, bar.overtaken]);
    expect(marked).toEqual([
      [4, false, 0],
      [3, true, 0],
      [2, false, 1],
      [1, false, 0],
    ]);
  });
  it("goes by the number where tasks are ready together, and by nothing where they are decided together", () => {
    expect([...overtakers([raced(1, 0, 2), raced(2, 0, 1)], "a")]).toEqual([2]);
    expect([...overtakers([raced(1, 0, 2), raced(2, 1, 2)], "a")]).toEqual([]);
  });
  it("says nothing of what older versions stored", () => {
    expect([...overtakers([raced(1, null, null), raced(2, 0, null)], "a")]).toEqual([]);
    expect(decisionWait(result())).toBeNull();
    expect(decisionWait(null)).toBeNull();
    expect(decisionWait(result({ ready_time: 1, decided_time: 1 }))).toBe(0);
  });
});

describe("ledger", () => {
  const items = [12, 11, 2].map((id) => item(id, { a: result({ wait_time: id }), b: result({ wait_time: 50 - id }) }));
  it("sorts by a column, both ways", () => {
    const rows = (descending: boolean) =>
      ledgerRows(items, { sort: "wait", descending, scheduler: "a", task: "" }).map((row) => row.taskId);
    expect(rows(false)).toEqual([2, 11, 12]);
    expect(rows(true)).toEqual([12, 11, 2]);
  });
  it("filters by scheduler and by the beginning of the task number", () => {
    const rows = ledgerRows(items, { sort: "task", descending: true, scheduler: "", task: "1" });
    expect(rows.map((row) => row.key)).toEqual(["12 a", "12 b", "11 a", "11 b"]);
  });
});
