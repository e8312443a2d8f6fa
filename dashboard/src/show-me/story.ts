/** What happens in the guided run, told from the live figures alone: what was not measured is not said. */
import type { SchedulerInfo, SimulationUpdate } from "../api/types";
import { formatPercent, formatSeconds, schedulerLabel } from "../format";
import type { Moment } from "./acts";

/** "Lately" is over so many seconds of the guided run at its usual pace. */
const LATELY_MS = 4_000;
/** A mean over less than this says little. */
const SHORTEST_MS = 1_000;
/** A backlog that grows for less than this is a passing crowd. */
const STEADY_MS = 3_000;

/** With fewer tasks unfinished than this nobody has broken, whatever one long task does to the mean. */
const BACKLOG = 20;

/** Running sums of one scheduler: the mean between two moments follows from their difference. */
interface Sums {
  tasks: number;
  response: number;
}

interface Snapshot {
  at: number;
  sums: Record<string, Sums>;
}

/** A scheduler whose backlog kept growing. */
export interface Broken {
  name: string;
  load: number;
}

/** What a learner did after the workload had shifted. */
export interface Recovery {
  name: string;
  /** Mean response lately, just before the shift. */
  before: number | null;
  /** The worst of those means since. */
  worst: number | null;
  /** Tasks it finished until it raised a drift alarm; null when it has not. */
  noticedAfter: number | null;
}

export interface Said {
  moment: Moment;
  text: string;
}

export interface Story {
  pace: number;
  snapshots: Snapshot[];
  overloadedSince: Record<string, number>;
  broken: Broken[];
  /** Who had a backlog when it began: nobody knows at which load they broke. Null before the first update. */
  behind: string[] | null;
  shift: { sums: Record<string, Sums>; drifts: Record<string, number>; at: number } | null;
  recoveries: Recovery[];
  said: Said[];
}

export const newStory = (pace: number): Story => ({
  pace,
  snapshots: [],
  overloadedSince: {},
  broken: [],
  behind: null,
  shift: null,
  recoveries: [],
  said: [],
});

function sumsOf(update: SimulationUpdate): Record<string, Sums> {
  return Object.fromEntries(
    update.comparison.map(({ name, tasks, failed, avg_response }) => [
      name,
      { tasks: tasks - failed, response: (tasks - failed) * (avg_response ?? 0) },
    ]),
  );
}

/** Mean response of the tasks that finished lately, and not before `since`; null when none did. */
export function lately(story: Story, name: string, since = Number.NEGATIVE_INFINITY): number | null {
  const first = story.snapshots.find(({ at }) => at >= since)?.sums[name];
  const last = story.snapshots.at(-1)?.sums[name];
  if (first === undefined || last === undefined || last.tasks <= first.tasks) return null;
  return (last.response - first.response) / (last.tasks - first.tasks);
}

/** The story after another update. */
export function observe(story: Story, update: SimulationUpdate, at: number): Story {
  // However rare updates are, the last one is there to compare with.
  const oldest = Math.min(at - LATELY_MS / story.pace, story.snapshots.at(-1)?.at ?? at);
  const kept = story.snapshots.filter((snapshot) => snapshot.at >= oldest);
  const next = { ...story, snapshots: [...kept, { at, sums: sumsOf(update) }] };
  next.overloadedSince = Object.fromEntries(
    update.comparison
      .filter((entry) => entry.overloaded && entry.unfinished >= BACKLOG)
      .map(({ name }) => [name, story.overloadedSince[name] ?? at]),
  );
  next.behind ??= update.comparison.filter(({ unfinished }) => unfinished >= BACKLOG).map(({ name }) => name);
  const known = new Set([...next.behind, ...story.broken.map(({ name }) => name)]);
  const load = update.settings?.load ?? Number.NaN;
  const fresh = update.comparison.filter(({ name }) => !known.has(name) && isOverloaded(next, name, at));
  next.broken = [...story.broken, ...fresh.map(({ name }) => ({ name, load }))];
  next.recoveries = story.recoveries.map((recovery) => recovered(recovery, next, update, at));
  return next;
}

/** Whether a backlog has been growing for a while, and still does. */
export function isOverloaded(story: Story, name: string, at: number): boolean {
  const since = story.overloadedSince[name];
  return since !== undefined && at - since >= STEADY_MS / story.pace;
}

function recovered(recovery: Recovery, story: Story, update: SimulationUpdate, at: number): Recovery {
  const { shift } = story;
  if (shift === null) return recovery;
  const mean = at - shift.at >= SHORTEST_MS / story.pace ? lately(story, recovery.name, shift.at) : null;
  const worst = mean === null ? recovery.worst : Math.max(recovery.worst ?? 0, mean);
  const model = update.learning.find(({ scheduler_name }) => scheduler_name === recovery.name);
  const alarmed = (model?.drifts ?? 0) > (shift.drifts[recovery.name] ?? 0);
  const finished = sumsOf(update)[recovery.name]?.tasks ?? 0;
  const noticedAfter =
    recovery.noticedAfter ?? (alarmed ? finished - (shift.sums[recovery.name]?.tasks ?? finished) : null);
  return { ...recovery, worst, noticedAfter };
}

/** The workload has just been changed. */
export function shifted(story: Story, update: SimulationUpdate, at: number): Story {
  const drifts = Object.fromEntries(update.learning.map((model) => [model.scheduler_name, model.drifts]));
  const recoveries = update.learning.map(({ scheduler_name: name }) => ({
    name,
    before: lately(story, name),
    worst: null,
    noticedAfter: null,
  }));
  return { ...story, shift: { sums: sumsOf(update), drifts, at }, recoveries };
}

/** Worse than before by so much, the shift was felt. */
const FELT = 1.25;

/** It was worse after the shift than before, and is at most half as bad by now, and has no backlog that grows. */
export function hasRecovered(story: Story, recovery: Recovery, at: number): boolean {
  const [now, { before, worst }] = [lately(story, recovery.name), recovery];
  if (now === null || worst === null || (before !== null && worst < FELT * before)) return false;
  return now <= worst / 2 && !isOverloaded(story, recovery.name, at);
}

const listed = new Intl.ListFormat("en-GB", { type: "conjunction" });

function names(all: readonly string[]): string {
  return listed.format(all.map(schedulerLabel));
}

/** A figure that is not torn apart at the end of a line. */
const seconds = (value: number | null): string => formatSeconds(value).replaceAll(" ", "\u00a0");

/** "greedy 0.12 s and oracle 0.1 s", best first; those without a figure are left out. */
function responses(story: Story, all: readonly string[]): string {
  const known = all
    .map((name) => ({ name, mean: lately(story, name) }))
    .filter((each): each is { name: string; mean: number } => each.mean !== null)
    .sort((a, b) => a.mean - b.mean);
  return listed.format(known.map(({ name, mean }) => `${schedulerLabel(name)} ${seconds(mean)}`));
}

export interface Cast {
  rules: string[];
  learners: string[];
  reference: string | undefined;
}

export function castOf(racing: readonly SchedulerInfo[]): Cast {
  const rules = racing.filter((info) => !info.is_learner && !info.knows_truth);
  return {
    rules: rules.map(({ name }) => name),
    learners: racing.filter((info) => info.is_learner).map(({ name }) => name),
    reference: racing.find((info) => info.knows_truth)?.name,
  };
}

/** What to say at a moment, from what has been measured by then. */
export function words(moment: Moment, story: Story, update: SimulationUpdate, cast: Cast, at: number): string {
  const racers = update.comparison.map(({ name }) => name);
  const overloaded = racers.filter((name) => isOverloaded(story, name, at));
  const load = formatPercent(update.settings?.load);
  switch (moment) {
    case 1:
      return calm(story, update, overloaded, load);
    case 2:
      return story.broken.length === 0
        ? `At ${load} load nobody has broken since this began. Mean response lately: ${responses(story, racers)}.`
        : `${brokenOnes(story.broken, update)}. More comes in than gets done.`;
    case 3:
      return hold(story, update, cast, overloaded, load);
    case 4:
      return shiftNoticed(story, update);
    case 5:
      return ending(story, cast, at);
  }
}

function calm(story: Story, update: SimulationUpdate, overloaded: readonly string[], load: string): string {
  const [racers, behind] = [update.comparison.map(({ name }) => name), story.behind ?? []];
  const fresh = overloaded.filter((name) => !behind.includes(name));
  const others = racers.filter((name) => !behind.includes(name) && !fresh.includes(name));
  const start = [
    behind.length === 0 ? "" : `From before this began there is a backlog: ${unfinished(update, behind)} tasks.`,
    fresh.length === 0 ? "" : `Even at ${load} load ${names(fresh)} cannot keep up.`,
  ].filter((each) => each !== "");
  if (start.length === 0) start.push(`At ${load} load everybody keeps up.`);
  return `${start.join(" ")} Mean response lately: ${responses(story, others) || "nothing has finished yet"}.`;
}

/** "greedy broke at 20 % load (85 tasks unfinished) and random at 40 % (12)". */
function brokenOnes(broken: readonly Broken[], update: SimulationUpdate): string {
  return listed.format(
    broken.map(({ name, load }, index) => {
      const unfinished = update.comparison.find((entry) => entry.name === name)?.unfinished ?? 0;
      const [verb, noun, things] = index === 0 ? [" broke", " load", " tasks unfinished"] : ["", "", ""];
      return `${schedulerLabel(name)}${verb} at ${formatPercent(load)}${noun} (${unfinished.toLocaleString("en-GB")}${things})`;
    }),
  );
}

/** "greedy 1,161 and random 1,058". What they finish says little: it may be the few tasks for an idle device. */
function unfinished(update: SimulationUpdate, all: readonly string[]): string {
  const found = update.comparison.filter(({ name }) => all.includes(name));
  return listed.format(
    found.map((entry) => `${schedulerLabel(entry.name)}\u00a0${entry.unfinished.toLocaleString("en-GB")}`),
  );
}

function hold(story: Story, update: SimulationUpdate, cast: Cast, overloaded: readonly string[], load: string): string {
  const holding = update.comparison.map(({ name }) => name).filter((name) => !overloaded.includes(name));
  const learners = cast.learners.filter((name) => holding.includes(name));
  const lost =
    overloaded.length === 0
      ? "nobody is overloaded"
      : `${names(overloaded)} ${overloaded.length === 1 ? "is" : "are"} overloaded`;
  const figures = responses(story, holding);
  const rest = overloaded.length === 0 ? "" : `; tasks left undone: ${unfinished(update, overloaded)}`;
  if (cast.learners.length > 0 && learners.length === cast.learners.length && overloaded.length > 0) {
    return `At ${load} load ${lost}; the learners hold. Mean response lately: ${figures}${rest}.`;
  }
  const fallen = cast.learners.filter((name) => overloaded.includes(name));
  const also = fallen.length === 0 ? "" : ` This time ${names(fallen)} did not hold.`;
  return `At ${load} load ${lost}.${also} Mean response lately: ${figures || "–"}${rest}.`;
}

function shiftNoticed(story: Story, update: SimulationUpdate): string {
  const noticed = story.recoveries.filter((each) => each.noticedAfter !== null);
  const told = `The tasks are now ${schedulerLabel(update.settings?.preset ?? "others")} ones.`;
  if (story.recoveries.length === 0) return `${told} Nobody in this race learns.`;
  if (noticed.length === 0) return `${told} No learner has raised a drift alarm so far.`;
  const who = noticed.map((each) => `${schedulerLabel(each.name)} after ${each.noticedAfter} finished tasks`);
  return `${told} Drift was noticed: ${listed.format(who)}.`;
}

function ending(story: Story, cast: Cast, at: number): string {
  if (story.recoveries.length === 0) return "Nobody in this race learns, so there was nobody to recover.";
  const reference = cast.reference === undefined ? null : lately(story, cast.reference);
  const beside = reference === null ? "" : ` ${schedulerLabel(cast.reference ?? "")} needs ${seconds(reference)}.`;
  return `${story.recoveries.map((each) => fate(story, each, at)).join(" ")}${beside}`;
}

function fate(story: Story, recovery: Recovery, at: number): string {
  const who = schedulerLabel(recovery.name);
  const [now, before] = [seconds(lately(story, recovery.name)), seconds(recovery.before)];
  if (recovery.worst === null || lately(story, recovery.name) === null) return `Of ${who} nothing finished lately.`;
  const worst = seconds(recovery.worst);
  if (isOverloaded(story, recovery.name, at))
    return `${who} has not recovered: ${before} before the shift, ${now} now.`;
  if (hasRecovered(story, recovery, at))
    return `${who} recovered: ${before} before the shift, ${worst} at worst, ${now} now.`;
  return `${who} kept going: ${before} before the shift, ${worst} at worst, ${now} now.`;
}
