/** Two runs side by side: every scheduler's figures and their difference. */
import { useCallback, useState } from "react";
import { formatterOf } from "../analysis/metrics";
import { api } from "../api/client";
import { useResource } from "../api/resource";
import type { RunMeans, StoredRun } from "../api/types";
import { usePanelData } from "../charts/panel-data";
import { headline, NOTHING } from "../format";
import { useMetricInfo } from "../live/metric-catalogue";
import { Empty } from "../ui/empty";
import { RunSelect } from "../ui/run-select";
import { SchedulerName } from "../ui/scheduler-name";
import { ScrollRegion } from "../ui/scroll-region";
import { Segmented } from "../ui/segmented";

export const title = "Two runs";
export const help =
  "The mean figures of two stored runs side by side, and how far the second is from the first: green is better. Runs may have had other loads and settings; the list of runs in the Experiments view says which.";

const REFRESH_MS = 20_000;
const FIELDS = [
  { value: "avg_response", name: "avg_response" },
  { value: "avg_energy", name: "energy" },
  { value: "avg_cost", name: "cost" },
  { value: "win_share", name: "win_share" },
  { value: "gap", name: "gap" },
] as const;
type Field = (typeof FIELDS)[number]["value"];

/** The second over the first, less 1; null where one is missing or the first is nothing. */
export function difference(first: number | null | undefined, second: number | null | undefined): number | null {
  if (first === null || first === undefined || second === null || second === undefined || first === 0) return null;
  return second / first - 1;
}

async function readRuns(signal: AbortSignal): Promise<StoredRun[]> {
  return (await api.runs({}, signal)).items.filter((run) => run.kind !== "experiment");
}

function useRunMeans(run: number | null): RunMeans[] {
  const load = useCallback(async (signal: AbortSignal) => (run === null ? [] : await api.runMeans(run, signal)), [run]);
  return useResource(load, REFRESH_MS).data ?? [];
}

function RunsPanel() {
  const runs = useResource(readRuns, REFRESH_MS);
  const [picked, setPicked] = useState<[number | null, number | null]>([null, null]);
  const [field, setField] = useState<Field>("avg_response");
  const infoOf = useMetricInfo();
  const known = runs.data ?? [];
  const first = picked[0] ?? known[1]?.id ?? null;
  const second = picked[1] ?? known[0]?.id ?? null;
  const [left, right] = [useRunMeans(first), useRunMeans(second)];
  const names = [...new Set([...left, ...right].map((each) => each.scheduler_name))].sort();
  const of = (means: RunMeans[], name: string) => means.find((each) => each.scheduler_name === name);
  usePanelData(() => ({
    columns: ["scheduler", ...FIELDS.flatMap(({ value }) => [`${value} run ${first}`, `${value} run ${second}`])],
    rows: names.map((name) => [
      name,
      ...FIELDS.flatMap(({ value }) => [of(left, name)?.[value] ?? null, of(right, name)?.[value] ?? null]),
    ]),
  }));
  if (runs.data === null) return <Empty>{runs.error ?? "Loading …"}</Empty>;
  if (known.length < 2) return <Empty waitsFor="a second run: another set of schedulers, or stop and start" />;
  const info = infoOf(FIELDS.find(({ value }) => value === field)?.name ?? "");
  const format = formatterOf(info);
  const pick = (side: 0 | 1, run: number | null) => setPicked(side === 0 ? [run, second] : [first, run]);
  return (
    <div className="flex h-full flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <RunSelect label="First run" value={first} runs={known} onPick={(run) => pick(0, run)} />
        <RunSelect label="Second run" value={second} runs={known} onPick={(run) => pick(1, run)} />
        <Segmented
          label="Figure"
          value={field}
          options={FIELDS.map(({ value, name }) => ({ value, label: headline(infoOf(name)?.short ?? value) }))}
          onChange={setField}
        />
      </div>
      {names.length === 0 ? (
        <Empty waitsFor="the first stored task of one of these runs" />
      ) : (
        <ScrollRegion label="Two runs side by side" className="min-h-0 grow overflow-auto">
          <table className="data-table">
            <thead>
              <tr>
                <th scope="col">Scheduler</th>
                <th scope="col" className="number">
                  Run {first}
                </th>
                <th scope="col" className="number">
                  Run {second}
                </th>
                <th scope="col" className="number">
                  Difference
                </th>
              </tr>
            </thead>
            <tbody>
              {names.map((name) => {
                const [a, b] = [of(left, name)?.[field], of(right, name)?.[field]];
                const change = difference(a, b);
                return (
                  <tr key={name} data-testid="runs-row" data-scheduler={name}>
                    <th scope="row">
                      <SchedulerName name={name} />
                    </th>
                    <td className="number" data-value={a ?? ""}>
                      {format(a)}
                    </td>
                    <td className="number" data-value={b ?? ""}>
                      {format(b)}
                    </td>
                    <td className={`number ${verdict(change, info?.bigger_is_better ?? false)}`}>{signed(change)}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </ScrollRegion>
      )}
    </div>
  );
}

function signed(change: number | null): string {
  if (change === null) return NOTHING;
  const text = `${Math.abs(change * 100).toFixed(1)} %`;
  return change > 0 ? `+${text}` : change < 0 ? `−${text}` : text;
}

function verdict(change: number | null, biggerIsBetter: boolean): string {
  if (change === null || change === 0) return "";
  return change > 0 === biggerIsBetter ? "text-good" : "text-bad";
}

export { RunsPanel as component };
