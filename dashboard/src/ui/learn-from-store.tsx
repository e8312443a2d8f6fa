/** Buttons that train the learners of the race on the labels in the store. */
import { useState } from "react";
import { api } from "../api/client";
import { messageOf } from "../api/resource";
import { useCatalogue } from "../live/catalogue";

export function LearnFromStore() {
  const { racing } = useCatalogue();
  const [busy, setBusy] = useState<string | null>(null);
  const [result, setResult] = useState("");
  const learners = racing.filter((info) => info.learns_from_labels);
  if (learners.length === 0) return null;
  const learn = async (name: string) => {
    setBusy(name);
    setResult("");
    try {
      const { message } = await api.learnFromStore(name);
      setResult(message);
    } catch (error) {
      setResult(messageOf(error) ?? "");
    } finally {
      setBusy(null);
    }
  };
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-2 text-xs text-dim">
      {learners.map(({ name }) => (
        <button
          key={name}
          type="button"
          className="button"
          disabled={busy !== null}
          title="Train it from scratch on the labels that live runs have collected"
          onClick={() => void learn(name)}
        >
          {busy === name ? "Training …" : `Train ${name} on stored labels`}
        </button>
      ))}
      <output aria-live="polite">{result}</output>
    </div>
  );
}
