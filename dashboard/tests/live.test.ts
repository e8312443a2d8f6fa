import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { pulsePoints } from "../src/analysis/pulse";
import { backOff, LiveSocket } from "../src/live/socket";
import {
  connectionChanged,
  initialState,
  LEARNING_POINTS,
  type LiveState,
  LOG_LINES,
  PULSE_MS,
  receive,
} from "../src/live/state";
import { readMessage } from "../src/live/validate";
import { isAbout } from "../src/widgets/console";
import { entry, line, update } from "./samples";

describe("state", () => {
  it("keeps the newest update and counts those that are missing", () => {
    let state = receive(initialState, update(5), 0);
    state = receive(state, update(4), 1);
    expect(state.update?.seq).toBe(5);
    state = receive(state, update(8), 2);
    expect(state.missed).toBe(2);
  });
  it("starts counting again on a new connection, because the service may have restarted", () => {
    let state = receive(initialState, update(500), 0);
    state = connectionChanged(state, "lost", 1);
    expect(state.update?.seq).toBe(500);
    state = receive(connectionChanged(state, "open", null), update(1), 2);
    expect(state.update?.seq).toBe(1);
    expect(state.missed).toBe(0);
  });
  it("holds 60 seconds of utilization and no more, at 5 updates a second for 3000 updates", () => {
    let state: LiveState = initialState;
    for (let seq = 0; seq < 3000; seq += 1) {
      state = receive(state, update(seq), seq * 200);
      state = receive(state, line(seq), seq * 200);
      state = receive(state, { type: "notification", level: "info", message: `${"x".repeat(seq % 40)}` }, seq * 200);
    }
    const span = (state.pulse.at(-1)?.at ?? 0) - (state.pulse[0]?.at ?? 0);
    expect(span).toBeLessThanOrEqual(PULSE_MS);
    expect(span).toBeGreaterThan(PULSE_MS * 0.95);
    expect(state.pulse.length).toBeLessThan(140);
    expect(state.logs).toHaveLength(LOG_LINES);
    expect(state.notices).toHaveLength(4);
  });
  it("keeps the whole course of learning in bounded memory, without repeating equal figures", () => {
    let state: LiveState = initialState;
    const model = {
      scheduler_name: "rl_agent",
      origin: "cold" as const,
      version: null,
      updates: 0,
      refits: 0,
      refit_checks: 0,
      drifts: 0,
    };
    for (let seq = 0; seq < 3000; seq += 1) {
      state = receive(state, update(seq, { learning: [{ ...model, figures: { loss: Math.floor(seq / 2) } }] }), seq);
    }
    const points = state.learning.rl_agent ?? [];
    expect(points.length).toBeLessThanOrEqual(LEARNING_POINTS + 1);
    expect(points[0]?.tasks).toBe(0);
    expect(points.at(-1)?.figures.loss).toBe(1499);
  });
  it("shows no line twice and keeps their order when a new connection repeats the last ones", () => {
    let state = [1, 2, 3].reduce((value, id) => receive(value, line(id), 0), initialState);
    state = connectionChanged(connectionChanged(state, "lost", 1), "open", null);
    state = [2, 3, 5, 4].reduce((value, id) => receive(value, line(id), 0), state);
    expect(state.logs.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5]);
  });
  it("announces the same news once a minute, whatever its numbers", () => {
    const news = (samples: number) =>
      ({ type: "notification", level: "info", message: `retrained on ${samples} samples` }) as const;
    let state = receive(receive(initialState, news(50), 0), news(100), 1_000);
    expect(state.notices.map(({ message }) => message)).toEqual(["retrained on 50 samples"]);
    state = receive(state, news(150), 61_000);
    expect(state.notices).toHaveLength(2);
  });
  it("notes the order in which schedulers break, and forgets it with the run", () => {
    let state = receive(
      initialState,
      update(1, { comparison: [entry("a", 1), entry("b", 1, { overloaded: true })] }),
      0,
    );
    state = receive(state, update(2, { comparison: [entry("a", 1, { overloaded: true }), entry("b", 1)] }), 1);
    expect(state.breaks.map(({ name }) => name)).toEqual(["b", "a"]);
    expect(receive(state, update(3, { run_id: 2 }), 2).breaks).toEqual([]);
  });
});

class FakeSocket {
  static readonly OPEN = 1;
  static made: FakeSocket[] = [];
  readyState = 0;
  onopen: (() => void) | null = null;
  onclose: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  constructor(readonly address: string) {
    FakeSocket.made.push(this);
  }
  close() {}
  succeed() {
    this.readyState = 1;
    this.onopen?.();
  }
}

describe("socket", () => {
  beforeEach(() => {
    FakeSocket.made = [];
    vi.useFakeTimers();
    vi.stubGlobal("WebSocket", FakeSocket);
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it("waits longer after each failure, at most 15 s, a fifth more or less", () => {
    expect([0, 1, 2].map((failures) => backOff(failures, 0.5))).toEqual([500, 1000, 2000]);
    expect(backOff(50, 0)).toBe(12_000);
    expect(backOff(50, 1)).toBeCloseTo(18_000);
  });
  it("comes back after a loss and says so; a refused handshake is told apart", () => {
    const seen: string[] = [];
    const onRefused = vi.fn();
    const socket = new LiveSocket(() => "ws://x/ws", {
      onMessage: () => undefined,
      onConnection: (state) => seen.push(state),
      onBadMessage: () => undefined,
      onRefused,
    });
    socket.open();
    FakeSocket.made[0]?.succeed();
    FakeSocket.made[0]?.onclose?.();
    expect(onRefused).not.toHaveBeenCalled();
    vi.advanceTimersByTime(700);
    expect(FakeSocket.made).toHaveLength(2);
    FakeSocket.made[1]?.onclose?.();
    expect(onRefused).toHaveBeenCalledOnce();
    vi.advanceTimersByTime(1300);
    FakeSocket.made[2]?.succeed();
    expect(seen).toEqual(["connecting", "open", "lost", "lost", "open"]);
  });
  it("hears only the current socket and stops when closed", () => {
    const onMessage = vi.fn();
    const onBadMessage = vi.fn();
    const socket = new LiveSocket(() => "ws://x/ws", {
      onMessage,
      onBadMessage,
      onConnection: () => undefined,
      onRefused: () => undefined,
    });
    socket.open();
    socket.retryNow();
    FakeSocket.made[0]?.onmessage?.({ data: JSON.stringify(line(1)) });
    expect(onMessage).not.toHaveBeenCalled();
    FakeSocket.made[1]?.onmessage?.({ data: JSON.stringify(line(2)) });
    expect(onMessage).toHaveBeenCalledWith(line(2));
    FakeSocket.made[1]?.onmessage?.({ data: '{"type":"log"}' });
    expect(onMessage).toHaveBeenCalledOnce();
    expect(onBadMessage).toHaveBeenCalledWith("log.id is missing");
    socket.close();
    FakeSocket.made[1]?.onclose?.();
    vi.advanceTimersByTime(60_000);
    expect(FakeSocket.made).toHaveLength(2);
  });
});

describe("messages", () => {
  const problem = (message: unknown) => {
    const read = readMessage(typeof message === "string" ? message : JSON.stringify(message));
    return "problem" in read ? read.problem : null;
  };
  it("of the service's shape are taken", () => {
    const full = update(1, {
      comparison: [entry("greedy", null)],
      utilization: { greedy: { cpu_0: { utilization: 1 } } },
    });
    expect([full, line(1), { type: "notification", level: "info", message: "m" }].map(problem)).toEqual([
      null,
      null,
      null,
    ]);
    expect(problem({ ...line(1), something: "new" })).toBeNull();
  });
  it.each([
    ["{", "it is no JSON"],
    ["null", "there is no message of the type null"],
    [{ type: "gossip" }, 'there is no message of the type "gossip"'],
    [{ ...line(1), level: "shout" }, "log.level is none of info, warning, error"],
    [{ ...line(1), id: 1.5 }, "log.id is no integer"],
    [{ ...update(1), comparison: {} }, "simulation_update.comparison is no array"],
    [
      { ...update(1), comparison: [entry("a", 1), { ...entry("b", 1), tasks: "7" }] },
      "simulation_update.comparison[1].tasks is no integer",
    ],
    [{ ...update(1), settings: { preset: "mixed" } }, /^simulation_update\.settings\.\w+ is missing$/],
    [
      { ...update(1), lower_bound: { ...update(1).lower_bound, avg_time: "x" } },
      "simulation_update.lower_bound.avg_time fits nothing",
    ],
  ])("that are not are named: %j", (message, says) => expect(problem(message)).toMatch(says));
});

describe("console lines", () => {
  it("are about whom they name", () => {
    expect(isAbout(line(1, { scheduler: "greedy", kind: "decision" }), "greedy")).toBe(true);
    expect(isAbout(line(1, { scheduler: "oracle", message: "by greedy" }), "greedy")).toBe(false);
    expect(isAbout(line(1, { message: "hybrid_ml was retrained" }), "hybrid_ml")).toBe(true);
    expect(isAbout(line(1, { message: "my_hybrid_ml was retrained" }), "hybrid_ml")).toBe(false);
  });
});

describe("pulse", () => {
  const sample = (at: number, share: number) => ({ at, utilization: { greedy: { cpu_0: { utilization: share } } } });
  it("goes on where the service's memory ends, by the page's clock", () => {
    const history = {
      run_id: 1,
      now: 100,
      devices: ["cpu_0"],
      points: [
        { time: 40, utilization: [0.1] },
        { time: 99, utilization: [0.2] },
      ],
    };
    const points = pulsePoints([sample(4000, 0.9), sample(7000, 0.3)], "greedy", history, 6000);
    expect(points).toEqual([
      { at: -54_000, cpu_0: 0.1 },
      { at: 5000, cpu_0: 0.2 },
      { at: 7000, cpu_0: 0.3 },
    ]);
    expect(pulsePoints([sample(4000, 0.9)], "greedy", null, 0)).toEqual([{ at: 4000, cpu_0: 0.9 }]);
  });
});
