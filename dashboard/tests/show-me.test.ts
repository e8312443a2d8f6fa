import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { catalogue } from "../src/live/catalogue";
import { initialState } from "../src/live/state";
import { live } from "../src/live/store";
import { ACTS, paced, paceOf, restoring, sameRace, TOTAL_SECONDS } from "../src/show-me/acts";
import { closeShowMe, putBack, showMe, skipShowMe, startShowMe } from "../src/show-me/director";
import { castOf, hasRecovered, newStory, observe, type Story, shifted, words } from "../src/show-me/story";
import { entry, scheduler, update } from "./samples";

const CAST = castOf([
  scheduler("greedy"),
  scheduler("rl_agent", { is_learner: true }),
  scheduler("oracle", { knows_truth: true }),
]);

/** Half a second of racing: each has finished 10 tasks more, with this mean response. */
function frame(seq: number, responses: Record<string, number>, overloaded: string[] = [], drifts = 0, load = 0.2) {
  return update(seq, {
    settings: { ...(update(1).settings ?? (null as never)), load },
    comparison: Object.entries(responses).map(([name, response]) =>
      entry(name, response, { tasks: 10 * seq, overloaded: overloaded.includes(name), unfinished: seq === 1 ? 0 : 77 }),
    ),
    learning: [
      {
        scheduler_name: "rl_agent",
        origin: "cold",
        version: null,
        updates: 0,
        refits: 0,
        drifts,
        figures: {},
      } as never,
    ],
  });
}

/** Overall means that make the mean of the last ten tasks what it should be. */
function racing(lately: Record<string, number[]>, overloaded: string[][] = [], drifts: number[] = []) {
  const frames: ReturnType<typeof frame>[] = [];
  const length = Object.values(lately)[0]?.length ?? 0;
  for (let seq = 1; seq <= length; seq += 1) {
    const means = Object.fromEntries(
      Object.entries(lately).map(([name, values]) => [
        name,
        values.slice(0, seq).reduce((sum, value) => sum + value, 0) / seq,
      ]),
    );
    frames.push(frame(seq, means, overloaded[seq - 1] ?? [], drifts[seq - 1] ?? 0));
  }
  return frames;
}

const ofAll = (value: number, length: number) => Array.from({ length }, () => value);

function told(frames: ReturnType<typeof frame>[], story: Story = newStory(1)): Story {
  return frames.reduce((value, each) => observe(value, each, each.seq * 500), story);
}

describe("the plan", () => {
  it("takes ninety seconds, with every moment in order", () => {
    expect(TOTAL_SECONDS).toBe(90);
    expect([...new Set(ACTS.map(({ moment }) => moment))]).toEqual([1, 2, 3, 4, 5]);
    for (const act of ACTS) expect(act.toldAt ?? 0).toBeLessThanOrEqual(act.seconds);
  });
  it("does the same in less time at a higher pace", () => {
    const act = paced(ACTS[0] as never, 4);
    expect([act.seconds, act.toldAt, act.change.speed]).toEqual([2.5, 1.5, 12]);
    expect([paceOf("?pace=4"), paceOf(""), paceOf("?pace=no"), paceOf("?pace=-1"), paceOf("?pace=999")]).toEqual([
      4, 1, 1, 1, 20,
    ]);
  });
  it("knows what to put back, and whether somebody else has changed it", () => {
    const settings = update(1).settings ?? (null as never);
    expect(restoring(settings)).toEqual({ preset: "mixed", arrival_rate: 2, speed: 1, flat_out: false });
    expect(restoring({ ...settings, preset: null, trace: "a.csv" })).toMatchObject({ trace: "a.csv" });
    expect(sameRace(settings, { ...settings, load: 0.05000001 })).toBe(true);
    expect(sameRace(settings, { ...settings, arrival_rate: 2.1 })).toBe(false);
    expect(sameRace(settings, { ...settings, schedulers: ["greedy"] })).toBe(false);
  });
});

describe("the story", () => {
  it("gives the figures of the last seconds, not of the whole run", () => {
    const frames = racing({ greedy: [...ofAll(9, 10), ...ofAll(1, 12)], oracle: ofAll(0.5, 22) });
    const says = words(1, told(frames), frames.at(-1) ?? (null as never), CAST, 11_000);
    expect(says).toBe(
      "At 20 % load everybody keeps up. Mean response lately: oracle 500\u00a0ms and greedy 1.00\u00a0s.",
    );
  });
  it("has figures however rare updates are", () => {
    const frames = racing({ greedy: ofAll(1, 3) });
    const story = frames.reduce((value, each) => observe(value, each, each.seq * 10_000), newStory(1));
    expect(words(1, story, frames.at(-1) ?? (null as never), CAST, 30_000)).toMatch(/lately: greedy 1.00\u00a0s\./);
  });
  it("says who broke only when a backlog has been growing for three seconds", () => {
    const crowd = racing({ greedy: ofAll(1, 6) }, [["greedy"], ["greedy"], [], ["greedy"], ["greedy"], ["greedy"]]);
    expect(told(crowd).broken).toEqual([]);
    const few = racing(
      { greedy: ofAll(1, 8) },
      Array.from({ length: 8 }, () => ["greedy"]),
    );
    for (const each of few) for (const racer of each.comparison) racer.unfinished = 2;
    expect(told(few).broken).toEqual([]);
    const story = told(
      racing(
        { greedy: ofAll(1, 8), oracle: ofAll(1, 8) },
        Array.from({ length: 8 }, () => ["greedy"]),
      ),
    );
    expect(story.broken).toEqual([{ name: "greedy", load: 0.2 }]);
    const last = frame(8, { greedy: 1, oracle: 1 }, ["greedy"]);
    expect(words(2, story, last, CAST, 4000)).toContain("greedy broke at 20 % load (77 tasks unfinished).");
    expect(words(2, newStory(1), last, CAST, 4000)).toContain("nobody has broken since this began");
  });
  it("does not say of who was behind already at which load it broke", () => {
    const frames = racing(
      { greedy: ofAll(1, 9), oracle: ofAll(0.25, 9) },
      Array.from({ length: 9 }, () => ["greedy"]),
    );
    const story = told(frames.slice(1));
    expect(story.behind).toEqual(["greedy", "oracle"]);
    expect(story.broken).toEqual([]);
    expect(words(1, story, frames.at(-1) ?? (null as never), CAST, 4500)).toContain(
      "From before this began there is a backlog: greedy\u00a077 and oracle\u00a077 tasks.",
    );
  });
  it("does not say that learners hold when they do not", () => {
    const responses = { greedy: ofAll(30, 8), rl_agent: ofAll(0.25, 8), oracle: ofAll(0.125, 8) };
    const says = (overloaded: string[]) => {
      const frames = racing(
        responses,
        Array.from({ length: 8 }, () => overloaded),
      );
      return words(3, told(frames), frames.at(-1) ?? (null as never), CAST, 4000);
    };
    expect(says(["greedy"])).toBe(
      "At 20 % load greedy is overloaded; the learners hold. Mean response lately: oracle 125\u00a0ms and rl agent 250\u00a0ms; tasks left undone: greedy\u00a077.",
    );
    expect(says(["greedy", "rl_agent"])).toContain("This time rl agent did not hold.");
    expect(says([])).toContain("nobody is overloaded");
  });
  it("says whether drift was noticed, and whether the learner recovered", () => {
    const [before, after] = [ofAll(0.1, 10), [...ofAll(0.8, 4), ...ofAll(0.2, 14)]];
    const frames = racing(
      { rl_agent: [...before, ...after], oracle: ofAll(0.05, 28) },
      [],
      [...ofAll(3, 12), ...ofAll(4, 16)],
    );
    const at = (seq: number) => frames[seq - 1] ?? (null as never);
    let story = shifted(told(frames.slice(0, 10)), at(10), 5000);
    expect(words(4, story, at(10), CAST, 5000)).toContain("No learner has raised a drift alarm so far");
    story = told(frames.slice(10, 14), story);
    expect(words(4, story, at(14), CAST, 7000)).toContain("Drift was noticed: rl agent after 30 finished tasks");
    expect(words(5, story, at(14), CAST, 7000)).toContain(
      "rl agent kept going: 100\u00a0ms before the shift, 800\u00a0ms at worst",
    );
    story = told(frames.slice(14), story);
    expect(story.recoveries.map((each) => hasRecovered(story, each, 14_000))).toEqual([true]);
    expect(words(5, story, at(28), CAST, 14_000)).toBe(
      "rl agent recovered: 100\u00a0ms before the shift, 800\u00a0ms at worst, 200\u00a0ms now. oracle needs 50.0\u00a0ms.",
    );
  });
});

describe("the guided run", () => {
  const asked: [string, unknown][] = [];
  const service = (status: number) => async (path: string, call: RequestInit) => {
    asked.push([path, JSON.parse(String(call.body))]);
    const settings = update(1).settings;
    return new Response(
      JSON.stringify(status === 200 ? settings : { error: { code: "no", message: "not allowed", details: [] } }),
      { status },
    );
  };
  beforeEach(() => {
    asked.length = 0;
    catalogue.set([scheduler("greedy")]);
    live.set({ ...initialState, connection: "open", update: update(1) });
  });
  afterEach(() => {
    closeShowMe();
    live.set(initialState);
    vi.unstubAllGlobals();
  });

  it("puts everything back when it is skipped", async () => {
    vi.stubGlobal("fetch", service(200));
    await startShowMe();
    expect(showMe.get()?.act.title).toBe(ACTS[0]?.title);
    await skipShowMe();
    expect(showMe.get()).toBeNull();
    expect(asked.map(([, change]) => change)).toEqual([
      restoring(update(1).settings ?? (null as never)),
      ACTS[0]?.change,
      restoring(update(1).settings ?? (null as never)),
    ]);
    expect(localStorage.getItem("hms.show-me")).toBe("null");
  });
  it("waits for the first update of a page just opened", async () => {
    vi.stubGlobal("fetch", service(200));
    live.set(initialState);
    const started = startShowMe();
    live.set({ ...live.get(), connection: "open" });
    expect(asked).toEqual([]);
    live.set({ ...live.get(), update: update(1) });
    await started;
    expect(showMe.get()?.act.title).toBe(ACTS[0]?.title);
    expect(live.get().notices).toEqual([]);
    await skipShowMe();
  });
  it("says so at once where the connection is lost, and after a while where none comes", async () => {
    vi.useFakeTimers();
    live.set({ ...initialState, connection: "lost" });
    await startShowMe();
    live.set({ ...live.get(), connection: "connecting" });
    const started = startShowMe();
    await vi.advanceTimersByTimeAsync(11_000);
    await started;
    vi.useRealTimers();
    expect(showMe.get()).toBeNull();
    const needs = expect.stringContaining("needs a connection");
    expect(live.get().notices.map(({ message }) => message)).toEqual([needs, needs]);
  });
  it("does not begin where the service refuses, and says what it said", async () => {
    vi.stubGlobal("fetch", service(403));
    await startShowMe();
    expect(showMe.get()).toBeNull();
    expect(live.get().notices.map(({ message }) => message)).toEqual(["not allowed"]);
  });
  it("does not begin while the race is paused or another window shows it", async () => {
    vi.stubGlobal("fetch", service(200));
    live.set({ ...live.get(), update: update(2, { state: "paused" }) });
    await startShowMe();
    live.set({ ...live.get(), update: update(3) });
    localStorage.setItem("hms.show-me", JSON.stringify({ alive: Date.now(), restore: {} }));
    await startShowMe();
    expect(showMe.get()).toBeNull();
    expect(asked).toEqual([]);
    expect(live.get().notices.map(({ message }) => message)).toEqual([
      expect.stringContaining("running"),
      expect.stringContaining("another window"),
    ]);
  });
  it("ends when somebody else changes the race, and leaves that alone until asked", async () => {
    vi.useFakeTimers();
    vi.stubGlobal("fetch", service(200));
    await startShowMe();
    await vi.advanceTimersByTimeAsync(1000);
    live.set({
      ...live.get(),
      update: update(2, { settings: { ...(update(1).settings ?? (null as never)), arrival_rate: 9 } }),
    });
    await vi.advanceTimersByTimeAsync(3000);
    vi.useRealTimers();
    expect(showMe.get()?.ending).toBe("changed");
    expect(asked).toHaveLength(2);
    await putBack();
    expect(asked).toHaveLength(3);
    expect(showMe.get()?.restored).toBe(true);
  });
});
