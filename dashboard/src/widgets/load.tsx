/** Load dial: turn the arrival rate up and watch who breaks first. */
import { type KeyboardEvent, type PointerEvent, useRef } from "react";
import { usePanelData } from "../charts/panel-data";
import { formatNumber, formatPercent } from "../format";
import { useLive, useUpdate } from "../live/store";
import { changeSettings, useDraft } from "../shell/settings";
import { Empty } from "../ui/empty";
import { SchedulerName } from "../ui/scheduler-name";

export const title = "Load dial";
export const help =
  "Load is the arrival rate as a share of what the node could take at best. Turn it up with the mouse or the arrow keys: schedulers whose backlog grows are listed in the order in which they broke.";

const [LEAST, MOST] = [0.01, 2];
/** From seven o'clock to five o'clock. */
const SWEEP = 300;
const MARKS = [0.01, 0.03, 0.1, 0.3, 1, 2];

/** A constant factor per degree: 1 % and 2 % are as far apart as 50 % and 100 %. */
export const angleOf = (load: number): number =>
  (Math.log(Math.min(MOST, Math.max(LEAST, load)) / LEAST) / Math.log(MOST / LEAST)) * SWEEP - SWEEP / 2;
export const loadAt = (angle: number): number => {
  const share = Math.min(1, Math.max(0, (angle + SWEEP / 2) / SWEEP));
  return Number((LEAST * (MOST / LEAST) ** share).toPrecision(2));
};

function at(angle: number, radius: number): [x: number, y: number] {
  const radians = ((angle - 90) * Math.PI) / 180;
  return [100 + radius * Math.cos(radians), 100 + radius * Math.sin(radians)];
}

function arc(from: number, to: number, radius: number): string {
  return `M ${at(from, radius).join(" ")} A ${radius} ${radius} 0 ${to - from > 180 ? 1 : 0} 1 ${at(to, radius).join(" ")}`;
}

function LoadDialPanel() {
  const update = useUpdate();
  const breaks = useLive((state) => state.breaks);
  const [load, setLoad] = useDraft(update?.settings?.load, (value) => void changeSettings({ load: value }));
  usePanelData(() => ({
    columns: ["scheduler", "unfinished", "overloaded", "first seen overloaded at load"],
    rows: (update?.comparison ?? []).map((entry) => [
      entry.name,
      entry.unfinished,
      entry.overloaded,
      breaks.find((known) => known.name === entry.name)?.load ?? null,
    ]),
  }));
  if (update === null || load === undefined) return <Empty waitsFor="the first message of the race" />;
  const standing = new Set(update.comparison.filter((entry) => !entry.overloaded).map((entry) => entry.name));
  return (
    <div className="flex h-full flex-wrap content-center-safe items-center justify-center gap-x-5 gap-y-2 overflow-auto">
      <Dial load={load} rate={update.rates.arrival_rate} onChange={setLoad} />
      <div className="w-full text-[13px] @md:w-auto @md:min-w-40 @md:grow @md:basis-40">
        {breaks.length === 0 ? (
          <p className="text-dim">Everybody keeps up. Turn the load up and watch who breaks first.</p>
        ) : (
          <ol className="grid gap-1" aria-label="Broke first">
            {breaks.map((entry, index) => (
              <li key={entry.name} className="flex items-center gap-2">
                <span className="figure w-5 text-right text-dim">{index + 1}.</span>
                <SchedulerName name={entry.name} />
                <span
                  className={`ml-auto text-xs whitespace-nowrap ${standing.has(entry.name) ? "text-dim" : "text-bad"}`}
                >
                  at {formatPercent(entry.load)}
                  {standing.has(entry.name) && ", caught up"}
                </span>
              </li>
            ))}
          </ol>
        )}
        {breaks.length > 0 && (
          <p className="mt-2 text-xs text-dim">
            {standing.size} of {update.comparison.length} keep up now
          </p>
        )}
      </div>
    </div>
  );
}

interface DialProps {
  load: number;
  rate: number;
  onChange: (load: number) => void;
}

function Dial({ load, rate, onChange }: DialProps) {
  const face = useRef<SVGSVGElement>(null);
  const angle = angleOf(load);
  const turn = (event: PointerEvent) => {
    const box = face.current?.getBoundingClientRect();
    if (box === undefined || event.buttons === 0) return;
    const x = event.clientX - box.left - box.width / 2;
    const y = event.clientY - box.top - box.height / 2;
    onChange(loadAt((Math.atan2(x, -y) * 180) / Math.PI));
  };
  const key = (event: KeyboardEvent) => {
    const steps: Record<string, number> = {
      ArrowUp: 8,
      ArrowRight: 8,
      ArrowDown: -8,
      ArrowLeft: -8,
      PageUp: 32,
      PageDown: -32,
      Home: -SWEEP,
      End: SWEEP,
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    onChange(loadAt(angle + step));
  };
  const colour = load > 1 ? "var(--bad)" : load > 0.6 ? "var(--warn)" : "var(--accent)";
  return (
    <div
      role="slider"
      tabIndex={0}
      aria-label="Load"
      aria-valuemin={LEAST * 100}
      aria-valuemax={MOST * 100}
      aria-valuenow={Math.round(load * 1000) / 10}
      aria-valuetext={`${formatPercent(load)} of capacity, ${formatNumber(rate)} tasks per second`}
      data-testid="load-dial"
      data-value={load}
      className="w-56 max-w-full flex-none cursor-grab touch-none rounded-full @md:w-64"
      onKeyDown={key}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        turn(event);
      }}
      onPointerMove={turn}
    >
      <svg ref={face} viewBox="8 12 184 176" className="block w-full" aria-hidden="true">
        <path
          d={arc(-SWEEP / 2, SWEEP / 2, 78)}
          fill="none"
          stroke="var(--track)"
          strokeWidth={14}
          strokeLinecap="round"
        />
        <path
          d={arc(angleOf(1), SWEEP / 2, 78)}
          fill="none"
          stroke="var(--bad)"
          strokeOpacity={0.35}
          strokeWidth={14}
          strokeLinecap="round"
        />
        {angle > -SWEEP / 2 + 0.5 && (
          <path d={arc(-SWEEP / 2, angle, 78)} fill="none" stroke={colour} strokeWidth={14} strokeLinecap="round" />
        )}
        <circle
          cx={at(angle, 78)[0]}
          cy={at(angle, 78)[1]}
          r={11}
          fill="var(--solid)"
          stroke={colour}
          strokeWidth={4}
        />
        {MARKS.map((mark) => {
          const [x, y] = at(angleOf(mark), 57);
          return (
            <text key={mark} x={x} y={y + 3.5} textAnchor="middle" fontSize={11} fill="var(--ink-dim)">
              {mark * 100}
            </text>
          );
        })}
        <text x={100} y={100} textAnchor="middle" fontSize={27} fontWeight={650} fill="var(--ink)">
          {formatPercent(load, load < 0.1 ? 1 : 0)}
        </text>
        <text x={100} y={120} textAnchor="middle" fontSize={11.5} fill="var(--ink-dim)">
          {formatNumber(rate)} tasks/s
        </text>
        <text x={100} y={137} textAnchor="middle" fontSize={10.5} fill="var(--ink-dim)">
          of capacity
        </text>
      </svg>
    </div>
  );
}

export { LoadDialPanel as component };
