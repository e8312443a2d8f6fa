/** Compare two: one scheduler against another. */
import { useMemo, useState } from "react";
import { duel } from "../analysis/wins";
import { usePanelData } from "../charts/panel-data";
import { formatIn, formatNumber, formatPercent, headline, schedulerLabel } from "../format";
import { useCatalogue } from "../live/catalogue";
import { useMetricInfo, useMetrics } from "../live/metric-catalogue";
import { useRecent } from "../live/recent";
import { useUpdate } from "../live/store";
import { Empty } from "../ui/empty";
import { SchedulerDot, SchedulerSelect } from "../ui/scheduler-name";
import { WindowNote } from "../ui/window-note";

export const title = "Compare two";
export const help =
  "Two schedulers side by side: each pair of bars shows a mean over this run, the shorter one is better; the line at the bottom says who was sooner on the same tasks.";

function ComparePanel() {
  const update = useUpdate();
  const { items } = useRecent();
  const { colour } = useCatalogue();
  const infoOf = useMetricInfo();
  const names = update?.comparison.map((entry) => entry.name) ?? [];
  const [chosen, setChosen] = useState<[string, string]>(["", ""]);
  const left = names.includes(chosen[0]) ? chosen[0] : (names.find((name) => name !== chosen[1]) ?? "");
  const right = names.includes(chosen[1]) ? chosen[1] : (names.findLast((name) => name !== left) ?? "");
  const outcome = useMemo(() => duel(items, left, right), [items, left, right]);
  const a = update?.comparison.find((entry) => entry.name === left);
  const b = update?.comparison.find((entry) => entry.name === right);
  const lines = [
    ...useMetrics().map((metric) => ({
      label: metric.label,
      a: a?.[metric.mean] ?? null,
      b: b?.[metric.mean] ?? null,
      format: metric.format,
    })),
    {
      label: headline(infoOf("avg_wait")?.short ?? "wait"),
      a: a?.avg_wait ?? null,
      b: b?.avg_wait ?? null,
      format: (value: number | null) => formatIn(infoOf("avg_wait")?.symbol ?? "", value),
    },
    { label: "GPU share", a: a?.gpu_share ?? null, b: b?.gpu_share ?? null, format: formatPercent },
  ];
  usePanelData(() => ({
    columns: ["figure", left, right],
    rows: [
      ...lines.map((line) => [line.label, line.a, line.b]),
      ["sooner on the same task", outcome.wins, outcome.losses],
    ],
  }));
  if (a === undefined || b === undefined)
    return names.length === 1 ? (
      <Empty>Only one scheduler is in the race</Empty>
    ) : (
      <Empty waitsFor="two schedulers in the race" />
    );
  return (
    <div className="flex h-full flex-col gap-2 overflow-auto">
      <div className="grid grid-cols-2 gap-3">
        {([left, right] as const).map((name, side) => (
          <div key={side === 0 ? "left" : "right"} className="flex min-w-0 items-center gap-2">
            <SchedulerDot colour={colour(name)} />
            <SchedulerSelect
              label={side === 0 ? "First scheduler" : "Second scheduler"}
              value={name}
              names={names}
              onChange={(next) =>
                setChosen(side === 0 ? [next, next === right ? left : right] : [next === left ? right : left, next])
              }
            />
          </div>
        ))}
      </div>
      <dl className="grid grow content-around gap-1.5">
        {lines.map((line) => (
          <Pair key={line.label} {...line} colours={[colour(left), colour(right)]} />
        ))}
      </dl>
      {outcome.total > 0 ? (
        <p className="text-[13px]" data-testid="compare-duel" data-value={outcome.wins}>
          {schedulerLabel(left)} was sooner on <b className="figure">{outcome.wins}</b> tasks, {schedulerLabel(right)}{" "}
          on <b className="figure">{outcome.losses}</b>, {outcome.ties} ties · <WindowNote />
        </p>
      ) : (
        <p className="text-[13px] text-dim">No tasks in common yet</p>
      )}
    </div>
  );
}

interface PairProps {
  label: string;
  a: number | null;
  b: number | null;
  format: (value: number | null) => string;
  colours: [string, string];
}

function Pair({ label, a, b, format, colours }: PairProps) {
  const most = Math.max(a ?? 0, b ?? 0);
  const width = (value: number | null) => `${most > 0 ? ((value ?? 0) / most) * 100 : 0}%`;
  const ratio = label !== "GPU share" && a !== null && b !== null && a > 0 && b > 0 ? a / b : null;
  return (
    <div>
      <dt className="flex text-xs text-dim">
        {label}
        {ratio !== null && (
          <span className="figure ml-auto">
            {ratio >= 1 ? `${formatNumber(ratio)} : 1` : `1 : ${formatNumber(1 / ratio)}`}
          </span>
        )}
      </dt>
      <dd className="grid grid-cols-2 gap-3">
        {([a, b] as const).map((value, side) => (
          <span key={side === 0 ? "left" : "right"} className="grid grid-cols-[1fr_4.8rem] items-center gap-2">
            <span className="h-2.5 overflow-hidden rounded-full bg-(--track)">
              <span
                className="block h-full rounded-full border border-ink/20"
                style={{ width: width(value), backgroundColor: colours[side] }}
              />
            </span>
            <span className="figure text-right text-[13px]">{format(value)}</span>
          </span>
        ))}
      </dd>
    </div>
  );
}

export { ComparePanel as component };
