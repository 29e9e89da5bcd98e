import { z } from 'zod';
import { maskUrlPasswords } from '#base/addresses.js';
import { suggestName } from '#base/nearest-name.js';
import { callOnce } from '#base/once.js';
import { type Finding, type FindingCode, keepSmallValue } from './findings.js';
import { Refusal } from './refusals.js';
import { formatDay, isMoment, MOMENT, parseDay, parseValidDay } from './time.js';

/**
 * Returns the strict schema of an object, as `z.strictObject` does. Its fields are built at the first use of the
 * schema, not at the import of its module. The contract has thousands of fields, of which a process uses few.
 */
export function defineObject<Shape extends z.core.$ZodLooseShape>(
  fields: () => Shape,
): z.ZodObject<Shape, z.core.$strict> {
  const getShape = callOnce(fields);
  return new z.ZodObject({
    type: 'object',
    get shape() {
      return getShape();
    },
    catchall: NO_FIELDS,
  }) as unknown as z.ZodObject<Shape, z.core.$strict>; // The constructor does not infer the type of its definition.
}

const NO_FIELDS = z.never();

/** Pattern of all ids of the service: letters, digits, dash and underscore, at most 64. */
const ID_PATTERN = /^[A-Za-z0-9_-]{1,64}$/;

// oxlint-disable-next-line no-control-regex -- control characters are what is refused here
const ASSET_PATTERN = /^[^\u0000-\u001f\u007f/]{1,64}$/u;

export const Id = z
  .string()
  .refine((text) => ID_PATTERN.test(text), {
    params: { finding: 'BAD_IDENTIFIER' },
    error: 'must be 1 to 64 letters, digits, dashes and underscores, such as CORE-100',
  })
  .meta({ pattern: ID_PATTERN.source, example: 'CORE-100' });

/** Returns true for a valid asset identifier: 1 to 64 characters without control characters or `/`. */
export function isAssetIdentifier(text: string): boolean {
  return ASSET_PATTERN.test(text);
}

/** Asset identifier: 1 to 64 characters without control characters or `/`. */
export const AssetIdentifier = z
  .string()
  .refine(isAssetIdentifier, {
    params: { finding: 'BAD_IDENTIFIER' },
    error: 'must be 1 to 64 characters without control characters or /',
  })
  .meta({ minLength: 1, maxLength: 64, example: 'AAPL' });

/** Valid calendar day, `YYYY-MM-DD`. */
export const IsoDate = z
  .string()
  .refine((text) => parseDay(text) !== undefined, {
    params: { finding: 'BAD_DATE' },
    error: 'must be a real day, YYYY-MM-DD, such as 2024-01-31',
  })
  .meta({ format: 'date', example: '2024-01-02' });

/** Currency as an ISO 4217 code, or a minor unit such as GBX or GBp. */
export const CurrencyCode = z.string().regex(/^[A-Z]{2}[A-Za-z]$/, {
  error: 'must be an upper-case ISO 4217 code, such as EUR, or a minor unit, such as GBX',
  abort: true, // a text of another form has one finding
});

export interface ShapeResult<T> {
  /** Value with defaults and without unknown fields. Undefined if a finding is an error. */
  readonly value: T | undefined;
  readonly findings: Finding[];
}

interface ShapeOptions {
  /** Path of the value in the request; the paths of findings begin with it. */
  readonly path?: string;
  /** Severity of unknown fields. Documents drop them with a warning, requests refuse them. */
  readonly unknownFields?: 'error' | 'warning';
  /** Members of the value in which unknown fields are always errors. */
  readonly strictMembers?: readonly string[];
  /** Code of findings about unknown fields. Parameters of catalogue rows have a separate code. */
  readonly unknownCode?: FindingCode;
  readonly rowId?: string | null;
}

/**
 * Parses a value by its schema and reports all problems of its shape. Objects in the schema are strict.
 * `options.unknownFields` determines how unknown fields are treated.
 */
export function checkShape<S extends z.ZodType>(
  schema: S,
  value: unknown,
  options: ShapeOptions = {},
): ShapeResult<z.output<S>> {
  const { unknownFields = 'error' } = options;
  const first = parseWithReport(schema, value);
  if (first === undefined) return { value: undefined, findings: describeBeginning(schema, value, options) };
  if (first.success) return { value: first.data, findings: [] };
  const issues = removeConsequences(flattenIssues(first.error.issues));
  const outermostKeys = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const findings = issues.flatMap((issue) => toFindings(issue, value, { ...options, outermost: outermostKeys }));
  const unknownKeyIssues = issues.filter((issue) => issue.code === 'unrecognized_keys');
  if (unknownFields === 'error' || unknownKeyIssues.length === 0) return { value: undefined, findings };
  const second = schema.safeParse(removeUnknown(value, unknownKeyIssues), { reportInput: true });
  return { value: second.success ? second.data : undefined, findings };
}

/** Parses a value. Returns undefined if the value has more problems than the parser can list. */
function parseWithReport<S extends z.ZodType>(schema: S, value: unknown) {
  try {
    return schema.safeParse(value, { reportInput: true, error: findAcceptedKeys });
  } catch (failure) {
    // The parser passes the problems of a list as arguments of one call, which has a limit of about 100,000.
    if (failure instanceof RangeError) return undefined;
    throw failure;
  }
}

const BEGINNING_ENTRIES = 1000;

/** Returns the problems in the beginning of a value that has too many. */
function describeBeginning(schema: z.ZodType, value: unknown, options: ShapeOptions): Finding[] {
  const { path = '' } = options;
  const rest: Finding = {
    severity: 'error',
    code: 'MORE_FINDINGS',
    path,
    message: `Only the first ${BEGINNING_ENTRIES} entries of each list were checked, because the value has too many errors.`,
  };
  return [...checkShape(schema, cutLists(value), { ...options, unknownFields: 'error' }).findings, rest];
}

function cutLists(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, BEGINNING_ENTRIES).map(cutLists);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).slice(0, BEGINNING_ENTRIES);
  return Object.fromEntries(members.map(([name, member]) => [name, cutLists(member)]));
}

type Issue = z.core.$ZodIssue;

/**
 * Returns the keys that an object accepts, as the message of an issue about unknown keys. The issue itself does not
 * contain the schema.
 */
const findAcceptedKeys: z.core.$ZodErrorMap = ({ code, inst }) => {
  if (code !== 'unrecognized_keys') return undefined;
  return inst instanceof z.ZodObject ? Object.keys(inst.shape).join(' ') : '';
};

/** Removes issues about the relation of two values if one of the values has an issue itself. */
function removeConsequences(issues: readonly Issue[]): Issue[] {
  const sizeIssues = issues.filter(({ code }) => code === 'too_small' || code === 'too_big');
  if (sizeIssues.length === 0) return [...issues];
  // Every path that contains a value of a wrong size has a custom issue only as a consequence.
  const outerPaths = new Set(
    sizeIssues.flatMap(({ path }) => path.map((_, length) => formatKeys(path.slice(0, length + 1)))),
  );
  return issues.filter(
    (issue) => issue.code !== 'custom' || issue.path.length === 0 || !outerPaths.has(formatKeys(issue.path)),
  );
}

const formatKeys = (path: readonly PropertyKey[]): string => JSON.stringify(path);

/** Returns the issues of the best-matching branch of a union, by discriminator or shape. */
function flattenIssues(issues: readonly Issue[]): Issue[] {
  return issues.flatMap((issue) => {
    if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue];
    const branches = issue.errors.map((branch) => flattenIssues(branch as Issue[]));
    const findDepth = (branch: Issue[]) => Math.max(...branch.map((inner) => inner.path.length));
    const hasWrongType = (branch: Issue[]) =>
      branch.some((inner) => inner.path.length === 0 && inner.code === 'invalid_type');
    const fittingBranches = branches.filter((branch) => !hasWrongType(branch));
    if (fittingBranches.length === 0) return [{ ...issue, errors: [] } as Issue];
    const fixedValues = fittingBranches.map(([first, ...others]) =>
      first?.code === 'invalid_value' && first.path.length === 0 && others.length === 0 ? first.values : null,
    );
    if (fixedValues.every((values) => values !== null)) {
      const { path, message } = issue;
      return [{ code: 'invalid_value', path, message, values: fixedValues.flat() }];
    }
    const compareBranches = (a: Issue[], b: Issue[]) => findDepth(b) - findDepth(a) || a.length - b.length;
    const best = fittingBranches.toSorted(compareBranches)[0]!;
    return listAnyOfMissing(fittingBranches.filter((branch) => compareBranches(branch, best) === 0)).map(
      (inner) => ({ ...inner, path: [...issue.path, ...inner.path] }) as Issue,
    );
  });
}

/**
 * Returns the issues of the first of equally close branches. If each branch lacks a single member, the issue states
 * that any of these members suffices.
 */
function listAnyOfMissing(branches: readonly Issue[][]): Issue[] {
  const missingKeys = branches.map((branch) => branch.filter(isMissing).map(({ path }) => path[0]!));
  const distinctKeys = missingKeys.map((keys) =>
    keys.filter((key) => !missingKeys.every((others) => others.includes(key))),
  );
  const [first, ...others] = new Set(distinctKeys.flat());
  if (others.length === 0 || distinctKeys.some((keys) => keys.length !== 1)) return branches[0]!;
  const message = `${others.map((key) => `or ${String(key)}`).join(' ')} is required`;
  return branches[0]!.map((issue) =>
    isMissing(issue) && issue.path[0] === first
      ? { code: 'custom', path: issue.path, params: { finding: 'REQUIRED' }, message }
      : issue,
  );
}

function isMissing({ code, path, input }: Issue): boolean {
  return path.length === 1 && code !== 'custom' && input === undefined;
}

function removeUnknown(value: unknown, unknown: readonly Issue[]): unknown {
  const copy = structuredClone(value);
  for (const issue of unknown) {
    const holder = readShapeMember(copy, issue.path) as Record<string, unknown>;
    for (const key of (issue as z.core.$ZodIssueUnrecognizedKeys).keys) delete holder[key];
  }
  return copy;
}

function readShapeMember(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | null | undefined)?.[key], value);
}

/** Returns a path in the notation of clients, such as `pipeline.selection[0].params.count`. */
export function formatPath(base: string, keys: readonly PropertyKey[]): string {
  return keys.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    return text === '' ? String(key) : `${text}.${String(key)}`;
  }, base);
}

interface FindingTerms extends ShapeOptions {
  /** Fields of the whole value. */
  readonly outermost: readonly string[];
}

function toFindings(issue: Issue, root: unknown, options: FindingTerms): Finding[] {
  const { path: base = '', unknownCode = 'UNKNOWN_FIELD', rowId, strictMembers = [] } = options;
  const isStrict = strictMembers.includes(String(issue.path[0]));
  const unknownFields = isStrict ? 'error' : (options.unknownFields ?? 'error');
  const row = rowId === undefined ? {} : { row_id: rowId };
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      severity: unknownFields,
      code: unknownCode,
      message: isMisplaced(key, issue, root, options)
        ? `The field ${key} belongs next to ${String(issue.path[0])}, not inside it${unknownFields === 'warning' ? ', and was dropped' : ''}.`
        : `Unknown field ${key}${unknownFields === 'warning' ? ', which was dropped' : ''}.${suggestName(key, issue.message.split(' '))}`,
      path: formatPath(base, [...issue.path, key]),
      ...row,
    }));
  }
  const value = readShapeMember(root, issue.path);
  const path = formatPath(base, issue.path);
  const name = path === '' ? 'The value' : path;
  const { code, message, accepted } = describeIssue(issue, value, name);
  return [
    { severity: 'error', code, message, path, ...row, ...(accepted ? { accepted } : {}), ...keepSmallValue(value) },
  ];
}

/** Returns true if an unknown field of a nested object belongs to the whole value and is absent there. */
function isMisplaced(key: string, { path }: Issue, root: unknown, { outermost }: FindingTerms): boolean {
  return path.length > 0 && outermost.includes(key) && readShapeMember(root, [key]) === undefined;
}

interface Description {
  readonly code: FindingCode;
  readonly message: string;
  readonly accepted?: readonly string[];
}

/** Parameters of a refinement: code of the finding, and `isWhole` if the message already contains the value. */
interface RefinementParameters {
  readonly finding?: FindingCode;
  readonly isWhole?: boolean;
}

function describeIssue(issue: Issue, value: unknown, name: string): Description {
  const printedValue = formatPrintable(value);
  if (value === undefined && issue.code !== 'custom') return { code: 'REQUIRED', message: `${name} is required.` };
  switch (issue.code) {
    case 'invalid_type':
      if (issue.expected === 'int')
        return { code: 'WRONG_TYPE', message: `${name} must be an integer, not ${printedValue}.` };
      return { code: 'WRONG_TYPE', message: `${name} must be ${addArticle(issue.expected)}, not ${printedValue}.` };
    case 'invalid_union': {
      const { options } = issue as { options?: readonly unknown[] }; // for a discriminated union whose discriminator matches no branch
      if (options !== undefined) {
        const acceptedOptions = options.map(String);
        return {
          code: 'NOT_IN_CHOICES',
          message: `${name} is ${printedValue}; the accepted set is ${acceptedOptions.join(', ')}.`,
          accepted: acceptedOptions,
        };
      }
      return { code: 'WRONG_TYPE', message: `${name} has none of the accepted forms: ${printedValue}.` };
    }
    case 'invalid_value': {
      const acceptedValues = issue.values.map(String);
      return {
        code: 'NOT_IN_CHOICES',
        message: `${name} is ${printedValue}; the accepted set is ${acceptedValues.join(', ')}.`,
        accepted: acceptedValues,
      };
    }
    case 'too_small':
      return {
        code: 'OUT_OF_RANGE',
        message: `${name} ${measure(issue.origin, value)}; ${issue.inclusive === false ? 'more than' : 'at least'} ${describeBound(issue.origin, issue.minimum)} needed.`,
      };
    case 'too_big':
      return {
        code: 'OUT_OF_RANGE',
        message: `${name} ${measure(issue.origin, value)}; ${issue.inclusive === false ? 'less than' : 'at most'} ${describeBound(issue.origin, issue.maximum)} accepted.`,
      };
    case 'not_multiple_of':
      return { code: 'WRONG_TYPE', message: `${name} is ${printedValue}; it must be a multiple of ${issue.divisor}.` };
    default: {
      const { finding, isWhole = false } = (issue as { params?: RefinementParameters }).params ?? {};
      const valueText = isWhole || value === undefined || value === null ? '' : `; it is ${printedValue}`;
      return { code: finding ?? 'WRONG_TYPE', message: `${name} ${issue.message}${valueText}.` };
    }
  }
}

function formatPrintable(value: unknown): string {
  if (typeof value === 'number') return String(value);
  const text = maskUrlPasswords(JSON.stringify(value) ?? 'nothing');
  return text.length <= 80 ? text : `${text.slice(0, 77)}...`;
}

function measure(origin: string, value: unknown): string {
  if (origin === 'string') return `has ${countValues((value as string).length, 'character')}`;
  if (origin === 'array') return `has ${countValues((value as unknown[]).length, 'entry')}`;
  return `is ${formatPrintable(value)}`;
}

/** Describes a limit with its verb. Sizes are counts, all other limits are values. */
function describeBound(origin: string, limit: number | bigint): string {
  const isCount = origin === 'string' || origin === 'array';
  return `${limit} ${isCount && limit !== 1 ? 'are' : 'is'}`;
}

function countValues(count: number, noun: 'character' | 'entry'): string {
  if (count === 1) return `1 ${noun}`;
  return `${count} ${noun === 'entry' ? 'entries' : 'characters'}`;
}

function addArticle(expected: string): string {
  const noun: Record<string, string> = {
    record: 'an object',
    object: 'an object',
    array: 'an array',
    string: 'a string',
    number: 'a number',
    boolean: 'true or false',
  };
  return noun[expected] ?? expected;
}

/**
 * Returns one finding for each number in a JSON value that is not finite. For example, `1e999` parses as infinite.
 * @cost one pass over the whole value
 */
export function checkFinite(value: unknown, path: readonly PropertyKey[] = []): Finding[] {
  if (typeof value === 'number') return Number.isFinite(value) ? [] : [createTooLarge(formatPath('', path))];
  if (Array.isArray(value)) return value.flatMap((item, i) => checkFinite(item, [...path, i]));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => checkFinite(member, [...path, key]));
}

function createTooLarge(path: string): Finding {
  const name = path === '' ? 'The value' : path;
  return {
    severity: 'error',
    code: 'OUT_OF_RANGE',
    message: `${name} is beyond the range of a double; its magnitude must be at most ${Number.MAX_VALUE}.`,
    path,
  };
}

type PresentMembers = Readonly<Record<string, unknown>>;

/** Returns a refinement of an object: in each pair of members exactly one is given, and the other is null. */
export const requireOneOfEach =
  <Member extends string>(pairs: readonly (readonly [Member, Member])[]) =>
  (value: Readonly<Record<Member, unknown>>, context: z.RefinementCtx): void => {
    for (const [one, other] of pairs) {
      if ((value[one] === null) !== (value[other] === null)) continue;
      const presencePhrase = value[one] === null ? 'neither is present' : 'both are present';
      context.addIssue({
        code: 'custom',
        path: [one],
        input: undefined,
        params: { finding: 'REQUIRED', isWhole: true },
        message: `or ${other} is required, but not both: ${presencePhrase}`,
      });
    }
  };

interface Choice {
  /** Subject that requires one of the members, such as `a decrement`. */
  readonly by: string;
  /** Members, or paths of members, of which exactly one is required. */
  readonly of: readonly [string, string, ...string[]];
}

/** Returns a refinement of an object: exactly one of several members is given, and the other is absent or null. */
export const requireExactlyOne =
  ({ by, of: [one, ...others] }: Choice) =>
  (value: PresentMembers, context: z.RefinementCtx): void => {
    const given = [one, ...others]
      .map((path) => readMember(value, path))
      .filter((member) => member !== null && member !== undefined);
    if (given.length === 1) return;
    const presencePhrase =
      given.length === 0
        ? 'neither is present'
        : `${given.length === 2 ? 'both' : 'all'} are present, ${given.map((member) => JSON.stringify(member)).join(' and ')}`;
    const other = others.join(' or ');
    context.addIssue({
      code: 'custom',
      path: one.split('.'),
      input: undefined,
      params: { finding: 'REQUIRED', isWhole: true },
      message: `or ${other} is required by ${by}, but not both: ${presencePhrase}`,
    });
  };

function readMember(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((inner, key) => (inner as PresentMembers | null | undefined)?.[key], value);
}

/**
 * Maximum number of days between the last prices and a requested date. This many days can be a weekend with holidays
 * and are not a gap in the data.
 */
const GAP_DAYS_MAX = 7;

/** Warns about a date outside the data. @param dates dates of the market, ascending */
export function checkAsOf(asOf: string, dates: ArrayLike<number>): Finding[] {
  const [first, last] = [dates[0], dates[dates.length - 1]];
  if (first === undefined || last === undefined) return [];
  const day = parseValidDay(asOf);
  const createWarning = (code: Finding['code'], message: string): Finding[] => [
    { severity: 'warning', code, path: 'as_of', message, value: asOf },
  ];
  if (day < first)
    return createWarning(
      'INVALID_RANGE',
      `as_of ${asOf} is before the first date of the data, ${formatDay(first)}, so no security can be selected.`,
    );
  if (day > last + GAP_DAYS_MAX)
    return createWarning(
      'WINDOW_CUT',
      `as_of ${asOf} is after the last date of the data, ${formatDay(last)}. Decisions use that date.`,
    );
  return [];
}

/** Form of a point in time, or of the number of a version. */
const MOMENT_OR_VERSION = /^([1-9]\d{0,8}|\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?)$/;
const message = 'must be a version, a date or a time, such as 12, 2024-01-31 or 2024-01-31T17:30:00Z';
const description =
  'Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC).';

/** Point in time or version whose data are used. Default: the last version. */
export const AsKnownOn = z
  .union([z.int().min(1), z.string().regex(MOMENT, { message, abort: true }).refine(isMoment, { message })])
  .optional()
  .meta({ description });
export type AsKnownOn = NonNullable<z.infer<typeof AsKnownOn>>;

/** Query parameter form of `AsKnownOn`, where a number is a text. */
export const AsKnownOnText = z
  .string()
  .regex(MOMENT_OR_VERSION, { message, abort: true })
  .refine((text) => parseVersionNumber(text) !== undefined || isMoment(text), { message })
  .optional()
  .meta({ description });

/** Returns the number of a version. Returns undefined for a point in time. */
export function parseVersionNumber(asKnownOn: AsKnownOn): number | undefined {
  return typeof asKnownOn === 'number' || /^\d{1,9}$/.test(asKnownOn) ? Number(asKnownOn) : undefined;
}

/** Dates of a request, with the names of their fields. */
interface DateRange {
  readonly start?: string | null | undefined;
  readonly end?: string | null | undefined;
}
type FieldNames = readonly [start: string, end: string];
const DEFAULT_NAMES: FieldNames = ['start', 'end'];

/** Asserts that a range does not begin after its end. @throws Refusal INVALID_RANGE */
export function assertOrder({ start, end }: DateRange, names = DEFAULT_NAMES): void {
  if (start != null && end != null && start > end) throw refuseReversedRange(start, end, names);
}

interface DataRange {
  /** First and last date with data, YYYY-MM-DD. */
  readonly first: string;
  readonly last: string;
  /** Description of the data. */
  readonly of: string;
}

/**
 * Asserts that a range overlaps with the data. @throws Refusal NO_DATA_IN_RANGE for a range that ends before the first
 * date or begins after the last date of the data
 */
export function assertOverlaps(
  { start, end }: DateRange,
  { first, last, of }: DataRange,
  [from, to] = DEFAULT_NAMES,
): void {
  const request = { start: start ?? null, end: end ?? null, first, last };
  if (start != null && start > last)
    throw new Refusal('NO_DATA_IN_RANGE', `${from} ${start} is after the last date of ${of}, ${last}.`, {
      path: from,
      ...request,
    });
  if (end != null && end < first)
    throw new Refusal('NO_DATA_IN_RANGE', `${to} ${end} is before the first date of ${of}, ${first}.`, {
      path: to,
      ...request,
    });
}

interface DatedStore {
  readonly datasetId: string;
  /** Days with data, ascending, [T]. */
  readonly dates: Int32Array;
}

/** Asserts that a range contains a date of a market. @throws Refusal NO_DATA_IN_RANGE */
export function assertHasDates({ datasetId, dates }: DatedStore, range: DateRange): void {
  const [first, last] = [dates[0], dates.at(-1)];
  if (first === undefined || last === undefined) return;
  assertOverlaps(range, { first: formatDay(first), last: formatDay(last), of: `the store ${datasetId}` });
}

/**
 * Returns true if both values of a request are valid days and the first is after the second. Other checks report
 * invalid days.
 */
export function isReversed({ start, end }: { readonly start?: unknown; readonly end?: unknown }): boolean {
  return isDay(start) && isDay(end) && start > end;
}

const isDay = (value: unknown): value is string => typeof value === 'string' && parseDay(value) !== undefined;

export function refuseReversedRange(start: string, end: string, [first, last] = DEFAULT_NAMES): Refusal {
  return new Refusal('INVALID_RANGE', `${first} ${start} is after ${last} ${end}.`, {
    path: first,
    [first]: start,
    [last]: end,
  });
}
