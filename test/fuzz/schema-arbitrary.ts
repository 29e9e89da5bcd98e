import { fc } from '../fast-check.js';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Useful values for a field. If `only` is true, no other values are used. */
export interface VocabularyEntry {
  readonly values: readonly unknown[];
  readonly only?: boolean;
}
export type Vocabulary = Readonly<Record<string, VocabularyEntry>>;

/** Maximum nesting depth of generated values; deeper values become null. Hostile bodies contain deeper values. */
const DEPTH_MAX = 7;

/**
 * Creates generators of values that satisfy the schemas of an OpenAPI document. If the vocabulary has values for a
 * field, they are used. Schemas do not express every condition, for example that an index exists or that a range is not
 * empty. The vocabulary and chance produce values that satisfy such conditions.
 */
export function createSchemaArbitraries(components: Readonly<Record<string, JsonSchema>>, vocabulary: Vocabulary) {
  const arbitraryByName = new Map<string, fc.Arbitrary<unknown>>();

  function createValueArbitrary(schema: JsonSchema, name = '', depth = 0): fc.Arbitrary<unknown> {
    const word = Object.hasOwn(vocabulary, name) ? vocabulary[name] : undefined;
    if (word === undefined) return createShapeArbitrary(schema, name, depth);
    if (schema['type'] === 'array') return createArrayArbitrary(schema, name, depth);
    const fitting = fc.constantFrom(...word.values);
    return word.only === true
      ? fitting
      : fc.oneof(
          { weight: 5, arbitrary: fitting },
          { weight: 1, arbitrary: createShapeArbitrary(schema, name, depth) },
        );
  }

  function createShapeArbitrary(schema: JsonSchema, name: string, depth: number): fc.Arbitrary<unknown> {
    if (depth > DEPTH_MAX) return fc.constant(null);
    if (typeof schema['$ref'] === 'string') return createComponent(schema['$ref'].split('/').at(-1)!, depth);
    const choices = (schema['anyOf'] ?? schema['oneOf']) as readonly JsonSchema[] | undefined;
    if (choices !== undefined) return fc.oneof(...choices.map((choice) => createValueArbitrary(choice, name, depth)));
    const parts = schema['allOf'] as readonly JsonSchema[] | undefined;
    if (parts !== undefined)
      return fc
        .tuple(...parts.map((part) => createValueArbitrary(part, name, depth)))
        .map((values) => Object.assign({}, ...values) as unknown);
    if ('const' in schema) return fc.constant(schema['const']);
    if (Array.isArray(schema['enum'])) return fc.constantFrom(...(schema['enum'] as unknown[]));
    switch (schema['type']) {
      case 'object':
        return createObjectArbitrary(schema, depth);
      case 'array':
        return createArrayArbitrary(schema, name, depth);
      case 'string':
        return createTextArbitrary(schema);
      case 'integer':
      case 'number':
        return createNumberArbitrary(schema);
      case 'boolean':
        return fc.boolean();
      case 'null':
        return fc.constant(null);
      default:
        return fc.jsonValue({ maxDepth: 2 });
    }
  }

  function createComponent(name: string, depth: number): fc.Arbitrary<unknown> {
    const key = `${name} ${depth}`;
    let arbitrary = arbitraryByName.get(key);
    if (arbitrary === undefined)
      arbitraryByName.set(key, (arbitrary = createValueArbitrary(components[name] ?? {}, '', depth + 1)));
    return arbitrary;
  }

  function createObjectArbitrary(schema: JsonSchema, depth: number): fc.Arbitrary<unknown> {
    const properties = (schema['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>;
    const requiredNames = (schema['required'] ?? []) as readonly string[];
    const members = Object.fromEntries(
      Object.entries(properties).map(([name, member]) => [name, createValueArbitrary(member, name, depth + 1)]),
    );
    const namedMembers = fc.record(members, {
      requiredKeys: Object.keys(members).filter((name) => requiredNames.includes(name)),
    });
    const additional = schema['additionalProperties'];
    if (typeof additional !== 'object' || additional === null) return namedMembers;
    const keys = fc.oneof(
      fc.constantFrom(...((vocabulary['identifier']?.values as string[] | undefined) ?? ['A'])),
      fc.string({ minLength: 1, maxLength: 12 }),
    );
    const freeMembers = fc.dictionary(keys, createValueArbitrary(additional as JsonSchema, '', depth + 1), {
      maxKeys: 4,
    });
    return fc.tuple(freeMembers, namedMembers).map(([a, b]) => Object.assign({}, a, b) as unknown);
  }

  function createArrayArbitrary(schema: JsonSchema, name: string, depth: number): fc.Arbitrary<unknown> {
    const minLength = Number(schema['minItems'] ?? 0);
    const maxLength = Math.max(minLength, Math.min(Number(schema['maxItems'] ?? 4), 4));
    const prefix = schema['prefixItems'] as readonly JsonSchema[] | undefined;
    if (prefix !== undefined) return fc.tuple(...prefix.map((item) => createValueArbitrary(item, name, depth + 1)));
    return fc.array(createValueArbitrary((schema['items'] ?? {}) as JsonSchema, name, depth + 1), {
      minLength,
      maxLength,
    });
  }

  return { valueOf: createValueArbitrary };
}

function createTextArbitrary(schema: JsonSchema): fc.Arbitrary<string> {
  const minLength = Number(schema['minLength'] ?? 0);
  const maxLength = Math.max(minLength, Math.min(Number(schema['maxLength'] ?? 24), 24));
  const pattern = schema['pattern'];
  if (typeof pattern === 'string') {
    try {
      return fc.stringMatching(new RegExp(pattern));
    } catch {
      // The generator does not support this construct. Any string is nearly valid.
      return fc.string({ minLength, maxLength });
    }
  }
  return fc.oneof(
    { weight: 3, arbitrary: fc.string({ minLength, maxLength }) },
    { weight: 1, arbitrary: fc.string({ unit: 'grapheme', minLength, maxLength }) },
  );
}

function createNumberArbitrary(schema: JsonSchema): fc.Arbitrary<number> {
  const low = Number(schema['minimum'] ?? schema['exclusiveMinimum'] ?? -1e6);
  const high = Math.max(low, Number(schema['maximum'] ?? schema['exclusiveMaximum'] ?? Math.max(1e6, low * 2)));
  if (schema['type'] === 'integer')
    return fc.integer({ min: Math.ceil(Math.max(low, -(2 ** 31))), max: Math.floor(Math.min(high, 2 ** 31 - 1)) });
  return fc.oneof(fc.double({ min: low, max: high, noNaN: true }), fc.constantFrom(low, high, (low + high) / 2));
}
