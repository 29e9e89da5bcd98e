import { z } from 'zod';
import { FORMATS } from '#domain/catalogue/type-spec.js';
import { GLOSSARY } from './glossary.js';

export type JsonSchema = Record<string, unknown>;

type Direction = 'input' | 'output';

/**
 * Collects the schemas of a document as components. A schema that differs between requests and responses (a field with
 * a default is optional in a request and always present in a response) has two components, `Name` and `NameInput`.
 */
export interface SchemaRegistry {
  /** Returns the schema of a body or parameter of a request; `resolve` sets its references. */
  request(schema: z.ZodType): JsonSchema;
  /** Returns the schema of a response body. */
  response(schema: z.ZodType): JsonSchema;
  /** Returns every named schema seen so far, by component name. */
  components(): Record<string, JsonSchema>;
  /** Returns a value with the references of its schemas pointing at the components. */
  resolve<T>(value: T): T;
}

export function createSchemaRegistry(): SchemaRegistry {
  const named: Record<Direction, Map<string, JsonSchema>> = { input: new Map(), output: new Map() };

  function add(schema: z.ZodType, io: Direction): JsonSchema {
    const {
      $schema: _,
      $defs = {},
      ...root
    } = z.toJSONSchema(schema, { io, target: 'draft-2020-12', override: ({ jsonSchema }) => inPlainWords(jsonSchema) });
    for (const [id, definition] of Object.entries($defs)) {
      const marked = addMeanings(markRefs(definition, io), id) as JsonSchema;
      const known = named[io].get(id);
      if (known !== undefined && JSON.stringify(known) !== JSON.stringify(marked))
        throw new Error(`two schemas have the id ${id}`);
      named[io].set(id, marked);
    }
    return markRefs(root, io) as JsonSchema;
  }

  function nameOf(io: Direction, id: string, twofold: ReadonlySet<string>): string {
    return io === 'input' && twofold.has(id) ? `${id}Input` : id;
  }

  function resolveWith<T>(value: T, twofold: ReadonlySet<string>): T {
    return mapRefs(value, (ref) => {
      const match = /^#\/(input|output)\/(.*)$/.exec(ref);
      return match === null ? ref : `#/components/schemas/${nameOf(match[1] as Direction, match[2]!, twofold)}`;
    }) as T;
  }

  return {
    request: (schema) => add(schema, 'input'),
    response: (schema) => add(schema, 'output'),
    components() {
      const twofold = twofoldIds(named);
      const all = (['output', 'input'] as const).flatMap((io) =>
        [...named[io]].map(([id, schema]) => [nameOf(io, id, twofold), resolveWith(schema, twofold)] as const),
      );
      return Object.fromEntries(all.toSorted(([a], [b]) => (a < b ? -1 : 1)));
    },
    resolve: (value) => resolveWith(value, twofoldIds(named)),
  };
}

/** Ids with different schemas in requests and responses, directly or through a reference. */
function twofoldIds({ input, output }: Record<Direction, ReadonlyMap<string, JsonSchema>>): Set<string> {
  const removeDirection = (schema: JsonSchema | undefined) =>
    JSON.stringify(schema).replaceAll(/"#\/(?:input|output)\//g, '"#/');
  const shared = [...output.keys()].filter((id) => input.has(id));
  const twofold = new Set(shared.filter((id) => removeDirection(input.get(id)) !== removeDirection(output.get(id))));
  for (let before = -1; before !== twofold.size;) {
    before = twofold.size;
    for (const id of shared) {
      const text = JSON.stringify(output.get(id));
      if ([...twofold].some((other) => text.includes(`"#/output/${other}"`))) twofold.add(id);
    }
  }
  return twofold;
}

/** Returns a named schema with a description of each field, from the field or from the glossary. */
function addMeanings(schema: unknown, id: string): unknown {
  if (Array.isArray(schema)) return schema.map((item) => addMeanings(item, id));
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, member]) => [
      key,
      key === 'properties' ? meanings(member as Record<string, JsonSchema>, id) : addMeanings(member, id),
    ]),
  );
}

function meanings(properties: Readonly<Record<string, JsonSchema>>, id: string): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, field]) => {
      const meaning = GLOSSARY[`${id}.${name}`] ?? GLOSSARY[name];
      const described = addMeanings(field, id) as JsonSchema;
      return [
        name,
        meaning === undefined || 'description' in field || 'const' in field
          ? described
          : { ...described, description: meaning },
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

function inPlainWords(schema: JsonSchema): void {
  dropSafeRange(schema);
  wordAsSchema(schema);
}

/**
 * Label and help of a catalogue parameter become its title and description; the schema itself has the reference.
 */
function wordAsSchema(schema: JsonSchema): void {
  const { label, help, unit } = schema;
  if (label !== undefined) schema['title'] = label;
  if (help !== undefined) schema['description'] = unit === undefined ? help : `${String(help)} Unit: ${String(unit)}.`;
  for (const word of ['label', 'help', 'unit', 'ref', 'when']) delete schema[word];
  if (String(schema['format']) in FORMATS && schema['format'] !== 'date') delete schema['format'];
}

/** Removes the range of the integers that a double represents exactly, which does not inform a reader. */
function dropSafeRange(schema: JsonSchema): void {
  if (schema['maximum'] === Number.MAX_SAFE_INTEGER) delete schema['maximum'];
  if (schema['minimum'] === Number.MIN_SAFE_INTEGER) delete schema['minimum'];
}
