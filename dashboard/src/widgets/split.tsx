/** Split: how a scheduler divides the work. */
import { useMemo } from "react";
import { split } from "../analysis/devices";
import { usePanelData } from "../charts/panel-data";
import { deviceColours } from "../charts/theme";
import { deviceLabel, formatPercent, formatSeconds } from "../format";
import { useRecent } from "../live/recent";
import { Empty } from "../ui/empty";
import { WindowNote } from "../ui/window-note";
import type { WidgetProps } from ".";

export const title = "Split";
export const help =
  "Where this scheduler's work went: the bar divides all busy seconds by device; the mean GPU share says how much of an average task was given to a GPU.";

function SplitPanel({ scheduler }: WidgetProps) {
  const { items } = useRecent();
  const work = useMemo(() => split(items, scheduler), [items, scheduler]);
  usePanelData(() => ({
    columns: ["device", "busy seconds", "share"],
    rows: work.devices.map(({ device, seconds, share }) => [device, seconds, share]),
  }));
  if (work.tasks === 0 || work.gpuShare === null) return <Empty waitsFor="the first stored task of this scheduler" />;
  const colours = deviceColours(work.devices.map(({ device }) => device));
  return (
    <div className="flex h-full flex-col justify-around gap-3 overflow-auto">
      <div className="grid grid-cols-3 gap-2 text-center">
        <BigFigure name="gpu-share" label="of busy time on GPUs" value={work.gpuShare} colour="var(--gpu)" />
        <BigFigure name="cpu-share" label="of busy time on CPUs" value={1 - work.gpuShare} colour="var(--cpu)" />
        <BigFigure
          name="mean-fraction"
          label="mean GPU share of a task"
          value={work.meanFraction}
          colour="var(--ink)"
        />
      </div>
      <div className="flex h-5 overflow-hidden rounded-full bg-(--track)" aria-hidden>
        {work.devices.map(({ device, share }) => (
          <span key={device} style={{ width: `${share * 100}%`, background: colours[device] }} />
        ))}
      </div>
      <ul className="grid gap-1 text-[13px]">
        {work.devices.map(({ device, seconds, share }) => (
          <li
            key={device}
            className="flex items-center gap-2"
            data-testid="split-device"
            data-device={device}
            data-value={share}
          >
            <span aria-hidden className="size-2.5 rounded-sm" style={{ background: colours[device] }} />
            {deviceLabel(device)}
            <span className="figure ml-auto text-dim">{formatSeconds(seconds)}</span>
            <span className="figure w-12 text-right">{formatPercent(share)}</span>
          </li>
        ))}
      </ul>
      <WindowNote />
    </div>
  );
}

function BigFigure({
  name,
  label,
  value,
  colour,
}: {
  name: string;
  label: string;
  value: number | null;
  colour: string;
}) {
  return (
    <div data-testid={`split-${name}`} data-value={value ?? ""}>
      <div
        className="figure text-2xl font-semibold"
        style={{ color: `color-mix(in oklab, ${colour} 75%, var(--ink))` }}
      >
        {formatPercent(value)}
      </div>
      <div className="text-xs leading-tight text-dim">{label}</div>
    </div>
  );
}

export { SplitPanel as component };
