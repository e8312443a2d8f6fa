/** Scoreboard: how often the row beats the column. */
import { memo, useMemo } from "react";
import { type Duel, duel, schedulersIn } from "../analysis/wins";
import { usePanelData } from "../charts/panel-data";
import { formatPercent, schedulerLabel } from "../format";
import { useRecent } from "../live/recent";
import { useUpdate } from "../live/store";
import { Empty } from "../ui/empty";
import { SchedulerName } from "../ui/scheduler-name";
import { ScrollRegion } from "../ui/scroll-region";
import { WindowNote } from "../ui/window-note";

export const title = "Scoreboard";
export const help =
  "Read a row: how often that scheduler answered the same task sooner than the one in the column. Green: the row wins more often than it loses; red: it loses more often. Ties count for nobody.";

function ScoreboardPanel() {
  const { items } = useRecent();
  const lineUp = useUpdate()?.settings?.schedulers;
  return <Matrix items={items} lineUp={lineUp?.join() ?? ""} />;
}

interface MatrixProps {
  items: ReturnType<typeof useRecent>["items"];
  lineUp: string;
}

const Matrix = memo(function Matrix({ items, lineUp }: MatrixProps) {
  const names = useMemo(() => schedulersIn(items, lineUp.split(",")), [items, lineUp]);
  const duels = useMemo(() => names.map((row) => names.map((column) => duel(items, row, column))), [items, names]);
  usePanelData(() => ({
    columns: ["row", "column", "wins", "losses", "ties", "tasks"],
    rows: names.flatMap((row, r) =>
      names.flatMap((column, c) => {
        const cell = duels[r]?.[c];
        return r === c || cell === undefined ? [] : [[row, column, cell.wins, cell.losses, cell.ties, cell.total]];
      }),
    ),
  }));
  if (names.length === 0) return <Empty waitsFor="the first task that every scheduler has finished" />;
  return (
    <div className="flex h-full flex-col gap-1">
      <ScrollRegion label="Scoreboard table" className="min-h-0 grow overflow-auto">
        <table className="h-full w-full border-separate border-spacing-[2px] text-[11px] @sm:border-spacing-[3px] @sm:text-[13px]">
          <thead>
            <tr>
              <td className="text-xs text-dim">row beats …</td>
              {names.map((name) => (
                <th
                  key={name}
                  scope="col"
                  className="px-0.5 text-[11px] leading-tight font-medium text-dim @sm:text-xs"
                  style={{ width: `${75 / names.length}%` }} // short names get no narrower columns
                >
                  {schedulerLabel(name)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {names.map((row, r) => (
              <tr key={row}>
                <th scope="row" className="pr-1 text-left leading-tight font-medium @sm:whitespace-nowrap">
                  <SchedulerName name={row} />
                </th>
                {names.map((column, c) => (
                  <ScoreCell key={column} row={row} column={column} cell={r === c ? undefined : duels[r]?.[c]} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      <WindowNote />
    </div>
  );
});

function ScoreCell({ row, column, cell }: { row: string; column: string; cell: Duel | undefined }) {
  if (cell === undefined || cell.total === 0)
    return <td className="rounded-md bg-(--track) text-center text-dim">·</td>;
  const share = cell.wins / cell.total;
  const margin = (cell.wins - cell.losses) / cell.total;
  const colour = margin >= 0 ? "var(--good)" : "var(--bad)";
  return (
    <td
      className="figure rounded-md py-1 text-center"
      style={{ background: `color-mix(in oklab, ${colour} ${(Math.abs(margin) * 38).toFixed(0)}%, var(--track))` }}
      title={`${schedulerLabel(row)} beats ${schedulerLabel(column)} on ${cell.wins} of ${cell.total} tasks, loses ${cell.losses}, ties ${cell.ties}`}
      data-testid="score-cell"
      data-row={row}
      data-column={column}
      data-value={share}
      data-wins={cell.wins}
      data-total={cell.total}
    >
      {formatPercent(share)}
    </td>
  );
}

export { ScoreboardPanel as component };
