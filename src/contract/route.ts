import { z } from 'zod';
import { suggestName } from '#base/nearest-name.js';
import { callOnce } from '#base/once.js';
import { type Finding, keepSmallValue } from '#domain/base/findings.js';
import { readJsonText, type ScannedText } from '#domain/base/json.js';
import { LIMITS } from '#domain/base/limits.js';
import { type ErrorCode, Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { checkFinite, checkShape, Id } from '#domain/base/schema.js';
import type { RunViewTerms } from '#domain/definition/runs.js';
import { EXPORT_FORMATS } from '#domain/outputs/exports.js';
import { JOB_PRIORITIES } from '#domain/outputs/job-priority.js';

/** Scopes that API keys can have. Routes with the scope `open` need no key. */
export const SCOPES = ['read', 'write', 'run', 'data', 'publish', 'audit', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

const READING_SCOPES: readonly Route['scope'][] = ['open', 'read', 'audit'];
export const isReading = ({ scope }: Pick<Route, 'scope'>): boolean => READING_SCOPES.includes(scope);

/**
 * Declaration of a route. Routing, 405 responses, scopes, parsing, OpenAPI and the documentation are derived from it. A
 * route without a handler is a compile error.
 */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /**
   * Path with parameters in braces, such as `{name}`, as in the OpenAPI document. A last segment `*` matches any number
   * of segments. Only routes outside the contract use it.
   */
  readonly path: string;
  readonly scope: Scope | 'open';
  /**
   * Service and method, as `watchlists.put`, whose result is the response. The handler is derived from it. Its arguments
   * are, as far as the route has them: the parameters of the path in their order, query, body, precondition, author of a
   * versioned write, origin of a job; then the signal of the request.
   */
  readonly call?: `${string}.${string}`;
  readonly tag: string;
  readonly summary: string;
  /** Description of the behaviour in Markdown. Only needed if the summary does not say enough. */
  readonly description?: string;
  /** Path parameters. Ids are validated before any look-up. */
  readonly params?: z.ZodObject;
  /**
   * Query parameters. Unknown parameters are refused unless `openQuery` is set. An array can be a repeated parameter or
   * a list with commas.
   */
  readonly query?: z.ZodObject;
  /** True for an open route that accepts a key and then returns more. */
  readonly optionalKey?: true;
  /** True if the query is ignored, for example by health routes. */
  readonly openQuery?: boolean;
  /**
   * True for writes to versioned documents or data, and for deletions of results. Such a route accepts the header
   * X-Change-Note.
   */
  readonly versioned?: true;
  /** True if the route checks If-Match. Every PUT, PATCH and DELETE of an id does. */
  readonly conditional?: true;
  readonly body?: Body;
  readonly success: Success;
  /** True if the response depends only on documents. The active store is then not needed. */
  readonly withoutMarket?: true;
  /**
   * Place in the request that names the data store: the query parameter `store_id`, the path, or the body or its
   * documents. If the request names none, the active store is used.
   */
  readonly onStore?: 'query' | 'path' | 'body';
  /** Terms of a view of the stored run of `index_id`. The handler is derived from them. */
  readonly view?: RunViewTerms;
  /** True if the route starts jobs although its response is not a job. */
  readonly startsJobs?: boolean;
  /** Response to a conditional request if the resource has not changed. */
  readonly unchanged?: Success;
  /** Response without a body, for a message that expects no answer. */
  readonly acknowledged?: Success;
  /** Error codes in addition to those that every route may return. Default: none. */
  readonly errors?: readonly ErrorCode[];
}

/** Query parameters of a route, with their defaults. */
export type QueryOf<R extends { readonly query: z.ZodType }> = Readonly<z.output<R['query']>>;

export interface Body {
  readonly schema: z.ZodType;
  /** True if the request may have no body. A missing body, an empty body and `null` are parsed as `{}`. */
  readonly optional?: boolean;
  /** Maximum size of the body. Default: LIMITS.MAX_BODY_BYTES. */
  readonly bytesMax?: number;
  /** Maximum number of values of the body. Default: LIMITS.MAX_BODY_VALUES. */
  readonly valuesMax?: number;
  /**
   * Member of a large body whose entries the handler receives as lines of JSON, because the event loop cannot parse all
   * of them at once.
   */
  readonly lines?: string;
  /**
   * True if the body is a document. The service parses it as JSON and reports findings; unknown fields are dropped with
   * a warning. Every other body is parsed strictly by `schema`.
   */
  readonly document?: boolean;
  /**
   * True if the handler receives the JSON as bytes. The service parses a large body outside the event loop, after the
   * query.
   */
  readonly raw?: boolean;
  /**
   * Media types and maximum size of a body that is not JSON. The handler receives it as a stream and writes it to a
   * file.
   */
  readonly upload?: { readonly media: readonly string[]; readonly bytesMax: number };
  /**
   * True if the response is a report on the body. A number that is too large for a double is then parsed as infinity
   * and reported. All other routes refuse such a number.
   */
  readonly report?: boolean;
  readonly example?: unknown;
}

export interface Success {
  readonly status: 200 | 201 | 202 | 204;
  readonly description: string;
  /** Schema of a JSON response; absent for status 204 and for binary responses. */
  readonly schema?: z.ZodType;
  /** Media types of a response that is not JSON, or that `Accept` can select instead of JSON. */
  readonly media?: readonly string[];
  /** Media types that the request body selects, whatever `Accept` says. */
  readonly mediaByBody?: readonly string[];
  readonly example?: unknown;
}

/**
 * Returns a table of routes by operation id. Its literal types are preserved.
 * @param tag tag of the routes that state no other
 * @param shared terms of all routes
 */
export function defineRoutes<const T extends Record<string, Omit<Route, 'tag'> & { readonly tag?: string }>>(
  tag: string,
  table: T,
  shared: Pick<Route, 'withoutMarket'> = {},
): { readonly [N in keyof T]: T[N] & Pick<Route, 'tag' | 'withoutMarket'> } {
  const routes = Object.entries(table).map(([name, route]) => [name, { tag, ...shared, ...route }]);
  return Object.fromEntries(routes) as { readonly [N in keyof T]: T[N] & Pick<Route, 'tag' | 'withoutMarket'> }; // the same names
}

/** Returns a table of routes whose responses depend only on documents. */
export const defineDocumentRoutes = <const T extends Parameters<typeof defineRoutes>[1]>(tag: string, table: T) =>
  defineRoutes(tag, table, { withoutMarket: true });

/** Value of a body for its handler, or the refusal that the handler receives when it reads the body. */
export type CheckedBody =
  | {
      readonly value: unknown;
      /** Entries of the member `lines` of the route, which is an empty list in the value. */
      readonly lines?: Uint8Array;
    }
  | { readonly refusal: Refusal };

/** Decodes and scans the bytes of a body. @throws Refusal BODY_TOO_LARGE, MALFORMED_REQUEST */
export const readBodyText = ({ valuesMax = LIMITS.MAX_BODY_VALUES }: Body, bytes: Uint8Array): ScannedText =>
  readJsonText(bytes, valuesMax);

/** Maximum number of expressions as text in a document. The schema of a document has only their trees. */
const TEXTS_MAX = 2000;

/** Codes of findings about an expression as text where a schema requires its tree or a short name. */
const TEXT_CODES: readonly Finding['code'][] = ['WRONG_TYPE', 'OUT_OF_RANGE'];

/**
 * Returns the errors in the shape of a document. Expressions as text and a few unknown fields are none, because the
 * service parses or drops them.
 */
function listShapeErrors(schema: z.ZodType, value: unknown): Finding[] {
  const findings = [...checkFinite(value), ...checkShape(schema, value).findings];
  const texts = findings.filter(
    ({ code, path }) => TEXT_CODES.includes(code) && typeof readPath(value, path) === 'string',
  );
  const unknownFields = findings.filter(({ code }) => code === 'UNKNOWN_FIELD');
  const isAccepted =
    findings.length === texts.length + unknownFields.length &&
    texts.length <= TEXTS_MAX &&
    unknownFields.length <= LIMITS.MAX_FINDINGS;
  const textFindings = new Set(texts.length <= TEXTS_MAX ? texts : []);
  return isAccepted ? [] : findings.filter((finding) => !textFindings.has(finding));
}

/** Returns the value at the path of a finding. Returns undefined if a key of the path contains a separator. */
const readPath = (value: unknown, path: string): unknown =>
  path
    .split(/[.[\]]+/)
    .filter((key) => key !== '')
    .reduce<unknown>((inner, key) => (inner as Readonly<Record<string, unknown>> | null | undefined)?.[key], value);

/**
 * Parses a body and checks it by the schema of its route. A document is not parsed by the schema, because its service
 * reports findings. `isLarge` refuses a large document with an error in its shape before this, because the service
 * would combine it with other findings at a high cost.
 */
export function checkBody(body: Body, { text, overflows }: ScannedText, isLarge: boolean): CheckedBody {
  const sentValue: unknown = JSON.parse(text);
  const isAbsent = sentValue === undefined || (sentValue === null && body.optional === true);
  const value = isAbsent ? {} : sentValue;
  if (overflows && body.report !== true) return { refusal: refuseWithFindings('body', checkFinite(value)) };
  if (body.document === true) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      const message = `The body must be a JSON object, not ${Array.isArray(value) ? 'an array' : JSON.stringify(value)?.slice(0, 80)}.`;
      return { refusal: refuseWithFindings('body', [{ severity: 'error', code: 'WRONG_TYPE', message, path: '' }]) };
    }
    const findings = isLarge ? listShapeErrors(body.schema, value) : [];
    return findings.length === 0 ? { value } : { refusal: refuseWithFindings('body', findings) };
  }
  const parsedBody = checkShape(body.schema, value);
  return parsedBody.value === undefined
    ? { refusal: refuseWithFindings('body', parsedBody.findings) }
    : { value: parsedBody.value };
}

/** Default media type of all routes. */
export const JSON_TYPE = 'application/json';

/** Media types of tables as files. */
export const FILE_MEDIA: readonly string[] = Object.values(EXPORT_FORMATS)
  .map(({ media }) => media as string)
  .filter((media) => media !== JSON_TYPE);

/** Media type of a log with one JSON object per line. */
export const LOG_MEDIA = 'application/x-ndjson';

/**
 * Media type of a calendar file.
 * @source RFC 5545
 */
export const CALENDAR_MEDIA = 'text/calendar';

/** Media types of a guide page as HTML and as Markdown. */
export const PAGE_MEDIA = 'text/html';
export const MARKDOWN_MEDIA = 'text/markdown';

/**
 * Media types by their name in the query parameter `format`. Browsers and spreadsheets use it, because they cannot send
 * an Accept header.
 */
const FORMAT_NAMES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(EXPORT_FORMATS).map(([name, { media }]) => [media, name])),
  [LOG_MEDIA]: 'ndjson',
  [CALENDAR_MEDIA]: 'ics',
  [PAGE_MEDIA]: 'html',
  [MARKDOWN_MEDIA]: 'md',
};

/** Returns the media types of a route's responses, JSON first. Returns none if the handler chooses the media type. */
export function listMediaTypes({ success: { schema, media = [] } }: Pick<Route, 'success'>): readonly string[] {
  return schema === undefined ? media : [JSON_TYPE, ...media];
}

/**
 * Returns the media types of a route by their name in `format`. Returns none if the route has only one media type, or
 * if it declares `format` itself.
 */
export function getFormats(route: Route): ReadonlyMap<string, string> {
  const offeredTypes = listMediaTypes(route);
  if (offeredTypes.length < 2 || route.query?.shape['format'] !== undefined) return new Map();
  return new Map(offeredTypes.map((media) => [getFormatName(media), media]));
}

function createFormatQuery(formats: ReadonlyMap<string, string>): z.ZodType {
  const [first, ...others] = formats.keys();
  return z
    .enum([first!, ...others])
    .optional()
    .meta({ description: 'Format of the response. It replaces `Accept`.' });
}

function getFormatName(media: string): string {
  const name = FORMAT_NAMES[media];
  if (name === undefined) throw new Error(`${media} has no name for an address: add it to the formats`);
  return name;
}

/** Media type of the bundle of a published index. */
export const BUNDLE_MEDIA = 'application/x-tar';

const callback = z
  .url({ error: 'must be an http or https URL, for example https://desk.example/ended' })
  .max(2000)
  .optional()
  .meta({
    description:
      'URL that is notified when a job of this request ends. It must be an http or https URL on a host that the operator allows.',
  });

const storeId = Id.optional().meta({
  description:
    'Data store. Default: the store of the index, or the active store. Any other store is loaded when it is first used.',
});

/** Errors of a route whose request names a data store. */
export const STORE_ERRORS = [
  'STORE_NOT_FOUND',
  'STORE_LOADING',
  'DOCUMENT_UNREADABLE',
  'NOT_SUPPORTED',
] as const satisfies readonly ErrorCode[];

const priority = z.enum(JOB_PRIORITIES).optional().meta({
  description:
    'Jobs with high priority start before all jobs with normal priority, and jobs with low priority after them, regardless of the client. `high` requires the scope admin. Default: normal.',
});

/** Returns the names of the parameters in a path such as `/indices/{index_id}`, in order. */
export const listPathParameters = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);

/** Returns true for a route that starts jobs. Such a route accepts a callback and a priority. */
export function startsJobs({ success, startsJobs: isStarting = false }: Route): boolean {
  return success.status === 202 || isStarting;
}

/**
 * Returns the query schema of a route. It includes the common parameters of routes that start jobs, use a data store,
 * or respond in several formats.
 */
export function defineQuery(route: Route): z.ZodObject | undefined {
  const formats = getFormats(route);
  const commonFields = {
    ...(startsJobs(route) ? { callback, priority } : {}),
    ...(route.onStore === 'query' ? { store_id: storeId } : {}),
    ...(formats.size === 0 ? {} : { format: createFormatQuery(formats) }),
  };
  return Object.keys(commonFields).length === 0
    ? route.query
    : (route.query ?? z.strictObject({})).extend(commonFields);
}

/** Reads the query of one route. */
type QueryReader = (search: string) => Record<string, unknown>;

type ValueKind = 'text' | 'number' | 'boolean' | 'list';

const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/**
 * Creates the query reader of a route. It converts text to numbers, booleans and lists as the schema requires, and then
 * validates them. Unknown parameters are refused. The schema is created at the first query.
 * @throws Refusal VALIDATION_FAILED with one finding per invalid parameter
 */
export function createQueryReader(route: Route): QueryReader {
  if (route.openQuery === true) return () => ({});
  const getQuerySchema = callOnce((): z.ZodObject => defineQuery(route) ?? z.strictObject({}));
  const listKinds = callOnce(
    () => new Map(Object.entries(getQuerySchema().shape).map(([name, field]) => [name, getKind(field)])),
  );
  const parseEmpty = callOnce(() => getQuerySchema().safeParse({}));
  return (search) => {
    if (search === '' && parseEmpty().success) return parseEmpty().data!;
    const kinds = listKinds();
    const parameters = new URLSearchParams(search);
    const findings: Finding[] = [];
    const queryValues: Record<string, unknown> = {};
    for (const name of new Set(parameters.keys())) {
      const kind = kinds.get(name);
      if (kind === undefined) findings.push(createUnknownParameter(name, [...kinds.keys()]));
      else queryValues[name] = read(name, kind, parameters.getAll(name), findings);
    }
    const parsedQuery = checkShape(getQuerySchema(), queryValues);
    const reportedPaths = new Set(findings.map(({ path }) => path));
    findings.push(...parsedQuery.findings.filter(({ path }) => !reportedPaths.has(path)));
    if (findings.length > 0 || parsedQuery.value === undefined) throw refuseWithFindings('query', findings);
    return parsedQuery.value;
  };
}

/** Returns the type of a parameter, ignoring that it is optional, can be null or has a default. */
function getKind(field: z.core.$ZodType): ValueKind {
  if (
    field instanceof z.ZodOptional ||
    field instanceof z.ZodNullable ||
    field instanceof z.ZodDefault ||
    field instanceof z.ZodPrefault
  ) {
    return getKind(field.unwrap());
  }
  if (field instanceof z.ZodArray) return 'list';
  if (field instanceof z.ZodNumber) return 'number';
  return field instanceof z.ZodBoolean ? 'boolean' : 'text';
}

function read(name: string, kind: ValueKind, texts: string[], findings: Finding[]): unknown {
  if (kind === 'list') return [...new Set(texts.flatMap(splitItems))];
  const [text = ''] = texts;
  const addFinding = (message: string, value: unknown) => {
    findings.push({ severity: 'error', code: 'WRONG_TYPE', message, path: name, ...keepSmallValue(value) });
  };
  if (texts.length > 1) {
    addFinding(`${name} occurs ${texts.length} times; it can occur only once.`, texts);
  } else if (kind === 'number' && !NUMBER.test(text)) {
    addFinding(`${name} must be a number, not ${JSON.stringify(text.slice(0, 80))}.`, text);
  } else if (kind === 'boolean' && text !== 'true' && text !== 'false') {
    addFinding(`${name} must be true or false, not ${JSON.stringify(text.slice(0, 80))}.`, text);
  }
  if (kind === 'number') return Number(text);
  return kind === 'boolean' ? text === 'true' : text;
}

function createUnknownParameter(name: string, acceptedNames: readonly string[]): Finding {
  const acceptedText = acceptedNames.length > 0 ? `it accepts ${acceptedNames.join(', ')}` : 'it accepts none';
  return {
    severity: 'error',
    code: 'UNKNOWN_FIELD',
    message: `The route has no query parameter ${name.slice(0, 80)}; ${acceptedText}.${suggestName(name, acceptedNames)}`,
    path: name.slice(0, 80),
    accepted: acceptedNames,
  };
}

/** Matches brackets, quoted texts and commas. A comma inside brackets or quotes does not separate items. */
const ENCLOSED_TEXT = /"(?:[^"\\]|\\.)*"|`[^`]*`|[()[\],]/g;

/** Splits a list at commas. Commas inside the brackets and quoted texts of expressions are ignored. */
function splitItems(text: string): string[] {
  const items: string[] = [];
  let [start, depth] = [0, 0];
  for (const { 0: enclosedText, index } of text.matchAll(ENCLOSED_TEXT)) {
    if (enclosedText === '(' || enclosedText === '[') depth++;
    else if (enclosedText === ')' || enclosedText === ']') depth--;
    if (depth < 0) return text.split(',');
    if (enclosedText !== ',' || depth > 0) continue;
    items.push(text.slice(start, index));
    start = index + 1;
  }
  return depth === 0 ? [...items, text.slice(start)] : text.split(',');
}

/** Returns the checked parameters of a path. @throws Refusal INVALID_IDENTIFIER */
export function readParams({ params }: Route, getText: (name: string) => string | undefined): Record<string, unknown> {
  if (params === undefined) return {};
  const texts = Object.fromEntries(Object.keys(params.shape).map((name) => [name, getText(name) ?? '']));
  const { value, findings } = checkShape(params, texts);
  if (value !== undefined) return value;
  throw new Refusal('INVALID_IDENTIFIER', findings.map(({ message }) => message).join(' '), { findings });
}
