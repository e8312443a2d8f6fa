/** Clearing history cannot be undone, so it asks first. */
import { useState } from "react";
import { ApiError, api } from "../api/client";
import { refreshRecent } from "../live/recent";
import { notify } from "../live/store";
import { Dialog } from "../ui/dialog";

export function ClearDialog({ onClose }: { onClose: () => void }) {
  const [busy, setBusy] = useState(false);
  const clear = async () => {
    setBusy(true);
    try {
      const gone = await api.clearHistory();
      const much = `${gone.tasks.toLocaleString("en-GB")} tasks and ${gone.results.toLocaleString("en-GB")} results are gone`;
      notify("info", gone.done ? `History cleared: ${much}.` : `Clearing the history takes a while: ${much} so far.`);
      await refreshRecent();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      notify("error", error.message);
    } finally {
      onClose();
    }
  };
  return (
    <Dialog title="Clear the history?" onClose={onClose}>
      <p>All stored tasks, results, training records and finished runs are deleted. This cannot be undone.</p>
      <div className="mt-4 flex justify-end gap-2">
        <button type="button" className="button" data-first onClick={onClose}>
          Keep it
        </button>
        <button type="button" className="button button-bad" disabled={busy} onClick={() => void clear()}>
          {busy ? "Clearing …" : "Clear history"}
        </button>
      </div>
    </Dialog>
  );
}
