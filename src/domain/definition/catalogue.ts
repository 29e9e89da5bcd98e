import { z } from 'zod';
import { suggestName } from '#base/nearest-name.js';
import { type Finding, keepSmallValue } from '../base/findings.js';
import { AssetIdentifier, checkShape, formatPath, type ShapeResult } from '../base/schema.js';

/** Parameter of a catalogue class, for forms and clients. */
export interface ParameterSpec extends MemberSpec {
  /** Members of an object, or of the objects in a list. Null for other values. */
  readonly fields: readonly MemberSpec[] | null;
}

/** Description of a parameter or member. */
export interface MemberSpec {
  readonly name: string;
  readonly label: string;
  readonly type: 'number' | 'integer' | 'boolean' | 'string' | 'json';
  readonly required: boolean;
  /** Default value; absent for a required parameter. */
  readonly default?: unknown;
  readonly order: number;
  /** Accepted values; null if any value of the type is accepted. */
  readonly choices: readonly string[] | null;
  readonly help: string | null;
  /** Component schema to which the value must conform. */
  readonly ref: string | null;
  /** Format of a text or a list; null for any text or list. */
  readonly format: Format | null;
  /**
   * Alternative conditions on other parameters. The parameter has an effect if any of them is met. Null if it always
   * has an effect.
   */
  readonly when: readonly Condition[] | null;
}

/** Formats of texts and lists. */
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
  store: 'a data store',
  risk_model: 'a stored risk model',
  series: 'a series of the market, of /data/series',
  expression: 'a datapoint by its name, or an expression of datapoints as text or as nodes',
  condition: 'a condition on datapoints as text or as nodes',
} as const;
export type Format = keyof typeof FORMATS;

/** Required values by parameter; all of them must be met. */
type Condition = Readonly<Record<string, readonly string[]>>;

/** Rule, weighting or constraint class, for clients. */
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

/** Description of a catalogue entry; `params` is the only source of its parameters. */
export interface CatalogueEntry {
  readonly type: string;
  readonly label: string;
  readonly category: TypeSpec['category'];
  readonly help: string;
  readonly params: z.ZodObject;
  /** Complete valid row of this class, as an example. */
  readonly example: Readonly<Record<string, unknown>>;
  readonly unit?: NonNullable<TypeSpec['unit']>;
  readonly kind?: NonNullable<TypeSpec['kind']>;
  readonly convex?: boolean;
  /**
   * True if the parameter `plugin` of the class refers to a plug-in of the document. The kind of the plug-in must be
   * the category.
   */
  readonly takesPlugin?: true;
}

export function createTypeSpec(entry: CatalogueEntry): TypeSpec {
  return {
    type: entry.type,
    label: entry.label,
    category: entry.category,
    help: entry.help,
    parameters: createParameterSpecs(entry.params),
    unit: entry.unit ?? null,
    kind: entry.kind ?? null,
    convex: entry.convex ?? null,
    example: entry.example,
  };
}

/**
 * Returns the parameters of a schema in order. The texts of forms come from `.meta({ label, help, unit, ref, format,
 * when })` of the schema. The unit is appended to the help; `ref` names the component schema of a `json` parameter.
 */
export function createParameterSpecs(params: z.ZodObject): ParameterSpec[] {
  return Object.entries(createMemberSpecs(params)).map(([name, spec]) => {
    const { inner } = unwrap(params.shape[name] as z.ZodType);
    const members = inner instanceof z.ZodArray ? unwrap(inner.element as z.ZodType).inner : inner;
    return { ...spec, fields: members instanceof z.ZodObject ? Object.values(createMemberSpecs(members)) : null };
  });
}

function createMemberSpecs(params: z.ZodObject): Readonly<Record<string, MemberSpec>> {
  const specs = Object.entries(params.shape).map(([name, schema], order) => {
    const { inner, meta, fallback } = unwrap(schema as z.ZodType);
    const helpTexts = [
      meta.help ?? meta.description,
      meta.unit === undefined ? undefined : `Unit: ${meta.unit}.`,
    ].filter((part) => part !== undefined);
    const spec: MemberSpec = {
      name,
      label: meta.label ?? formatLabel(name),
      type: findDisplayType(inner),
      required: fallback === undefined,
      ...(fallback === undefined ? {} : { default: fallback.value }),
      order,
      choices: listChoices(inner),
      help: helpTexts.length === 0 ? null : helpTexts.join(' '),
      ref: meta.ref ?? null,
      format: meta.format ?? findFormat(inner),
      when: meta.when ?? null,
    };
    return [name, spec] as const;
  });
  return Object.fromEntries(specs);
}

/** Returns the unit of a parameter, for example `fraction a year`; undefined if the schema states none. */
export const findParameterUnit = (params: z.ZodObject, name: string): string | undefined =>
  unwrap(params.shape[name] as z.ZodType).meta.unit;

/** Returns the values of an enumeration, or of a union of numbers. */
function listChoices(schema: z.ZodType): string[] | null {
  if (schema instanceof z.ZodEnum) return schema.options.map(String);
  return listLiterals(schema)?.map(String) ?? null;
}

function listLiterals(schema: z.ZodType): number[] | null {
  if (!(schema instanceof z.ZodUnion)) return null;
  const values = schema.options.map((option) => (option instanceof z.ZodLiteral ? option.value : null));
  return values.every((value) => typeof value === 'number') ? values : null;
}

/** Returns the format of texts and lists. Returns null if the schema states none. */
function findFormat(schema: z.ZodType): Format | null {
  if (schema instanceof z.ZodObject) return 'object';
  if (schema instanceof z.ZodRecord)
    return unwrap(schema.valueType as z.ZodType).inner instanceof z.ZodNumber ? 'numbers' : null;
  if (!(schema instanceof z.ZodArray)) return null;
  const { inner: element } = unwrap(schema.element as z.ZodType);
  if (element instanceof z.ZodObject) return 'rows';
  if (element instanceof z.ZodString) return 'texts';
  return element instanceof z.ZodNumber ? 'integers' : null;
}

interface SchemaTexts {
  readonly label?: string;
  readonly help?: string;
  readonly description?: string;
  readonly unit?: string;
  readonly ref?: string;
  readonly format?: Format;
  readonly when?: readonly Condition[];
  /** Default for new rows. Present if it differs from the default for stored rows. */
  readonly stated?: unknown;
}

interface UnwrappedSchema {
  readonly inner: z.ZodType;
  readonly meta: SchemaTexts;
  /** Default of the parameter; absent for a required parameter. */
  readonly fallback: { readonly value: unknown } | undefined;
}

/** Returns the schema inside defaults and nullability. Its texts are those of the outermost schema. */
function unwrap(schema: z.ZodType): UnwrappedSchema {
  const schemaTexts = (schema.meta() ?? {}) as SchemaTexts; // calls of `.meta` in this program: see `createParameterSpecs`
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    const innerSchema = unwrap(schema.def.innerType as z.ZodType);
    const { stated = schema.def.defaultValue } = schemaTexts;
    return { ...innerSchema, meta: { ...innerSchema.meta, ...schemaTexts }, fallback: { value: stated } };
  }
  if (schema instanceof z.ZodOptional) {
    const innerSchema = unwrap(schema.def.innerType as z.ZodType);
    return {
      ...innerSchema,
      meta: { ...innerSchema.meta, ...schemaTexts },
      fallback: innerSchema.fallback ?? { value: null },
    };
  }
  if (schema instanceof z.ZodNullable) {
    const innerSchema = unwrap(schema.def.innerType as z.ZodType);
    return { ...innerSchema, meta: { ...innerSchema.meta, ...schemaTexts } };
  }
  return { inner: schema, meta: schemaTexts, fallback: undefined };
}

function findDisplayType(schema: z.ZodType): ParameterSpec['type'] {
  if (schema instanceof z.ZodNumber)
    return schema.format === 'safeint' || schema.format === 'int32' ? 'integer' : 'number';
  if (listLiterals(schema) !== null) return 'integer';
  if (schema instanceof z.ZodBoolean) return 'boolean';
  if (schema instanceof z.ZodUnion && schema.options.some((option) => option instanceof z.ZodNumber)) return 'number';
  // Forms use a text field if a value may be a text or an object.
  if (schema instanceof z.ZodUnion && schema.options.some(isText) && schema.options.some(isObject)) return 'string';
  return isText(schema) ? 'string' : 'json';
}

const isObject = (schema: unknown): boolean =>
  schema instanceof z.ZodObject || schema instanceof z.ZodDiscriminatedUnion;
const isText = (schema: unknown): boolean => schema instanceof z.ZodString || schema instanceof z.ZodEnum;

/** Formats the name of a field within a sentence: `base_value` becomes `base value`. Omits its unit. */
export const formatFieldName = (name: string): string => name.replace(/_(?:id|bps)$/, '').replaceAll('_', ' ');

/** Converts `enter_rank` to `Enter rank`. */
function formatLabel(name: string): string {
  const label = name.replaceAll('_', ' ');
  return label.charAt(0).toUpperCase() + label.slice(1);
}

/** Parameter that has an effect only with some values of other parameters. */
interface ConditionalParameter {
  readonly name: string;
  readonly when: readonly Condition[];
  readonly usual: unknown;
}

const conditionalBySchema = new WeakMap<z.ZodObject, readonly ConditionalParameter[]>();

/**
 * Reports parameters that differ from their default but have no effect in combination with other parameters. The schema
 * declares by `when` on which parameters an effect depends.
 * @param values Values parsed by the schema.
 * @param path Path of the values, as the client wrote it.
 */
export function reportUnreadParameters(
  schema: z.ZodObject,
  values: Readonly<Record<string, unknown>>,
  path: string,
): Finding[] {
  return listConditional(schema).flatMap(({ name, when, usual }): Finding[] => {
    const value = values[name];
    if (JSON.stringify(value) === JSON.stringify(usual)) return [];
    const opposingParameter = findFirstAgainst(when, values);
    if (opposingParameter === undefined) return [];
    const field = formatPath(path, [name]);
    const message = `${field} has no effect if ${opposingParameter} is ${String(values[opposingParameter])}.`;
    return [{ severity: 'warning', code: 'NO_EFFECT', message, path: field, ...keepSmallValue(value) }];
  });
}

function listConditional(schema: z.ZodObject): readonly ConditionalParameter[] {
  const entry = conditionalBySchema.get(schema);
  if (entry !== undefined) return entry;
  const conditionalParameters = createParameterSpecs(schema).flatMap(({ name, when, default: usual }) =>
    when === null ? [] : [{ name, when, usual }],
  );
  conditionalBySchema.set(schema, conditionalParameters);
  return conditionalParameters;
}

/**
 * Returns a parameter that violates a condition. Of several conditions, chooses the one that is closest to being met.
 * Returns undefined if a condition is met.
 */
function findFirstAgainst(when: readonly Condition[], values: Readonly<Record<string, unknown>>): string | undefined {
  let furthest = -1;
  let opposingField: string | undefined;
  for (const condition of when) {
    const names = Object.keys(condition);
    const failingIndex = names.findIndex((name) => !condition[name]!.includes(String(values[name])));
    if (failingIndex < 0) return undefined;
    if (failingIndex > furthest) [furthest, opposingField] = [failingIndex, names[failingIndex]];
  }
  return opposingField;
}

/**
 * Checks the parameters of a catalogue row against the schema of its class. Fills in defaults, and reports every
 * problem. A parameter without effect in combination with the others is a problem too. Unknown parameters are errors,
 * whereas unknown fields of a document are not.
 * @param path Path of the parameters: `pipeline.selection[0].params`.
 */
export function checkParams<S extends z.ZodObject>(
  schema: S,
  params: unknown,
  location: { readonly path: string; readonly rowId: string | null },
): ShapeResult<z.output<S>> {
  const shapeResult = checkShape(schema, params, {
    path: location.path,
    rowId: location.rowId,
    unknownFields: 'error',
    unknownCode: 'UNKNOWN_PARAMETER',
  });
  const unreadFindings =
    shapeResult.value === undefined ? [] : reportUnreadParameters(schema, shapeResult.value, location.path);
  return {
    value: shapeResult.value,
    findings: [
      ...shapeResult.findings.map((finding) => toParameterFinding(finding, { schema, path: location.path })),
      ...unreadFindings.map((finding) => ({ ...finding, row_id: location.rowId })),
    ],
  };
}

function toParameterFinding(
  finding: Finding,
  { schema, path }: { readonly schema: z.ZodObject; readonly path: string },
): Finding {
  const name = finding.path.slice(path.length + 1);
  const isParameter = !/[.[]/.test(name);
  if (finding.code === 'UNKNOWN_PARAMETER' && !isParameter) return { ...finding, code: 'UNKNOWN_FIELD' };
  if (finding.code === 'UNKNOWN_PARAMETER') {
    const acceptedNames = Object.keys(schema.shape);
    const acceptedSentence =
      acceptedNames.length === 0 ? 'it has no parameters' : `the accepted names are ${acceptedNames.join(', ')}`;
    const message = `Unknown parameter ${name}; ${acceptedSentence}.${suggestName(name, acceptedNames)}`;
    return { ...finding, message, accepted: acceptedNames };
  }
  if (finding.code === 'REQUIRED' && isParameter) {
    return { ...finding, code: 'MISSING_PARAMETER', message: `The parameter ${name} is required.` };
  }
  return finding;
}

/** Asset identifier within a value, with its path. */
export interface NamedAsset {
  readonly path: string;
  readonly identifier: string;
}

/**
 * Returns every asset identifier within a value, in lists and as keys. The schema marks identifiers by
 * `AssetIdentifier`. Values that do not match the schema are ignored.
 * @param path Path of the value.
 */
export function listNamedAssets(schema: z.core.$ZodType, value: unknown, path: string): NamedAsset[] {
  const found: NamedAsset[] = [];
  visitNamedAssets(schema, value, path, (identifier, place, key) =>
    found.push({ path: formatAssetPath(place, key), identifier }),
  );
  return found;
}

/** @param key position in a list or member of an object at the place; null for the value at the place itself */
type VisitAsset = (identifier: string, place: string, key: number | string | null) => void;

export const formatAssetPath = (place: string, key: number | string | null): string =>
  key === null ? place : typeof key === 'number' ? `${place}[${key}]` : `${place}.${key}`;

/** Visits the identifiers of `listNamedAssets` in order, without a path for each of tens of thousands. */
export function visitNamedAssets(schema: z.core.$ZodType, value: unknown, path: string, visit: VisitAsset): void {
  if (schema === AssetIdentifier) {
    if (typeof value === 'string') visit(value, path, null);
  } else if (
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable
  ) {
    visitNamedAssets(schema.def.innerType, value, path, visit);
  } else if (schema instanceof z.ZodLazy) {
    visitNamedAssets(schema.def.getter(), value, path, visit);
  } else if (schema instanceof z.ZodArray) {
    for (const [i, item] of (Array.isArray(value) ? (value as unknown[]) : []).entries())
      if (schema.element !== AssetIdentifier) visitNamedAssets(schema.element, item, `${path}[${i}]`, visit);
      else if (typeof item === 'string') visit(item, path, i);
  } else if (typeof value === 'object' && value !== null) {
    if (schema instanceof z.ZodObject)
      for (const [name, member] of Object.entries(schema.shape))
        visitNamedAssets(
          member as z.core.$ZodType,
          (value as Readonly<Record<string, unknown>>)[name],
          `${path}.${name}`,
          visit,
        );
    else if (schema instanceof z.ZodRecord && schema.keyType === AssetIdentifier)
      for (const identifier of Object.keys(value)) visit(identifier, path, identifier);
  }
}
