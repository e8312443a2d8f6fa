/** Put your own task into the race; the service checks it and answers with every scheduler's decision. */
import { type FormEvent, useState } from "react";
import { ApiError, api, type Detail } from "../api/client";
import type { TaskAccepted, TaskRequest } from "../api/types";
import { useLive } from "../live/store";
import { Dialog } from "../ui/dialog";
import { DecisionTabs } from "./decision-tabs";

const FIELDS = [
  { name: "size", label: "Size", hint: "problem size N; most tasks have 100 to 5000", start: "960" },
  {
    name: "compute_intensity",
    label: "Compute intensity",
    hint: "0 to 1: how much it gains from a GPU",
    start: "0.75",
  },
  { name: "memory_required", label: "Memory (MB)", hint: "what must be moved to a GPU", start: "81" },
  {
    name: "dependencies",
    label: "Waits for tasks",
    hint: "stored task numbers with commas between; may be empty",
    start: "",
  },
] as const;
type FieldName = (typeof FIELDS)[number]["name"] | "kind";
type Kind = NonNullable<TaskRequest["kind"]>;
const KINDS: readonly Kind[] = ["matmul", "conv2d", "sort", "fft", "spmm", "axpy", "cholesky", "loop"];
/** What follows from kind and size. */
const KERNELS_OWN: readonly string[] = ["compute_intensity", "memory_required"];
type Draft = Record<FieldName, string>;

/** What cannot be read as a number goes to the service as it is: it has the words for what is wrong. */
const numberOr = (text: string): number =>
  text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : (text as unknown as number);

export function taskOf(draft: Draft): TaskRequest {
  return {
    size: numberOr(draft.size),
    compute_intensity: numberOr(draft.compute_intensity),
    memory_required: numberOr(draft.memory_required),
    ...(draft.kind === "" ? {} : { kind: draft.kind as Kind }),
    dependencies: draft.dependencies
      .split(/[\s,]+/)
      .filter((part) => part !== "")
      .map(numberOr),
  };
}

/** Messages by field; a detail names its field as `size`, `body.size` or `dependencies.0`. */
export function messagesByField(details: readonly Detail[]): Partial<Record<FieldName, string>> {
  const messages: Partial<Record<FieldName, string>> = {};
  for (const detail of details) {
    const parts = String(detail.field ?? "").split(".");
    const field = ([...FIELDS.map(({ name }) => name), "kind"] as const).find((name) => parts.includes(name));
    if (field !== undefined) messages[field] ??= String(detail.message ?? "");
  }
  return messages;
}

export function TaskDialog({ onClose }: { onClose: () => void }) {
  const real = useLive((state) => state.update?.settings?.node === "machine");
  const [draft, setDraft] = useState(
    () =>
      ({ ...Object.fromEntries(FIELDS.map(({ name, start }) => [name, start])), kind: real ? "matmul" : "" }) as Draft,
  );
  const [error, setError] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const [accepted, setAccepted] = useState<TaskAccepted | null>(null);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      setAccepted(await api.submitTask(taskOf(draft)));
    } catch (reason) {
      if (!(reason instanceof ApiError)) throw reason;
      setError(reason);
    } finally {
      setBusy(false);
    }
  };

  if (accepted !== null) {
    return (
      <Dialog title={`Task ${accepted.task.task_id} is in the race`} className="max-w-4xl" onClose={onClose}>
        <p className="mb-3 text-dim">
          What every scheduler decided, and what will come of it; the final result will be in the ledger.
        </p>
        <DecisionTabs decisions={accepted.decisions} first={null} />
        <div className="mt-4 flex justify-end gap-2">
          <button type="button" className="button" onClick={() => setAccepted(null)}>
            Another task
          </button>
          <button type="button" className="button button-accent" onClick={onClose}>
            Done
          </button>
        </div>
      </Dialog>
    );
  }
  const messages = messagesByField(error?.details ?? []);
  return (
    <Dialog title="Put your own task into the race" onClose={onClose}>
      <form onSubmit={submit} noValidate className="grid gap-3">
        <label className="grid gap-1">
          <span className="text-sm font-medium">Kind</span>
          <select
            className="field"
            name="kind"
            value={draft.kind}
            onChange={(event) => setDraft({ ...draft, kind: event.target.value })}
          >
            {!real && <option value="">no kernel</option>}
            {KINDS.map((kind) => (
              <option key={kind}>{kind}</option>
            ))}
          </select>
          <span className="text-xs text-dim">
            {messages.kind ?? "of a kernel, intensity and memory follow from its size N"}
          </span>
        </label>
        {FIELDS.map(({ name, label, hint }) => (
          <label key={name} className="grid gap-1">
            <span className="text-sm font-medium">{label}</span>
            <input
              className={`field ${messages[name] === undefined ? "" : "border-bad"}`}
              name={name}
              inputMode={name === "dependencies" ? "text" : "decimal"}
              value={draft[name]}
              disabled={draft.kind !== "" && KERNELS_OWN.includes(name)}
              aria-invalid={messages[name] !== undefined}
              aria-describedby={`task-${name}`}
              onChange={(event) => setDraft({ ...draft, [name]: event.target.value })}
            />
            <span id={`task-${name}`} className={`text-xs ${messages[name] === undefined ? "text-dim" : "text-bad"}`}>
              {messages[name] ?? hint}
            </span>
          </label>
        ))}
        {error !== null && (
          <p role="alert" data-testid="task-error" className="rounded-lg border border-bad px-3 py-2 text-[13px]">
            {error.message}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button button-accent" disabled={busy}>
            {busy ? "Sending …" : "Send task"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
