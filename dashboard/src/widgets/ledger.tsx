/** Ledger: every task under every scheduler. */
import { ArrowDown, ArrowUp, ChevronLeft, ChevronRight } from "lucide-react";
import { useDeferredValue, useMemo, useState } from "react";
import { type LedgerColumn, type LedgerView, ledgerRows } from "../analysis/ledger";
import { schedulersIn } from "../analysis/wins";
import type { Result } from "../api/types";
import { usePanelData } from "../charts/panel-data";
import { formatIn, formatMoment, formatTimes, headline, type Maybe, placementLabel } from "../format";
import { useMetricInfo } from "../live/metric-catalogue";
import { useRecent } from "../live/recent";
import { inspect } from "../shell/inspected";
import { Empty } from "../ui/empty";
import { SchedulerName, SchedulerSelect } from "../ui/scheduler-name";
import { ScrollRegion } from "../ui/scroll-region";
import { WindowNote } from "../ui/window-note";

export const title = "Ledger";
export const help =
  "One line per task and scheduler, newest first; click a heading to sort, a task number to see why it was placed there and what the other devices would have cost. Decided at and overtaken tell of schedulers that let tasks wait: when this one was started, in simulated time, and how often one that was ready after it went first.";

interface Column {
  id: LedgerColumn;
  label: string;
  numeric: boolean;
}

const WHO: Column[] = [
  { id: "task", label: "Task", numeric: true },
  { id: "scheduler", label: "Scheduler", numeric: false },
  { id: "placement", label: "Where", numeric: false },
];
/** Where results keep a figure, and the metric that says what it is called and its unit. */
const FIGURES: { id: LedgerColumn; metric: string; of: (result: Result) => number | null }[] = [
  { id: "time", metric: "avg_time", of: (result) => result.actual_time },
  { id: "wait", metric: "avg_wait", of: (result) => result.wait_time },
  { id: "response", metric: "avg_response", of: (result) => result.response_time },
  { id: "energy", metric: "energy", of: (result) => result.energy_consumption },
  { id: "cost", metric: "cost", of: (result) => result.execution_cost },
];
/** When its scheduler decided it, and how often others were first: later than ready only where tasks may wait. */
const ORDER: {
  id: LedgerColumn;
  label: string;
  of: (result: Result) => number | null;
  text: (value: Maybe) => string;
}[] = [
  { id: "decided", label: "Decided at", of: (result) => result.decided_time ?? null, text: formatMoment },
  { id: "overtaken", label: "Overtaken", of: (result) => result.overtaken ?? null, text: formatTimes },
];
const PAGE = 50;

function LedgerPanel() {
  const { items } = useRecent();
  const [view, setView] = useState<LedgerView>({ sort: "task", descending: true, scheduler: "", task: "" });
  const [page, setPage] = useState(0);
  const shownView = useDeferredValue(view);
  const rows = useMemo(() => ledgerRows(items, shownView), [items, shownView]);
  const names = useMemo(() => schedulersIn(items), [items]);
  const infoOf = useMetricInfo();
  const figures = FIGURES.map((figure) => {
    const info = infoOf(figure.metric);
    return { ...figure, numeric: true, label: headline(info?.short ?? figure.id), symbol: info?.symbol ?? "" };
  });
  usePanelData(() => ({
    columns: [
      "task",
      "scheduler",
      "where",
      ...figures.map(({ label, symbol }) => `${label} (${symbol})`),
      "ready at (s)",
      "decided at (s)",
      "overtaken",
      "failed",
    ],
    rows: rows.map(({ taskId, scheduler, result }) => [
      taskId,
      scheduler,
      placementLabel(result),
      ...figures.map(({ of }) => of(result)),
      result.ready_time ?? null,
      ...ORDER.map(({ of }) => of(result)),
      result.failed,
    ]),
  }));

  const change = (part: Partial<LedgerView>) => {
    setView({ ...view, ...part });
    setPage(0);
  };
  const sortBy = (column: LedgerColumn) =>
    change({ sort: column, descending: view.sort === column ? !view.descending : column === "task" });
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  const current = Math.min(page, pages - 1);
  const shown = rows.slice(current * PAGE, (current + 1) * PAGE);

  if (items.length === 0) return <Empty waitsFor="the first task that every scheduler has finished" />;
  return (
    <div className="flex h-full flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <SchedulerSelect
          label="Only this scheduler"
          value={view.scheduler}
          names={names}
          all="All schedulers"
          onChange={(scheduler) => change({ scheduler })}
        />
        <input
          className="field w-28 text-xs"
          type="search"
          inputMode="numeric"
          placeholder="Task number"
          aria-label="Task number begins with"
          value={view.task}
          onChange={(event) => change({ task: event.target.value })}
        />
        <WindowNote />
        <span className="ml-auto flex items-center gap-1 text-xs text-dim">
          <span className="figure">
            {rows.length === 0 ? 0 : current * PAGE + 1}–{current * PAGE + shown.length} of {rows.length}
          </span>
          <button
            type="button"
            className="icon-button"
            aria-label="Previous page"
            onClick={() => setPage(Math.max(0, current - 1))}
          >
            <ChevronLeft size={15} aria-hidden />
          </button>
          <button
            type="button"
            className="icon-button"
            aria-label="Next page"
            onClick={() => setPage(Math.min(pages - 1, current + 1))}
          >
            <ChevronRight size={15} aria-hidden />
          </button>
        </span>
      </div>
      {rows.length === 0 ? (
        <Empty>No task matches the filter</Empty>
      ) : (
        <ScrollRegion label="Ledger table" className="min-h-0 grow overflow-auto">
          <table className="data-table">
            <thead>
              <tr>
                {[...WHO, ...figures, ...ORDER.map((column) => ({ ...column, numeric: true }))].map((column) => {
                  const sorted = view.sort === column.id;
                  const Arrow = view.descending ? ArrowDown : ArrowUp;
                  return (
                    <th
                      key={column.id}
                      scope="col"
                      className={column.numeric ? "number" : ""}
                      aria-sort={sorted ? (view.descending ? "descending" : "ascending") : undefined}
                    >
                      <button
                        type="button"
                        className="inline-flex items-center gap-1 hover:text-ink"
                        onClick={() => sortBy(column.id)}
                      >
                        {column.label}
                        {sorted && <Arrow size={12} aria-hidden />}
                      </button>
                    </th>
                  );
                })}
              </tr>
            </thead>
            <tbody>
              {shown.map(({ key, taskId, scheduler, result }) => (
                <tr
                  key={key}
                  className="cursor-pointer hover:bg-raised"
                  data-testid="ledger-row"
                  data-task={taskId}
                  data-scheduler={scheduler}
                  onClick={() => inspect(taskId, scheduler)}
                >
                  <td className="number">
                    <button
                      type="button"
                      className="underline decoration-dotted underline-offset-2"
                      aria-label={`Inspect task ${taskId}`}
                    >
                      {taskId}
                    </button>
                  </td>
                  <td>
                    <SchedulerName name={scheduler} />
                  </td>
                  <td className="whitespace-nowrap text-dim">
                    {result.failed ? <span className="text-bad">failed</span> : placementLabel(result)}
                  </td>
                  {figures.map(({ id, symbol, of }) => (
                    <Figure key={id} name={id} value={of(result)} text={formatIn(symbol, of(result))} />
                  ))}
                  {ORDER.map(({ id, of, text }) => (
                    <Figure key={id} name={id} value={of(result)} text={text(of(result))} />
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      )}
    </div>
  );
}

function Figure({ name, value, text }: { name: string; value: number | null; text: string }) {
  return (
    <td className="number" data-cell={name} data-value={value ?? ""}>
      {text}
    </td>
  );
}

export { LedgerPanel as component };
