/** Insights: what moves with what. */
import { memo, useMemo, useState } from "react";
import { correlations, VARIABLES } from "../analysis/correlation";
import { schedulersIn } from "../analysis/wins";
import type { ComparativeItem } from "../api/types";
import { usePanelData } from "../charts/panel-data";
import { formatSigned } from "../format";
import { useCatalogue } from "../live/catalogue";
import { useRecent } from "../live/recent";
import { Empty } from "../ui/empty";
import { SchedulerSelect } from "../ui/scheduler-name";
import { ScrollRegion } from "../ui/scroll-region";
import { WindowNote } from "../ui/window-note";

export const title = "Insights";
export const help =
  "Pearson correlation between task features and results of one scheduler: +1 (red) they rise together, −1 (blue) one falls when the other rises, 0 (grey) no straight-line link; · means a figure did not vary.";

function InsightsPanel() {
  const { items } = useRecent();
  const { reference } = useCatalogue();
  const [chosen, setChosen] = useState("");
  const names = useMemo(() => schedulersIn(items), [items]);
  const contestant = names.find((name) => name !== reference?.name) ?? names[0];
  const scheduler = names.includes(chosen) ? chosen : contestant;
  if (scheduler === undefined) return <Empty waitsFor="the first stored tasks" />;
  return (
    <div className="flex h-full flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <SchedulerSelect label="Scheduler" value={scheduler} names={names} onChange={setChosen} />
        <WindowNote />
      </div>
      <Matrix items={items} scheduler={scheduler} />
    </div>
  );
}

const Matrix = memo(function Matrix({ items, scheduler }: { items: ComparativeItem[]; scheduler: string }) {
  const matrix = useMemo(() => correlations(items, scheduler), [items, scheduler]);
  usePanelData(() => ({
    columns: ["", ...VARIABLES.map(({ label }) => label)],
    rows: matrix.map((row, r) => [VARIABLES[r]?.label ?? "", ...row]),
  }));
  return (
    <ScrollRegion label="Correlation matrix" className="min-h-0 grow overflow-auto">
      <table className="h-full w-full min-w-140 table-fixed border-separate border-spacing-[2px] text-xs">
        <thead>
          <tr>
            <td className="w-18" />
            {VARIABLES.map(({ label }) => (
              <th key={label} scope="col" className="text-[11px] font-normal text-dim">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {VARIABLES.map(({ label }, r) => (
            <tr key={label}>
              <th scope="row" className="pr-1 text-right font-normal text-dim">
                {label}
              </th>
              {VARIABLES.map((column, c) => {
                const value = matrix[r]?.[c] ?? null;
                return (
                  <td
                    key={column.label}
                    className="figure rounded text-center"
                    style={{ background: correlationColour(value) }}
                    data-testid="correlation"
                    data-value={value ?? ""}
                  >
                    {value === null ? "·" : formatSigned(value)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
});

function correlationColour(value: number | null): string {
  if (value === null) return "transparent";
  const colour = value >= 0 ? "#ef4444" : "#3b82f6";
  return `color-mix(in oklab, ${colour} ${(Math.abs(value) * 50).toFixed(0)}%, var(--track))`;
}

export { InsightsPanel as component };
