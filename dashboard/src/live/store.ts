/** The one live connection of the page. */
import { api } from "../api/client";
import { messageOf } from "../api/resource";
import { askForToken, currentToken, tokenPrompt } from "../api/token";
import type { LiveMessage, Notification } from "../api/types";
import { Store, useStore } from "../store";
import { LiveSocket } from "./socket";
import { addNotice, connectionChanged, initialState, type LiveState, receive } from "./state";

/** Log lines may come by the hundred; the page redraws at most ten times a second. */
const FLUSH_MS = 100;

export const live = new Store<LiveState>(initialState);

let pending: LiveMessage[] = [];
let flushTimer: ReturnType<typeof setTimeout> | null = null;

function flush(): void {
  flushTimer = null;
  const messages = pending;
  pending = [];
  live.update((state) => messages.reduce((value, message) => receive(value, message, Date.now()), state));
}

/** While the tab is hidden timers are rare: keep no more than the panels could show. */
const PENDING_LIMIT = 600;

function onMessage(message: LiveMessage): void {
  pending.push(message);
  if (pending.length > PENDING_LIMIT) pending = pending.slice(-PENDING_LIMIT / 2);
  if (flushTimer === null) flushTimer = setTimeout(flush, FLUSH_MS);
}

function address(): string {
  const { protocol, host } = window.location;
  const token = currentToken();
  const query = token === null ? "" : `?token=${encodeURIComponent(token)}`;
  return `${protocol === "https:" ? "wss:" : "ws:"}//${host}/ws${query}`;
}

let warned = false;

/** Said once: a service that sends one such message sends many. */
function onBadMessage(problem: string): void {
  if (warned) return;
  warned = true;
  notify(
    "warning",
    `The service sent a message that this page does not understand and leaves out: ${problem}. Reload the page; if this goes on, page and service are of different versions.`,
  );
}

const socket = new LiveSocket(address, {
  onMessage,
  onBadMessage,
  onConnection: (connection, retryAt) => {
    flush();
    live.update((state) => connectionChanged(state, connection, retryAt));
  },
  onRefused: () => void askWhenTokenIsMissing(),
});

let declined = false;

/** Browsers do not tell why a handshake failed; the status says whether a token is wanted. */
async function askWhenTokenIsMissing(): Promise<void> {
  if (declined || tokenPrompt.get().open || !(await tokenRequired())) return;
  if (live.get().connection !== "open") await enterToken();
}

async function tokenRequired(): Promise<boolean> {
  try {
    return (await api.status()).token_required;
  } catch (error) {
    // The lost connection is on the banner already.
    messageOf(error);
    return false;
  }
}

export async function enterToken(): Promise<void> {
  declined = (await askForToken()) === null;
  if (!declined) socket.retryNow();
}

/** Asks for the token first where one is wanted: a refused handshake would only fill the browser's console. */
async function openWithToken(): Promise<void> {
  if (currentToken() === null && (await tokenRequired())) declined = (await askForToken()) === null;
  socket.open();
}

/** Opens the connection; returns how to close it. */
export function connectLive(): () => void {
  const retry = () => socket.retryNow();
  const retryWhenVisible = () => !document.hidden && socket.retryNow();
  window.addEventListener("online", retry);
  document.addEventListener("visibilitychange", retryWhenVisible);
  void openWithToken();
  return () => {
    window.removeEventListener("online", retry);
    document.removeEventListener("visibilitychange", retryWhenVisible);
    socket.close();
  };
}

export const retryConnection = (): void => socket.retryNow();

export function notify(level: Notification["level"], message: string): void {
  live.update((state) => addNotice(state, { type: "notification", level, message }));
}

export function dismissNotice(key: number): void {
  live.update((state) => ({ ...state, notices: state.notices.filter((notice) => notice.key !== key) }));
}

export function useLive<S>(select: (state: LiveState) => S): S {
  return useStore(live, select);
}

export const useUpdate = () => useLive((state) => state.update);
