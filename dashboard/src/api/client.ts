/** Calls to the service: one place for addresses, the token and errors. */
import { askForToken, currentToken } from "./token";
import type {
  Cleared,
  CollectedData,
  ComparativePage,
  ControlAnswer,
  ErrorAnswer,
  ExperimentJob,
  ExperimentOverview,
  ExperimentRequest,
  LearnAnswer,
  LearningCurve,
  LiveSettings,
  MeansOverTime,
  MetricDescription,
  ModelVersionPage,
  PresetInfo,
  PulseHistory,
  RetrainingPage,
  RunFile,
  RunMeans,
  RunPage,
  SchedulerInfo,
  SettingsChange,
  Status,
  StoredRun,
  TaskAccepted,
  TaskDetail,
  TaskGraph,
  TaskRequest,
  TrainingRecord,
  WaitingRoom,
} from "./types";

export type Detail = ErrorAnswer["error"]["details"][number];

/** The service said no, or could not be reached (status 0). The message is fit for people. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
    readonly details: Detail[] = [],
  ) {
    super(message);
  }
}

interface Call {
  method?: "GET" | "POST" | "PATCH" | "DELETE";
  body?: unknown;
  signal?: AbortSignal;
  /** Goes out even when the page is being left. */
  keepalive?: boolean;
}

async function send(path: string, { method = "GET", body, signal, keepalive }: Call): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json" };
  const token = currentToken();
  if (token !== null) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    const text = body === undefined ? undefined : JSON.stringify(body);
    return await fetch(path, { method, headers, body: text, signal, keepalive });
  } catch (error) {
    if (error instanceof TypeError) throw new ApiError("The service cannot be reached.", 0, "unreachable");
    throw error;
  }
}

async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as ErrorAnswer;
    return new ApiError(error.message, response.status, error.code, error.details ?? []);
  } catch {
    return new ApiError(`The service answered ${response.status} ${response.statusText}.`, response.status, "unknown");
  }
}

async function request<T>(path: string, call: Call = {}): Promise<T> {
  let response = await send(path, call);
  while (response.status === 401) {
    const token = await askForToken();
    if (token === null) throw await errorOf(response);
    response = await send(path, call);
  }
  if (!response.ok) throw await errorOf(response);
  return (await response.json()) as T;
}

function query(values: Record<string, number | string | null | undefined>): string {
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined);
  return given.length ? `?${new URLSearchParams(given.map(([key, value]) => [key, String(value)]))}` : "";
}

/** Seconds since 1970; what is left out is open. */
export interface TimeRange {
  since?: number;
  until?: number;
}

export type Control = "start" | "stop" | "pause" | "resume";

export const api = {
  status: () => request<Status>("/api/status"),
  schedulers: () => request<SchedulerInfo[]>("/api/schedulers"),
  metricCatalogue: () => request<MetricDescription[]>("/api/metrics/catalogue"),
  presets: () => request<PresetInfo[]>("/api/presets"),
  pulse: (scheduler: string, signal?: AbortSignal) =>
    request<PulseHistory>(`/api/simulation/pulse${query({ scheduler })}`, { signal }),
  waiting: (scheduler: string, wanted: { task_id?: number }, signal?: AbortSignal) =>
    request<WaitingRoom>(`/api/simulation/waiting${query({ scheduler, ...wanted })}`, { signal }),
  control: (control: Control) => request<ControlAnswer>(`/api/simulation/${control}`, { method: "POST" }),
  changeSettings: (change: SettingsChange, { keepalive }: Pick<Call, "keepalive"> = {}) =>
    request<LiveSettings>("/api/simulation/settings", { method: "PATCH", body: change, keepalive }),
  learnFromStore: (scheduler: string) =>
    request<LearnAnswer>(`/api/schedulers/${encodeURIComponent(scheduler)}/learn`, { method: "POST" }),
  submitTask: (task: TaskRequest) => request<TaskAccepted>("/api/tasks", { method: "POST", body: task }),
  task: (id: number, signal?: AbortSignal) => request<TaskDetail>(`/api/tasks/${id}`, { signal }),
  graph: (wanted: { scheduler: string; limit: number; run_id?: number | null }, signal?: AbortSignal) =>
    request<TaskGraph>(`/api/graph${query({ ...wanted })}`, { signal }),
  comparative: (limit: number, before?: number | null, signal?: AbortSignal) =>
    request<ComparativePage>(`/api/history/comparative${query({ limit, before })}`, { signal }),
  trainingRecords: (signal?: AbortSignal) => request<TrainingRecord[]>("/api/full_history", { signal }),
  models: (before?: number | null, signal?: AbortSignal) =>
    request<ModelVersionPage>(`/api/models${query({ before })}`, { signal }),
  runs: (page: { before?: number | null; kind?: StoredRun["kind"] }, signal?: AbortSignal) =>
    request<RunPage>(`/api/runs${query(page)}`, { signal }),
  run: (id: number, signal?: AbortSignal) => request<StoredRun>(`/api/runs/${id}`, { signal }),
  runFiles: (id: number, signal?: AbortSignal) => request<RunFile[]>(`/api/runs/${id}/files`, { signal }),
  experiments: (signal?: AbortSignal) => request<ExperimentOverview>("/api/experiments", { signal }),
  startExperiment: (experiment: ExperimentRequest) =>
    request<ExperimentJob>("/api/experiments", { method: "POST", body: experiment }),
  cancelExperiment: (id: ExperimentJob["id"]) => request<ExperimentJob>(`/api/experiments/${id}`, { method: "DELETE" }),
  means: (range: TimeRange, signal?: AbortSignal) =>
    request<MeansOverTime>(`/api/history/means${query({ ...range })}`, { signal }),
  learning: (wanted: TimeRange & { run_id?: number; scheduler?: string; points?: number }, signal?: AbortSignal) =>
    request<LearningCurve[]>(`/api/history/learning${query({ ...wanted })}`, { signal }),
  retrainings: (before?: number | null, signal?: AbortSignal) =>
    request<RetrainingPage>(`/api/history/retrainings${query({ before })}`, { signal }),
  collected: (signal?: AbortSignal) => request<CollectedData>("/api/history/collected", { signal }),
  runMeans: (id: number, signal?: AbortSignal) => request<RunMeans[]>(`/api/runs/${id}/figures`, { signal }),
  clearHistory: () => request<Cleared>("/api/history", { method: "DELETE" }),
};

/** Where a run's file lies; reading needs no token, so a plain link will do. */
export function runFileAddress(run: number, name: string): string {
  return `/api/runs/${run}/files/${name.split("/").map(encodeURIComponent).join("/")}`;
}
