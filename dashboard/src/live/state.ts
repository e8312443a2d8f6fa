/** The live state and how a message changes it: pure functions, bounded arrays. */
import type { LiveMessage, LogLine, Notification, SimulationUpdate } from "../api/types";
import type { Connection } from "./socket";

export const LOG_LINES = 300;
export const PULSE_MS = 60_000;
const PULSE_GAP_MS = 450;
export const LEARNING_POINTS = 400;
const NOTICES = 4;
/** A fast race retrains every second; its news is shown once in so long. */
const SAME_NEWS_MS = 60_000;
const NEWS_KEPT = 20;

export interface PulseSample {
  at: number;
  utilization: SimulationUpdate["utilization"];
}

export interface LearningPoint {
  tasks: number;
  figures: Record<string, number | null>;
}

/** When a scheduler's backlog was first seen growing in this run. */
export interface Break {
  name: string;
  load: number;
  tasks: number;
}

export interface Notice extends Notification {
  key: number;
}

export interface LiveState {
  connection: Connection;
  retryAt: number | null;
  /** When the last update came, milliseconds since 1970. */
  receivedAt: number | null;
  update: SimulationUpdate | null;
  /** Number of the last update on this connection; null before the first. */
  seq: number | null;
  /** Updates the service sent and this page did not get (it was too slow or away). */
  missed: number;
  pulse: PulseSample[];
  learning: Record<string, LearningPoint[]>;
  breaks: Break[];
  /** Oldest first; no line twice, whichever connections it came over. */
  logs: LogLine[];
  notices: Notice[];
  /** What the service announced lately, numbers left out, so that it is not announced again at once. */
  news: { text: string; at: number }[];
}

export const initialState: LiveState = {
  connection: "connecting",
  retryAt: null,
  receivedAt: null,
  update: null,
  seq: null,
  missed: 0,
  pulse: [],
  learning: {},
  breaks: [],
  logs: [],
  notices: [],
  news: [],
};

let nextKey = 0;

/** The state after a message. An update that is older than the one shown changes nothing. */
export function receive(state: LiveState, message: LiveMessage, now: number): LiveState {
  switch (message.type) {
    case "simulation_update":
      return receiveUpdate(state, message, now);
    case "log":
      return receiveLine(state, message);
    case "notification":
      return receiveNews(state, message, now);
    default:
      return state;
  }
}

/** A new connection begins with the last lines once more. */
function receiveLine(state: LiveState, line: LogLine): LiveState {
  const last = state.logs.at(-1);
  if (last === undefined || line.id > last.id) return { ...state, logs: [...state.logs.slice(1 - LOG_LINES), line] };
  if (state.logs.some(({ id }) => id === line.id)) return state;
  const logs = [...state.logs, line].sort((a, b) => a.id - b.id);
  return { ...state, logs: logs.slice(-LOG_LINES) };
}

function receiveNews(state: LiveState, notice: Notification, now: number): LiveState {
  const text = notice.message.replaceAll(/\d+/g, "#");
  if (state.news.some((known) => known.text === text && now - known.at < SAME_NEWS_MS)) return state;
  const news = [...state.news.filter((known) => known.text !== text).slice(1 - NEWS_KEPT), { text, at: now }];
  return addNotice({ ...state, news }, notice);
}

export function addNotice(state: LiveState, notice: Notification): LiveState {
  return { ...state, notices: [...state.notices.slice(1 - NOTICES), { ...notice, key: nextKey++ }] };
}

function receiveUpdate(state: LiveState, update: SimulationUpdate, now: number): LiveState {
  if (state.seq !== null && update.seq <= state.seq) return state;
  const sameRun = state.update !== null && state.update.run_id === update.run_id;
  return {
    ...state,
    update,
    seq: update.seq,
    receivedAt: now,
    missed: state.seq === null ? state.missed : state.missed + update.seq - state.seq - 1,
    pulse: extendPulse(sameRun ? state.pulse : [], update, now),
    learning: extendLearning(sameRun ? state.learning : {}, update),
    breaks: extendBreaks(sameRun ? state.breaks : [], update),
  };
}

/** A new connection may be to a service that counts from the beginning again. */
export function connectionChanged(state: LiveState, connection: Connection, retryAt: number | null): LiveState {
  return { ...state, connection, retryAt, ...(connection === "open" ? { seq: null, missed: 0 } : {}) };
}

function extendPulse(pulse: PulseSample[], update: SimulationUpdate, now: number): PulseSample[] {
  const last = pulse.at(-1);
  if (last !== undefined && now - last.at < PULSE_GAP_MS) return pulse;
  const kept = pulse.filter((sample) => now - sample.at <= PULSE_MS);
  kept.push({ at: now, utilization: update.utilization });
  return kept;
}

function extendLearning(learning: LiveState["learning"], update: SimulationUpdate): LiveState["learning"] {
  let next = learning;
  for (const model of update.learning) {
    const points = next[model.scheduler_name] ?? [];
    const last = points.at(-1);
    if (last !== undefined && sameFigures(last.figures, model.figures)) continue;
    const point = { tasks: update.tasks_processed, figures: model.figures };
    next = { ...next, [model.scheduler_name]: [...thinned(points), point] };
  }
  return next;
}

/** Every other point once the series is full: the whole run stays in view, in bounded memory. */
function thinned(points: LearningPoint[]): LearningPoint[] {
  return points.length < LEARNING_POINTS ? points : points.filter((_, index) => index % 2 === 0);
}

function sameFigures(a: LearningPoint["figures"], b: LearningPoint["figures"]): boolean {
  return Object.keys(b).every((key) => a[key] === b[key]);
}

function extendBreaks(breaks: Break[], update: SimulationUpdate): Break[] {
  const known = new Set(breaks.map((entry) => entry.name));
  const fresh = update.comparison.filter((entry) => entry.overloaded && !known.has(entry.name));
  if (fresh.length === 0) return breaks;
  const load = update.settings?.load ?? Number.NaN;
  return [...breaks, ...fresh.map((entry) => ({ name: entry.name, load, tasks: update.tasks_processed }))];
}
