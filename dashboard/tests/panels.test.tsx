import { act, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Panel } from "../src/layout/panel";
import { catalogue } from "../src/live/catalogue";
import { metricCatalogue } from "../src/live/metric-catalogue";
import { recent } from "../src/live/recent";
import { initialState } from "../src/live/state";
import { live } from "../src/live/store";
import { inspected } from "../src/shell/inspected";
import { loadWidget, WIDGET_IDS, type WidgetId } from "../src/widgets";
import { emptyAnswer, entry, item, METRICS, result, scheduler, update } from "./samples";

/** A service that has stored nothing yet. */
async function emptyService(path: string): Promise<Response> {
  return new Response(JSON.stringify(emptyAnswer(path.split("?")[0] ?? "")));
}

beforeEach(() => vi.stubGlobal("fetch", emptyService));
afterEach(() => {
  act(() => {
    live.set(initialState);
    recent.set({ items: [], loaded: false, error: null });
    catalogue.set([]);
    metricCatalogue.set([]);
    inspected.set(null);
  });
  vi.unstubAllGlobals();
});

async function show(id: WidgetId, chosen = "greedy") {
  const widget = await loadWidget(id);
  render(
    <Panel id={id} widget={widget} scheduler={chosen} movable onHide={() => undefined} onArrow={() => undefined} />,
  );
  return widget;
}

function race() {
  act(() => {
    metricCatalogue.set(METRICS);
    catalogue.set([
      scheduler("greedy"),
      scheduler("oracle", { knows_truth: true, colour: "#eab308" }),
      scheduler("my_own", { colour: "#123456" }),
    ]);
    live.set({
      ...initialState,
      connection: "open",
      update: update(1, {
        comparison: [
          entry("greedy", 0.5),
          entry("oracle", 0.1234567890123),
          entry("my_own", 200, { overloaded: true }),
        ],
        lower_bound: { avg_time: 0.05, avg_response: 0.1, avg_energy: 1, avg_cost: 1 },
      }),
    });
    recent.set({
      items: [
        item(8, {
          greedy: result({ response_time: 2 }),
          oracle: result({ response_time: 1, gpu_fraction: 1, gpu_id: 2 }),
        }),
        item(7, { greedy: result({ response_time: 1 }), oracle: result({ response_time: 1 }) }),
      ],
      loaded: true,
      error: null,
    });
  });
}

describe.each(WIDGET_IDS)("panel %s", (id) => {
  it("has a title, a sentence of help, and says when it has nothing to show", async () => {
    const widget = await show(id);
    expect(widget.help.length).toBeGreaterThan(60);
    await waitFor(() => expect(screen.getAllByTestId("empty")[0]?.textContent).toMatch(/No data yet/));
    fireEvent.click(screen.getByRole("button", { name: `How to read ${widget.title}` }));
    expect(screen.getByText(widget.help)).toBeTruthy();
  });
});

describe("Race", () => {
  it("shows the service's figures in full, best first, in the service's colours", async () => {
    await show("race");
    race();
    const bars = screen.getAllByTestId("race-bar");
    const shown = Object.fromEntries(bars.map((bar) => [bar.dataset.scheduler, Number(bar.dataset.value)]));
    expect(shown).toEqual({ greedy: 0.5, oracle: 0.1234567890123, my_own: 200 });
    expect(screen.getByRole("button", { name: /^1\s*oracle\s*123 ms/ })).toBeTruthy();
    expect(screen.getByRole("button", { name: /^3\s*my own\s*overloaded\s*200 s/ })).toBeTruthy();
    expect(screen.getByTestId("race-bound").dataset.value).toBe("0.1");
    expect(screen.getByTestId("race-oracle").dataset.value).toBe("0.1234567890123");
    expect(document.body.innerHTML).toContain("rgb(18, 52, 86)");
  });
  it("goes over to a logarithmic scale by itself and switches metric", async () => {
    await show("race");
    race();
    expect(screen.getByText("each step is 10 ×")).toBeTruthy();
    fireEvent.click(screen.getByRole("radio", { name: "Linear" }));
    expect(screen.queryByText("each step is 10 ×")).toBeNull();
    fireEvent.click(screen.getByRole("radio", { name: "Energy" }));
    expect(screen.getByTestId("race-bound").dataset.value).toBe("1");
  });
  it("opens the inspector on the scheduler's latest stored task", async () => {
    await show("race");
    race();
    fireEvent.click(screen.getByRole("button", { name: /oracle/ }));
    expect(inspected.get()).toEqual({ taskId: 8, scheduler: "oracle" });
  });
});

describe("Scoreboard", () => {
  it("counts wins of the row over the column", async () => {
    await show("scoreboard");
    race();
    const cells = screen
      .getAllByTestId("score-cell")
      .map(({ dataset }) => [dataset.row, dataset.column, dataset.wins, dataset.total]);
    expect(cells).toEqual([
      ["greedy", "oracle", "0", "2"],
      ["oracle", "greedy", "1", "2"],
    ]);
    expect(screen.getByTestId("window-note").textContent).toBe("last 2 tasks");
  });
});

describe("Energy that no machine told", () => {
  function untold() {
    race();
    const { update: told } = live.get();
    if (told === null) throw new Error("there is no race");
    const comparison = told.comparison.map((each) => ({ ...each, avg_energy: null }));
    act(() => {
      live.set({
        ...live.get(),
        update: { ...told, comparison, lower_bound: { ...told.lower_bound, avg_energy: null } },
      });
      recent.set({
        items: [1, 2].map((id) => item(id, { greedy: result({ energy_consumption: id === 1 ? null : 5 }) })),
        loaded: true,
        error: null,
      });
    });
  }

  it("leaves the race's other figures within reach", async () => {
    await show("race");
    untold();
    fireEvent.click(screen.getByRole("radio", { name: "Energy" }));
    expect(screen.getByTestId("empty").textContent).toBe("No data: the energy of real work is not known here");
    fireEvent.click(screen.getByRole("radio", { name: "Cost" }));
    expect(screen.queryByTestId("empty")).toBeNull();
  });
  it("is a dash in the ledger, and sorts before what is known", async () => {
    await show("ledger");
    untold();
    fireEvent.click(screen.getByRole("button", { name: "Energy" }));
    const cells = screen
      .getAllByTestId("ledger-row")
      .map((row) => row.querySelector("[data-cell=energy]")?.textContent);
    expect(cells).toEqual(["–", "5.00 J"]);
    fireEvent.click(screen.getByRole("button", { name: "Energy" }));
    expect(screen.getAllByTestId("ledger-row").map(({ dataset }) => dataset.task)).toEqual(["2", "1"]);
  });
});

describe("Ledger", () => {
  it("lists, sorts and filters, and opens a task", async () => {
    await show("ledger");
    race();
    const tasks = () =>
      screen.getAllByTestId("ledger-row").map(({ dataset }) => `${dataset.task} ${dataset.scheduler}`);
    expect(tasks()).toEqual(["8 greedy", "8 oracle", "7 greedy", "7 oracle"]);
    fireEvent.click(screen.getByRole("button", { name: "Response" }));
    expect(tasks()[3]).toBe("8 greedy");
    fireEvent.change(screen.getByRole("combobox", { name: "Only this scheduler" }), { target: { value: "oracle" } });
    await waitFor(() => expect(tasks()).toEqual(["8 oracle", "7 oracle"]));
    fireEvent.click(within(screen.getAllByTestId("ledger-row")[0] as HTMLElement).getByRole("button"));
    expect(inspected.get()).toEqual({ taskId: 8, scheduler: "oracle" });
  });
});

describe("Split", () => {
  it("shows shares of busy time in full precision", async () => {
    await show("split", "oracle");
    race();
    expect(screen.getByTestId("split-gpu-share").dataset.value).toBe("0");
    expect(screen.getByTestId("split-mean-fraction").dataset.value).toBe("0.5");
  });
});

describe("Load dial", () => {
  it("is a slider that sends the load it was turned to", async () => {
    vi.useFakeTimers();
    const fetched = vi.fn().mockImplementation(async () => new Response("{}"));
    vi.stubGlobal("fetch", fetched);
    await show("load");
    race();
    const dial = screen.getByRole("slider", { name: "Load" });
    const before = Number(dial.dataset.value);
    fireEvent.keyDown(dial, { key: "ArrowUp" });
    expect(Number(dial.dataset.value)).toBeGreaterThan(before);
    await act(() => vi.advanceTimersByTimeAsync(300));
    expect(fetched).toHaveBeenCalledOnce();
    expect(JSON.parse(fetched.mock.calls[0]?.[1].body)).toEqual({ load: Number(dial.dataset.value) });
    vi.useRealTimers();
  });
});

describe("every panel's data", () => {
  it("can be shown as a table with the same figures", async () => {
    await show("race");
    race();
    fireEvent.click(screen.getByRole("button", { name: "Race: more" }));
    fireEvent.click(screen.getByRole("button", { name: "Show as table" }));
    const table = within(screen.getByRole("region", { name: "Race as a table" }));
    expect(table.getAllByRole("row")[1]?.textContent).toContain("oracle0.1235");
    expect(table.getAllByRole("row")).toHaveLength(5);
  });
});
