/** A task that is not stored yet, as one scheduler sees it: whether it waits, how long, overtaken how often, and why. */
import { useCallback } from "react";
import { api } from "../api/client";
import { useResource } from "../api/resource";
import { formatNumber, formatSeconds, schedulerLabel } from "../format";
import { Empty } from "../ui/empty";
import { Fact } from "./decision";

const REFRESH_MS = 1_000;

interface UnfinishedProps {
  taskId: number;
  scheduler: string;
  /** The person wants its results, whether or not they are there. */
  onAsk: () => void;
}

export function Unfinished({ taskId, scheduler, onAsk }: UnfinishedProps) {
  const load = useCallback(
    (signal: AbortSignal) => api.waiting(scheduler, { task_id: taskId }, signal),
    [taskId, scheduler],
  );
  const { data, error } = useResource(load, REFRESH_MS);
  const task = data?.tasks[0];
  if (data === null) return <Empty>{error ?? "Loading …"}</Empty>;
  if (task === undefined) {
    return (
      <Empty>
        {schedulerLabel(scheduler)} has started it. What became of it is shown here once every scheduler has finished
        it.{" "}
        <button type="button" className="underline" onClick={onAsk}>
          Look for it now
        </button>
      </Empty>
    );
  }
  return (
    <div data-testid="unfinished" data-task={taskId}>
      <dl className="mb-4 grid grid-cols-2 gap-2 sm:grid-cols-4">
        <Fact label="Size" value={formatNumber(task.size)} exact={task.size} />
        <Fact label="Intensity" value={formatNumber(task.compute_intensity)} exact={task.compute_intensity} />
        <Fact label="Memory" value={`${formatNumber(task.memory_required)} MB`} exact={task.memory_required} />
        <Fact label="Kind" value={task.kind} />
        <Fact label="Ready at" value={formatSeconds(task.ready_time)} exact={task.ready_time} />
        <Fact label="Has waited" value={formatSeconds(task.waited)} exact={task.waited} />
        <Fact label="Overtaken" value={`${task.overtaken.toLocaleString("en-GB")} ×`} exact={task.overtaken} />
        <Fact label="Expected to start at" value={formatSeconds(task.expected_start)} exact={task.expected_start} />
      </dl>
      <p className="rounded-lg bg-raised px-3 py-2">
        <b>Why it waits: </b>
        {task.reason} It is one of {data.waiting.toLocaleString("en-GB")} tasks that wait for{" "}
        {schedulerLabel(scheduler)}.
      </p>
    </div>
  );
}
