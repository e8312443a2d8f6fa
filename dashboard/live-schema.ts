/** A build step: the JSON schemas of the live messages, cut out of openapi.json, as the module `virtual:live-schema`. */
import type { Plugin } from "vite";
import openapi from "./openapi.json" with { type: "json" };

const MESSAGES = ["SimulationUpdate", "Notification", "LogLine"];
const NAME = "virtual:live-schema";
/** What only people read. */
const WORDS = new Set(["title", "description", "examples", "default"]);

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** `inProperties`: the keys are names of fields, not of the schema language. */
function withoutWords(schema: Json, inProperties = false): Json {
  if (Array.isArray(schema)) return schema.map((each) => withoutWords(each));
  if (schema === null || typeof schema !== "object") return schema;
  const kept = Object.entries(schema).filter(([key]) => inProperties || !WORDS.has(key));
  return Object.fromEntries(
    kept.map(([key, value]) => [key, withoutWords(value, !inProperties && key === "properties")]),
  );
}

/** The schemas of the live messages and of everything in them, by name. */
function liveSchemas(): Record<string, Json> {
  const all = openapi.components.schemas as unknown as Record<string, Json>;
  const taken: Record<string, Json> = {};
  const wanted = [...MESSAGES];
  for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
    const schema = all[name];
    if (schema === undefined) throw new Error(`openapi.json has no schema ${name}; run scripts/write_openapi.py`);
    if (name in taken) continue;
    taken[name] = withoutWords(schema);
    wanted.push(
      ...[...JSON.stringify(schema).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, other]) => other ?? ""),
    );
  }
  return taken;
}

export function liveSchemaPlugin(): Plugin {
  return {
    name: "live-schema",
    resolveId: (id) => (id === NAME ? `\0${NAME}` : null),
    load(id) {
      if (id !== `\0${NAME}`) return null;
      return [
        `export const messages = ${JSON.stringify(MESSAGES)};`,
        `export const schemas = ${JSON.stringify(liveSchemas())};`,
      ].join("\n");
    },
  };
}
