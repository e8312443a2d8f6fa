/** One run: its schedulers' figures as stored, and how it was set up. */
import { Download } from "lucide-react";
import type { MetricDescription, StoredRun } from "../api/types";
import { saveCsv } from "../charts/export";
import type { Cell, Table } from "../charts/table";
import { formatDate, formatIn, formatNumber, NOTHING } from "../format";
import { useMetricInfo } from "../live/metric-catalogue";
import { SchedulerName } from "../ui/scheduler-name";
import { ScrollRegion } from "../ui/scroll-region";
import { RunFiles } from "./run-files";

/** In the unit of the figure; what nobody describes stays a plain number. */
export function formatFigure(info: MetricDescription | undefined, value: Cell): string {
  if (typeof value !== "number") return value === null ? NOTHING : String(value);
  return formatIn(info?.symbol ?? "", value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A figure over several seeds is `{mean, low, high}`: its mean stands in the table. */
function cellOf(value: unknown): Cell | undefined {
  if (value === null || typeof value === "number" || typeof value === "boolean" || typeof value === "string")
    return value;
  return isRecord(value) && typeof value.mean === "number" ? value.mean : undefined;
}

/** One row per scheduler, one column per figure that is a plain value. */
export function figureTable(summary: unknown): Table {
  const found = isRecord(summary) && isRecord(summary.schedulers) ? summary.schedulers : summary;
  const schedulers = isRecord(found) ? Object.entries(found).filter(([, figures]) => isRecord(figures)) : [];
  const names: string[] = [];
  for (const [, figures] of schedulers) {
    for (const [name, value] of Object.entries(figures as Record<string, unknown>)) {
      if (cellOf(value) !== undefined && !names.includes(name)) names.push(name);
    }
  }
  return {
    columns: ["scheduler", ...names],
    rows: schedulers.map(([scheduler, figures]) => [
      scheduler,
      ...names.map((name) => cellOf((figures as Record<string, unknown>)[name]) ?? null),
    ]),
  };
}

/** Where the service keeps the files: they are offered as links, the place is of use to its operator only. */
const FOLDER = "folder";

/** Single values, one level deep: what a person looks for first. The rest is in the full configuration. */
export function plainSettings(configuration: Record<string, unknown>): [name: string, value: string][] {
  const found: [string, string][] = [];
  const add = (name: string, value: unknown) => {
    if (name === FOLDER) return;
    if (typeof value === "number") found.push([name, formatNumber(value, 4)]);
    else if (typeof value === "string" || typeof value === "boolean") found.push([name, String(value)]);
  };
  for (const [name, value] of Object.entries(configuration)) {
    if (isRecord(value)) for (const [inner, part] of Object.entries(value)) add(inner, part);
    else add(name, value);
  }
  return found;
}

export function RunFigures({ run }: { run: StoredRun }) {
  const table = figureTable(run.summary);
  const infoOf = useMetricInfo();
  return (
    <div className="grid gap-3 px-3 pb-3">
      {table.rows.length === 0 ? (
        <p className="text-dim">No data yet: figures are stored when a run ends.</p>
      ) : (
        <>
          <ScrollRegion label={`Figures of run ${run.id}`} className="overflow-x-auto">
            <table className="data-table">
              <thead>
                <tr>
                  {table.columns.map((column, index) => (
                    <th
                      key={column}
                      scope="col"
                      className={index === 0 ? "" : "number"}
                      title={infoOf(column)?.description}
                    >
                      {infoOf(column)?.title ?? column.replaceAll("_", " ")}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {table.rows.map(([scheduler, ...cells]) => (
                  <tr key={String(scheduler)}>
                    <th scope="row">
                      <SchedulerName name={String(scheduler)} />
                    </th>
                    {cells.map((cell, index) => (
                      <td key={table.columns[index + 1]} className="number">
                        {formatFigure(infoOf(table.columns[index + 1] ?? ""), cell)}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </ScrollRegion>
          <button
            type="button"
            className="button justify-self-start"
            onClick={() => saveCsv(table, `hybrid-scheduler-run-${run.id}`)}
          >
            <Download size={15} aria-hidden /> Save figures (CSV)
          </button>
        </>
      )}
      {run.kind === "experiment" && run.status === "finished" && <RunFiles run={run.id} />}
      <dl className="flex flex-wrap gap-x-6 gap-y-1 text-[13px]">
        {run.ended !== null && <Setting name="ended" value={formatDate(run.ended)} />}
        <Setting name="schedulers" value={run.schedulers.join(", ")} />
        {plainSettings(run.configuration).map(([name, value]) => (
          <Setting key={name} name={name} value={value} />
        ))}
      </dl>
      <details className="text-[13px] text-dim">
        <summary>Full configuration</summary>
        <ScrollRegion label={`Configuration of run ${run.id}`} className="mt-1 max-h-72 overflow-auto">
          <pre className="font-mono text-xs">{JSON.stringify(run.configuration, null, 2)}</pre>
        </ScrollRegion>
      </details>
    </div>
  );
}

function Setting({ name, value }: { name: string; value: string }) {
  return (
    <div className="max-w-full">
      <dt className="inline text-dim">{name.replaceAll("_", " ")} </dt>
      <dd className="inline font-mono text-xs break-words">{value}</dd>
    </div>
  );
}
