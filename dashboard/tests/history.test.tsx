import { act, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, describe, expect, it, vi } from "vitest";
import { afterChecks, checksSentence } from "../src/analysis/checks";
import { timeRows } from "../src/analysis/overtime";
import { chosenRange, timeRange } from "../src/analysis/range";
import type { LearningCurve, MeansPoint, ModelInfo, RunMeans } from "../src/api/types";
import { Panel } from "../src/layout/panel";
import { metricCatalogue } from "../src/live/metric-catalogue";
import { initialState } from "../src/live/state";
import { live } from "../src/live/store";
import { RangePicker } from "../src/ui/range-picker";
import { loadWidget, type WidgetId } from "../src/widgets";
import { series } from "../src/widgets/curves";
import { joined } from "../src/widgets/learning";
import { difference } from "../src/widgets/runs";
import { emptyAnswer, entry, METRICS, update } from "./samples";

afterEach(() => {
  act(() => {
    live.set(initialState);
    metricCatalogue.set([]);
    chosenRange.set({ id: "day", from: "", to: "" });
  });
});

function point(start: string, name: string, given: Partial<MeansPoint> = {}): MeansPoint {
  return {
    start,
    scheduler_name: name,
    tasks: 10,
    failed: 0,
    avg_response: 1,
    avg_wait: 0,
    avg_time: 1,
    avg_energy: 2,
    avg_cost: 3,
    win_share: 0.5,
    ...given,
  };
}

function model(refits: number, checks: number): ModelInfo {
  return {
    scheduler_name: "hybrid_ml",
    origin: "cold",
    version: null,
    updates: 0,
    refits,
    refit_checks: checks,
    drifts: 0,
    figures: {},
  };
}

async function show(id: WidgetId, answers: Record<string, unknown>) {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (path: string) => {
    asked.push(path);
    const [bare = ""] = path.split("?");
    return new Response(JSON.stringify(answers[bare] ?? emptyAnswer(bare)));
  });
  act(() => metricCatalogue.set(METRICS));
  const widget = await loadWidget(id);
  render(<Panel id={id} widget={widget} scheduler="" movable onHide={() => undefined} onArrow={() => undefined} />);
  return asked;
}

describe("the time looked at", () => {
  const now = Date.parse("2026-03-10T12:00:00Z");
  it("ends now, or is open, or takes both its days whole", () => {
    expect(timeRange({ id: "hour", from: "", to: "" }, now)).toEqual({ since: now / 1000 - 3600 });
    expect(timeRange({ id: "all", from: "", to: "" }, now)).toEqual({});
    const custom = timeRange({ id: "custom", from: "2026-03-01", to: "2026-03-02" }, now);
    expect((custom.until ?? 0) - (custom.since ?? 0)).toBe(2 * 86_400);
    expect(timeRange({ id: "custom", from: "", to: "" }, now)).toEqual({ since: undefined, until: undefined });
  });
  it("is chosen above the panels and asked of the service", async () => {
    const asked = await show("overtime", {});
    render(<RangePicker />);
    fireEvent.click(screen.getByRole("radio", { name: "All" }));
    await waitFor(() => expect(asked.at(-1)).toBe("/api/history/means"));
    fireEvent.click(screen.getByRole("radio", { name: "From … to …" }));
    fireEvent.change(screen.getByLabelText("from"), { target: { value: "2026-03-01" } });
    await waitFor(() => expect(asked.at(-1)).toMatch(/since=\d+$/));
  });
});

describe("Over time", () => {
  it("puts the figures of one moment into one row", () => {
    const points = [point("2026-03-01T00:00:00Z", "a"), point("2026-03-01T00:00:00Z", "b", { avg_response: null })];
    expect(timeRows(points, "avg_response")).toEqual([{ at: Date.parse("2026-03-01T00:00:00Z"), a: 1, b: null }]);
  });
  it("shows its points as a table and counts what happened to learners", async () => {
    await show("overtime", {
      "/api/history/means": {
        since: "2026-03-01T00:00:00Z",
        until: "2026-03-02T00:00:00Z",
        stretch_seconds: 900,
        items: [point("2026-03-01T00:00:00Z", "greedy", { avg_response: 0.25 })],
        marks: [
          { start: "2026-03-01T00:00:00Z", scheduler_name: "hybrid_ml", retrainings: 3, versions: 1, version: 7 },
          { start: "2026-03-01T01:00:00Z", scheduler_name: "hybrid_ml", retrainings: 1, versions: 0, version: null },
        ],
      },
    });
    const marks = await screen.findByTestId("history-marks");
    expect(marks.textContent).toContain("retrained 4 times, saved 1 times");
    fireEvent.click(screen.getByRole("button", { name: "Over time: more" }));
    fireEvent.click(screen.getByRole("button", { name: "Show as table" }));
    const table = within(await screen.findByRole("region", { name: "Over time as a table" }));
    expect(table.getAllByRole("row")[1]?.textContent).toContain("greedy1000.25");
  });
});

describe("Two runs", () => {
  it("says how far the second is from the first", () => {
    expect(difference(2, 3)).toBe(0.5);
    expect(difference(null, 3)).toBeNull();
    expect(difference(0, 3)).toBeNull();
  });
  it("compares the newest two at first", async () => {
    const run = (id: number) => ({
      id,
      kind: "live",
      name: "",
      seed: 1,
      status: "finished",
      started: "2026-03-01T00:00:00Z",
    });
    const means = (response: number): RunMeans[] => [{ ...point("", "greedy", { avg_response: response }), gap: 0.5 }];
    await show("runs", {
      "/api/runs": { items: [run(9), run(8), run(7)], next_cursor: null },
      "/api/runs/8/figures": means(2),
      "/api/runs/9/figures": means(1),
    });
    const row = await screen.findByTestId("runs-row");
    await waitFor(() => expect(row.textContent).toContain("−50.0 %"));
    expect(within(row).getByText("−50.0 %").className).toContain("text-good");
    expect(row.textContent).toContain("2.00 s");
  });
});

describe("Retraining history", () => {
  it("tells what the last check came to, when the counters do", () => {
    const first = afterChecks(undefined, model(3, 12));
    expect(first.lastChanged).toBeNull();
    const second = afterChecks(first, model(3, 13));
    expect(checksSentence(second)).toBe("13 checks, 3 changed the model; last check: nothing better found");
    expect(afterChecks(second, model(3, 13))).toEqual(second);
    expect(checksSentence(afterChecks(second, model(4, 14)))).toBe(
      "14 checks, 4 changed the model; last check: changed",
    );
    expect(afterChecks(second, model(4, 15)).lastChanged).toBeNull();
    expect(afterChecks(second, model(0, 1)).lastChanged).toBe(false);
  });
  it("lists retrainings, and saved models apart", async () => {
    const row = { run_id: 3, scheduler_name: "hybrid_ml", created: "2026-03-01T00:00:00Z", tasks: 1200 };
    await show("retraining", {
      "/api/history/retrainings": {
        items: [
          { ...row, id: 5, reason: "drift", rows: 812, trees: 8, replaced: 5, error_before: 0.121, error_after: 0.097 },
        ],
        next_cursor: null,
      },
    });
    act(() => live.set({ ...initialState, update: update(1, { learning: [model(1, 4)] }) }));
    const shown = await screen.findByTestId("retraining-row");
    expect(shown.textContent).toContain("5 of 8");
    expect(shown.textContent).toContain("0.121 → 0.097");
    expect(screen.getByTestId("refit-checks").textContent).toContain("4 checks, 1 changed the model");
    fireEvent.click(screen.getByRole("radio", { name: "Saved models" }));
    // It says that it is loading first.
    await screen.findByText(/waiting for the first saved model/);
  });
});

describe("learning curves", () => {
  it("join what the store kept with what the page has heard since", () => {
    const stored = [1, 5, 9].map((tasks) => ({ tasks, figures: { loss: tasks } }));
    const heard = [7, 8].map((tasks) => ({ tasks, figures: { loss: tasks } }));
    expect(joined(stored, heard).map(({ tasks }) => tasks)).toEqual([1, 5, 7, 8]);
    expect(joined(stored, []).map(({ tasks }) => tasks)).toEqual([1, 5, 9]);
  });
  it("are cut between two runs", () => {
    const at = (run_id: number, minute: number) => ({
      run_id,
      created: `2026-03-01T00:0${minute}:00Z`,
      tasks: 1,
      figures: { loss: minute, odd: null },
    });
    const curve: LearningCurve = { scheduler_name: "rl_agent", points: [at(1, 1), at(1, 2), at(2, 3)] };
    expect(series(curve, "loss").map(({ value }) => value)).toEqual([1, 2, null, 3]);
    expect(series(curve, "odd")).toEqual([]);
  });
});

describe("the gap", () => {
  it("stands in Race and Summary, in per cent", async () => {
    await show("race", {});
    act(() => live.set({ ...initialState, update: update(1, { comparison: [entry("greedy", 0.5, { gap: 0.357 })] }) }));
    expect(screen.getByTestId("race-gap").textContent).toBe("+36 %");
    fireEvent.click(screen.getByRole("radio", { name: "Gap" }));
    expect(screen.queryByTestId("race-gap")).toBeNull();
    expect(screen.getByTestId("race-bar").dataset.value).toBe("0.357");
    await show("summary", {});
    expect(within(screen.getByTestId("summary-row")).getByText("36 %").dataset.metric).toBe("gap");
  });
});
