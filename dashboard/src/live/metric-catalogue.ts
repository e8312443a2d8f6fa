/** What figures are called, their units and which way is better: from the service alone. */
import { useMemo } from "react";
import { liveMetrics, type Metric, type MetricId, type RaceField, raceMetric, raceMetrics } from "../analysis/metrics";
import type { MetricDescription } from "../api/types";
import { Store, useStore } from "../store";

export const metricCatalogue = new Store<MetricDescription[]>([]);

/** The figures of the live race. */
export function useMetrics(): Metric[] {
  const all = useStore(metricCatalogue);
  return useMemo(() => liveMetrics(all), [all]);
}

/** These and the gap. */
export function useRaceMetrics(): Metric<RaceField>[] {
  const all = useStore(metricCatalogue);
  return useMemo(() => raceMetrics(all), [all]);
}

/** One of these. */
export function useRaceMetric(id: MetricId): Metric<RaceField> {
  const all = useStore(metricCatalogue);
  return useMemo(() => raceMetric(id, all), [id, all]);
}

/** Every figure by name. */
export function useMetricInfo(): (name: string) => MetricDescription | undefined {
  const all = useStore(metricCatalogue);
  return useMemo(() => {
    const byName = new Map(all.map((info) => [info.name, info]));
    return (name) => byName.get(name);
  }, [all]);
}
