/** Heatmap: where GPUs win. */
import { memo, useMemo, useState } from "react";
import { fastest, gpuHeatmap, INTENSITY_EDGES, sizeEdges } from "../analysis/bins";
import { schedulersIn } from "../analysis/wins";
import type { ComparativeItem } from "../api/types";
import { usePanelData } from "../charts/panel-data";
import { formatNumber, formatPercent } from "../format";
import { useRecent } from "../live/recent";
import { Empty } from "../ui/empty";
import { SchedulerSelect } from "../ui/scheduler-name";
import { WindowNote } from "../ui/window-note";

export const title = "Where GPUs win";
export const help =
  "Tasks sorted by size (left to right) and compute intensity (bottom to top): blue where the fastest placement put the work on GPUs, amber where it stayed on the CPU; the number is the GPU's share.";

const SIZE_BINS = 6;

function HeatmapPanel() {
  const { items } = useRecent();
  const [scheduler, setScheduler] = useState("");
  if (items.length === 0) return <Empty waitsFor="the first task that every scheduler has finished" />;
  return (
    <div className="flex h-full flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <SchedulerSelect
          label="Whose placements"
          value={scheduler}
          names={schedulersIn(items)}
          all="Fastest of all"
          onChange={setScheduler}
        />
        <WindowNote />
        <span className="ml-auto text-xs text-dim">size →, intensity ↑</span>
      </div>
      <Grid items={items} scheduler={scheduler} />
    </div>
  );
}

const Grid = memo(function Grid({ items, scheduler }: { items: ComparativeItem[]; scheduler: string }) {
  const edges = useMemo(
    () =>
      sizeEdges(
        items.map((item) => item.size),
        SIZE_BINS,
      ),
    [items],
  );
  const cells = useMemo(
    () => gpuHeatmap(items, edges, scheduler === "" ? fastest : (item) => item.results[scheduler]),
    [items, edges, scheduler],
  );
  usePanelData(() => ({
    columns: ["intensity from", "intensity to", "size from", "size to", "tasks", "GPU share"],
    rows: cells.flatMap((row, r) =>
      row.map((cell, c) => [
        INTENSITY_EDGES[r] ?? null,
        INTENSITY_EDGES[r + 1] ?? null,
        edges[c] ?? null,
        edges[c + 1] ?? null,
        cell.count,
        cell.gpuShare,
      ]),
    ),
  }));
  const rows = cells
    .map((row, r) => ({ row, from: INTENSITY_EDGES[r] ?? 0, to: INTENSITY_EDGES[r + 1] ?? 1 }))
    .reverse();
  return (
    <div className="min-h-0 grow overflow-auto">
      <table className="h-full w-full table-fixed border-separate border-spacing-[3px] text-xs">
        <tbody>
          {rows.map(({ row, from, to }) => (
            <tr key={from}>
              <th scope="row" className="figure w-16 pr-1 text-right font-normal text-dim">
                {from}–{to}
              </th>
              {row.map((cell, c) => (
                <td
                  key={edges[c]}
                  className="figure rounded-md text-center"
                  style={{ background: cellColour(cell.gpuShare) }}
                  title={`${cell.count} tasks`}
                  data-testid="heat-cell"
                  data-value={cell.gpuShare ?? ""}
                  data-count={cell.count}
                >
                  {cell.gpuShare === null ? <span className="text-dim">·</span> : formatPercent(cell.gpuShare)}
                </td>
              ))}
            </tr>
          ))}
          <tr className="h-4">
            <td />
            {edges.slice(0, -1).map((edge, c) => (
              <th key={edge} scope="col" className="figure text-left font-normal whitespace-nowrap text-dim">
                <span className="sr-only">size from </span>
                {formatNumber(edge, 2)}
                <span className="sr-only"> to {formatNumber(edges[c + 1], 2)}</span>
              </th>
            ))}
          </tr>
        </tbody>
      </table>
    </div>
  );
});

/** Kept pale enough for the number on it to be read in both themes. */
function cellColour(share: number | null): string {
  if (share === null) return "var(--track)";
  const [colour, strength] = share >= 0.5 ? ["--gpu", share - 0.5] : ["--cpu", 0.5 - share];
  return `color-mix(in oklab, var(${colour}) ${(8 + strength * 74).toFixed(0)}%, var(--track))`;
}

export { HeatmapPanel as component };
