/** The figures of the live race: where messages keep them. What they are called and which way is better the service says. */
import type { ComparisonEntry, MetricDescription } from "../api/types";
import { formatIn, headline } from "../format";

export type MetricId = "response" | "execution" | "energy" | "cost";

interface Place {
  id: MetricId;
  /** Its name in the service's catalogue. */
  name: string;
  /** Field of the live comparison and of the lower bound. */
  mean: "avg_response" | "avg_time" | "avg_energy" | "avg_cost";
}

const RESPONSE: Place = { id: "response", name: "avg_response", mean: "avg_response" };
const PLACES: readonly Place[] = [
  RESPONSE,
  { id: "execution", name: "avg_time", mean: "avg_time" },
  { id: "energy", name: "energy", mean: "avg_energy" },
  { id: "cost", name: "cost", mean: "avg_cost" },
];

export interface Metric extends Place {
  label: string;
  unit: string;
  biggerIsBetter: boolean;
  format: (value: number | null | undefined) => string;
}

/** The figures of the live race in the service's words; before these are there, plain numbers under plain names. */
export function liveMetrics(catalogue: readonly MetricDescription[]): Metric[] {
  return PLACES.map((place) => described(place, catalogue));
}

/** One of them. */
export function liveMetric(id: MetricId, catalogue: readonly MetricDescription[]): Metric {
  return described(PLACES.find((place) => place.id === id) ?? RESPONSE, catalogue);
}

function described(place: Place, catalogue: readonly MetricDescription[]): Metric {
  const info = catalogue.find(({ name }) => name === place.name);
  return {
    ...place,
    label: headline(info?.short ?? place.id),
    unit: info?.symbol ?? "",
    biggerIsBetter: info?.bigger_is_better ?? false,
    format: (value) => formatIn(info?.symbol ?? "", value),
  };
}

/** What sorts the better figure first; none comes last. */
function badness(value: number | null, metric: Metric): number {
  if (value === null) return Number.POSITIVE_INFINITY;
  return metric.biggerIsBetter ? -value : value;
}

/** Best first; schedulers without a figure yet come last. */
export function ranked(comparison: readonly ComparisonEntry[], metric: Metric): ComparisonEntry[] {
  // Two that have no figure are infinitely bad: their difference is no number, and their names decide.
  return [...comparison].sort(
    (a, b) => badness(a[metric.mean], metric) - badness(b[metric.mean], metric) || a.name.localeCompare(b.name),
  );
}

/** The best figure of all; null when nobody has one. */
export function bestOf(comparison: readonly ComparisonEntry[], metric: Metric): number | null {
  return ranked(comparison, metric)[0]?.[metric.mean] ?? null;
}

export function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
