/** Waiting room: who is ready and not started yet. */
import { useCallback, useState } from "react";
import { api } from "../api/client";
import { useResource } from "../api/resource";
import type { WaitingRoom } from "../api/types";
import { usePanelData } from "../charts/panel-data";
import { formatNumber, formatSeconds, schedulerLabel } from "../format";
import { useCatalogue } from "../live/catalogue";
import { useUpdate } from "../live/store";
import { inspectWaiting } from "../shell/inspected";
import { Empty } from "../ui/empty";
import { SchedulerName, SchedulerSelect } from "../ui/scheduler-name";
import { ScrollRegion } from "../ui/scroll-region";

export const title = "Waiting room";
export const help =
  "Tasks that are ready and that a scheduler has not started, the oldest first: how long each has waited, how often one that came after it was started before it, and when the scheduler expects to start it. Short tasks leave quickly and huge ones are overtaken; a number that only grows means that a task starves. Click a row to see why it waits.";

const RUNNING_MS = 1_000;
const RESTING_MS = 10_000;

/** The waiting room of a scheduler, read again and again; null while unknown. */
function useWaitingRoom(scheduler: string | null): WaitingRoom | null {
  const update = useUpdate();
  const run = update?.run_id ?? null;
  const state = update?.state;
  const load = useCallback(
    // `state` is no argument, but a race that halts or goes on is looked at anew.
    async (signal: AbortSignal) =>
      scheduler === null || run === null || state === undefined
        ? null
        : { room: await api.waiting(scheduler, {}, signal), scheduler },
    [scheduler, run, state],
  );
  const { data } = useResource(load, state === "running" ? RUNNING_MS : RESTING_MS);
  return data?.scheduler === scheduler && data?.room.run_id === run ? data.room : null;
}

function WaitingPanel() {
  const { racing, all } = useCatalogue();
  const [chosen, setChosen] = useState("");
  const names = racing.filter((info) => info.lets_wait).map((info) => info.name);
  const scheduler = names.includes(chosen) ? chosen : (names[0] ?? null);
  const room = useWaitingRoom(scheduler);
  const tasks = room?.tasks ?? [];
  usePanelData(() => ({
    columns: ["task", "kind", "size", "ready at (s)", "waited (s)", "overtaken", "expected start (s)", "why"],
    rows: tasks.map((task) => [
      task.task_id,
      task.kind,
      task.size,
      task.ready_time,
      task.waited,
      task.overtaken,
      task.expected_start,
      task.reason,
    ]),
  }));
  if (all.length === 0) return <Empty waitsFor="the list of schedulers" />;
  if (scheduler === null) {
    return <Empty>No scheduler in the race lets tasks wait: each task is decided the moment it is ready.</Empty>;
  }
  if (room === null) return <Empty waitsFor="the first look into the room" />;
  const longest = Math.max(...tasks.map((task) => task.waited), 1e-12);
  const more = room.waiting - tasks.length;
  return (
    <div className="flex h-full flex-col gap-2" data-testid="waiting-room" data-waiting={room.waiting}>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-dim">
        {names.length > 1 ? (
          <SchedulerSelect label="Whose waiting room" value={scheduler} names={names} onChange={setChosen} />
        ) : (
          <SchedulerName name={scheduler} className="font-medium text-ink" />
        )}
        <span className="figure">
          <b className="text-ink">{room.waiting.toLocaleString("en-GB")}</b>{" "}
          {room.waiting === 1 ? "task waits" : "tasks wait"}
        </span>
        {tasks[0] !== undefined && <span className="figure">the oldest for {formatSeconds(tasks[0].waited)}</span>}
      </div>
      {tasks.length === 0 ? (
        <div className="grid min-h-16 grow place-content-center text-center text-dim">
          <p>Nobody waits for {schedulerLabel(scheduler)} just now.</p>
          <p className="text-[13px]">The busier the node, the longer the line: turn the load up to see it.</p>
        </div>
      ) : (
        <ScrollRegion label="Waiting tasks" className="min-h-0 grow overflow-auto">
          <table className="data-table">
            <thead>
              <tr>
                <th scope="col" className="number">
                  Task
                </th>
                <th scope="col" className="@max-sm:hidden">
                  Kind
                </th>
                <th scope="col" className="number">
                  Size
                </th>
                <th scope="col" className="number @sm:w-2/5 @sm:min-w-28">
                  Waited
                </th>
                <th scope="col" className="number">
                  Overtaken
                </th>
                <th scope="col" className="number" title="When the scheduler expects to start it">
                  Starts in
                </th>
              </tr>
            </thead>
            <tbody>
              {tasks.map((task) => (
                <tr
                  key={task.task_id}
                  className="cursor-pointer hover:bg-raised"
                  title={task.reason}
                  data-testid="waiting-task"
                  data-task={task.task_id}
                  onClick={() => inspectWaiting(task.task_id, scheduler)}
                >
                  <td className="number">
                    <button
                      type="button"
                      className="underline decoration-dotted underline-offset-2"
                      aria-label={`Inspect task ${task.task_id}`}
                    >
                      {task.task_id}
                    </button>
                    <span className="hidden text-[11px] text-dim @max-sm:block">{task.kind}</span>
                  </td>
                  <td className="@max-sm:hidden">{task.kind}</td>
                  <td className="number">{formatNumber(task.size)}</td>
                  <td className="number" data-cell="waited" data-value={task.waited}>
                    <span className="flex items-center justify-end gap-2">
                      <span className="h-2 grow overflow-hidden rounded-full bg-(--track) @max-sm:hidden" aria-hidden>
                        <span
                          className="block h-full rounded-full bg-accent"
                          style={{ width: `${(task.waited / longest) * 100}%` }}
                        />
                      </span>
                      <span className="@sm:w-14">{formatSeconds(task.waited)}</span>
                    </span>
                  </td>
                  <td
                    className={`number ${task.overtaken > 0 ? "font-semibold" : "text-dim"}`}
                    data-cell="overtaken"
                    data-value={task.overtaken}
                  >
                    {task.overtaken.toLocaleString("en-GB")} ×
                  </td>
                  <td className="number" data-cell="expected-start" data-value={task.expected_start ?? ""}>
                    {task.expected_start == null
                      ? formatSeconds(null)
                      : formatSeconds(Math.max(0, task.expected_start - room.simulated_time))}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      )}
      {more > 0 && (
        <p className="text-xs text-dim" data-testid="waiting-more">
          and <span className="figure">{more.toLocaleString("en-GB")}</span> more that came later
        </p>
      )}
    </div>
  );
}

export { WaitingPanel as component };
