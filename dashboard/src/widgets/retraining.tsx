/** Retraining history: refreshes that changed a model, and the saved models. */
import { useCallback, useEffect, useMemo, useState } from "react";
import { afterChecks, type Checks, checksSentence } from "../analysis/checks";
import { api } from "../api/client";
import { useResource } from "../api/resource";
import type { ModelVersion, Retraining } from "../api/types";
import { usePanelData } from "../charts/panel-data";
import { formatDate, formatNumber, formatSeconds } from "../format";
import { useUpdate } from "../live/store";
import { Empty } from "../ui/empty";
import { LearnFromStore } from "../ui/learn-from-store";
import { SchedulerName } from "../ui/scheduler-name";
import { ScrollRegion } from "../ui/scroll-region";
import { Segmented } from "../ui/segmented";

export const title = "Retraining history";
export const help =
  "Every refresh that changed a model, newest first: how many of the trees made anew replaced an old one, and the mean error on rows they were not made from, before and after. A check that finds nothing better changes nothing and is only counted. Saved models are something else: copies made every so often, from which the next start goes on.";

const REFRESH_MS = 10_000;
const VIEWS = [
  { value: "retrainings", label: "Retrainings" },
  { value: "saved", label: "Saved models" },
] as const;
type View = (typeof VIEWS)[number]["value"];

interface Page<T> {
  items: T[];
  next_cursor: number | null;
}

/** The newest pages of a list, read again every so often. */
function usePages<T>(read: (before: number | null, signal: AbortSignal) => Promise<Page<T>>) {
  const [pages, setPages] = useState(1);
  const load = useCallback(
    async (signal: AbortSignal) => {
      const items: T[] = [];
      let before: number | null = null;
      for (let page = 0; page < pages; page += 1) {
        const answer: Page<T> = await read(before, signal);
        items.push(...answer.items);
        before = answer.next_cursor;
        if (before === null) break;
      }
      return { items, more: before !== null };
    },
    [read, pages],
  );
  const { data, error } = useResource(load, REFRESH_MS);
  const older = useCallback(() => setPages((count) => count + 1), []);
  return { items: data?.items ?? null, more: data?.more ?? false, error, older };
}

/** What the refreshes of this run's learners came to. */
function useChecks(): Record<string, Checks> {
  const update = useUpdate();
  const [checks, setChecks] = useState<Record<string, Checks>>({});
  const learning = update?.learning;
  useEffect(() => {
    if (learning === undefined) return;
    setChecks((known) =>
      Object.fromEntries(
        learning
          .filter((model) => model.refit_checks > 0)
          .map((model) => [model.scheduler_name, afterChecks(known[model.scheduler_name], model)]),
      ),
    );
  }, [learning]);
  return checks;
}

function RetrainingPanel() {
  const [view, setView] = useState<View>("retrainings");
  const checks = useChecks();
  return (
    <div className="flex h-full flex-col gap-2">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <Segmented label="Shown" value={view} options={VIEWS} onChange={setView} />
        <LearnFromStore />
      </div>
      {Object.keys(checks).length > 0 && (
        <ul className="grid gap-0.5 text-xs text-dim">
          {Object.entries(checks).map(([name, each]) => (
            <li key={name} className="flex flex-wrap gap-x-2" data-testid="refit-checks" data-scheduler={name}>
              <SchedulerName name={name} />
              <span>{checksSentence(each)}</span>
            </li>
          ))}
        </ul>
      )}
      {view === "retrainings" ? <Retrainings /> : <SavedModels />}
    </div>
  );
}

function Retrainings() {
  const { items, more, error, older } = usePages<Retraining>(api.retrainings);
  const rows = useMemo(() => items ?? [], [items]);
  usePanelData(() => ({
    columns: [
      "time",
      "scheduler",
      "run",
      "tasks",
      "reason",
      "replaced",
      "trees",
      "error before",
      "error after",
      "rows",
    ],
    rows: rows.map((each) => [
      each.created,
      each.scheduler_name,
      each.run_id,
      each.tasks,
      each.reason,
      each.replaced,
      each.trees,
      each.error_before,
      each.error_after,
      each.rows,
    ]),
  }));
  if (items === null) return <Empty>{error ?? "Loading …"}</Empty>;
  if (rows.length === 0) return <Empty waitsFor="a refresh that makes a learner's model better" />;
  return (
    <ScrollRegion label="Retrainings" className="min-h-0 grow overflow-auto">
      <table className="data-table">
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Scheduler</th>
            <th scope="col" className="number">
              Replaced
            </th>
            <th scope="col" className="number">
              Error
            </th>
            <th scope="col" className="number">
              Rows
            </th>
            <th scope="col">Reason</th>
            <th scope="col" className="number">
              Run
            </th>
            <th scope="col" className="number">
              After tasks
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((each) => (
            <tr key={each.id} data-testid="retraining-row" data-id={each.id}>
              <td className="whitespace-nowrap text-dim">{formatDate(each.created)}</td>
              <td>
                <SchedulerName name={each.scheduler_name} />
              </td>
              <td className="number whitespace-nowrap">
                {each.replaced} of {each.trees}
              </td>
              <td className="number whitespace-nowrap">
                {formatNumber(each.error_before)} → {formatNumber(each.error_after)}
              </td>
              <td className="number">{formatNumber(each.rows)}</td>
              <td>{each.reason}</td>
              <td className="number">{each.run_id}</td>
              <td className="number">{each.tasks.toLocaleString("en-GB")}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {more && <Older onClick={older}>Show older retrainings</Older>}
    </ScrollRegion>
  );
}

function SavedModels() {
  const { items, more, error, older } = usePages<ModelVersion>(api.models);
  const rows = useMemo(() => items ?? [], [items]);
  usePanelData(() => ({
    columns: ["version", "scheduler", "saved", "rows", "R²", "MAE (s)"],
    rows: rows.map((each) => [each.id, each.scheduler_name, each.created, each.rows, each.r2, each.mae]),
  }));
  if (items === null) return <Empty>{error ?? "Loading …"}</Empty>;
  if (rows.length === 0) return <Empty waitsFor="the first saved model; learners are saved every so often" />;
  return (
    <ScrollRegion label="Saved models" className="min-h-0 grow overflow-auto">
      <table className="data-table">
        <thead>
          <tr>
            <th scope="col" className="number">
              Version
            </th>
            <th scope="col">Scheduler</th>
            <th scope="col">Saved</th>
            <th scope="col" className="number">
              Rows
            </th>
            <th scope="col" className="number">
              R²
            </th>
            <th scope="col" className="number">
              MAE
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((version) => (
            <tr key={version.id} data-testid="model-row">
              <td className="number">{version.id}</td>
              <td>
                <SchedulerName name={version.scheduler_name} />
              </td>
              <td className="whitespace-nowrap text-dim">{formatDate(version.created)}</td>
              <td className="number">{formatNumber(version.rows)}</td>
              <td className="number">{formatNumber(version.r2)}</td>
              <td className="number">{formatSeconds(version.mae)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {more && <Older onClick={older}>Show older models</Older>}
    </ScrollRegion>
  );
}

function Older({ onClick, children }: { onClick: () => void; children: string }) {
  return (
    <button type="button" className="button mx-auto my-2 flex" onClick={onClick}>
      {children}
    </button>
  );
}

export { RetrainingPanel as component };
