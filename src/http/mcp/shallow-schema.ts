import type { JsonSchema } from '#views/documentation/operation.js';

type Json = Readonly<Record<string, unknown>>;

/** Deepest nesting that is looked at; the full schema is in the OpenAPI document. */
const DEPTH_MAX = 8;

/**
 * The schema of a body without references, as deep as `charactersMax` allows: below, objects keep their description and
 * accept anything, because the route checks them.
 * @param components schemas by name, as references name them
 */
export function shallowSchema(schema: JsonSchema, components: Json, charactersMax: number): JsonSchema {
  let fitting: JsonSchema = { type: 'object' };
  // From above: deeper schemas grow fast, and expressions contain expressions.
  for (let depth = 1; depth <= DEPTH_MAX; depth++) {
    const shallow = expanded(schema, components, depth) as JsonSchema;
    if (JSON.stringify(shallow).length > charactersMax) break;
    fitting = shallow;
  }
  return fitting;
}

/** Members of a schema whose values are schemas by name. */
const BY_NAME: ReadonlySet<string> = new Set(['properties', 'patternProperties']);
/** Members that are the same value in other words, a level no deeper. */
const ALTERNATIVES: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf']);
/** Members that say nothing to a caller. */
const DROPPED: ReadonlySet<string> = new Set(['title', 'example', 'examples', 'additionalProperties']);

function expanded(schema: unknown, components: Json, depth: number): unknown {
  if (Array.isArray(schema)) return schema.map((each) => expanded(each, components, depth));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { $ref, ...own } = schema as Json;
  if (typeof $ref === 'string') {
    const target = components[$ref.slice($ref.lastIndexOf('/') + 1)] as Json;
    return depth === 0 ? leaf({ ...target, ...own }) : expanded({ ...target, ...own }, components, depth);
  }
  if (depth === 0) return leaf(own);
  return Object.fromEntries(
    Object.entries(own)
      .filter(([name]) => !DROPPED.has(name))
      .map(([name, member]) => [
        name,
        BY_NAME.has(name)
          ? namedSchemas(member as Json, components, depth - 1)
          : expanded(member, components, ALTERNATIVES.has(name) ? depth : depth - 1),
      ]),
  );
}

const namedSchemas = (schemas: Json, components: Json, depth: number): Json =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, expanded(schema, components, depth)]));

/** A schema whose inside is left out. */
function leaf({ type, description, enum: values, const: value }: Json): Json {
  return {
    ...(type === undefined ? {} : { type }),
    ...(description === undefined ? {} : { description }),
    ...(values === undefined ? {} : { enum: values }),
    ...(value === undefined ? {} : { const: value }),
  };
}
