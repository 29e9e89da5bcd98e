import type { JsonSchema } from '#views/documentation/operation.js';

type Json = Readonly<Record<string, unknown>>;

/** Maximum nesting depth of a shallow schema. The OpenAPI document contains the full schema. */
const DEPTH_MAX = 8;

/**
 * Writes the schema of a body to the greatest depth that fits into `charactersMax`. Deeper objects keep their
 * description and accept any value; the route validates them.
 * @param components schemas by the names in references
 */
export function createShallowSchema(schema: JsonSchema, components: Json, charactersMax: number): JsonSchema {
  let fittingSchema: JsonSchema = { type: 'object' };
  // Tries small depths first, because schemas grow fast with depth: expressions contain expressions.
  for (let depth = 1; depth <= DEPTH_MAX; depth++) {
    const shallowSchema = expandSchema(schema, components, depth) as JsonSchema;
    if (JSON.stringify(shallowSchema).length > charactersMax) break;
    fittingSchema = shallowSchema;
  }
  return fittingSchema;
}

/** Members of a schema whose value maps names to schemas. */
const NAMED_MEMBERS: ReadonlySet<string> = new Set(['properties', 'patternProperties']);
/** Members of a schema that list alternative forms of the same value. They do not increase the depth. */
const ALTERNATIVES: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf']);
/** Members without information for a caller. */
const OMITTED_MEMBERS: ReadonlySet<string> = new Set(['title', 'example', 'examples', 'additionalProperties']);

/** A caller may omit a member whose default is null, as any optional member. */
const isNullDefault = (name: string, member: unknown): boolean => name === 'default' && member === null;

function expandSchema(schema: unknown, components: Json, depth: number): unknown {
  if (Array.isArray(schema)) return schema.map((member) => expandSchema(member, components, depth));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { $ref, ...own } = schema as Json;
  if (typeof $ref === 'string') {
    const target = components[$ref.slice($ref.lastIndexOf('/') + 1)] as Json;
    return depth === 0 ? toLeaf({ ...target, ...own }) : expandSchema({ ...target, ...own }, components, depth);
  }
  if (depth === 0) return toLeaf(own);
  return Object.fromEntries(
    Object.entries(own)
      .filter(([name, member]) => !OMITTED_MEMBERS.has(name) && !isNullDefault(name, member))
      .map(([name, member]) => [
        name,
        NAMED_MEMBERS.has(name)
          ? listNamedSchemas(member as Json, components, depth - 1)
          : expandSchema(member, components, ALTERNATIVES.has(name) ? depth : depth - 1),
      ]),
  );
}

const listNamedSchemas = (schemas: Json, components: Json, depth: number): Json =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, expandSchema(schema, components, depth)]));

/** Reduces a schema to its type and description. */
function toLeaf({ type, description, enum: values, const: value }: Json): Json {
  return {
    ...(type === undefined ? {} : { type }),
    ...(description === undefined ? {} : { description }),
    ...(values === undefined ? {} : { enum: values }),
    ...(value === undefined ? {} : { const: value }),
  };
}
