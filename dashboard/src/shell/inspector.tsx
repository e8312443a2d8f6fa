/** Decision inspector: one task, every scheduler's choice, and what the alternatives would have cost. */
import { useCallback, useState } from "react";
import { api } from "../api/client";
import { useResource } from "../api/resource";
import { formatNumber, formatPercent, formatSeconds } from "../format";
import { useRecent } from "../live/recent";
import { useStore } from "../store";
import { Dialog } from "../ui/dialog";
import { Empty } from "../ui/empty";
import { Fact } from "./decision";
import { DecisionTabs } from "./decision-tabs";
import { type Inspected, inspected } from "./inspected";
import { Unfinished } from "./unfinished";

export function Inspector() {
  const shown = useStore(inspected);
  return shown === null ? null : <InspectorDialog key={shown.taskId} shown={shown} />;
}

function InspectorDialog({ shown }: { shown: Inspected }) {
  return (
    <Dialog title={`Task ${shown.taskId}`} className="max-w-4xl" onClose={() => inspected.set(null)}>
      {shown.waits === undefined ? (
        <Finished shown={shown} />
      ) : (
        <FromTheWaitingRoom shown={shown} scheduler={shown.waits} />
      )}
    </Dialog>
  );
}

/** A task is stored, and can be read, once every scheduler has finished it. */
function FromTheWaitingRoom({ shown, scheduler }: { shown: Inspected; scheduler: string }) {
  const stored = useRecent().items.some((item) => item.task_id === shown.taskId);
  const [asked, setAsked] = useState(false);
  return stored || asked ? (
    <Finished shown={shown} />
  ) : (
    <Unfinished taskId={shown.taskId} scheduler={scheduler} onAsk={() => setAsked(true)} />
  );
}

function Finished({ shown }: { shown: Inspected }) {
  const load = useCallback((signal: AbortSignal) => api.task(shown.taskId, signal), [shown.taskId]);
  const { data, error } = useResource(load);
  return (
    <>
      {data === null ? (
        <Empty>{error ?? "Loading …"}</Empty>
      ) : (
        <div data-testid="inspector" data-task={data.task_id}>
          <dl className="mb-4 grid grid-cols-2 gap-2 sm:grid-cols-3 lg:grid-cols-6">
            <Fact label="Size" value={formatNumber(data.size)} exact={data.size} />
            <Fact label="Intensity" value={formatNumber(data.compute_intensity)} exact={data.compute_intensity} />
            <Fact label="Memory" value={`${formatNumber(data.memory_required)} MB`} exact={data.memory_required} />
            <Fact label="Arrived at" value={formatSeconds(data.arrival_time)} exact={data.arrival_time} />
            <Fact label="Best time, idle node" value={formatSeconds(data.optimal_time)} exact={data.optimal_time} />
            <Fact
              label="Best GPU share"
              value={formatPercent(data.optimal_gpu_fraction)}
              exact={data.optimal_gpu_fraction}
            />
          </dl>
          {data.dependencies.length > 0 && (
            <p className="mb-3 text-dim">
              Waited for tasks{" "}
              {data.dependencies.map((each) => (Array.isArray(each) ? `${each[0]} (${each[1]} MB)` : each)).join(", ")}.
            </p>
          )}
          <DecisionTabs decisions={data.decisions} results={data.results} first={shown.scheduler} />
        </div>
      )}
    </>
  );
}
