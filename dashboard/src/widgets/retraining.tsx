/** Retraining history: every saved model. */
import { useCallback, useMemo, useState } from "react";
import { CartesianGrid, Line, LineChart, Tooltip, XAxis, YAxis } from "recharts";
import { api } from "../api/client";
import { useResource } from "../api/resource";
import type { ModelVersion } from "../api/types";
import { ChartFrame } from "../charts/frame";
import { usePanelData } from "../charts/panel-data";
import { AXIS, GRID, MARGIN, TOOLTIP, X_AXIS } from "../charts/theme";
import { digitsFor, formatDate, formatNumber, formatSeconds } from "../format";
import { useCatalogue } from "../live/catalogue";
import { Empty } from "../ui/empty";
import { LearnFromStore } from "../ui/learn-from-store";
import { SchedulerName } from "../ui/scheduler-name";
import { ScrollRegion } from "../ui/scroll-region";

export const title = "Retraining history";
export const help =
  "Every saved model, newest first: how many tasks it learned from, R² (1 is perfect) and MAE, the mean error of its predictions in seconds.";

const REFRESH_MS = 10_000;

function RetrainingPanel() {
  const [pages, setPages] = useState(1);
  const load = useCallback(
    async (signal: AbortSignal) => {
      const versions: ModelVersion[] = [];
      let before: number | null = null;
      for (let page = 0; page < pages; page += 1) {
        const answer = await api.models(before, signal);
        versions.push(...answer.items);
        before = answer.next_cursor;
        if (before === null) break;
      }
      return { versions, more: before !== null };
    },
    [pages],
  );
  const { data, error } = useResource(load, REFRESH_MS);
  const { colour } = useCatalogue();
  const versions = useMemo(() => data?.versions ?? [], [data]);
  const series = useMemo(() => [...versions].reverse().filter((version) => version.r2 !== null), [versions]);
  usePanelData(() => ({
    columns: ["version", "scheduler", "created", "rows", "R²", "MAE (s)"],
    rows: versions.map(({ id: version, scheduler_name, created, rows, r2, mae }) => [
      version,
      scheduler_name,
      created,
      rows,
      r2,
      mae,
    ]),
  }));
  if (data === null) return <Empty>{error ?? "Loading …"}</Empty>;
  if (versions.length === 0) {
    return (
      <div className="flex h-full flex-col gap-2">
        <LearnFromStore />
        <Empty>No data yet: learners save a model after they have been refreshed</Empty>
      </div>
    );
  }
  const digits = digitsFor([...series.map(({ r2 }) => r2), 1]);
  const names = [...new Set(series.map((version) => version.scheduler_name))];
  return (
    <div className="flex h-full flex-col gap-2">
      <LearnFromStore />
      {series.length > 1 && (
        <ChartFrame
          className="h-28 flex-none"
          summary={`R² of ${series.length} saved models, latest ${formatNumber(series.at(-1)?.r2)}.`}
        >
          {({ width, height }) => (
            <LineChart width={width} height={height} margin={MARGIN} accessibilityLayer={false}>
              <CartesianGrid {...GRID} vertical={false} />
              <XAxis
                dataKey="id"
                type="number"
                domain={["dataMin", "dataMax"]}
                allowDecimals={false}
                allowDuplicatedCategory={false}
                {...X_AXIS}
              />
              <YAxis
                width={52}
                domain={["auto", 1]}
                tickCount={4}
                tickFormatter={(value: number) => formatNumber(value, digits)}
                {...AXIS}
              />
              <Tooltip
                {...TOOLTIP}
                formatter={(value) => formatNumber(Number(value))}
                labelFormatter={(value) => `version ${value}`}
              />
              {names.map((name) => (
                <Line
                  key={name}
                  data={series.filter((version) => version.scheduler_name === name)}
                  dataKey="r2"
                  name={`R² ${name}`}
                  stroke={colour(name)}
                  strokeWidth={2}
                  dot={false}
                  isAnimationActive={false}
                />
              ))}
            </LineChart>
          )}
        </ChartFrame>
      )}
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
            {versions.map((version) => (
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
        {data?.more && (
          <button type="button" className="button mx-auto my-2 flex" onClick={() => setPages(pages + 1)}>
            Show older models
          </button>
        )}
      </ScrollRegion>
    </div>
  );
}

export { RetrainingPanel as component };
