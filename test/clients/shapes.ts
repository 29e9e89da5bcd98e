import type { JsonSchema } from '#views/documentation/reference.js';

/**
 * Description of a schema of the contract that does not depend on a language. The source of each client is generated
 * from it.
 */
export type Shape =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'literal'; readonly values: readonly unknown[] }
  | { readonly kind: 'union'; readonly members: readonly Shape[] }
  | { readonly kind: 'list'; readonly of: Shape }
  | { readonly kind: 'record'; readonly of: Shape }
  | { readonly kind: 'object'; readonly fields: readonly Field[] }
  | { readonly kind: 'plain'; readonly type: PlainType; readonly format?: string };

export type PlainType = 'string' | 'number' | 'integer' | 'boolean' | 'null' | 'any';

export interface Field {
  readonly name: string;
  readonly shape: Shape;
  readonly isRequired: boolean;
  readonly description: string | undefined;
}

const PLAIN_TYPES: ReadonlySet<unknown> = new Set<PlainType>(['string', 'number', 'integer', 'boolean', 'null']);
const ANY_SHAPE: Shape = { kind: 'plain', type: 'any' };

export function createShape(schema: JsonSchema | undefined): Shape {
  if (schema === undefined) return ANY_SHAPE;
  const { $ref, type, items, additionalProperties, properties, anyOf, oneOf } = schema;
  if (typeof $ref === 'string') return { kind: 'name', name: $ref.split('/').at(-1)! };
  if (schema['const'] !== undefined) return { kind: 'literal', values: [schema['const']] };
  if (Array.isArray(schema['enum'])) return { kind: 'literal', values: schema['enum'] };
  const branches = (anyOf ?? oneOf) as readonly JsonSchema[] | undefined;
  if (branches !== undefined) return { kind: 'union', members: branches.map(createShape) };
  if (Array.isArray(type)) return { kind: 'union', members: type.map((name: string) => createShape({ type: name })) };
  if (type === 'array') return { kind: 'list', of: createShape(items as JsonSchema | undefined) };
  if (properties !== undefined) return { kind: 'object', fields: listFields(schema) };
  if (type === 'object')
    return {
      kind: 'record',
      of: createShape(typeof additionalProperties === 'object' ? (additionalProperties as JsonSchema) : undefined),
    };
  if (!PLAIN_TYPES.has(type)) return ANY_SHAPE;
  const { format } = schema;
  // `PLAIN_TYPES` contains the type, so the cast is safe.
  return { kind: 'plain', type: type as PlainType, ...(typeof format === 'string' ? { format } : {}) };
}

function listFields({ properties, required = [] }: JsonSchema): Field[] {
  return Object.entries(properties as Readonly<Record<string, JsonSchema>>).map(([name, schema]) => ({
    name,
    shape: createShape(schema),
    isRequired: (required as readonly string[]).includes(name),
    description: findOneLine(schema['description']),
  }));
}

/** Returns a description as one line, or undefined if the value is not a description. */
export function findOneLine(text: unknown): string | undefined {
  return typeof text === 'string' && text !== '' ? text.replaceAll(/\s*\n\s*/g, ' ') : undefined;
}
