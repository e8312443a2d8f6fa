/** Console: the service's log as it comes. */
import { memo, useEffect, useRef, useState } from "react";
import { usePanelData } from "../charts/panel-data";
import { formatClock } from "../format";
import type { Line } from "../live/state";
import { useLive } from "../live/store";
import { Empty } from "../ui/empty";
import { Segmented } from "../ui/segmented";

export const id = "console";
export const title = "Console";
export const help =
  "The service's own log, newest at the bottom: who placed which task where, and what the learners did. Scroll up and it stays there; scroll to the end and it follows again.";

const LEVELS = [
  { value: "info", label: "All" },
  { value: "warning", label: "Warnings" },
  { value: "error", label: "Errors" },
] as const;
type Level = (typeof LEVELS)[number]["value"];
const WEIGHT: Record<Level, number> = { info: 0, warning: 1, error: 2 };
const COLOUR: Record<Level, string> = { info: "text-dim", warning: "text-warn", error: "text-bad" };
/** Within so many pixels of the end the view follows. */
const NEAR_END = 24;

function ConsolePanel() {
  const logs = useLive((state) => state.logs);
  const [least, setLeast] = useState<Level>("info");
  const box = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const shown = logs.filter((line) => WEIGHT[line.level] >= WEIGHT[least]);
  const last = shown.at(-1)?.key;
  usePanelData(() => ({
    columns: ["time", "level", "message"],
    rows: shown.map((line) => [new Date(line.time * 1000).toISOString(), line.level, line.message]),
  }));
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new last line is what moves the view.
  useEffect(() => {
    if (follows.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [last]);
  return (
    <div className="flex h-full flex-col gap-2">
      <Segmented label="Least level" value={least} options={LEVELS} onChange={setLeast} />
      {shown.length === 0 ? (
        <Empty />
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
            <LogRow key={line.key} line={line} />
          ))}
        </div>
      )}
    </div>
  );
}

const LogRow = memo(function LogRow({ line }: { line: Line }) {
  return (
    <p className="break-words">
      <time className="mr-2 text-dim">{formatClock(line.time * 1000)}</time>
      {line.level !== "info" && <span className={`mr-2 font-semibold ${COLOUR[line.level]}`}>{line.level}</span>}
      {line.message}
    </p>
  );
});

export { ConsolePanel as component };
