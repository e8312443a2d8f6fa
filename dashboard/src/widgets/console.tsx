/** Console: what the service does, as it happens. */
import { memo, useEffect, useRef, useState } from "react";
import type { LogLine } from "../api/types";
import { usePanelData } from "../charts/panel-data";
import { formatClock } from "../format";
import { useCatalogue } from "../live/catalogue";
import { LOG_LINES } from "../live/state";
import { useLive, useUpdate } from "../live/store";
import { Empty } from "../ui/empty";
import { SchedulerDot, SchedulerSelect } from "../ui/scheduler-name";
import { Segmented } from "../ui/segmented";

export const title = "Console";
export const help = `The service's own log, newest at the bottom: where schedulers put their tasks, and what else happened. A few decisions a second get a line, every scheduler in turn; "+12 more" counts those of the same scheduler since its last line. Scroll up and it stays there; scroll to the end and it follows again. The last ${LOG_LINES} lines are kept.`;

const SHOWN = [
  { value: "all", label: "All" },
  { value: "decision", label: "Decisions" },
  { value: "info", label: "Info" },
  { value: "warning", label: "Warnings" },
  { value: "error", label: "Errors" },
] as const;
type Shown = (typeof SHOWN)[number]["value"];
const COLOUR: Record<LogLine["level"], string> = { info: "text-dim", warning: "text-warn", error: "text-bad" };
/** Within so many pixels of the end the view follows. */
const NEAR_END = 24;

const categoryOf = (line: LogLine): Shown => (line.kind === "decision" ? "decision" : line.level);

/** Whether a line is about a scheduler: its own decision, or an event that names it. */
export function isAbout(line: LogLine, scheduler: string): boolean {
  return line.scheduler === null ? line.message.split(/[^\w-]+/).includes(scheduler) : line.scheduler === scheduler;
}

function ConsolePanel() {
  const logs = useLive((state) => state.logs);
  const racing = useUpdate()?.settings?.schedulers ?? [];
  const [wanted, setWanted] = useState<Shown>("all");
  const [scheduler, setScheduler] = useState("");
  const box = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const shown = logs.filter(
    (line) => (wanted === "all" || categoryOf(line) === wanted) && (scheduler === "" || isAbout(line, scheduler)),
  );
  const last = shown.at(-1)?.id;
  const skipped = shown.reduce((sum, line) => sum + line.skipped, 0);
  usePanelData(() => ({
    columns: ["time", "level", "scheduler", "message", "decisions without a line before"],
    rows: shown.map((line) => [
      new Date(line.time * 1000).toISOString(),
      categoryOf(line),
      line.scheduler,
      line.message,
      line.skipped,
    ]),
  }));
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new last line is what moves the view.
  useEffect(() => {
    if (follows.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [last]);
  return (
    <div className="flex h-full flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <Segmented label="Lines to show" value={wanted} options={SHOWN} onChange={setWanted} />
        <SchedulerSelect
          label="Lines about this scheduler"
          value={scheduler}
          names={racing}
          onChange={setScheduler}
          all="every scheduler"
        />
        {skipped > 0 && (
          <span className="text-xs text-dim" data-testid="console-skipped" data-value={skipped}>
            +{skipped.toLocaleString("en-GB")} more decisions
          </span>
        )}
      </div>
      {shown.length === 0 ? (
        logs.length === 0 ? (
          <Empty waitsFor="the first line of the log" />
        ) : (
          <Empty>None of the last {logs.length} lines is of this kind.</Empty>
        )
      ) : (
        <div
          ref={box}
          role="log"
          aria-live="off"
          aria-label="Log"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard.
          tabIndex={0}
          className="min-h-0 grow overflow-auto rounded-lg bg-(--track) p-2 font-mono text-xs leading-relaxed"
          onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
            follows.current = scrollHeight - scrollTop - clientHeight < NEAR_END;
          }}
        >
          {shown.map((line) => (
            <LogRow key={line.id} line={line} />
          ))}
        </div>
      )}
    </div>
  );
}

const LogRow = memo(function LogRow({ line }: { line: LogLine }) {
  const { colour } = useCatalogue();
  return (
    <p
      className="break-words"
      data-testid="console-line"
      data-id={line.id}
      data-kind={line.kind}
      data-scheduler={line.scheduler ?? ""}
    >
      <time className="mr-2 text-dim">{formatClock(line.time * 1000)}</time>
      {line.level !== "info" && <span className={`mr-2 font-semibold ${COLOUR[line.level]}`}>{line.level}</span>}
      {line.scheduler !== null && (
        <span className="mr-1.5">
          <SchedulerDot colour={colour(line.scheduler)} />
        </span>
      )}
      {line.message}
      {line.skipped > 0 && <span className="ml-2 text-dim">+{line.skipped.toLocaleString("en-GB")} more</span>}
    </p>
  );
});

export { ConsolePanel as component };
