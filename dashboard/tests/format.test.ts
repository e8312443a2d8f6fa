import { expect, it } from "vitest";
import { toCsv } from "../src/charts/table";
import {
  deviceLabel,
  digitsFor,
  formatBytes,
  formatDollars,
  formatJoules,
  formatMoment,
  formatNumber,
  formatPercent,
  formatSeconds,
  formatSigned,
  formatTimeLeft,
  formatTimes,
  placementLabel,
} from "../src/format";
import { figureTable, formatFigure, plainSettings } from "../src/pages/run-figures";
import { parseRoute, schedulerPath } from "../src/router";
import { METRICS } from "./samples";

it("writes seconds with a fitting unit", () => {
  expect([0, 0.0000123, 0.0456, 1.234, 56.78, 1234.5].map(formatSeconds)).toEqual([
    "0 s",
    "12.3 µs",
    "45.6 ms",
    "1.23 s",
    "56.8 s",
    "1,235 s",
  ]);
});
it("writes the time that is left, and sizes of files", () => {
  expect([0, 12.2, 89, 90, 5000, 9000, null].map(formatTimeLeft)).toEqual([
    "1 s",
    "13 s",
    "89 s",
    "2 min",
    "83 min",
    "2.5 h",
    "–",
  ]);
  expect([0, 999, 2048, 3_500_000, null].map(formatBytes)).toEqual(["0 B", "999 B", "2.05 kB", "3.50 MB", "–"]);
});
it("writes energy, money and shares", () => {
  expect([0.5, 22.5, 4500].map(formatJoules)).toEqual(["500 mJ", "22.5 J", "4.50 kJ"]);
  expect([0, 0.000045, 0.0045, 1.5].map(formatDollars)).toEqual(["$0", "45.0 µ$", "4.50 m$", "$1.5"]);
  expect([0, 1234.56789, null].map(formatMoment)).toEqual(["0.000 s", "1,234.568 s", "–"]);
  expect([0, 12345, null].map(formatTimes)).toEqual(["0 ×", "12,345 ×", "–"]);
  expect(formatPercent(0.123, 1)).toBe("12.3 %");
  expect([-0.004, -0.5, 0.25].map(formatSigned)).toEqual(["0.00", "−0.50", "0.25"]);
});
it("shows a dash where there is no value", () => {
  for (const format of [formatSeconds, formatJoules, formatDollars, formatNumber, formatPercent]) {
    expect([null, undefined, Number.NaN].map((value) => format(value))).toEqual(["–", "–", "–"]);
  }
});
it("names devices and placements", () => {
  expect(deviceLabel("cpu_0 + gpu_3")).toBe("CPU 0 + GPU 3");
  expect(placementLabel({ gpu_fraction: 0, gpu_id: null })).toBe("CPU");
  expect(placementLabel({ gpu_fraction: 1, gpu_id: 2 })).toBe("GPU 2");
  expect(placementLabel({ gpu_fraction: 0.6, gpu_id: 0 })).toBe("GPU 0 60 % + CPU");
});
it("writes CSV that survives commas, quotes and empty cells, with numbers in full", () => {
  const table = {
    columns: ["a", "b,c"],
    rows: [
      [0.1 + 0.2, 'say "hi"'],
      [null, true],
    ],
  };
  expect(toCsv(table)).toBe('a,"b,c"\r\n0.30000000000000004,"say ""hi"""\r\n,true');
});
it("finds every view by its path", () => {
  expect(parseRoute("/")).toEqual({ view: "global" });
  expect(parseRoute(schedulerPath("my own/one"))).toEqual({ view: "scheduler", name: "my own/one" });
  expect(parseRoute("/scheduler/")).toEqual({ view: "scheduler", name: null });
  expect(parseRoute("/history")).toEqual({ view: "history" });
  expect(parseRoute("/experiments/")).toEqual({ view: "experiments" });
  expect(parseRoute("/nowhere/else")).toEqual({ view: "unknown", path: "/nowhere/else" });
});
it("tables the figures of a run, means of several seeds included", () => {
  const summary = {
    schedulers: {
      a: { makespan: { mean: 4, low: 3, high: 5 }, tasks: 10 },
      b: { tasks: 10, utilization: { cpu_0: {} } },
    },
  };
  expect(figureTable(summary)).toEqual({
    columns: ["scheduler", "makespan", "tasks"],
    rows: [
      ["a", 4, 10],
      ["b", null, 10],
    ],
  });
  expect(figureTable(null).rows).toEqual([]);
  const shown = (name: string, value: number) =>
    formatFigure(
      METRICS.find((info) => info.name === name),
      value,
    );
  expect([shown("avg_response", 0.5), shown("energy", 2000), shown("tasks", 7)]).toEqual(["500 ms", "2.00 kJ", "7"]);
  expect([shown("throughput", 7), shown("nobody knows", 7)]).toEqual(["7 tasks/s", "7"]);
});
it("lists the single values of a configuration, one level deep", () => {
  const configuration = {
    settings: { preset: "mixed", load: 0.05000000001, schedulers: ["a"] },
    cluster: { devices: [{}] },
    seed: 4,
    folder: "/srv/results/mixed",
  };
  expect(plainSettings(configuration)).toEqual([
    ["preset", "mixed"],
    ["load", "0.05"],
    ["seed", "4"],
  ]);
});
it("gives an axis enough digits to tell its ticks apart", () => {
  expect(digitsFor([1, 12])).toBe(3);
  expect(digitsFor([0.9993, 0.9995, null])).toBe(6);
  expect(digitsFor([-0.7, -1.2])).toBe(3);
  expect(digitsFor([])).toBe(3);
});
