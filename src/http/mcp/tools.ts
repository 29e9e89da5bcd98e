import { z } from 'zod';
import { suggestName } from '#base/nearest-name.js';
import { jobIdSchema, type JobStatusPayload } from '#contract/jobs.js';
import { JSON_TYPE, listMediaTypes, type Route } from '#contract/route.js';
import { type ListedTool, type ToolDescription, type ToolParameter, WAIT_TOOL } from '#contract/tools.js';
import { type Finding, keepSmallValue } from '#domain/base/findings.js';
import { LIMITS } from '#domain/base/limits.js';
import { type ErrorDetail, ERRORS, Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { checkShape, defineObject } from '#domain/base/schema.js';
import { parseSource, SOURCE_SCHEME } from '#domain/outputs/receipts.js';
import { cancelBody, getType, readSourceHeader, readWithin, type ResponseParts } from '../answers.js';

/** Converts an address of the service, or its path, to the URI of a resource. */
export const toResourceUri = (url: string): string => url.replace(/^(?:\w+:\/\/[^/]+)?/, SOURCE_SCHEME);

/**
 * Returns the path and the query of a resource URI. Returns undefined if the resource does not belong to the service.
 */
export function parseResourceUri(uri: string): string | undefined {
  const source = parseSource(uri);
  return source && `${source.path}${source.query.size === 0 ? '' : `?${source.query}`}`;
}

/** Builds the URI template for the resources of a route. */
export const formatResourceTemplate = (path: string, query: readonly string[]): string =>
  `${SOURCE_SCHEME}${path}${query.length === 0 ? '' : `{?${query.join(',')}}`}`;

/** Identity of a request: its sender, its session and its id. Clients choose the id themselves. */
export interface CallName {
  readonly keyId: string | null;
  /** Session id that the service sent in its first response. Undefined if the client does not send it back. */
  readonly session: string | undefined;
  readonly id: string | number;
}

/** Running requests of agents. A later message can cancel one. */
export interface RunningCalls {
  /** Registers a running request. @throws Refusal RATE_LIMITED if the key has too many running requests */
  begin(name: CallName): { readonly signal: AbortSignal; end(): void };
  /** Aborts a request. Ignores a request that is unknown or has ended, as the protocol requires. */
  cancel(name: CallName): void;
}

export function createRunningCalls(perKeyMax: number = LIMITS.MAX_KEY_TOOL_CALLS): RunningCalls {
  const runningCalls = new Map<string, AbortController>();
  const counts = new Map<string | null, number>();

  return {
    begin(name) {
      const { keyId } = name;
      const count = counts.get(keyId) ?? 0;
      if (count >= perKeyMax) {
        const message = `${count} MCP requests of the key are running; ${perKeyMax} are accepted at once.`;
        throw new Refusal('RATE_LIMITED', message, { limit: perKeyMax });
      }
      counts.set(keyId, count + 1);
      const controller = new AbortController();
      const key = formatKey(name);
      if (key !== undefined) runningCalls.set(key, controller);
      return {
        signal: controller.signal,
        end() {
          if (key !== undefined && runningCalls.get(key) === controller) runningCalls.delete(key);
          const remainingCount = counts.get(keyId)! - 1;
          if (remainingCount === 0) counts.delete(keyId);
          else counts.set(keyId, remainingCount);
        },
      };
    },
    cancel(name) {
      const key = formatKey(name);
      if (key !== undefined) runningCalls.get(key)?.abort(CANCELLED);
    },
  };
}

/** Abort reason if the client cancels a request. A lost connection has another reason. */
const CANCELLED = Symbol('cancelled');

/**
 * Returns undefined for a client without a session. Such clients may use the same ids, so their requests cannot be
 * cancelled.
 */
const formatKey = ({ keyId, session, id }: CallName): string | undefined =>
  session === undefined ? undefined : JSON.stringify([keyId, session, id]);

/** List, object or text of a response that was shortened. */
interface Cut {
  /** Path, for example `levels.data`. */
  readonly path: string;
  readonly total: number;
  readonly unit: 'items' | 'members' | 'characters';
}

export interface ShortenedText {
  readonly text: string;
  /** Shortened parts, the longest first; empty if the response is complete. */
  readonly cuts: readonly Cut[];
}

/**
 * Lengths to which lists and objects are cut. They are tried one after another until the text fits. An object with
 * named fields is not cut if possible: only tables by name have more members than the largest record.
 */
const LENGTHS = [1000, 400, 200, 100, 50, 20, 10, 4].map((items) => ({ items, members: Math.max(items, 60) }));
const SHORTEST = [
  { items: 4, members: 20 },
  { items: 2, members: 8 },
  { items: 2, members: 4 },
] as const;
/** Number of characters that a text keeps for each item that a list keeps. */
const CHARACTERS_PER_ITEM = 100;
/** Maximum number of reported cuts. */
const CUTS_MAX = 12;

/**
 * Shortens the JSON of a value to at most `bytesMax` bytes. Long lists and objects keep their first and last members.
 * Every list keeps the same number, so that parallel lists stay parallel.
 * @cost one walk and one text for each length that is tried
 */
export function shortenJson(value: unknown, bytesMax: number): ShortenedText {
  const fullText = JSON.stringify(value);
  if (Buffer.byteLength(fullText) <= bytesMax) return { text: fullText, cuts: [] };
  for (const lengths of [...LENGTHS, ...SHORTEST]) {
    const cuts = new Map<string, Cut>();
    const text = JSON.stringify(shortenValue(value, { ...lengths, path: '', cuts }));
    if (Buffer.byteLength(text) <= bytesMax) return { text, cuts: listLongestCuts(cuts) };
  }
  return {
    text: fullText.slice(0, Math.floor(bytesMax / 4)), // a character has at most four bytes
    cuts: [{ path: '', total: fullText.length, unit: 'characters' }],
  };
}

const listLongestCuts = (cuts: ReadonlyMap<string, Cut>): readonly Cut[] =>
  [...cuts.values()].toSorted((a, b) => b.total - a.total).slice(0, CUTS_MAX);

interface ShorteningTerms {
  readonly items: number;
  readonly members: number;
  readonly path: string;
  readonly cuts: Map<string, Cut>;
}

function shortenValue(value: unknown, terms: ShorteningTerms): unknown {
  const { items, members: membersMax, path } = terms;
  if (typeof value === 'string') {
    const characters = items * CHARACTERS_PER_ITEM;
    if (value.length <= characters) return value;
    recordCut(terms, value.length, 'characters');
    return `${value.slice(0, characters / 2)} … ${value.slice(-characters / 2)}`;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    if (value.length > items) recordCut(terms, value.length, 'items');
    return listFirstAndLast(value, items).map((item) => shortenValue(item, { ...terms, path: `${path}[]` }));
  }
  const members = Object.entries(value);
  if (members.length > membersMax) recordCut(terms, members.length, 'members');
  return Object.fromEntries(
    listFirstAndLast(members, membersMax).map(([name, member]) => [
      name,
      shortenValue(member, { ...terms, path: path === '' ? name : `${path}.${name}` }),
    ]),
  );
}

/** Returns the first and the last items. */
function listFirstAndLast<T>(items: readonly T[], length: number): readonly T[] {
  if (items.length <= length) return items;
  return [...items.slice(0, length / 2), ...items.slice(-length / 2)];
}

function recordCut({ path, cuts }: ShorteningTerms, total: number, unit: Cut['unit']): void {
  const cut = cuts.get(path);
  if (cut === undefined || cut.total < total) cuts.set(path, { path, total, unit });
}

export type Content =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'resource_link';
      readonly uri: string;
      readonly name: string;
      readonly mimeType: string;
      readonly description: string;
    };

export interface ToolResult {
  readonly content: Content[];
  readonly isError?: boolean;
  /** Address of the result with everything pinned. */
  readonly _meta?: { readonly source: string };
  readonly [extension: string]: unknown;
}

/** Bytes reserved for the notices around a response. */
const NOTICE_BYTES = 2000;
/** Maximum size in bytes of a response that is parsed on the event loop. 4 MB take 30 ms. */
const PARSED_BYTES_MAX = 4_194_304;

/**
 * Converts a response to the result of a tool. A response that is longer than `bytesMax` is shortened, and the result
 * links to the whole response.
 */
export async function toToolResult(
  answer: ResponseParts,
  address: Pick<Request, 'method' | 'url'>,
  bytesMax: number = LIMITS.MAX_TOOL_ANSWER_BYTES,
): Promise<ToolResult> {
  const type = getType(answer);
  const source = readSourceHeader(answer);
  const isText = /^(?:application\/(?:json|x-ndjson)|text\/)/.test(type);
  if (!isText) return addSource(source, createLinkResult(answer, type, address));
  const bytes = await readWithin(answer, PARSED_BYTES_MAX);
  if (bytes === undefined) return addSource(source, createLinkResult(answer, type, address));
  const text = Buffer.from(bytes).toString('utf8');
  if (answer.status >= 400) return createErrorResult(answer, text);
  if (text === '') return { content: [{ type: 'text', text: `Done (${answer.status}).` }] };
  const bodyBytesMax = bytesMax - NOTICE_BYTES;
  if (bytes.byteLength <= bodyBytesMax) return addSource(source, { content: [{ type: 'text', text }] });
  const shortText = type.startsWith('application/json')
    ? shortenJson(JSON.parse(text), bodyBytesMax)
    : shortenAnswerText(text, bodyBytesMax);
  const notices = createNotices(shortText.cuts, type, { method: address.method, url: address.url, source }, bytesMax);
  return addSource(source, { content: [{ type: 'text', text: shortText.text }, ...notices] });
}

/** Adds the address of the result. The text repeats it, because many clients do not show `_meta` to their model. */
function addSource(source: string | undefined, result: ToolResult): ToolResult {
  if (source === undefined) return result;
  return { ...result, content: [...result.content, { type: 'text', text: `Source: ${source}` }], _meta: { source } };
}

/** Address of a response: its request, and its pinned address if it has one. */
type Address = Pick<Request, 'method' | 'url'> & { readonly source?: string | undefined };

function shortenAnswerText(text: string, bytesMax: number): ReturnType<typeof shortenJson> {
  const truncatedText = Buffer.from(text).subarray(0, bytesMax).toString('utf8');
  return {
    text: truncatedText.slice(0, truncatedText.lastIndexOf('\n') + 1 || undefined),
    cuts: [{ path: '', total: text.length, unit: 'characters' }],
  };
}

function createNotices(cuts: readonly Cut[], type: string, address: Address, bytesMax: number): Content[] {
  const cutTexts = cuts.map(({ path, total, unit }) => `${path || 'the response'} has ${total} ${unit}`).join('; ');
  const notice = `Shortened to ${bytesMax} bytes; the first and last are shown: ${cutTexts}. Narrow the request (dates, identifiers, limit), or read all of it: ${formatRequest(address)}.`;
  return [{ type: 'text', text: notice }, ...createLinks(type, address)];
}

const formatRequest = ({ method, url }: Pick<Request, 'method' | 'url'>): string =>
  `${method} ${url.replace(/^\w+:\/\/[^/]+/, '')}`;

/**
 * Returns links to the resource of a GET. Other methods have no link: their response can only be obtained by repeating
 * the request.
 */
function createLinks(type: string, { method, url, source }: Address): Content[] {
  if (method !== 'GET') return [];
  const uri = source ?? toResourceUri(url);
  return [{ type: 'resource_link', uri, name: uri, mimeType: type, description: 'The whole response.' }];
}

function createLinkResult(answer: ResponseParts, type: string, address: Address): ToolResult {
  cancelBody(answer);
  const length = answer.headers.get('Content-Length');
  const sizeText = length === null ? '' : ` of ${length} bytes`;
  const text = `The response is a file${sizeText} (${type}); read it with ${formatRequest(address)}.`;
  return {
    content: [
      { type: 'text', text },
      ...createLinks(type, { method: address.method, url: address.url, source: readSourceHeader(answer) }),
    ],
  };
}

/** Returns an error result that explains the error code. An agent can then correct its call. */
function createErrorResult(answer: ResponseParts, text: string): ToolResult {
  const { error } = JSON.parse(text) as { readonly error: ErrorDetail };
  const retryAfter = answer.headers.get('Retry-After');
  return createToolError(error, retryAfter === null ? {} : { retry_after_seconds: Number(retryAfter) });
}

export function createToolError(error: ErrorDetail, extraDetail: Readonly<Record<string, unknown>> = {}): ToolResult {
  const detail = { error, hint: ERRORS[error.code].help, ...extraDetail };
  return { content: [{ type: 'text', text: shortenJson(detail, LIMITS.MAX_TOOL_ANSWER_BYTES).text }], isError: true };
}

export type ToolArguments = Readonly<Record<string, unknown>>;

/** Parts of the client's request that the request of a tool also uses. */
export interface OuterRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Start of internal addresses. Only the router reads it. */
const BASE = 'http://localhost';

/** Maximum length of path and query, as in a request over HTTP. */
export const ADDRESS_LENGTH_MAX = 16_384;

/** Parts of a request that arguments fill. */
interface RequestParts {
  path: string;
  readonly query: URLSearchParams;
  readonly headers: Record<string, string>;
}

/** Operation that an agent may call. */
export interface Tool extends ToolDescription {
  readonly route: Route;
}

/**
 * Builds the HTTP request of a tool call. The route validates the values.
 * @throws Refusal VALIDATION_FAILED for unknown arguments, and for values that a request cannot contain
 */
export function createToolRequest(tool: Tool, argumentValues: ToolArguments, outer: OuterRequest): Request {
  const { route, parameters, hasBody } = tool;
  const argumentNames = [...parameters.map(({ argument }) => argument), ...(hasBody ? ['body'] : [])];
  const parts: RequestParts = {
    path: route.path,
    query: new URLSearchParams(),
    headers: { ...outer.headers, accept: chooseMediaType(route) },
  };
  const findings = [
    ...findUnknownArguments(argumentNames, argumentValues),
    ...parameters.flatMap((parameter) => fillRequest(parts, parameter, argumentValues[parameter.argument]) ?? []),
  ];
  if (findings.length > 0) throw refuseWithFindings('arguments', findings);
  const { path, query, headers } = parts;
  const search = query.size === 0 ? '' : `?${query}`;
  if (path.length + search.length > ADDRESS_LENGTH_MAX) {
    const message = `The arguments of path and query have ${path.length + search.length} characters; at most ${ADDRESS_LENGTH_MAX} are accepted.`;
    throw refuseWithFindings('arguments', [createFinding('OUT_OF_RANGE', '', message)]);
  }
  if (hasBody) headers['content-type'] = JSON_TYPE;
  return new Request(`${BASE}${path}${search}`, {
    method: route.method,
    headers,
    body: hasBody ? JSON.stringify(argumentValues['body'] ?? {}) : null,
    signal: outer.signal,
  });
}

/** Writes an argument to its part of the request. @returns a finding for an invalid argument */
function fillRequest(
  parts: RequestParts,
  { argument, name, in: location, required }: ToolParameter,
  value: unknown,
): Finding | undefined {
  if (value === undefined || value === null) {
    return required ? createFinding('REQUIRED', argument, `${argument} is required.`) : undefined;
  }
  const argumentWords = (Array.isArray(value) ? value : [value]) as readonly unknown[];
  if (argumentWords.some((word) => typeof word === 'object'))
    return createFinding('WRONG_TYPE', argument, `${argument} must be text, a number, a boolean or a list of them.`);
  const text = String(value);
  switch (location) {
    case 'query':
      for (const word of argumentWords) parts.query.append(name, String(word));
      return undefined;
    case 'header':
      parts.headers[name.toLowerCase()] = encodeHeader(text);
      return undefined;
    case 'path':
      // The address parser would resolve a dot segment.
      if (/^\.{0,2}$/.test(text))
        return createFinding('WRONG_TYPE', argument, `${argument} must be an id, not ${JSON.stringify(text)}.`, text);
      parts.path = parts.path.replace(`{${name}}`, () => encodeURIComponent(text).replaceAll('%3A', ':'));
      return undefined;
  }
}

/** Returns the media type to request: JSON if the route offers it, otherwise Markdown, otherwise any type. */
function chooseMediaType(route: Tool['route']): string {
  const offeredTypes = listMediaTypes(route);
  if (offeredTypes.includes(JSON_TYPE)) return JSON_TYPE;
  return offeredTypes.find((type) => type === 'text/markdown') ?? '*/*';
}

/** Encodes text on one line as a header value whose bytes are UTF-8. */
const encodeHeader = (text: string): string => Buffer.from(text.replaceAll(/[\r\n\0]/g, ' ')).toString('latin1');

function findUnknownArguments(argumentNames: readonly string[], argumentValues: ToolArguments): Finding[] {
  return Object.keys(argumentValues)
    .filter((name) => !argumentNames.includes(name))
    .map((name) => {
      const shortName = name.slice(0, 80);
      const message = `The tool has no argument ${shortName}; it has ${argumentNames.join(', ') || 'none'}.${suggestName(shortName, argumentNames)}`;
      return { ...createFinding('UNKNOWN_FIELD', shortName, message), accepted: argumentNames };
    });
}

function createFinding(code: Finding['code'], path: string, message: string, value?: unknown): Finding {
  return { severity: 'error', code, path, message, ...(value === undefined ? {} : keepSmallValue(value)) };
}

/** Interval between checks of a job's progress. */
const LOOK_SECONDS = 1;
const WAIT_DEFAULT_SECONDS = 30;

const WaitArguments = defineObject(() => ({
  job_id: jobIdSchema,
  seconds: z
    .number()
    .min(0)
    .max(LIMITS.MAX_TOOL_WAIT_SECONDS)
    .default(WAIT_DEFAULT_SECONDS)
    .meta({ description: 'Maximum wait in seconds.' }),
}));

export function createWaitTool(): ListedTool {
  const { $schema: _, ...inputSchema } = z.toJSONSchema(WaitArguments, { io: 'input' });
  return {
    name: WAIT_TOOL,
    description: `Waits until a job has ended, or for \`seconds\`, and returns its status with its result. Reports the progress from 0 to 1. A job that still runs is returned as it is: call the tool again. Cancelling the call cancels the job.\nUnits: seconds; progress is a fraction.\nLimits: waits at most ${LIMITS.MAX_TOOL_WAIT_SECONDS} seconds; answer ${LIMITS.MAX_TOOL_JOB_BYTES} bytes, then its series are shortened; needs the scope read, and run to cancel.`,
    inputSchema: { ...inputSchema, type: 'object' },
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  };
}

export interface WaitContext {
  /** Sends a request to the service. */
  readonly ask: (method: 'GET' | 'DELETE', path: string) => Promise<ResponseParts>;
  /** Aborted when the client cancels or disconnects. If the reason is CANCELLED, the job is cancelled as well. */
  readonly signal: AbortSignal;
  readonly report: (progress: number, message: string) => Promise<void>;
}

/** Waits for a job. @throws Refusal VALIDATION_FAILED */
export async function waitForJob(
  argumentValues: ToolArguments,
  { ask, signal, report }: WaitContext,
): Promise<ToolResult> {
  const parsedArguments = checkShape(WaitArguments, argumentValues);
  if (parsedArguments.value === undefined) throw refuseWithFindings('arguments', parsedArguments.findings);
  const { job_id: jobId, seconds } = parsedArguments.value;
  const path = `/jobs/${jobId}`;
  const deadlineMs = performance.now() + seconds * 1000;
  let lastProgress = -1;
  for (;;) {
    const secondsLeft = (deadlineMs - performance.now()) / 1000;
    const answer = await ask('GET', `${path}?wait=${Math.max(0, Math.min(LOOK_SECONDS, secondsLeft)).toFixed(3)}`);
    const isCancelled = signal.aborted && signal.reason === CANCELLED;
    if (isCancelled) return toToolResult(await ask('DELETE', path), { method: 'GET', url: path });
    const status = await readStatus(answer);
    if (status !== undefined && status.progress > lastProgress) {
      lastProgress = status.progress;
      await report(status.progress, `${status.status}: ${status.message}`);
    }
    const hasEnded =
      status === undefined ||
      status.status === 'succeeded' ||
      status.status === 'failed' ||
      status.status === 'cancelled';
    if (hasEnded || secondsLeft <= 0 || signal.aborted)
      return toToolResult(answer, { method: 'GET', url: path }, LIMITS.MAX_TOOL_JOB_BYTES);
  }
}

/**
 * Parses the status in a short response. Returns undefined for an error, and for a long response: it contains a result,
 * so its job has ended.
 */
async function readStatus({ status, body }: ResponseParts): Promise<JobStatusPayload | undefined> {
  return status === 200 && typeof body === 'string' ? (JSON.parse(body) as JobStatusPayload) : undefined;
}
