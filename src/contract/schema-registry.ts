import { z } from 'zod';
import { FORMATS } from '#domain/catalogue/type-spec.js';
import { GLOSSARY } from './glossary.js';

export type JsonSchema = Record<string, unknown>;

type Direction = 'input' | 'output';

/** Converts the schemas of a document to JSON Schema. */
export interface SchemaConversion {
  /** Returns the JSON Schema of a request body or parameter. `resolve` completes its references. */
  request(schema: z.ZodType): JsonSchema;
  /** Returns the schema of a response body. */
  response(schema: z.ZodType): JsonSchema;
}

/**
 * Named schemas of a document as components. A schema that differs between requests and responses has two components,
 * `Name` and `NameInput`. For example, a field with a default is optional only in requests.
 */
export interface SchemaRegistry extends SchemaConversion {
  /** Returns all named schemas by component name. */
  components(): Record<string, JsonSchema>;
  /** Returns a value in which all schema references point to components. */
  resolve<T>(value: T): T;
}

/**
 * Creates the schema registry of a document.
 * @param visitSchemas asks for the conversion of every schema in the document. All schemas are converted together,
 * because each conversion includes every schema that it refers to.
 */
export function createSchemaRegistry(visitSchemas: (conversion: SchemaConversion) => unknown): SchemaRegistry {
  const requestedSchemas = { input: new Set<z.ZodType>(), output: new Set<z.ZodType>() };
  const createCollector = (io: Direction) => (schema: z.ZodType) => {
    requestedSchemas[io].add(schema);
    return {};
  };
  visitSchemas({ request: createCollector('input'), response: createCollector('output') });
  const conversions = {
    input: convert(requestedSchemas.input, 'input'),
    output: convert(requestedSchemas.output, 'output'),
  };
  const namedSchemas = { input: conversions.input.named, output: conversions.output.named };
  const twofoldIds = listTwofoldIds(namedSchemas);

  const getName = (io: Direction, id: string): string => (io === 'input' && twofoldIds.has(id) ? `${id}Input` : id);
  const resolve = <T>(value: T): T =>
    mapRefs(value, (ref) => {
      const match = /^#\/(input|output)\/(.*)$/.exec(ref);
      return match === null ? ref : `#/components/schemas/${getName(match[1] as Direction, match[2]!)}`;
    }) as T;

  return {
    request: (schema) => conversions.input.schemas.get(schema)!,
    response: (schema) => conversions.output.schemas.get(schema)!,
    components() {
      const namedEntries = (['output', 'input'] as const).flatMap((io) =>
        [...namedSchemas[io]].map(([id, schema]) => [getName(io, id), resolve(schema)] as const),
      );
      return Object.fromEntries(namedEntries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
    },
    resolve,
  };
}

/** Converts schemas and the named schemas that they refer to. */
function convert(requestedSchemas: ReadonlySet<z.ZodType>, io: Direction) {
  const schemas = [...requestedSchemas];
  if (schemas.length === 0) return { schemas: new Map<z.ZodType, JsonSchema>(), named: new Map<string, JsonSchema>() };
  const { prefixItems = [], $defs = {} } = z.toJSONSchema(z.tuple(schemas as [z.ZodType, ...z.ZodType[]]), {
    io,
    target: 'draft-2020-12',
    override: ({ jsonSchema }) => simplifySchema(jsonSchema),
  });
  return {
    schemas: new Map(schemas.map((schema, k) => [schema, markRefs(prefixItems[k], io) as JsonSchema])),
    named: new Map(
      Object.entries($defs).map(([id, schema]) => [id, addMeanings(markRefs(schema, io), id) as JsonSchema]),
    ),
  };
}

/**
 * Returns the ids of schemas that differ between requests and responses. The difference may be in a schema that they
 * refer to.
 */
function listTwofoldIds({ input, output }: Record<Direction, ReadonlyMap<string, JsonSchema>>): Set<string> {
  const removeDirection = (schema: JsonSchema | undefined) =>
    JSON.stringify(schema).replaceAll(/"#\/(?:input|output)\//g, '"#/');
  const sharedIds = [...output.keys()].filter((id) => input.has(id));
  const twofoldIds = new Set(
    sharedIds.filter((id) => removeDirection(input.get(id)) !== removeDirection(output.get(id))),
  );
  for (let previousSize = -1; previousSize !== twofoldIds.size;) {
    previousSize = twofoldIds.size;
    for (const id of sharedIds) {
      const text = JSON.stringify(output.get(id));
      if ([...twofoldIds].some((other) => text.includes(`"#/output/${other}"`))) twofoldIds.add(id);
    }
  }
  return twofoldIds;
}

/** Adds a description to each field of a named schema. It comes from the field or from the glossary. */
function addMeanings(schema: unknown, id: string): unknown {
  if (Array.isArray(schema)) return schema.map((item) => addMeanings(item, id));
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, member]) => [
      key,
      key === 'properties' ? describeProperties(member as Record<string, JsonSchema>, id) : addMeanings(member, id),
    ]),
  );
}

function describeProperties(properties: Readonly<Record<string, JsonSchema>>, id: string): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, field]) => {
      const meaning = GLOSSARY[`${id}.${name}`] ?? GLOSSARY[name];
      const describedField = addMeanings(field, id) as JsonSchema;
      return [
        name,
        meaning === undefined || 'description' in field || 'const' in field
          ? describedField
          : { ...describedField, description: meaning },
      ];
    }),
  );
}

function markRefs(schema: unknown, io: Direction): unknown {
  return mapRefs(schema, (ref) => ref.replace(/^#\/\$defs\//, `#/${io}/`));
}

function mapRefs(value: unknown, change: (ref: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => mapRefs(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      key === '$ref' && typeof member === 'string' ? change(member) : mapRefs(member, change),
    ]),
  );
}

function simplifySchema(schema: JsonSchema): void {
  removeSafeRange(schema);
  moveLabelToTitle(schema);
}

/** Moves the label and the help of a catalogue parameter to the title and the description of its schema. */
function moveLabelToTitle(schema: JsonSchema): void {
  const { label, help, unit } = schema;
  if (label !== undefined) schema['title'] = label;
  if (help !== undefined) schema['description'] = unit === undefined ? help : `${String(help)} Unit: ${String(unit)}.`;
  for (const word of ['label', 'help', 'unit', 'ref', 'when']) delete schema[word];
  if (String(schema['format']) in FORMATS && schema['format'] !== 'date') delete schema['format'];
}

/** Removes the range of exact integers from a schema. It does not help readers. */
function removeSafeRange(schema: JsonSchema): void {
  if (schema['maximum'] === Number.MAX_SAFE_INTEGER) delete schema['maximum'];
  if (schema['minimum'] === Number.MIN_SAFE_INTEGER) delete schema['minimum'];
}
