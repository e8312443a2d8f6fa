/** Runs the guided run: changes settings as a person would, watches the live state, and puts everything back. */
import { api } from "../api/client";
import { messageOf } from "../api/resource";
import type { LiveSettings, SettingsChange, SimulationUpdate } from "../api/types";
import { catalogue } from "../live/catalogue";
import { live, notify } from "../live/store";
import { navigate } from "../router";
import { persisted, readStored, Store } from "../store";
import { ACTS, type Act, type Moment, paced, paceOf, restoring, sameRace } from "./acts";
import { castOf, newStory, observe, type Said, type Story, shifted, words } from "./story";

/** How it ended: to the end, or because the race was changed or stopped, or because the page lost it. */
export type Ending = "done" | "changed" | "stopped" | "lost";

export interface Show {
  act: Act;
  /** The last moment that was told; 0 before the first. */
  moment: Moment | 0;
  said: Said[];
  broken: string[];
  /** Seconds of the whole that have passed, and the whole. */
  seconds: number;
  total: number;
  ending: Ending | null;
  /** Whether the race is back as it was. */
  restored: boolean;
}

export const showMe = new Store<Show | null>(null);

const TICK_MS = 250;
/** An update that was under way may still show the settings before. */
const SETTLE_MS = 2_500;
/** While a page runs it, it says so this often at least; other pages wait for it no longer than twice that. */
const ALIVE_MS = 5_000;

/** What must be put back, kept in the browser while it runs: for other pages, and for after a crash. */
interface Debt {
  alive: number;
  restore: SettingsChange;
}

const KEY = "hms.show-me";

function isDebt(value: unknown): value is Debt | null {
  const candidate = value as Debt | null;
  return candidate === null || (typeof candidate?.alive === "number" && typeof candidate.restore === "object");
}

const debt = persisted<Debt | null>(KEY, null, isDebt);

/** Another page of this browser may have written it since this one was loaded. */
function runsElsewhere(): boolean {
  const stored = readStored(KEY, null, isDebt);
  return running === null && stored !== null && Date.now() - stored.alive < 2 * ALIVE_MS;
}

interface Running {
  acts: Act[];
  index: number;
  startedAt: number;
  actEndsAt: number;
  changedAt: number;
  expected: LiveSettings;
  run: number | null;
  story: Story;
  toldNews: number;
  seq: number | null;
  timer: ReturnType<typeof setInterval>;
  unsubscribe: () => void;
  busy: boolean;
}

let running: Running | null = null;

/** Asks the service; says what it refuses. */
async function change(settings: SettingsChange): Promise<LiveSettings | null> {
  try {
    return await api.changeSettings(settings);
  } catch (error) {
    const message = messageOf(error);
    if (message !== null) notify("error", message);
    return null;
  }
}

/** Why it cannot be shown now; null when it can. */
function obstacle(update: SimulationUpdate | null): string | null {
  if (live.get().connection !== "open" || update === null) return "The guided run needs a connection to the service.";
  if (update.settings === null || update.state !== "running") {
    return "The guided run needs a race that is running: start or resume it first.";
  }
  if (update.settings.node === "machine") {
    return "The guided run shows simulated nodes at several speeds; this race is real work.";
  }
  return runsElsewhere() ? "The guided run is under way in another window of this browser." : null;
}

let starting = false;

/** Who is quicker than the connection of a page just opened need not ask twice. */
const CONNECT_MS = 10_000;

function firstUpdate(): Promise<void> {
  const known = () => {
    const { connection, update } = live.get();
    return connection === "lost" || (connection === "open" && update !== null);
  };
  if (known()) return Promise.resolve();
  return new Promise((resolve) => {
    const stop = () => {
      clearTimeout(timer);
      unsubscribe();
      resolve();
    };
    const timer = setTimeout(stop, CONNECT_MS);
    const unsubscribe = live.subscribe(() => known() && stop());
  });
}

export async function startShowMe(): Promise<void> {
  if (running !== null || starting) return;
  starting = true;
  await firstUpdate();
  const { update } = live.get();
  const problem = obstacle(update);
  if (problem !== null || update?.settings == null) {
    starting = false;
    notify("warning", problem ?? "There is no race to show.");
    return;
  }
  const pace = paceOf(window.location.search);
  const restore = restoring(update.settings);
  // First what will be the last call: who may not make it, or could not put a trace back, had better not begin.
  const expected = await change(restore);
  starting = false;
  if (expected === null) return;
  navigate("/");
  const now = Date.now();
  debt.set({ alive: now, restore });
  running = {
    acts: ACTS.map((act) => paced(act, pace)),
    index: -1,
    startedAt: now,
    actEndsAt: now,
    changedAt: now,
    expected,
    run: update.run_id,
    story: newStory(pace),
    toldNews: 0,
    seq: null,
    timer: setInterval(() => void tick(), TICK_MS),
    unsubscribe: live.subscribe(watch),
    busy: false,
  };
  await tick();
}

/** Takes in every update. */
function watch(): void {
  const { update, connection } = live.get();
  if (running === null || update === null || update.seq === running.seq || connection !== "open") return;
  running.seq = update.seq;
  running.story = observe(running.story, update, Date.now());
  show(update);
}

/** Tells the moment of the present act from what was measured by now. */
function tell(update: SimulationUpdate, moment: Moment): void {
  if (running === null) return;
  const cast = castOf(catalogue.get().filter((info) => info.in_race));
  const text = words(moment, running.story, update, cast, Date.now());
  const before = running.story.said.filter((each) => each.moment !== moment);
  running.story = { ...running.story, said: [...before, { moment, text }] };
  running.toldNews = newsIn(moment, running.story);
}

/** How much of what a moment is about has happened: one more is worth telling anew. */
function newsIn(moment: Moment, story: Story): number {
  if (moment === 2) return story.broken.length;
  return moment === 4 ? story.recoveries.filter((each) => each.noticedAfter !== null).length : 0;
}

/** When there is news, and when it is time. */
function tellWhenDue(update: SimulationUpdate, { moment, toldAt }: Act): void {
  // Between two acts the figures belong to neither.
  if (running === null || running.busy) return;
  const isTold = running.story.said.some((each) => each.moment === moment);
  const news = newsIn(moment, running.story);
  const due = toldAt !== null && Date.now() - running.changedAt >= toldAt * 1000;
  if (news > 0 && !(isTold && news === running.toldNews)) tell(update, moment);
  else if (due && !isTold) tell(update, moment);
}

function show(update: SimulationUpdate): void {
  if (running === null) return;
  const act = running.acts[running.index];
  if (act === undefined) return;
  tellWhenDue(update, act);
  const { said, broken } = running.story;
  const total = running.acts.reduce((sum, each) => sum + each.seconds, 0);
  showMe.set({
    act,
    moment: said.at(-1)?.moment ?? 0,
    said,
    broken: broken.map(({ name }) => name),
    seconds: Math.min((Date.now() - running.startedAt) / 1000, total),
    total,
    ending: null,
    restored: false,
  });
}

async function tick(): Promise<void> {
  if (running === null || running.busy) return;
  const now = Date.now();
  const { update, connection, receivedAt } = live.get();
  if (now - (debt.get()?.alive ?? 0) > ALIVE_MS) debt.update((value) => value && { ...value, alive: now });
  if (connection !== "open" || update === null) {
    if (now - (receivedAt ?? running.startedAt) > 2 * ALIVE_MS) await end("lost");
    return;
  }
  if (now - running.changedAt > SETTLE_MS) {
    if (update.state !== "running") return end("stopped");
    if (update.run_id !== running.run || update.settings === null) return end("changed");
    if (!sameRace(update.settings, running.expected)) return end("changed");
  }
  if (now < running.actEndsAt) return show(update);
  show(update);
  if (running.index + 1 === running.acts.length) return end("done");
  await nextAct(update);
}

async function nextAct(update: SimulationUpdate): Promise<void> {
  if (running === null) return;
  const current = running;
  const act = current.acts[current.index + 1];
  if (act === undefined) return;
  current.busy = true;
  const settings = Object.keys(act.change).length === 0 ? current.expected : await change(act.change);
  current.busy = false;
  if (running !== current) return;
  if (settings === null) return end("stopped");
  const latest = live.get().update ?? update;
  if (act.change.preset != null && current.index >= 0) current.story = shifted(current.story, latest, Date.now());
  current.index += 1;
  current.expected = settings;
  current.changedAt = Date.now();
  current.actEndsAt = current.changedAt + act.seconds * 1000;
  show(latest);
}

function stopTimers(): SettingsChange | null {
  if (running !== null) {
    clearInterval(running.timer);
    running.unsubscribe();
    running = null;
  }
  return debt.get()?.restore ?? null;
}

/** Somebody else's changes are theirs: only the person may undo them, with `putBack`. */
async function end(ending: Ending): Promise<void> {
  const restore = stopTimers();
  showMe.update((value) => value && { ...value, ending });
  if (restore !== null && ending !== "changed" && ending !== "lost") await putBack();
}

/** Restores what was set before; true when the service took it. */
export async function putBack(): Promise<boolean> {
  const restore = debt.get()?.restore ?? null;
  const restored = restore === null || (await change(restore)) !== null;
  if (restored) debt.set(null);
  showMe.update((value) => value && { ...value, restored });
  return restored;
}

/** Ends it at once and puts everything back. */
export async function skipShowMe(): Promise<void> {
  stopTimers();
  showMe.set(null);
  if (await putBack()) notify("info", "The guided run has ended; the race runs as it did before.");
}

/** Closes what is left of it after its end; the settings stay as they are. */
export function closeShowMe(): void {
  debt.set(null);
  showMe.set(null);
}

/** Puts things back when the page is left, and offers it when an earlier page could not. Returns how to stop. */
export function followShowMe(): () => void {
  const leave = () => {
    const restore = running === null ? null : stopTimers();
    if (restore === null) return;
    // Nobody is left to tell when it fails.
    api.changeSettings(restore, { keepalive: true }).catch(() => undefined);
    debt.set(null);
    showMe.set(null);
  };
  window.addEventListener("pagehide", leave);
  const first = ACTS[0];
  if (debt.get() !== null && !runsElsewhere() && first !== undefined) {
    showMe.set({ act: first, moment: 0, said: [], broken: [], seconds: 0, total: 0, ending: "lost", restored: false });
  }
  return () => window.removeEventListener("pagehide", leave);
}
