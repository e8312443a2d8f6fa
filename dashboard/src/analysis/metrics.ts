/** The figures schedulers are compared by; less is better for all of them. */
import type { ComparisonEntry, Result } from "../api/types";
import { formatDollars, formatJoules, formatSeconds } from "../format";

export type MetricId = "response" | "execution" | "energy" | "cost";

export interface Metric {
  id: MetricId;
  label: string;
  unit: string;
  /** Field of the live comparison and of the lower bound. */
  mean: "avg_response" | "avg_time" | "avg_energy" | "avg_cost";
  /** Field of one stored result. */
  result: "response_time" | "actual_time" | "energy_consumption" | "execution_cost";
  format: (value: number | null | undefined) => string;
}

export const RESPONSE: Metric = {
  id: "response",
  label: "Response",
  unit: "s",
  mean: "avg_response",
  result: "response_time",
  format: formatSeconds,
};

export const METRICS: readonly Metric[] = [
  RESPONSE,
  { id: "execution", label: "Execution", unit: "s", mean: "avg_time", result: "actual_time", format: formatSeconds },
  { id: "energy", label: "Energy", unit: "J", mean: "avg_energy", result: "energy_consumption", format: formatJoules },
  { id: "cost", label: "Cost", unit: "$", mean: "avg_cost", result: "execution_cost", format: formatDollars },
];

export function metricById(id: MetricId): Metric {
  return METRICS.find((metric) => metric.id === id) ?? RESPONSE;
}

/** Best first; schedulers without a figure yet come last. */
export function ranked(comparison: readonly ComparisonEntry[], metric: Metric): ComparisonEntry[] {
  const value = (entry: ComparisonEntry) => entry[metric.mean] ?? Number.POSITIVE_INFINITY;
  return [...comparison].sort((a, b) => value(a) - value(b) || a.name.localeCompare(b.name));
}

export function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function meanOf(results: readonly Result[], metric: Metric): number | null {
  return mean(results.map((result) => result[metric.result]));
}
