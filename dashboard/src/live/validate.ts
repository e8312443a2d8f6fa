/** Checks what the WebSocket sends against the service's own schemas, of which it reads as much as they use. */
import { messages, schemas } from "virtual:live-schema";
import type { LiveMessage } from "../api/types";

export interface Schema {
  $ref?: string;
  anyOf?: Schema[];
  type?: string;
  const?: unknown;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  items?: Schema;
}

const IS_TYPE: Record<string, (value: unknown) => boolean> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === "boolean",
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  array: Array.isArray,
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
};

/** What is wrong with a value, e.g. "comparison[0].tasks is no integer"; null when nothing is. */
export function problemWith(value: unknown, schema: Schema, path: string): string | null {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split("/").at(-1) ?? "";
    return problemWith(value, schemas[name] ?? {}, path);
  }
  if (schema.anyOf !== undefined) {
    const problems = schema.anyOf.map((each) => problemWith(value, each, path));
    if (problems.includes(null)) return null;
    // Of a shape or null, the shape's own complaint says more.
    return (value === null ? null : problems.find((each) => each?.startsWith(`${path}.`))) ?? `${path} fits nothing`;
  }
  if (schema.const !== undefined && value !== schema.const) return `${path} is not ${JSON.stringify(schema.const)}`;
  if (schema.enum !== undefined && !schema.enum.includes(value)) return `${path} is none of ${schema.enum.join(", ")}`;
  if (schema.type === undefined) return null;
  if (IS_TYPE[schema.type]?.(value) === false) return `${path} is no ${schema.type}`;
  if (schema.type === "array")
    return firstProblem(value as unknown[], (each, at) => inside(each, schema.items, `${path}[${at}]`));
  return schema.type === "object" ? problemInside(value as Record<string, unknown>, schema, path) : null;
}

function problemInside(value: Record<string, unknown>, schema: Schema, path: string): string | null {
  const missing = schema.required?.find((key) => !Object.hasOwn(value, key));
  if (missing !== undefined) return `${path}.${missing} is missing`;
  const { additionalProperties: others, properties } = schema;
  return firstProblem(Object.entries(value), ([key, each]) =>
    inside(each, properties?.[key] ?? (typeof others === "object" ? others : undefined), `${path}.${key}`),
  );
}

const inside = (value: unknown, schema: Schema | undefined, path: string): string | null =>
  schema === undefined ? null : problemWith(value, schema, path);

function firstProblem<T>(values: readonly T[], problem: (value: T, at: number) => string | null): string | null {
  for (const [at, value] of values.entries()) {
    const found = problem(value, at);
    if (found !== null) return found;
  }
  return null;
}

/** The schema of each kind of message, by its `type`. */
const KINDS = new Map(messages.map((name) => [schemas[name]?.properties?.type?.const, schemas[name] ?? {}]));

/** A message that can be trusted to have the shape it should, or what is wrong with it. */
export function readMessage(text: string): { message: LiveMessage } | { problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: "it is no JSON" };
  }
  const kind = (value as { type?: unknown } | null)?.type;
  const schema = KINDS.get(kind);
  if (schema === undefined) return { problem: `there is no message of the type ${JSON.stringify(kind ?? null)}` };
  const problem = problemWith(value, schema, String(kind));
  return problem === null ? { message: value as LiveMessage } : { problem };
}
