import { afterEach, expect, it, vi } from "vitest";
import { ApiError, api } from "../src/api/client";
import { answerTokenPrompt, tokenPrompt } from "../src/api/token";
import { fetchRecent } from "../src/live/recent";
import { messagesByField, taskOf } from "../src/shell/task-dialog";
import { item, result } from "./samples";

function answers(...responses: [status: number, body: unknown][]) {
  const fake = vi.fn();
  for (const [status, body] of responses) fake.mockResolvedValueOnce(new Response(JSON.stringify(body), { status }));
  vi.stubGlobal("fetch", fake);
  return fake;
}

afterEach(() => vi.unstubAllGlobals());

it("asks for the token on 401, keeps it for the tab and tries again with it", async () => {
  const fake = answers(
    [401, { error: { code: "unauthorized", message: "a token is needed", details: [] } }],
    [200, { state: "paused" }],
  );
  const call = api.control("pause");
  await vi.waitFor(() => expect(tokenPrompt.get().open).toBe(true));
  answerTokenPrompt("secret");
  await expect(call).resolves.toEqual({ state: "paused" });
  expect(fake.mock.calls[0]?.[1].headers.Authorization).toBeUndefined();
  expect(fake.mock.calls[1]?.[1].headers.Authorization).toBe("Bearer secret");
  expect(sessionStorage.getItem("hms.token")).toBe("secret");
  expect(localStorage.length).toBe(0);
});

it("gives up when the person declines, with the service's words", async () => {
  answers([401, { error: { code: "unauthorized", message: "a token is needed", details: [] } }]);
  const call = api.control("pause");
  await vi.waitFor(() => expect(tokenPrompt.get().open).toBe(true));
  answerTokenPrompt(null);
  await expect(call).rejects.toThrow("a token is needed");
});

it("turns every failure into an error for people", async () => {
  answers([
    422,
    {
      error: { code: "invalid_input", message: "size is -1", details: [{ field: "size", message: "must be above 0" }] },
    },
  ]);
  await expect(
    api.submitTask(taskOf({ size: "-1", compute_intensity: "0", memory_required: "0", dependencies: "", kind: "" })),
  ).rejects.toMatchObject({
    status: 422,
    message: "size is -1",
    details: [{ field: "size", message: "must be above 0" }],
  });
  vi.stubGlobal("fetch", vi.fn().mockRejectedValue(new TypeError("Failed to fetch")));
  const error = await api.status().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ status: 0, code: "unreachable" });
});

it("pages through history until it has enough", async () => {
  const page = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => item(from - index, { a: result() }));
  const fake = answers(
    [200, { items: page(2000, 1000), next_cursor: 1001 }],
    [200, { items: page(1000, 200), next_cursor: 801 }],
  );
  const items = await fetchRecent(1200);
  expect(items).toHaveLength(1200);
  expect(fake.mock.calls.map(([path]) => path)).toEqual([
    "/api/history/comparative?limit=1000",
    "/api/history/comparative?limit=200&before=1001",
  ]);
});

it("stops paging where history ends", async () => {
  const fake = answers([200, { items: [item(1, {})], next_cursor: null }]);
  expect(await fetchRecent(500)).toHaveLength(1);
  expect(fake).toHaveBeenCalledOnce();
});

it("sends what is no number as it is, so that the service can say what is wrong", () => {
  expect(
    taskOf({ size: "9e2", compute_intensity: "abc", memory_required: "", dependencies: "3, 4 x", kind: "" }),
  ).toEqual({
    size: 900,
    compute_intensity: "abc",
    memory_required: "",
    dependencies: [3, 4, "x"],
  });
});

it("puts messages beside their fields", () => {
  expect(
    messagesByField([
      { field: "body.size", message: "too small" },
      { field: "dependencies.0", message: "no such task" },
      { field: "", message: "?" },
    ]),
  ).toEqual({
    size: "too small",
    dependencies: "no such task",
  });
});
