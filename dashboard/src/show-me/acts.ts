/** What the guided run does to the race, and for how long: ninety seconds in all. */
import type { LiveSettings, SettingsChange } from "../api/types";

/** Calm; the first rules break; the learners hold; the workload shifts; the end. */
export type Moment = 1 | 2 | 3 | 4 | 5;

export interface Act {
  /** What the person is told before anything has been measured. */
  title: string;
  seconds: number;
  change: SettingsChange;
  /** The moment this act leads to. */
  moment: Moment;
  /** Seconds after which it is told at the latest; null when the next act leads to it too. */
  toldAt: number | null;
}

/** Simulated seconds per second: enough tasks in ninety seconds for backlogs to grow and for learners to learn. */
const SPEED = 3;

export const ACTS: readonly Act[] = [
  {
    title: "A quiet kitchen",
    seconds: 10,
    change: { preset: "mixed", load: 0.05, speed: SPEED, flat_out: false },
    moment: 1,
    toldAt: 6,
  },
  { title: "The load rises", seconds: 16, change: { load: 0.2 }, moment: 2, toldAt: null },
  { title: "The load rises again", seconds: 14, change: { load: 0.4 }, moment: 2, toldAt: 12 },
  { title: "Rush hour", seconds: 18, change: { load: 0.6 }, moment: 3, toldAt: 12 },
  {
    title: "Other tasks come in, small ones that want the CPU",
    seconds: 10,
    change: { preset: "cpu_favourable", load: 0.5 },
    moment: 4,
    toldAt: 8,
  },
  { title: "The learners find their feet", seconds: 22, change: {}, moment: 5, toldAt: 22 },
];

export const TOTAL_SECONDS = ACTS.reduce((sum, act) => sum + act.seconds, 0);

/** An act as many times faster: shorter, at a higher speed, so that the same happens in it. */
export function paced(act: Act, pace: number): Act {
  const { speed } = act.change;
  const change = speed === undefined || speed === null ? act.change : { ...act.change, speed: speed * pace };
  return { ...act, seconds: act.seconds / pace, toldAt: act.toldAt === null ? null : act.toldAt / pace, change };
}

const MOST_PACE = 20;

/** `?pace=4` in the address makes it four times faster, for those who have seen it. */
export function paceOf(search: string): number {
  const pace = Number(new URLSearchParams(search).get("pace") ?? 1);
  return pace > 0 ? Math.min(pace, MOST_PACE) : 1;
}

/** What puts the race back as it was. */
export function restoring(settings: LiveSettings): SettingsChange {
  const { preset, trace, arrival_rate, speed, flat_out } = settings;
  return { ...(trace === null ? { preset } : { trace }), arrival_rate, speed, flat_out };
}

/** Whether the race still runs as we left it. */
export function sameRace(a: LiveSettings, b: LiveSettings): boolean {
  const near = (x: number, y: number) => Math.abs(x - y) <= 1e-6 * Math.max(Math.abs(x), Math.abs(y));
  return (
    near(a.arrival_rate, b.arrival_rate) &&
    near(a.speed, b.speed) &&
    a.flat_out === b.flat_out &&
    a.preset === b.preset &&
    a.trace === b.trace &&
    a.schedulers.join() === b.schedulers.join()
  );
}
