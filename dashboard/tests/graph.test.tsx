import { act, fireEvent, render, screen, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type CriticalStep, type GraphTask, layout, neighbour, summary } from "../src/analysis/graph";
import type { TaskGraph } from "../src/api/types";
import { deviceLetters } from "../src/charts/task-graph";
import { Panel } from "../src/layout/panel";
import { initialState } from "../src/live/state";
import { live } from "../src/live/store";
import { inspected } from "../src/shell/inspected";
import { loadWidget } from "../src/widgets";
import { emptyAnswer, storedRun, update } from "./samples";

function task(taskId: number, parents: number[], device: string, start: number, end: number): GraphTask {
  return {
    task_id: taskId,
    kind: "matmul",
    size: 960,
    arrival_time: 0,
    parents: parents.map((parent) => ({ task_id: parent, megabytes: parent === 2 ? 12 : null })),
    parts: [{ device, share: 1, start, end }],
    start,
    end,
  };
}

const step = (taskId: number, device: string, start: number, end: number, reason: CriticalStep["waited_for"]) => ({
  task_id: taskId,
  device,
  start,
  end,
  waited_for: reason,
});

/** 1 forks to 2, 3 and 4; these join in 5; 3 and 4 follow each other on one GPU. */
const GRAPH: TaskGraph = {
  run_id: 1,
  scheduler_name: "greedy",
  devices: ["cpu_0", "gpu_0", "gpu_1"],
  searched: 40,
  tasks: [
    task(1, [], "cpu_0", 0, 2),
    task(2, [1], "cpu_0", 2, 3),
    task(3, [1], "gpu_0", 2, 5),
    task(4, [1], "gpu_0", 5, 6),
    task(5, [2, 3, 4, 99], "cpu_0", 6.5, 7),
  ],
  critical_path: [
    step(1, "cpu_0", 0, 2, null),
    step(3, "gpu_0", 2, 5, "parent"),
    step(4, "gpu_0", 5, 6, "device"),
    step(5, "cpu_0", 6.5, 7, "parent"),
  ],
  next_cursor: null,
};

describe("layout", () => {
  it("puts every task behind its parents and near the middle of them", () => {
    const { nodes, layers, rows, outside } = layout(GRAPH);
    expect(nodes.map(({ layer, row }) => [layer, row])).toEqual([
      [0, 0],
      [1, 0],
      [1, 1],
      [1, 2],
      [2, 1],
    ]);
    expect([layers, rows, outside]).toEqual([3, 3, 1]);
  });
  it("needs no order of the ids, and lets no two boxes lie on each other", () => {
    const tasks = Array.from({ length: 200 }, (_, id) =>
      task(id, id < 190 ? [(id * 7) % 10 === 0 ? 195 : id + 1, Math.min(199, id + 10)] : [], "cpu_0", 0, 1),
    );
    const { nodes } = layout({ tasks, critical_path: [] });
    const layer = new Map(nodes.map((node) => [node.task.task_id, node.layer]));
    for (const { task: each, layer: mine } of nodes) {
      for (const parent of each.parents) expect(layer.get(parent.task_id)).toBeLessThan(mine);
    }
    expect(new Set(nodes.map((node) => `${node.layer} ${node.row}`)).size).toBe(200);
  });
  it("moves no task when a later one comes", () => {
    const before = layout({ ...GRAPH, tasks: GRAPH.tasks.slice(0, 4) }).nodes;
    const after = layout(GRAPH).nodes;
    for (const [index, { layer, row }] of before.entries()) expect(after[index]).toMatchObject({ layer, row });
  });
  it("keeps layers of equal width at the same height", () => {
    const tasks = [0, 1, 2].flatMap((layer) =>
      [0, 1, 2, 3].map((row) =>
        task(4 * layer + row, layer ? [4 * layer - 4 + row, 4 * layer - 1] : [], "cpu_0", 0, 1),
      ),
    );
    expect(layout({ tasks, critical_path: [] }).rows).toBe(4);
  });
  it("draws the critical path last, over dependencies and over occupied devices", () => {
    const { edges } = layout(GRAPH);
    expect(edges.map(({ from, to, critical }) => [from.task.task_id, to.task.task_id, critical])).toEqual([
      [1, 2, null],
      [1, 4, null],
      [2, 5, null],
      [3, 5, null],
      [1, 3, "parent"],
      [3, 4, "device"],
      [4, 5, "parent"],
    ]);
  });
  it("is left along the critical path, or else up and down", () => {
    const graph = layout(GRAPH);
    const [one, two, three, four, five] = graph.nodes;
    if (!one || !two || !three || !four || !five) throw new Error("five tasks have five nodes");
    expect(neighbour(graph, one, "ArrowRight")).toBe(three);
    expect(neighbour(graph, five, "ArrowLeft")).toBe(four);
    expect(neighbour(graph, two, "ArrowDown")).toBe(three);
    expect(neighbour(graph, four, "ArrowUp")).toBe(three);
    expect(neighbour(graph, two, "ArrowUp")).toBeUndefined();
    expect(neighbour(graph, one, "a")).toBeUndefined();
  });
  it("says in words what it shows", () => {
    expect(summary(layout(GRAPH), GRAPH.critical_path)).toBe(
      "5 tasks in 3 layers, 7 dependencies. Task 5 ended last, at 7.000 s: 4 tasks on its critical path, 6.50 s at work, 500 ms between them.",
    );
    const alone = GRAPH.critical_path.slice(-1);
    expect(summary(layout(GRAPH), alone)).toMatch(/ended last, at 7.000 s, and had waited for none of the others\.$/);
  });
  it("has letters for devices", () => {
    expect(["cpu_0", "gpu_12", "a_gpu_1", "accelerator"].map(deviceLetters)).toEqual(["C0", "G12", "a_G1", "accel…"]);
  });
});

const asked: string[] = [];
let answer: TaskGraph = GRAPH;

async function service(address: string): Promise<Response> {
  const { pathname, searchParams } = new URL(address, "http://localhost");
  if (pathname === "/api/runs") {
    const kept = storedRun({ id: 7, kind: "compare", name: "", schedulers: ["greedy"] });
    return new Response(JSON.stringify({ items: [kept, storedRun({ id: 8, schedulers: [] })], next_cursor: null }));
  }
  if (pathname !== "/api/graph") return new Response(JSON.stringify(emptyAnswer(pathname)));
  asked.push(searchParams.toString());
  return new Response(JSON.stringify({ ...answer, run_id: Number(searchParams.get("run_id")) }));
}

/** jsdom lays nothing out: everything is 600 pixels wide. */
class Observer {
  constructor(private readonly told: () => void) {}
  observe() {
    this.told();
  }
  disconnect() {}
}

beforeEach(() => {
  vi.stubGlobal("fetch", service);
  vi.stubGlobal("ResizeObserver", Observer);
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(600);
  answer = GRAPH;
  asked.length = 0;
});
afterEach(() => {
  act(() => {
    live.set(initialState);
    inspected.set(null);
  });
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

async function show() {
  const widget = await loadWidget("graph");
  act(() => live.set({ ...initialState, connection: "open", update: update(1, { state: "paused" }) }));
  render(
    <Panel id="graph" widget={widget} scheduler="greedy" movable onHide={() => undefined} onArrow={() => undefined} />,
  );
}

describe("Graph", () => {
  it("draws tasks, dependencies and the critical path, with a legend and words", async () => {
    await show();
    const boxes = await screen.findAllByTestId("graph-task");
    expect(boxes.map((box) => box.textContent)).toEqual(["1 C0", "2 C0", "3 G0", "4 G0", "5 C0"]);
    expect(boxes.map((box) => box.dataset.critical)).toEqual(["true", "false", "true", "true", "true"]);
    expect(screen.getAllByTestId("graph-edge").map((edge) => edge.dataset.critical)).toEqual([
      "",
      "",
      "",
      "",
      "parent",
      "device",
      "parent",
    ]);
    expect(screen.getByTestId("graph-legend").textContent).toBe(
      "C0 CPU 0G0 GPU 0critical: waited for a parentfor the device",
    );
    expect(screen.getByRole("group", { name: /5 tasks in 3 layers/ })).toBeTruthy();
    expect(screen.getByTestId("graph-words").textContent).toMatch(
      /^5 tasks.*1 of these on tasks that are not shown\.$/,
    );
    expect(asked).toEqual(["scheduler=greedy&limit=100&run_id=1"]);
  });
  it("is walked with the arrow keys, tells about each task, and opens it", async () => {
    await show();
    const box = (id: number) => document.querySelector(`[data-task="${id}"]`) as SVGGElement;
    await screen.findAllByTestId("graph-task");
    const reached = () => screen.getAllByTestId("graph-task").filter((each) => each.getAttribute("tabindex") === "0");
    expect(reached()).toEqual([box(5)]);
    act(() => box(5).focus());
    fireEvent.keyDown(box(5), { key: "ArrowLeft" });
    expect(document.activeElement).toBe(box(4));
    expect(reached()).toEqual([box(4)]);
    expect(screen.getByTestId("graph-words").textContent).toBe(
      "Task 4, matmul, size 960, on GPU 0 from 5.000 s to 6.000 s (1.00 s), after task 1. On the critical path: it waited for GPU 0.",
    );
    expect(box(5).getAttribute("aria-label")).toContain("after tasks 2 (12 MB), 3, 4, 99.");
    fireEvent.keyDown(box(4), { key: "Enter" });
    expect(inspected.get()).toEqual({ taskId: 4, scheduler: "greedy" });
  });
  it("stands still while somebody looks", async () => {
    await show();
    await screen.findAllByTestId("graph-task");
    const picture = screen.getByRole("region", { name: "Graph of tasks" });
    fireEvent.pointerEnter(picture);
    answer = { ...GRAPH, tasks: GRAPH.tasks.slice(0, 2), critical_path: [] };
    const questions = asked.length;
    act(() => live.set({ ...initialState, connection: "open", update: update(2) }));
    await vi.waitFor(() => expect(asked.length).toBeGreaterThan(questions));
    await act(async () => undefined);
    expect(screen.getAllByTestId("graph-task")).toHaveLength(5);
    fireEvent.pointerLeave(picture);
    await vi.waitFor(() => expect(screen.getAllByTestId("graph-task")).toHaveLength(2));
  });
  it("shows stored runs of this scheduler, and as many tasks as wanted", async () => {
    await show();
    const choice = await screen.findByRole("combobox", { name: "Run" });
    expect(within(choice).getAllByRole("option")).toHaveLength(2);
    fireEvent.change(choice, { target: { value: "7" } });
    fireEvent.click(screen.getByRole("radio", { name: "200" }));
    await vi.waitFor(() => expect(asked.at(-1)).toBe("scheduler=greedy&limit=200&run_id=7"));
    expect(await screen.findAllByTestId("graph-task")).toHaveLength(5);
  });
  it("says so when no task depends on another, and how to get some that do", async () => {
    answer = { ...GRAPH, tasks: [], critical_path: [] };
    await show();
    expect(await screen.findByText(/These tasks do not depend on each other/)).toBeTruthy();
    expect(screen.getByText("hms compare --dependency-prob 0.3 --store")).toBeTruthy();
  });
  it("draws split and failed tasks", async () => {
    const split = { ...task(1, [], "gpu_0", 0, 1), parts: [] as GraphTask["parts"] };
    split.parts = [0.75, 0.25].map((share, index) => ({ device: `${index ? "c" : "g"}pu_0`, share, start: 0, end: 1 }));
    const failed = { ...task(2, [1], "gpu_0", 1, 2), parts: [], start: null, end: null };
    answer = { ...GRAPH, tasks: [split, failed], critical_path: [] };
    await show();
    const boxes = await screen.findAllByTestId("graph-task");
    expect(boxes.map((box) => box.textContent)).toEqual(["1 G0+C0", "2 failed"]);
    const widths = [...(boxes[0]?.querySelectorAll("rect") ?? [])].map((rect) => Number(rect.getAttribute("width")));
    expect(widths).toEqual([58, 43.5, 14.5, 58]);
    expect(boxes[1]?.getAttribute("aria-label")).toBe("2 failed: Task 2, matmul, size 960, failed, after task 1.");
  });
});
