import { z } from 'zod';

/** One parameter of a catalogue class as forms and clients read it. */
export interface ParameterSpec extends MemberSpec {
  /** Members of an object, or of each entry of a list of objects; null of other values. */
  readonly fields: readonly MemberSpec[] | null;
}

/** What is said of any value by its name. */
export interface MemberSpec {
  readonly name: string;
  readonly label: string;
  readonly type: 'number' | 'integer' | 'boolean' | 'string' | 'json';
  readonly required: boolean;
  /** Value used when omitted; absent on a required parameter. */
  readonly default?: unknown;
  readonly order: number;
  /** Closed set of accepted values; null means any value of the type. */
  readonly choices: readonly string[] | null;
  readonly help: string | null;
  /** Component schema the value must conform to. */
  readonly ref: string | null;
  /** What a text or a list holds; null where its type says all. */
  readonly format: Format | null;
  /** Values of other parameters with which this one is read: any of these; null for always. */
  readonly when: readonly Condition[] | null;
}

/** What a text or a list holds. */
export const FORMATS = {
  date: 'a day, YYYY-MM-DD',
  prose: 'text of several lines',
  texts: 'a list of texts',
  integers: 'a list of whole numbers',
  numbers: 'numbers by name',
  object: 'an object with the members in `fields`',
  rows: 'a list of objects with the members in `fields`',
  calendar: 'a calendar of /indices/calendars',
  universe: 'a universe of the market, or an index',
  watchlist: 'a stored watchlist',
  risk_model: 'a stored risk model',
  series: 'a series of the market, of /data/series',
  expression: 'a datapoint by its name, or an expression of datapoints as text or as nodes',
  condition: 'a condition on datapoints as text or as nodes',
} as const;
export type Format = keyof typeof FORMATS;

/** Values that parameters may have, by name: all of them at once. */
export type Condition = Readonly<Record<string, readonly string[]>>;

/** One rule, weighting or constraint class as clients read it. */
export interface TypeSpec {
  readonly type: string;
  readonly label: string;
  readonly category: 'selection' | 'weighting' | 'constraint' | 'objective' | 'expected_returns';
  readonly help: string | null;
  readonly parameters: readonly ParameterSpec[];
  readonly unit: 'fraction' | 'count' | 'value' | null;
  readonly kind: 'eq' | 'ineq' | null;
  readonly convex: boolean | null;
  readonly example: Readonly<Record<string, unknown>> | null;
}

/** What every catalogue entry says of itself; `params` is the one truth about its parameters. */
export interface CatalogueEntry {
  readonly type: string;
  readonly label: string;
  readonly category: TypeSpec['category'];
  readonly help: string;
  readonly params: z.ZodObject;
  /** A complete valid row. */
  readonly example: Readonly<Record<string, unknown>>;
  readonly unit?: NonNullable<TypeSpec['unit']>;
  readonly kind?: NonNullable<TypeSpec['kind']>;
  readonly convex?: boolean;
  /** Set for a class whose parameter `plugin` names a plug-in of the document; its kind is the category. */
  readonly takesPlugin?: true;
}

/** The served form of an entry. */
export function typeSpec(entry: CatalogueEntry): TypeSpec {
  return {
    type: entry.type,
    label: entry.label,
    category: entry.category,
    help: entry.help,
    parameters: parameterSpecs(entry.params),
    unit: entry.unit ?? null,
    kind: entry.kind ?? null,
    convex: entry.convex ?? null,
    example: entry.example,
  };
}

/**
 * Parameters of a schema in its order. The schema's `.meta({ label, help, unit, ref, format, when })` words the form:
 * a unit is reported at the end of the help, `ref` names the component schema of a `json` parameter.
 */
export function parameterSpecs(params: z.ZodObject): ParameterSpec[] {
  return Object.entries(memberSpecs(params)).map(([name, spec]) => {
    const { inner } = unwrap(params.shape[name] as z.ZodType);
    const members = inner instanceof z.ZodArray ? unwrap(inner.element as z.ZodType).inner : inner;
    return { ...spec, fields: members instanceof z.ZodObject ? Object.values(memberSpecs(members)) : null };
  });
}

function memberSpecs(params: z.ZodObject): Readonly<Record<string, MemberSpec>> {
  const specs = Object.entries(params.shape).map(([name, schema], order) => {
    const { inner, meta, fallback } = unwrap(schema as z.ZodType);
    const help = [meta.help ?? meta.description, meta.unit === undefined ? undefined : `Unit: ${meta.unit}.`].filter(
      (part) => part !== undefined,
    );
    const spec: MemberSpec = {
      name,
      label: meta.label ?? labelOf(name),
      type: displayType(inner),
      required: fallback === undefined,
      ...(fallback === undefined ? {} : { default: fallback.value }),
      order,
      choices: choicesOf(inner),
      help: help.length === 0 ? null : help.join(' '),
      ref: meta.ref ?? null,
      format: meta.format ?? formatOf(inner),
      when: meta.when ?? null,
    };
    return [name, spec] as const;
  });
  return Object.fromEntries(specs);
}

/** Values of an enumeration, or of a union of numbers. */
function choicesOf(schema: z.ZodType): string[] | null {
  if (schema instanceof z.ZodEnum) return schema.options.map(String);
  return literals(schema)?.map(String) ?? null;
}

function literals(schema: z.ZodType): number[] | null {
  if (!(schema instanceof z.ZodUnion)) return null;
  const values = schema.options.map((option) => (option instanceof z.ZodLiteral ? option.value : null));
  return values.every((value) => typeof value === 'number') ? values : null;
}

/** What the schema itself says of its texts and lists. */
function formatOf(schema: z.ZodType): Format | null {
  if (schema instanceof z.ZodObject) return 'object';
  if (schema instanceof z.ZodRecord)
    return unwrap(schema.valueType as z.ZodType).inner instanceof z.ZodNumber ? 'numbers' : null;
  if (!(schema instanceof z.ZodArray)) return null;
  const { inner: element } = unwrap(schema.element as z.ZodType);
  if (element instanceof z.ZodObject) return 'rows';
  if (element instanceof z.ZodString) return 'texts';
  return element instanceof z.ZodNumber ? 'integers' : null;
}

interface Words {
  readonly label?: string;
  readonly help?: string;
  readonly description?: string;
  readonly unit?: string;
  readonly ref?: string;
  readonly format?: Format;
  readonly when?: readonly Condition[];
  /** Value that accepted rows state when none is given, where the default of the schema is that of stored rows. */
  readonly stated?: unknown;
}

interface Unwrapped {
  readonly inner: z.ZodType;
  readonly meta: Words;
  /** Absent on a required parameter. */
  readonly fallback: { readonly value: unknown } | undefined;
}

/** The schema below defaults and nullability; the outermost words win. */
function unwrap(schema: z.ZodType): Unwrapped {
  const words = (schema.meta() ?? {}) as Words; // our own `.meta` calls: see `parameterSpecs`
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    const below = unwrap(schema.def.innerType as z.ZodType);
    const { stated = schema.def.defaultValue } = words;
    return { ...below, meta: { ...below.meta, ...words }, fallback: { value: stated } };
  }
  if (schema instanceof z.ZodOptional) {
    const below = unwrap(schema.def.innerType as z.ZodType);
    return { ...below, meta: { ...below.meta, ...words }, fallback: below.fallback ?? { value: null } };
  }
  if (schema instanceof z.ZodNullable) {
    const below = unwrap(schema.def.innerType as z.ZodType);
    return { ...below, meta: { ...below.meta, ...words } };
  }
  return { inner: schema, meta: words, fallback: undefined };
}

function displayType(schema: z.ZodType): ParameterSpec['type'] {
  if (schema instanceof z.ZodNumber)
    return schema.format === 'safeint' || schema.format === 'int32' ? 'integer' : 'number';
  if (literals(schema) !== null) return 'integer';
  if (schema instanceof z.ZodBoolean) return 'boolean';
  if (schema instanceof z.ZodUnion && schema.options.some((option) => option instanceof z.ZodNumber)) return 'number';
  // A text that may be an object with more: forms offer the text.
  if (schema instanceof z.ZodUnion && schema.options.some(isText) && schema.options.some(isObject)) return 'string';
  return isText(schema) ? 'string' : 'json';
}

const isObject = (schema: unknown): boolean =>
  schema instanceof z.ZodObject || schema instanceof z.ZodDiscriminatedUnion;
const isText = (schema: unknown): boolean => schema instanceof z.ZodString || schema instanceof z.ZodEnum;

/** `enter_rank` reads `Enter rank`. */
function labelOf(name: string): string {
  const words = name.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
