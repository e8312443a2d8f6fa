/** One experiment that was started here: how far it is, or what came of it. */
import { ChartNoAxesCombined, X } from "lucide-react";
import { useState } from "react";
import { api } from "../api/client";
import { messageOf } from "../api/resource";
import type { ExperimentJob } from "../api/types";
import { formatTimeLeft } from "../format";
import { notify } from "../live/store";
import { FileLinks, PICTURE } from "./run-files";

const COLOURS: Record<ExperimentJob["state"], string> = {
  running: "text-good",
  finished: "text-accent",
  failed: "text-bad",
  cancelled: "text-warn",
};

/** "3 of 10 parts · about 12 s left". */
export function progressText({ done, total, seconds_left }: ExperimentJob): string {
  const parts = total > 0 ? `${done} of ${total} parts` : "preparing";
  return seconds_left === null ? parts : `${parts} · about ${formatTimeLeft(seconds_left)} left`;
}

interface ExperimentJobCardProps {
  job: ExperimentJob;
  onChanged: () => void;
  /** Shows figures and all files of a stored run; plots are only there, a card with all of them would be long. */
  onOpenRun: (run: number) => void;
}

export function ExperimentJobCard({ job, onChanged, onOpenRun }: ExperimentJobCardProps) {
  const { run_id: run } = job;
  return (
    <li
      className="grid gap-2 rounded-xl border border-line px-3 py-2.5"
      data-testid="experiment-job"
      data-job={job.id}
      data-state={job.state}
    >
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="font-medium">{job.name}</span>
        <span className={`tag ${COLOURS[job.state]}`}>{job.state}</span>
        <span className="grow" />
        {job.state === "running" && <CancelButton job={job} onChanged={onChanged} />}
        {job.state === "finished" && run !== null && (
          <button type="button" className="button" onClick={() => onOpenRun(run)}>
            <ChartNoAxesCombined size={15} aria-hidden /> Figures and plots of run {run}
          </button>
        )}
      </div>
      {job.state === "running" && <Progress job={job} />}
      {job.message !== "" && <p className="text-[13px] break-words text-dim">{job.message}</p>}
      {job.state === "finished" && run !== null && (
        <FileLinks
          run={run}
          files={job.files.filter((name) => !PICTURE.test(name)).map((name) => ({ name, bytes: null }))}
        />
      )}
    </li>
  );
}

function Progress({ job }: { job: ExperimentJob }) {
  const share = job.total > 0 ? Math.min(1, job.done / job.total) : 0;
  return (
    <div className="grid gap-1">
      <div
        role="progressbar"
        aria-label={`Progress of ${job.name}`}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(share * 100)}
        aria-valuetext={progressText(job)}
        className="h-2 overflow-hidden rounded-full bg-(--track)"
      >
        <div
          className="h-full w-full origin-left rounded-full bg-accent transition-transform duration-500"
          style={{ transform: `scaleX(${share})` }}
        />
      </div>
      <span className="figure text-[13px] text-dim" data-testid="experiment-progress">
        {progressText(job)}
      </span>
    </div>
  );
}

function CancelButton({ job, onChanged }: { job: ExperimentJob; onChanged: () => void }) {
  const [busy, setBusy] = useState(false);
  const cancel = async () => {
    setBusy(true);
    try {
      await api.cancelExperiment(job.id);
    } catch (error) {
      const message = messageOf(error);
      if (message !== null) notify("error", message);
    } finally {
      setBusy(false);
      onChanged();
    }
  };
  return (
    <button type="button" className="button" disabled={busy} onClick={() => void cancel()}>
      <X size={15} aria-hidden /> {busy ? "Cancelling …" : "Cancel"}
    </button>
  );
}
