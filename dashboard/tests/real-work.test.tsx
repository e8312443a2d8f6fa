/** What the page says and offers where the work is real. */
import { fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { initialState } from "../src/live/state";
import { live } from "../src/live/store";
import { RealWork } from "../src/shell/real-work";
import { SettingsDialog } from "../src/shell/settings-dialog";
import { TaskDialog, taskOf } from "../src/shell/task-dialog";
import { update } from "./samples";

const settings = { ...update(1).settings, node: "machine", devices: ["cpu_0", "gpu_0"] } as NonNullable<
  ReturnType<typeof update>["settings"]
>;

afterEach(() => {
  live.set(initialState);
  vi.unstubAllGlobals();
});

const quiet = () =>
  vi.stubGlobal(
    "fetch",
    vi.fn(async () => new Response("[]", { headers: { "content-type": "application/json" } })),
  );

test("it names the devices and whose turn it is", () => {
  live.set({ ...initialState, update: update(1, { settings, turn: "sjf" }) });
  render(<RealWork />);
  expect(screen.getByTestId("real-work").textContent).toBe("real work: cpu_0, gpu_0 · turn: sjf");
});

test("between two turns it names the devices, and of simulated nodes it says nothing", () => {
  live.set({ ...initialState, update: update(1, { settings, turn: null }) });
  const { rerender } = render(<RealWork />);
  expect(screen.getByTestId("real-work").textContent).toBe("real work: cpu_0, gpu_0");
  live.set({ ...initialState, update: update(2) });
  rerender(<RealWork />);
  expect(screen.queryByTestId("real-work")).toBeNull();
});

test("real work has no speed to set", () => {
  quiet();
  live.set({ ...initialState, update: update(1, { settings }) });
  render(<SettingsDialog onClose={() => undefined} />);
  expect(screen.queryByText(/^Speed/)).toBeNull();
  expect(screen.queryByText("As fast as the machine can")).toBeNull();
  expect(screen.getByText("Arrival rate (tasks per second)")).toBeTruthy();
});

test("a user's task is a kernel there, whose kind and size say the rest", () => {
  quiet();
  live.set({ ...initialState, update: update(1, { settings }) });
  render(<TaskDialog onClose={() => undefined} />);
  const kind = screen.getByLabelText(/^Kind/) as HTMLSelectElement;
  expect([...kind.options].map((option) => option.text)).not.toContain("no kernel");
  fireEvent.change(kind, { target: { value: "sort" } });
  expect((screen.getByLabelText(/^Memory/) as HTMLInputElement).disabled).toBe(true);
  expect(
    taskOf({ size: "300", compute_intensity: "0.5", memory_required: "1", dependencies: "", kind: "sort" }),
  ).toMatchObject({ kind: "sort", size: 300 });
});
