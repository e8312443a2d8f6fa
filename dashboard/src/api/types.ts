/** Short names for the generated shapes; the shapes themselves are only in schema.ts. */
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Cleared = Schemas["Cleared"];
export type ComparativeItem = Schemas["ComparativeItem"];
export type ComparativePage = Schemas["ComparativePage"];
export type ComparisonEntry = Schemas["ComparisonEntry"];
export type Considered = Schemas["Considered"];
export type ControlAnswer = Schemas["ControlAnswer"];
export type DecisionReport = Schemas["DecisionReport"];
export type ErrorAnswer = Schemas["ErrorAnswer"];
export type ExperimentInfo = Schemas["ExperimentInfo"];
export type ExperimentJob = Schemas["ExperimentJob"];
export type ExperimentOverview = Schemas["ExperimentOverview"];
export type ExperimentRequest = Schemas["ExperimentRequest"];
export type LiveSettings = Schemas["LiveSettings"];
export type LogLine = Schemas["LogLine"];
export type MetricDescription = Schemas["MetricDescription"];
export type ModelInfo = Schemas["ModelInfo"];
export type ModelVersion = Schemas["ModelVersion"];
export type ModelVersionPage = Schemas["ModelVersionPage"];
export type Notification = Schemas["Notification"];
export type PresetInfo = Schemas["PresetInfo"];
export type Result = Schemas["Result"];
export type RunFile = Schemas["RunFile"];
export type RunPage = Schemas["RunPage"];
export type SchedulerInfo = Schemas["SchedulerInfo"];
export type SettingsChange = Schemas["SettingsChange"];
export type SimulationUpdate = Schemas["SimulationUpdate"];
export type State = SimulationUpdate["state"];
export type Status = Schemas["Status"];
export type StoredRun = Schemas["StoredRun"];
export type TaskAccepted = Schemas["TaskAccepted"];
export type TaskDetail = Schemas["TaskDetail"];
export type TaskRequest = Schemas["TaskRequest"];
export type TrainingRecord = Schemas["TrainingRecord"];
export type LiveMessage = SimulationUpdate | Notification | LogLine;
