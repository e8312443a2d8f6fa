/** Summary: the race in numbers. */
import { bestOf, formatterOf } from "../analysis/metrics";
import { usePanelData } from "../charts/panel-data";
import { formatPercent, headline } from "../format";
import { useMetricInfo, useRaceMetrics } from "../live/metric-catalogue";
import { useUpdate } from "../live/store";
import { Link, schedulerPath } from "../router";
import { Empty } from "../ui/empty";
import { SchedulerName } from "../ui/scheduler-name";
import { ScrollRegion } from "../ui/scroll-region";

export const title = "Summary";
export const help =
  "Means per task over this run; the best of each column is green. Gap is how far the mean response is above the lower bound of the same tasks: 50 % means half as long again as nobody could beat. Unfinished counts tasks that have arrived and are not done: when it keeps growing the scheduler is overloaded. Waiting counts those it has not started.";

function SummaryPanel() {
  const update = useUpdate();
  const metrics = useRaceMetrics();
  const wait = useMetricInfo()("avg_wait");
  const comparison = update?.comparison ?? [];
  usePanelData(() => ({
    columns: [
      "scheduler",
      "tasks",
      ...metrics.map(({ label, unit }) => label.toLowerCase() + (unit === "" ? "" : ` (${unit})`)),
      `${wait?.short ?? "wait"} (${wait?.symbol ?? ""})`,
      "GPU share",
      "unfinished",
      "waiting",
      "failed",
      "overloaded",
    ],
    rows: comparison.map((entry) => [
      entry.name,
      entry.tasks,
      ...metrics.map((metric) => entry[metric.mean]),
      entry.avg_wait,
      entry.gpu_share,
      entry.unfinished,
      entry.waiting,
      entry.failed,
      entry.overloaded,
    ]),
  }));
  if (comparison.length === 0) return <Empty waitsFor="the first finished task" />;
  const best = new Map(metrics.map((metric) => [metric.id, bestOf(comparison, metric)]));
  return (
    <ScrollRegion label="Summary table">
      <table className="data-table h-full">
        <thead>
          <tr>
            <th scope="col">Scheduler</th>
            {metrics.map((metric) => (
              <th key={metric.id} scope="col" className="number">
                {metric.label}
              </th>
            ))}
            <th scope="col" className="number">
              {headline(wait?.short ?? "wait")}
            </th>
            <th scope="col" className="number">
              GPU share
            </th>
            <th scope="col" className="number">
              Tasks
            </th>
            <th scope="col" className="number">
              Unfinished
            </th>
            <th scope="col" className="number" title="Ready, and not started yet by a scheduler that lets tasks wait">
              Waiting
            </th>
          </tr>
        </thead>
        <tbody>
          {comparison.map((entry) => (
            <tr key={entry.name} data-testid="summary-row" data-scheduler={entry.name}>
              <th scope="row">
                <Link href={schedulerPath(entry.name)} className="inline-flex hover:underline">
                  <SchedulerName name={entry.name} />
                </Link>
              </th>
              {metrics.map((metric) => {
                const value = entry[metric.mean];
                const wins = value !== null && value === best.get(metric.id);
                return (
                  <td
                    key={metric.id}
                    data-metric={metric.id}
                    data-value={value ?? ""}
                    className={`number ${wins ? "font-semibold text-good" : ""}`}
                  >
                    {metric.format(value)}
                  </td>
                );
              })}
              <td className="number">{formatterOf(wait)(entry.avg_wait)}</td>
              <td className="number">{formatPercent(entry.gpu_share)}</td>
              <td className="number">{entry.tasks.toLocaleString("en-GB")}</td>
              <td className={`number ${entry.overloaded ? "font-semibold text-bad" : ""}`}>
                {entry.unfinished.toLocaleString("en-GB")}
              </td>
              <td className="number">{entry.waiting.toLocaleString("en-GB")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

export { SummaryPanel as component };
