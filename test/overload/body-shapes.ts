import { listOperations, type Operation } from '#views/documentation/reference.js';
import type { OpenApiDocument } from '#contract/openapi.js';
import type { JsonSchema, Vocabulary } from '../fuzz/schema-arbitrary.js';

export interface ShapedRequest {
  /** Operation, place and shape. A failing test prints it. */
  readonly title: string;
  readonly method: string;
  readonly path: string;
  /** JSON; built at the time of the request. */
  readonly body: () => string;
}

type Place = readonly (string | number)[];

/** Depth of the members that are replaced. Below the first depth and in further choices, only lists and maps are. */
const PLACE_DEPTH = 4;
const LIST_DEPTH = 6;
/** Entries of each list inside the entries of another list. */
const LONG_ENTRIES = 2000;

interface ReplacedPlace {
  readonly place: Place;
  readonly schema: JsonSchema;
  /** Valid object of the choice that has the place, and its own place. Absent if the example has the choice. */
  readonly holder?: { readonly place: Place; readonly item: unknown };
}

/**
 * Writes entries until the text has about the number of bytes. A list of the entries would survive collections of
 * garbage while the service of the same thread reads the request, and each would take 100 ms of its turn.
 */
function fill(bytes: number, entry: (position: number) => string): string {
  const first = entry(0);
  let text = Buffer.allocUnsafe(bytes + 2 * Buffer.byteLength(first) + 100);
  let end = text.write(first);
  for (let i = 1; end < bytes; i++) {
    const part = `,${entry(i)}`;
    if (end + 3 * part.length > text.length) text = Buffer.concat([text], 2 * text.length + 3 * part.length);
    end += text.write(part, end);
  }
  return text.toString('utf8', 0, end);
}

/** Texts of JSON of about a number of bytes. `item` is a valid value of the replaced place or of its entries. */
type Shape = (bytes: number, item: string, names: readonly string[]) => string;

const SHAPES: Readonly<Record<string, Shape>> = {
  'empty objects': (bytes) => `[${fill(bytes, () => '{}')}]`,
  numbers: (bytes) => `[${fill(bytes, (i) => String(i % 10))}]`,
  texts: (bytes) => `[${fill(bytes, (i) => `"S${i}"`)}]`,
  'equal texts': (bytes) => `[${fill(bytes, () => '"A"')}]`,
  'near names': (bytes, _, names) => `[${fill(bytes, (i) => `"${names[i % names.length]!.slice(0, -1)}${i}"`)}]`,
  nulls: (bytes) => `[${fill(bytes, () => 'null')}]`,
  lists: (bytes) => `[${fill(bytes, () => '[]')}]`,
  'deep lists': (bytes) => `[${fill(bytes, () => `${'['.repeat(50)}${']'.repeat(50)}`)}]`,
  'deep objects': (bytes) => `[${fill(bytes, () => `${'{"a":'.repeat(40)}1${'}'.repeat(40)}`)}]`,
  'wide objects': (bytes) => `[${fill(bytes, () => `{${fill(400, (k) => `"k${k}":1`)}}`)}]`,
  'valid entries': (bytes, item) => `[${fill(bytes, () => item)}]`,
  'numbered entries': (bytes, item) =>
    `[${fill(bytes, (i) => item.replace(/"((?:\w*_)?id|name)":"[^"]*"/, (_, key) => `"${key}":"N${i}"`))}]`,
  'entries with unknown members': (bytes, item) =>
    `[${fill(bytes, (i) => (item.startsWith('{') ? item.replace('{', `{"x${i}":1${item === '{}' ? '' : ','}`) : item))}]`,
  'a wide object': (bytes) => `{${fill(bytes, (i) => `"x${i}":1`)}}`,
  'a wide object of objects': (bytes, item) => `{${fill(bytes, (i) => `"x${i}":${item}`)}}`,
  'an object of near names': (bytes, _, names) =>
    `{${fill(bytes, (i) => `"${names[i % names.length]!.slice(0, -1)}${i}":1`)}}`,
  'a long text': (bytes) => `"${'x'.repeat(bytes)}"`,
  'long texts': (bytes) => `[${fill(bytes, (i) => `"${i}${'y'.repeat(2000)}"`)}]`,
  'a long expression': (bytes) => `"${'CLOSE + '.repeat(bytes / 8)}CLOSE"`,
  expressions: (bytes) => `[${fill(bytes, (i) => `"${'mean(CLOSE, window=20) + '.repeat(30)}${i}"`)}]`,
  'objects of expressions': (bytes) =>
    `[${fill(bytes, (i) => `{"name":"D${i}","expression":"${'mean(CLOSE, window=20) + '.repeat(30)}${i}"}`)}]`,
  'large numbers': (bytes) => `[${fill(bytes, () => '1e999')}]`,
};

/**
 * Lists requests of every route with a JSON body. In each, one place of the body has a large value of one shape.
 * @param sizes numbers of bytes of the value
 */
export function listShapedRequests(
  document: OpenApiDocument,
  vocabulary: Vocabulary,
  sizes: (operation: Operation) => readonly number[],
): ShapedRequest[] {
  const { schemas } = document.components as unknown as { readonly schemas: Readonly<Record<string, JsonSchema>> };
  /** Returns the choices of a schema that are no null: itself if it has none. */
  const listChoices = (schema: JsonSchema): JsonSchema[] => {
    if (typeof schema['$ref'] === 'string') return listChoices(schemas[schema['$ref'].split('/').at(-1)!] ?? {});
    const choices = (schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf']) as readonly JsonSchema[] | undefined;
    return choices === undefined ? [schema] : choices.map(resolve).filter(({ type }) => type !== 'null');
  };
  const resolve = (schema: JsonSchema): JsonSchema => {
    const choices = listChoices(schema);
    return choices.find(({ type }) => type === 'object' || type === 'array') ?? choices[0] ?? {};
  };

  const listObjects = (schema: JsonSchema): JsonSchema[] => listChoices(schema).filter(({ type }) => type === 'object');

  /** @param holder set inside a choice; further choices inside it are not followed */
  function listPlaces(schema: JsonSchema, place: Place = [], holder?: ReplacedPlace['holder']): ReplacedPlace[] {
    const resolved = resolve(schema);
    const isList = resolved['type'] === 'array' || typeof resolved['additionalProperties'] === 'object';
    const isReplaced = isList || (holder === undefined && place.length <= PLACE_DEPTH);
    const own = isReplaced ? [{ place, schema: resolved, ...(holder && { holder }) }] : [];
    if (place.length >= LIST_DEPTH) return own;
    const objects = listObjects(schema);
    if (holder === undefined && place.length > 0 && objects.length > 1) {
      const listOfChoice = (choice: JsonSchema) => listMembers(choice, place, { place, item: createItem(choice) });
      return [...own, ...objects.flatMap(listOfChoice)];
    }
    if (resolved['type'] !== 'array') return [...own, ...listMembers(resolved, place, holder)];
    const inner = listPlaces(toSchema(resolved['items']), [...place, 0], holder);
    return [...own, ...inner.filter((entry) => entry.place.length > place.length + 1)]; // an entry alone is no large value
  }

  function listMembers(schema: JsonSchema, place: Place, holder: ReplacedPlace['holder']): ReplacedPlace[] {
    const members = (schema['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>;
    return Object.entries(members).flatMap(([name, member]) => listPlaces(member, [...place, name], holder));
  }

  /**
   * Returns objects of a schema, one of each choice, in which every list has `LONG_ENTRIES` entries. Choices without lists
   * are left out.
   */
  function createLongItems(schema: JsonSchema): unknown[] {
    return listObjects(schema).flatMap((choice) => {
      const places = listMembers(choice, [], { place: [], item: null }).filter(
        (each) => each.schema['type'] === 'array',
      );
      const lists = places.filter(({ place }) => !place.includes(0)); // the others are inside of these
      const item = lists.reduce((whole, each) => {
        const entry = createItem(toSchema(each.schema['items']));
        const entries = Array.from({ length: LONG_ENTRIES }, (_, i) => (typeof entry === 'string' ? `S${i}` : entry));
        return setPlace(whole, each.place, entries);
      }, createItem(choice));
      return lists.length === 0 ? [] : [item];
    });
  }

  function createItem(schema: JsonSchema, depth = 0): unknown {
    const resolved = resolve(schema);
    if ('const' in resolved) return resolved['const'];
    if (resolved['example'] !== undefined) return resolved['example'];
    if (Array.isArray(resolved['examples'])) return (resolved['examples'] as unknown[])[0];
    if (Array.isArray(resolved['enum'])) return (resolved['enum'] as unknown[])[0];
    switch (resolved['type']) {
      case 'object': {
        const members = (resolved['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>;
        const required = (resolved['required'] ?? []) as readonly string[];
        if (depth > 5) return {};
        return Object.fromEntries(required.map((name) => [name, createNamed(name, members[name] ?? {}, depth + 1)]));
      }
      case 'array':
        return [createItem(toSchema(resolved['items']), depth + 1)];
      case 'number':
      case 'integer':
        return Number(resolved['minimum'] ?? 1);
      case 'boolean':
        return true;
      default:
        return resolved['format'] === 'date' ? '2024-01-02' : 'A1';
    }
  }

  const createNamed = (name: string, schema: JsonSchema, depth: number): unknown =>
    vocabulary[name]?.values[0] ?? createItem(schema, depth);

  function callTool({ operationId: name, path }: Operation, { title, body }: ShapedRequest): ShapedRequest {
    const values = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => [
      parameter,
      vocabulary[parameter!]?.values[0] ?? 'A',
    ]);
    const argumentText = JSON.stringify(Object.fromEntries(values)).slice(0, -1);
    return {
      title: `tool ${title}`,
      method: 'POST',
      path: '/mcp?tools=all',
      body: () =>
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${argumentText}${values.length === 0 ? '' : ','}"body":${body()}}}}`,
    };
  }

  return listOperations(document).flatMap((operation) => {
    const declared = operation.requestBody?.content['application/json'];
    if (declared === undefined) return [];
    const example = declared.example ?? createItem(declared.schema as unknown as JsonSchema);
    const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(String(vocabulary[name]?.values[0] ?? 'A')),
    );
    return listPlaces(declared.schema as unknown as JsonSchema).flatMap(({ place, schema, holder }) => {
      const entriesSchema = toSchema(schema['type'] === 'array' ? schema['items'] : schema['additionalProperties']);
      const entrySchema = resolve(entriesSchema);
      const whole = holder === undefined ? example : setPlace(example, holder.place, holder.item);
      const present = readPlace(whole, place);
      const entry = Array.isArray(present) && present.length > 0 ? (present as unknown[])[0] : createItem(entrySchema);
      const item = JSON.stringify(entry ?? {}) ?? '{}';
      const longShapes = createLongItems(entriesSchema).map((longItem): [string, Shape] => {
        const text = JSON.stringify(longItem);
        return [
          `entries with long lists${formatType(longItem)}`,
          (bytes) => SHAPES['numbered entries']!(bytes, text, []),
        ];
      });
      const names = Object.keys((schema['properties'] ?? { CLOSE: {}, identifiers: {} }) as object);
      return [...Object.entries(SHAPES), ...longShapes]
        .flatMap(([shape, write]) =>
          sizes(operation).map((bytes) => ({
            title: `${operation.operationId} ${place.join('.')}${formatType(holder?.item)}: ${shape}, ${bytes} bytes`,
            method: operation.method,
            path,
            body: () => writePlace(whole, place, write(bytes, item, names.length === 0 ? ['CLOSE'] : names)),
          })),
        )
        .flatMap((request) => [request, callTool(operation, request)]);
    });
  });
}

const readPlace = (value: unknown, place: Place): unknown =>
  place.reduce<unknown>(
    (inner, key) => (inner as Readonly<Record<string | number, unknown>> | null | undefined)?.[key],
    value,
  );

/** Formats the choice that an object has. */
function formatType(item: unknown): string {
  const { type } = (item ?? {}) as { readonly type?: unknown };
  return typeof type === 'string' ? ` of ${type}` : '';
}

const toSchema = (value: unknown): JsonSchema =>
  typeof value === 'object' && value !== null ? (value as JsonSchema) : {};

const MARK = '\u0001place\u0001';

/** Returns a copy of a value in which one place is replaced. Absent containers are created. */
function setPlace(example: unknown, place: Place, value: unknown): unknown {
  const root = { value: structuredClone(example) as unknown };
  let holder = root as unknown as Record<string | number, unknown>;
  let key: string | number = 'value';
  for (const next of place) {
    const inner = holder[key];
    if (typeof inner !== 'object' || inner === null) holder[key] = typeof next === 'number' ? [] : {};
    holder = holder[key] as Record<string | number, unknown>;
    key = next;
  }
  holder[key] = value;
  return root.value;
}

/** Returns the JSON of a value in which one place has a text of JSON. */
function writePlace(example: unknown, place: Place, text: string): string {
  if (place.length === 0 && text.startsWith('{') && typeof example === 'object' && example !== null) {
    const own = JSON.stringify(example);
    return own === '{}' ? text : `${own.slice(0, -1)},${text.slice(1)}`;
  }
  return JSON.stringify(setPlace(example, place, MARK)).replace(JSON.stringify(MARK), () => text);
}
