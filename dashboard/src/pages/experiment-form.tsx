/** Which experiment, over how many seeds and tasks: the service knows the experiments and checks the numbers. */
import { FlaskConical } from "lucide-react";
import { type FormEvent, useState } from "react";
import { ApiError, api } from "../api/client";
import type { ExperimentInfo, ExperimentRequest } from "../api/types";

/** An empty field means the experiment's own default. What is no number goes to the service, which says what is wrong. */
export function countOf(text: string): number | null {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  return Number.isFinite(Number(trimmed)) ? Number(trimmed) : (trimmed as unknown as number);
}

/** The one to begin with: whose own defaults ask for the fewest tasks. */
export function shortest(available: ExperimentInfo[]): string {
  const work = (each: ExperimentInfo) => each.default_seeds * each.default_tasks;
  return available.toSorted((a, b) => work(a) - work(b))[0]?.name ?? "";
}

interface ExperimentFormProps {
  available: ExperimentInfo[];
  /** One experiment at a time: the service would refuse a second. */
  running: boolean;
  onStarted: () => void;
}

export function ExperimentForm({ available, running, onStarted }: ExperimentFormProps) {
  const [name, setName] = useState(() => shortest(available));
  const [seeds, setSeeds] = useState("");
  const [tasks, setTasks] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const chosen = available.find((experiment) => experiment.name === name);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const wanted: ExperimentRequest = { name, seeds: countOf(seeds), tasks: countOf(tasks) };
    setBusy(true);
    setError(null);
    try {
      await api.startExperiment(wanted);
    } catch (reason) {
      if (!(reason instanceof ApiError)) throw reason;
      setError([reason.message, ...reason.details.map((detail) => String(detail.message ?? ""))].join(" "));
    } finally {
      setBusy(false);
      onStarted();
    }
  };

  return (
    <form onSubmit={submit} noValidate className="grid gap-3" aria-label="Start an experiment">
      <div className="flex flex-wrap items-end gap-3">
        <label className="grid min-w-40 grow gap-1 sm:grow-0">
          <span className="text-sm font-medium">Experiment</span>
          <select className="field" name="experiment" value={name} onChange={(event) => setName(event.target.value)}>
            {available.map((experiment) => (
              <option key={experiment.name} value={experiment.name}>
                {experiment.name}
              </option>
            ))}
          </select>
        </label>
        <Count label="Seeds" name="seeds" value={seeds} usual={chosen?.default_seeds} onChange={setSeeds} />
        <Count label="Tasks per seed" name="tasks" value={tasks} usual={chosen?.default_tasks} onChange={setTasks} />
        <button
          type="submit"
          className="button button-accent grow sm:grow-0"
          disabled={busy || running || chosen === undefined}
          title={running ? "One experiment at a time: wait for it, or cancel it" : undefined}
        >
          <FlaskConical size={15} aria-hidden /> {busy ? "Starting …" : "Start"}
        </button>
      </div>
      {chosen !== undefined && (
        <p className="max-w-prose text-dim" data-testid="experiment-question">
          {chosen.question}
        </p>
      )}
      {error !== null && (
        <p role="alert" data-testid="experiment-error" className="rounded-lg border border-bad px-3 py-2 text-[13px]">
          {error}
        </p>
      )}
    </form>
  );
}

interface CountProps {
  label: string;
  name: string;
  value: string;
  usual: number | null | undefined;
  onChange: (value: string) => void;
}

function Count({ label, name, value, usual, onChange }: CountProps) {
  return (
    <label className="grid min-w-24 flex-1 gap-1 sm:flex-none">
      <span className="text-sm font-medium">{label}</span>
      <input
        className="field w-full sm:w-32"
        name={name}
        inputMode="numeric"
        value={value}
        placeholder={usual === null || usual === undefined ? "its own" : usual.toLocaleString("en-GB")}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}
