import { act, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { WaitingRoom } from "../src/api/types";
import { Panel } from "../src/layout/panel";
import { catalogue } from "../src/live/catalogue";
import { recent } from "../src/live/recent";
import { initialState } from "../src/live/state";
import { live } from "../src/live/store";
import { Decision } from "../src/shell/decision";
import { inspected, inspectWaiting } from "../src/shell/inspected";
import { Inspector } from "../src/shell/inspector";
import { loadWidget, type WidgetId } from "../src/widgets";
import { item, result, scheduler, update } from "./samples";

type Waiting = WaitingRoom["tasks"][number];

function waiting(taskId: number, given: Partial<Waiting> = {}): Waiting {
  return {
    task_id: taskId,
    kind: "matmul",
    size: 4000,
    compute_intensity: 0.5,
    memory_required: 80,
    ready_time: 1,
    waited: 2.5,
    overtaken: 0,
    expected_start: null,
    reason: "It waits because gpu_0, which would finish it first, is expected to be busy for another 2 s.",
    ...given,
  };
}

const ROOMS: Record<string, WaitingRoom> = {
  sjf: {
    run_id: 1,
    simulated_time: 3.5,
    waiting: 57,
    tasks: [waiting(4, { overtaken: 1234, expected_start: 5.5 }), waiting(9, { waited: 0.5, ready_time: 3 })],
  },
  fcfs: { run_id: 1, simulated_time: 3.5, waiting: 0, tasks: [] },
};

/** Nothing is stored; the rooms are as above. */
async function service(address: string): Promise<Response> {
  const { pathname, searchParams } = new URL(address, "http://localhost");
  if (pathname !== "/api/simulation/waiting") {
    return new Response(JSON.stringify({ error: { message: "no such task", code: "not_found" } }), { status: 404 });
  }
  const room = ROOMS[searchParams.get("scheduler") ?? ""] as WaitingRoom;
  const wanted = searchParams.get("task_id");
  const tasks = room.tasks.filter((task) => wanted === null || String(task.task_id) === wanted);
  return new Response(JSON.stringify({ ...room, tasks }));
}

beforeEach(() => vi.stubGlobal("fetch", service));
afterEach(() => {
  act(() => {
    live.set(initialState);
    recent.set({ items: [], loaded: false, error: null });
    catalogue.set([]);
    inspected.set(null);
  });
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/** jsdom lays nothing out: everything is 600 pixels wide. */
function stubSizes() {
  class Observer {
    constructor(private readonly told: () => void) {}
    observe() {
      this.told();
    }
    disconnect() {}
  }
  vi.stubGlobal("ResizeObserver", Observer);
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(600);
}

async function show(id: WidgetId, chosen: string, ...line: ReturnType<typeof scheduler>[]) {
  const widget = await loadWidget(id);
  act(() => {
    catalogue.set(line);
    live.set({ ...initialState, connection: "open", update: update(1) });
  });
  render(
    <Panel id={id} widget={widget} scheduler={chosen} movable onHide={() => undefined} onArrow={() => undefined} />,
  );
}

const lets = (name: string) => scheduler(name, { lets_wait: true });

describe("Waiting room", () => {
  it("lists who waits, the oldest first, and counts the rest", async () => {
    await show("waiting", "", scheduler("greedy"), lets("sjf"));
    const rows = await screen.findAllByTestId("waiting-task");
    expect(rows.map((row) => row.dataset.task)).toEqual(["4", "9"]);
    expect(rows[0]?.textContent).toContain("matmul");
    expect(rows[0]?.textContent).toMatch(/4,000.*2\.50 s.*1,234 ×.*2\.00 s/);
    expect(rows[1]?.textContent).toMatch(/0 ×–$/);
    expect(screen.getByTestId("waiting-more").textContent).toBe("and 55 more that came later");
    expect(screen.queryByRole("combobox")).toBeNull();
    fireEvent.click(within(rows[1] as HTMLElement).getByRole("button", { name: "Inspect task 9" }));
    expect(inspected.get()).toEqual({ taskId: 9, scheduler: "sjf", waits: "sjf" });
  });
  it("lets people choose whose room, and says when it is empty", async () => {
    await show("waiting", "", lets("fcfs"), lets("sjf"));
    expect(await screen.findByText("Nobody waits for fcfs just now.")).toBeTruthy();
    fireEvent.change(screen.getByRole("combobox", { name: "Whose waiting room" }), { target: { value: "sjf" } });
    expect(await screen.findAllByTestId("waiting-task")).toHaveLength(2);
  });
  it("says so when nobody in the race lets tasks wait", async () => {
    await show("waiting", "", scheduler("greedy"), { ...lets("sjf"), in_race: false });
    expect(await screen.findByText(/No scheduler in the race lets tasks wait/)).toBeTruthy();
  });
});

describe("Inspector", () => {
  it("says why a task waits that is not stored yet", async () => {
    render(<Inspector />);
    act(() => inspectWaiting(4, "sjf"));
    const shown = await screen.findByTestId("unfinished");
    expect(shown.textContent).toContain("Why it waits: It waits because gpu_0");
    expect(shown.textContent).toContain("one of 57 tasks");
    expect(shown.textContent).toContain("1,234 ×");
  });
  it("says so when it does not wait any more, and looks for it when it is stored or somebody asks", async () => {
    render(<Inspector />);
    act(() => inspectWaiting(5, "sjf"));
    expect(await screen.findByText(/sjf has started it/)).toBeTruthy();
    fireEvent.click(screen.getByRole("button", { name: "Look for it now" }));
    expect(await screen.findByText("no such task")).toBeTruthy();
    act(() => inspectWaiting(4, "sjf"));
    await screen.findByTestId("unfinished");
    act(() => recent.set({ items: [item(4, {})], loaded: true, error: null }));
    expect(await screen.findByText("no such task")).toBeTruthy();
  });
  it("shows when a task was decided, after how long, and how often it was overtaken", () => {
    const report = {
      scheduler_name: "sjf",
      gpu_fraction: 0,
      gpu_id: null,
      reason: "",
      predicted: {},
      considered: [],
      projected: null,
      regret: null,
      waiting: false,
      expected_start: null,
    };
    render(<Decision report={report} result={result({ ready_time: 1.5, decided_time: 2, overtaken: 3 })} />);
    const facts = screen.getByTestId("decision-facts").textContent;
    expect(facts).toContain("Decided at2.000 s");
    expect(facts).toContain("Waited for the decision500 ms");
    expect(facts).toContain("Overtaken3 ×");
  });
});

describe("Ledger and Timeline", () => {
  const late = result({ ready_time: 1, decided_time: 3, overtaken: 1 });
  const early = result({ ready_time: 2, decided_time: 2, overtaken: 0 });
  const items = [item(2, { sjf: early, old: result() }), item(1, { sjf: late, old: result() })];

  it("the ledger has a column for the decision and one for overtaking", async () => {
    await show("ledger", "");
    act(() => recent.set({ items, loaded: true, error: null }));
    fireEvent.click(screen.getByRole("button", { name: "Overtaken" }));
    fireEvent.click(screen.getByRole("button", { name: "Overtaken" }));
    await waitFor(() => expect(screen.getAllByTestId("ledger-row")[0]?.dataset.task).toBe("1"));
    const cells = [...(screen.getAllByTestId("ledger-row")[0]?.querySelectorAll<HTMLElement>("[data-cell]") ?? [])];
    expect(cells.slice(-2).map((cell) => [cell.dataset.cell, cell.dataset.value, cell.textContent])).toEqual([
      ["decided", "3", "3.000 s"],
      ["overtaken", "1", "1 ×"],
    ]);
    const unknown = screen.getAllByTestId("ledger-row").at(-1)?.querySelector("[data-cell=decided]");
    expect(unknown?.textContent).toBe("–");
  });
  it("the timeline marks who was started out of order, and has a legend where tasks may wait", async () => {
    stubSizes();
    await show("timeline", "sjf", lets("sjf"), scheduler("old"));
    act(() => recent.set({ items, loaded: true, error: null }));
    expect(screen.getByTestId("timeline-legend").textContent).toBe("went before an older taskwas overtaken");
    const [first, second] = screen.getAllByTestId("timeline-block");
    expect(first?.getAttribute("aria-label")).toMatch(/^Task 2 .*ran 1\.00 s, went before an older task$/);
    expect(second?.getAttribute("aria-label")).toMatch(/^Task 1 .*ran 1\.00 s, was overtaken 1 ×$/);
    expect([first, second].map((block) => block?.querySelectorAll("polygon").length)).toEqual([1, 1]);
  });
  it("but neither for a scheduler that decides at once", async () => {
    stubSizes();
    await show("timeline", "old", lets("sjf"), scheduler("old"));
    act(() => recent.set({ items, loaded: true, error: null }));
    expect(screen.getAllByTestId("timeline-block")).toHaveLength(2);
    expect(screen.queryByTestId("timeline-legend")).toBeNull();
    expect(document.querySelector("polygon")).toBeNull();
  });
});
