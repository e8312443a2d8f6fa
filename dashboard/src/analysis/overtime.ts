/** Means over time as rows of a chart. */
import type { MeansPoint } from "../api/types";

export type HistoryField = "avg_response" | "avg_energy" | "avg_cost" | "win_share" | "tasks";

/** The figures of the History view, and what the service's catalogue calls them. */
export const HISTORY_FIELDS: readonly { field: HistoryField; name: string }[] = [
  { field: "avg_response", name: "avg_response" },
  { field: "avg_energy", name: "energy" },
  { field: "avg_cost", name: "cost" },
  { field: "win_share", name: "win_share" },
  { field: "tasks", name: "tasks" },
];

/** One row per stretch of time: `at` in milliseconds, and the figure of each scheduler that has one. */
export type TimeRow = Record<string, number | null>;

export function timeRows(points: readonly MeansPoint[], field: HistoryField): TimeRow[] {
  const rows = new Map<string, TimeRow>();
  for (const point of points) {
    const row = rows.get(point.start) ?? { at: Date.parse(point.start) };
    row[point.scheduler_name] = point[field];
    rows.set(point.start, row);
  }
  return [...rows.values()];
}

export function schedulersOf(points: readonly { scheduler_name: string }[]): string[] {
  return [...new Set(points.map((point) => point.scheduler_name))].sort();
}
