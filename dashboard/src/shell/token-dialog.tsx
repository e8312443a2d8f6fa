/** Asks for the token when the service wants one. */
import { useState } from "react";
import { answerTokenPrompt, tokenPrompt } from "../api/token";
import { useStore } from "../store";
import { Dialog } from "../ui/dialog";

export function TokenDialog() {
  const { open, refused } = useStore(tokenPrompt);
  return open ? <Prompt refused={refused} /> : null;
}

function Prompt({ refused }: { refused: boolean }) {
  const [token, setToken] = useState("");
  return (
    <Dialog title="The service wants a token" onClose={() => answerTokenPrompt(null)}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (token.trim() !== "") answerTokenPrompt(token.trim());
        }}
      >
        <p className="mb-3 text-dim">
          {refused
            ? "The token this tab had was refused. Enter the one the service was started with (API_TOKEN)."
            : "This service was started with API_TOKEN. The token stays in this tab and is forgotten when it closes."}
        </p>
        <label className="grid gap-1">
          <span className="text-sm font-medium">Token</span>
          <input
            className="field"
            type="password"
            autoComplete="off"
            data-first
            value={token}
            onChange={(event) => setToken(event.target.value)}
          />
        </label>
        <div className="mt-4 flex justify-end gap-2">
          <button type="button" className="button" onClick={() => answerTokenPrompt(null)}>
            Not now
          </button>
          <button type="submit" className="button button-accent" disabled={token.trim() === ""}>
            Use token
          </button>
        </div>
      </form>
    </Dialog>
  );
}
