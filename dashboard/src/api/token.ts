/** The token for calls that change something: kept for this tab only, asked for when the service wants it. */
import { Store } from "../store";

const KEY = "hms.token";

/** True while the prompt is open. */
export const tokenPrompt = new Store<{ open: boolean; refused: boolean }>({ open: false, refused: false });

let waiting: ((token: string | null) => void)[] = [];

export function currentToken(): string | null {
  return sessionStorage.getItem(KEY);
}

/** Opens the prompt; several calls that fail at once share it. Null when the person declines. */
export function askForToken(): Promise<string | null> {
  tokenPrompt.set({ open: true, refused: currentToken() !== null });
  return new Promise((resolve) => waiting.push(resolve));
}

export function answerTokenPrompt(token: string | null): void {
  if (token !== null) sessionStorage.setItem(KEY, token);
  tokenPrompt.set({ open: false, refused: false });
  const resolvers = waiting;
  waiting = [];
  for (const resolve of resolvers) resolve(token);
}
