import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { suggestName } from '#base/nearest-name.js';
import { callOnce } from '#base/once.js';
import { findCurrentSpan, formatTraceParent } from '#base/tracing/tracing.js';
import { getToolset, isTool, type mcpRoutes, TOOLSETS } from '#contract/mcp.js';
import { knowsPrefixes } from '#contract/operations.js';
import { defineQuery, isReading, JSON_TYPE, type Route, startsJobs } from '#contract/route.js';
import { type ListedTool, type ToolDescription, WAIT_TOOL } from '#contract/tools.js';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { cancelBody, createSourceRequest, getType, readWithin, type ResponseParts } from '../answers.js';
import type { App } from '../app.js';
import type { Handlers, Principal, Reply, RouteRequest } from '../handler.js';
import {
  ADDRESS_LENGTH_MAX,
  createRunningCalls,
  createToolError,
  createToolRequest,
  createWaitTool,
  formatResourceTemplate,
  parseResourceUri,
  type RunningCalls,
  type Tool,
  type ToolArguments,
  type ToolResult,
  toResourceUri,
  toToolResult,
  waitForJob,
} from './tools.js';
import type { Finding } from '#domain/base/findings.js';
import { formatDay, parseDay } from '#domain/base/time.js';

const PAGE_ENTRIES = 100;

interface ListingPage<T> {
  readonly page: T[];
  /** Cursor of the next page; absent on the last page. */
  readonly nextCursor?: string;
}

/** Returns one page of entries; undefined for an unknown cursor. */
function findPage<T>(
  entries: readonly T[],
  cursor: string | undefined,
  entriesMax: number,
): ListingPage<T> | undefined {
  const from = cursor === undefined ? 0 : Number(/^\d{1,9}$/.exec(cursor)?.[0] ?? NaN);
  if (!Number.isInteger(from) || from % entriesMax > 0 || (from > 0 && from >= entries.length)) return undefined;
  const to = from + entriesMax;
  return { page: entries.slice(from, to), ...(to < entries.length && { nextCursor: String(to) }) };
}

/**
 * Groups entries so that the JSON of each group has at most `bytesMax` bytes. An entry that is longer forms its own
 * group.
 */
function groupByBytes<T>(entries: readonly T[], bytesMax: number): T[][] {
  const pages: T[][] = [];
  let remainingBytes = 0;
  for (const entry of entries) {
    const bytes = Buffer.byteLength(JSON.stringify(entry));
    if (bytes > remainingBytes) {
      pages.push([]);
      remainingBytes = bytesMax;
    }
    remainingBytes -= bytes;
    pages.at(-1)!.push(entry);
  }
  return pages;
}

/**
 * Prompt that a person starts by its name. It describes the steps of a specialist who uses the tools of the service.
 */
interface Prompt {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: readonly { readonly name: string; readonly description: string; readonly required: boolean }[];
  /** @param values all required arguments */
  text(values: Readonly<Record<string, string>>): string;
}

const PROMPTS: readonly Prompt[] = [
  {
    name: 'design-index',
    title: 'Design an index from a rulebook',
    description: 'Turns the text of a rulebook into an index definition, previews and backtests it.',
    arguments: [
      { name: 'rulebook', description: 'Text of the rulebook.', required: true },
      { name: 'index_id', description: 'Id of the new index.', required: true },
    ],
    text: ({ rulebook = '', index_id: id = '' }) => `Design the index ${id} from this rulebook:

${rulebook}

1. Read the catalogue (listRuleTypes, listFields, getGuidePage with page "define") and, where a published methodology is close, start from listMethodologyTemplates and getMethodologyTemplate.
2. Write the definition. List every sentence of the rulebook with the field that implements it, and every choice that the rulebook leaves open.
3. validateIndex until it has no error; correct each finding by its path.
4. previewDocument on a recent date; check the number of constituents, the largest weight and the exclusions against the rulebook.
5. Ask for approval, then createIndex, startBacktest and waitForJob.
6. Report getOverview, the largest drawdown and what caused it (getAttribution over its dates), and how turnover compares with the rulebook.
Weights and returns are fractions. Never invent a figure: quote the tool that returned it.`,
  },
  {
    name: 'explain-lag',
    title: 'Explain why this index lagged',
    description: 'Explains the return of an index against a benchmark over a period.',
    arguments: [
      { name: 'index_id', description: 'The index.', required: true },
      { name: 'benchmark', description: 'Index or series to compare with.', required: true },
      { name: 'start', description: 'First date, YYYY-MM-DD.', required: true },
      { name: 'end', description: 'Last date, YYYY-MM-DD.', required: true },
    ],
    text: ({
      index_id: id = '',
      benchmark = '',
      start = '',
      end = '',
    }) => `Explain why the index ${id} lagged ${benchmark} from ${start} to ${end}.

1. getPerformance with the benchmark over the period: active return, tracking error, drawdown.
2. getGroupAttribution by sector: which groups, by allocation or selection.
3. getAttribution: the ten securities with the largest negative contribution; getRunAsset and getCorporateActions for the largest three.
4. listRebalances and getRebalance in the period: whether trades caused it.
5. explainName for a security that a reader would expect in the index and that is absent.
State each effect in percent of the active return, the sum of the effects, and what remains unexplained.`,
  },
  {
    name: 'prepare-rebalance',
    title: 'Prepare the rebalance',
    description: 'Prepares the next rebalance of an index: changes, turnover, limits, orders.',
    arguments: [
      { name: 'index_id', description: 'The index.', required: true },
      { name: 'date', description: 'Date of the decision, YYYY-MM-DD.', required: true },
    ],
    text: ({ index_id: id = '', date = '' }) => `Prepare the rebalance of the index ${id} decided on ${date}.

1. getSchedule: announcement, decision and effective dates.
2. getCoverage: whether the data reaches ${date}; stop if it does not.
3. previewIndex as of ${date}: additions, deletions, weights.
4. packRebalance: trades and turnover. Name the ten largest trades and those above a day's volume.
5. watchLimits: concentration limits before and after.
6. getCorporateActions between the decision and the effective date.
Summarise in one page: additions, deletions with the rule that caused each (explainName), turnover, limits, open points for a decision.`,
  },
];

interface ListedResource {
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly mimeType: string;
}

const MARKDOWN = 'text/markdown';

/** Lists the resources of every service: the contract and the guide. */
const listDocumentationResources = (
  pages: readonly { readonly name: string; readonly title: string }[],
): ListedResource[] => [
  {
    uri: toResourceUri('http://_/openapi.json'),
    name: 'openapi.json',
    title: 'The contract (OpenAPI)',
    mimeType: JSON_TYPE,
  },
  ...pages.map(({ name, title }) => ({
    uri: toResourceUri(`http://_/docs/guide${name === '' ? '' : `/${name}`}?format=md`),
    name: name === '' ? 'guide' : `guide/${name}`,
    title: `Guide: ${title}`,
    mimeType: MARKDOWN,
  })),
];

/** Lists the resources of stored indices: definition and methodology text. */
const listIndexResources = (ids: readonly string[]): ListedResource[] =>
  ids.flatMap((id) => [
    { uri: toResourceUri(`http://_/indices/${id}`), name: id, title: `Definition of ${id}`, mimeType: JSON_TYPE },
    {
      uri: toResourceUri(`http://_/indices/${id}/methodology`),
      name: `${id}/methodology`,
      title: `Methodology text of ${id}`,
      mimeType: JSON_TYPE,
    },
  ]);

export const isResource = (route: Route): boolean => route.method === 'GET' && route.scope === 'read' && isTool(route);

const listResourceTemplates = (api: Readonly<Record<string, Route>>) =>
  Object.entries(api)
    .filter(([, route]) => isResource(route) && getToolset(route) !== 'mcp')
    .map(([id, route]) => ({
      uriTemplate: formatResourceTemplate(route.path, Object.keys(defineQuery(route)?.shape ?? {})),
      name: id,
      description: route.summary,
    }));

/** Sources of the tools, shared by all clients. */
interface McpCatalogue {
  readonly version: string;
  readonly isReadOnly: boolean;
  readonly api: Readonly<Record<string, Route>>;
  /** Names of the operations that are tools. */
  readonly names: readonly string[];
  /** Describes all tools; a thread does it at the first call. */
  readonly tools: () => Promise<ReadonlyMap<string, Tool>>;
  readonly templates: () => readonly {
    readonly uriTemplate: string;
    readonly name: string;
    readonly description: string;
  }[];
  readonly pages: () => readonly { readonly name: string; readonly title: string }[];
}

/** One request of a client. */
interface McpClient {
  readonly principal: Principal;
  /** Selected toolsets; undefined for the short list. */
  readonly toolsets: ReadonlySet<string> | undefined;
  /** Headers that internal requests inherit. */
  readonly headers: Readonly<Record<string, string>>;
  /** Aborts when the client cancels or disconnects. */
  readonly signal: AbortSignal;
  /** Answers a request as if the client had sent it. */
  readonly ask: (request: Request) => Promise<ResponseParts>;
  /** Sends a notification before the response, if the client listens. */
  readonly report: (progress: number, message: string) => Promise<void>;
}

const INSTRUCTIONS = `Divisor constructs, backtests and analyses equity indices.
Every operation of its HTTP API is reachable: findOperations, describeOperation, callOperation. Rates, returns and weights are fractions (0.05 is 5%); dates are YYYY-MM-DD; null means not measured.
Work on an index: listRuleTypes and getGuidePage (page "define") explain definitions; validateIndex, then previewDocument, then createIndex, startBacktest and ${WAIT_TOOL}; then the views of the run (getOverview, getPerformance, getAttribution, getWeights).
A return counts from the close of start: the last quarter of 2024 is start 2024-09-30 (the last close before it), end 2024-12-31.
Every result names its source, such as divisor:/analytics/CORE-40/overview?run_id=8f2a. Cite it after each number of a text by a footnote: "rose by 18.4 %[^1]" and "[^1]: SOURCE#/metrics/total_return" (a JSON pointer). Before you answer, verifyText must prove every number.
An error has a code, a hint and findings with the path of each fault: correct those and call again. Long answers are shortened: narrow the request by dates or identifiers.`;

class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** Codes of JSON-RPC 2.0, section 5.1. */
const METHOD_NOT_FOUND = -32_601;
const INVALID_PARAMS = -32_602;
const INTERNAL_ERROR = -32_603;

/** Versions of the protocol, latest first. */
const PROTOCOL_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'];

type Method = (params: Readonly<Record<string, unknown>>) => unknown;

/**
 * Returns the methods of the protocol for one request of a client. They are implemented here: the SDK would hold the
 * event loop for 60 ms when it is loaded.
 * @source Model Context Protocol, 2025-11-25
 */
function createMethods(catalogue: McpCatalogue, client: McpClient): Readonly<Record<string, Method>> {
  return {
    initialize: ({ protocolVersion }) => ({
      protocolVersion: PROTOCOL_VERSIONS.find((version) => version === protocolVersion) ?? PROTOCOL_VERSIONS[0],
      capabilities: { tools: {}, resources: {}, prompts: {} },
      serverInfo: { name: 'divisor', title: 'Divisor', version: catalogue.version },
      instructions: INSTRUCTIONS,
    }),
    ping: () => ({}),
    ...createToolMethods(catalogue, client),
    ...createResourceMethods(catalogue, client),
    ...PROMPT_METHODS,
  };
}

const ListParams = z.looseObject({ cursor: z.string().optional() });
const CallParams = z.looseObject({ name: z.string(), arguments: z.record(z.string(), z.unknown()).optional() });
const PromptParams = z.looseObject({ name: z.string(), arguments: z.record(z.string(), z.string()).optional() });
const ReadParams = z.looseObject({ uri: z.string().max(ADDRESS_LENGTH_MAX) });

/** @throws ProtocolError for parameters of another shape */
function parseParams<S extends z.ZodType>(schema: S, params: unknown): z.output<S> {
  const parsed = schema.safeParse(params);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new ProtocolError(INVALID_PARAMS, `Invalid parameter ${issue!.path.join('.')}: ${issue!.message}`);
}

function createToolMethods(catalogue: McpCatalogue, client: McpClient): Readonly<Record<string, Method>> {
  const { api, names } = catalogue;
  const operations = names
    .map((name) => [name, api[name]!] as const)
    .filter(([name, route]) => canCallTool(name, route, catalogue, client));
  const callableNames = operations.map(([name]) => name);
  const { toolsets } = client;
  const findTool = async (name: string): Promise<Tool> => {
    const tool = names.includes(name) ? (await catalogue.tools()).get(name) : undefined;
    if (tool === undefined) throw refuseOperation(name, [WAIT_TOOL, ...callableNames]);
    return tool;
  };
  const callOperation = async (name: string, argumentValues: ToolArguments): Promise<ToolResult> =>
    name === WAIT_TOOL
      ? callTool(undefined, argumentValues, client)
      : callTool(await findTool(name), argumentValues, client);
  const context: TaskContext = {
    operations,
    callOperation,
    async call(name, argumentValues) {
      const result = await callOperation(name, argumentValues);
      const jobId = result.isError === true || !startsJobs(api[name]!) ? undefined : findJobId(result);
      return jobId === undefined
        ? result
        : callTool(undefined, { job_id: jobId, seconds: LIMITS.MAX_TOOL_WAIT_SECONDS }, client);
    },
    async describe(name) {
      const listed = name === WAIT_TOOL ? createWaitTool() : (await findTool(name)).listed;
      return { ...listed, scope: api[name]?.scope ?? 'read' };
    },
  };
  const shortTools = listShortTools(operations);
  return {
    async 'tools/list'(params) {
      const { cursor } = parseParams(ListParams, params);
      const listed =
        toolsets === undefined
          ? shortTools.map(({ tool }) => tool)
          : await listSelectedTools(catalogue, toolsets, new Set(callableNames));
      const { page, ...next } = findListingPage(groupByBytes<unknown>(listed, LISTING_BYTES_MAX), cursor, 1);
      return { tools: page.flat(), ...next };
    },
    async 'tools/call'(params) {
      const { name, arguments: argumentValues = {} } = parseParams(CallParams, params);
      // Operations can be called by their names whatever is listed. A tool of the short list with the name of an
      // operation is meant if it is listed and takes a body, or if the arguments have none.
      const short = shortTools.find(({ tool }) => tool.name === name);
      const takesBody =
        (short?.tool.inputSchema['required'] as readonly string[] | undefined)?.includes('body') === true;
      const isBodyShort = toolsets === undefined && takesBody;
      if (short !== undefined && (isBodyShort || !names.includes(name) || !('body' in argumentValues)))
        return convertRefusal(() => short.run(argumentValues, context));
      if (name === WAIT_TOOL || names.includes(name)) return convertRefusal(() => callOperation(name, argumentValues));
      const known = [...shortTools.map(({ tool }) => tool.name), ...callableNames];
      throw new ProtocolError(
        INVALID_PARAMS,
        `Unknown tool ${name.slice(0, 80)}.${suggestName(name.slice(0, 80), known)}`,
      );
    },
  };
}

async function listSelectedTools(
  { tools }: McpCatalogue,
  toolsets: ReadonlySet<string>,
  callableNames: ReadonlySet<string>,
) {
  const list = [...(await tools()).values()].filter(
    ({ listed, toolset }) => callableNames.has(listed.name) && toolsets.has(toolset),
  );
  return [...(toolsets.has('jobs') ? [createWaitTool()] : []), ...list.map(({ listed }) => listed)];
}

/** Returns the id of the job that an operation has started and that has not ended. */
function findJobId({ content: [first] }: ToolResult): string | undefined {
  return first?.type === 'text' ? /^\{"job_id":"([^"]{1,100})"/.exec(first.text)?.[1] : undefined;
}

/** Maximum size in bytes of one page of tools: 25,000 tokens of four bytes each. */
const LISTING_BYTES_MAX = 100_000;

/**
 * Returns true if the client may call a tool: its key has the scope and the prefixes for the route, and a read-only
 * service permits the route. Other tools are not listed; their routes would refuse a call.
 */
function canCallTool(name: string, route: Route, { isReadOnly }: McpCatalogue, { principal }: McpClient): boolean {
  const { scope } = route;
  const { scopes, prefixes } = principal;
  if (prefixes !== undefined && !knowsPrefixes(name, route)) return false;
  if (isReadOnly && (!isReading(route) || startsJobs(route))) return false;
  return scope === 'open' || scopes.has(scope) || scopes.has('admin');
}

/** @param tool undefined for the tool that waits for a job */
async function callTool(tool: Tool | undefined, argumentValues: ToolArguments, client: McpClient): Promise<ToolResult> {
  const { headers, signal, ask, report } = client;
  if (tool === undefined) {
    const askPath = (method: string, path: string) =>
      ask(new Request(`http://localhost${path}`, { method, headers: { ...headers } }));
    return waitForJob(argumentValues, { ask: askPath, signal, report });
  }
  const request = createToolRequest(tool, argumentValues, { headers, signal });
  return toToolResult(await ask(request), request);
}

/** Returns a refusal as the result of the tool. An agent can then correct its arguments or the cause of the error. */
async function convertRefusal(call: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await call();
  } catch (failure) {
    if (failure instanceof Refusal) return createToolError(failure.toDetail());
    throw failure;
  }
}

/** Returns a page of a listing. @throws ProtocolError for a cursor of another listing */
function findListingPage<T>(entries: readonly T[], cursor: string | undefined, entriesMax: number): ListingPage<T> {
  const page = findPage(entries, cursor, entriesMax);
  if (page !== undefined) return page;
  const message = `The cursor ${JSON.stringify(cursor?.slice(0, 40))} does not belong to this listing.`;
  throw new ProtocolError(INVALID_PARAMS, message);
}

function createResourceMethods(catalogue: McpCatalogue, client: McpClient): Readonly<Record<string, Method>> {
  const createInvalidError = (message: string, data?: unknown) => new ProtocolError(INVALID_PARAMS, message, data);
  return {
    async 'resources/list'(params) {
      const { cursor } = parseParams(ListParams, params);
      const listedResources: ListedResource[] = [
        ...(await listStoredIndices(client)),
        ...listDocumentationResources(catalogue.pages()),
      ];
      const { page, ...next } = findListingPage(listedResources, cursor, PAGE_ENTRIES);
      return { resources: page, ...next };
    },
    'resources/templates/list'(params) {
      const { cursor } = parseParams(ListParams, params);
      const { page, ...next } = findListingPage(catalogue.templates(), cursor, PAGE_ENTRIES);
      return { resourceTemplates: page, ...next };
    },
    async 'resources/read'(params) {
      const { uri } = parseParams(ReadParams, params);
      const path = parseResourceUri(uri);
      if (path === undefined) throw createInvalidError('A resource URI must begin with divisor:/.', { uri });
      const { headers, signal, ask } = client;
      const { pathname, searchParams } = new URL(path, 'http://localhost');
      const request = createSourceRequest(pathname, searchParams, { headers: { ...headers }, signal });
      if (request === undefined)
        throw createInvalidError('The address contains no read that can be repeated.', { uri });
      const answer = await ask(request);
      const type = getType(answer);
      if (type === 'text/event-stream') {
        cancelBody(answer);
        throw createInvalidError('A stream of events is not a resource.', { uri });
      }
      const bytes = await readWithin(answer, LIMITS.MAX_RESOURCE_BYTES);
      if (bytes === undefined)
        throw createInvalidError(
          `The resource has more than ${LIMITS.MAX_RESOURCE_BYTES} bytes: read it over HTTP, GET ${path}.`,
          {
            uri,
          },
        );
      const textBytes = Buffer.from(bytes);
      if (answer.status !== 200)
        throw createInvalidError(`The resource cannot be read: ${textBytes.toString('utf8').slice(0, 2000)}`, { uri });
      const isText = /^(?:text\/|application\/(?:json|x-ndjson))/.test(type);
      return {
        contents: [
          {
            uri,
            mimeType: type,
            ...(isText ? { text: textBytes.toString('utf8') } : { blob: textBytes.toString('base64') }),
          },
        ],
      };
    },
  };
}

/** Lists definitions and methodology texts of the indices that the client may read. */
async function listStoredIndices({ ask, headers }: McpClient): Promise<ListedResource[]> {
  const answer = await ask(new Request(`http://localhost/indices?limit=${INDICES_MAX}`, { headers: { ...headers } }));
  const bytes = answer.status === 200 ? await readWithin(answer, LIMITS.MAX_RESOURCE_BYTES) : undefined;
  if (bytes === undefined) return [];
  const { indices } = JSON.parse(Buffer.from(bytes).toString('utf8')) as {
    readonly indices: readonly { readonly id: string }[];
  };
  return listIndexResources(indices.map(({ id }) => id));
}

/** Maximum number of indices that are listed as resources. An agent reads other indices through a template. */
const INDICES_MAX = 200;

const PROMPT_METHODS: Readonly<Record<string, Method>> = {
  'prompts/list': () => ({
    prompts: PROMPTS.map(({ name, title, description, arguments: promptArguments }) => ({
      name,
      title,
      description,
      arguments: promptArguments,
    })),
  }),
  'prompts/get'(params) {
    const { name, arguments: argumentValues = {} } = parseParams(PromptParams, params);
    const prompt = PROMPTS.find((candidate) => candidate.name === name);
    const missingArguments =
      prompt?.arguments
        .filter((argument) => argument.required && !argumentValues[argument.name])
        .map((argument) => argument.name) ?? [];
    if (prompt === undefined || missingArguments.length > 0)
      throw new ProtocolError(INVALID_PARAMS, formatFault(prompt, name, missingArguments));
    return {
      description: prompt.description,
      messages: [{ role: 'user', content: { type: 'text', text: prompt.text(argumentValues) } }],
    };
  },
};

function formatFault(prompt: Prompt | undefined, name: string, missingArguments: readonly string[]): string {
  const names = PROMPTS.map((each) => each.name);
  if (prompt === undefined) return `Unknown prompt ${name.slice(0, 80)}.${suggestName(name.slice(0, 80), names)}`;
  return `The prompt ${prompt.name} requires ${missingArguments.join(', ')}.`;
}

export interface McpSources {
  readonly api: Readonly<Record<string, Route>>;
  readonly version: string;
  readonly isReadOnly: boolean;
  /** Describes all tools outside the event loop. */
  readonly describeTools: () => Promise<readonly ToolDescription[]>;
  readonly pages: McpCatalogue['pages'];
  /** Answers a request on behalf of an authenticated client. */
  readonly answerFor: App['answerFor'];
}

/** Members of a protocol message. */
interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly requestId?: unknown; readonly _meta?: { readonly progressToken?: unknown } };
}

type McpRequest = RouteRequest<(typeof mcpRoutes)['callMcp']>;

/**
 * Creates the handlers for agents. Each request is answered on its own, so every process of a service can answer every
 * message. The service remembers only running requests, so that a message can cancel them.
 */
export function createMcpHandlers(sources: McpSources): Handlers<typeof mcpRoutes> {
  const { api, version, isReadOnly, describeTools, pages, answerFor } = sources;
  const catalogue: McpCatalogue = {
    version,
    isReadOnly,
    api,
    names: Object.entries(api).flatMap(([name, route]) => (isTool(route) && route.tag !== 'mcp' ? [name] : [])),
    tools: createRetry(async () => {
      const descriptions = await describeTools();
      return new Map(descriptions.map((tool) => [tool.listed.name, { ...tool, route: api[tool.listed.name]! }]));
    }),
    templates: callOnce(() => listResourceTemplates(api)),
    pages: callOnce(pages),
  };
  const runningCalls = createRunningCalls();
  return {
    async callMcp(request) {
      const message = request.body() as Message;
      const session = request.header('mcp-session-id')?.slice(0, SESSION_MAX);
      const { keyId } = request.principal;
      if (message.method === 'notifications/cancelled') {
        const id = message.params?.requestId;
        if (isId(id)) runningCalls.cancel({ keyId, session, id });
        return { status: 202 };
      }
      assertMessage(message, request.header('mcp-protocol-version'));
      if (!isId(message.id)) return { status: 202 }; // the server sends no requests, and other notifications change nothing
      const call = runningCalls.begin({ keyId, session, id: message.id });
      return answerMessage(request, message, { call, catalogue, answerFor });
    },
  };
}

/** Caches a value once it has been obtained. A failure is not cached. */
function createRetry<T>(obtain: () => Promise<T>): () => Promise<T> {
  let pending: Promise<T> | undefined;
  return () => {
    pending ??= obtain().catch((failure: unknown) => {
      pending = undefined;
      throw failure;
    });
    return pending;
  };
}

/** Members of a message in JSON-RPC 2.0. */
const MESSAGE_MEMBERS: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);

/** @throws Refusal MALFORMED_REQUEST */
function assertMessage(message: Message, version: string | undefined): void {
  const unknown = Object.keys(message).find((name) => !MESSAGE_MEMBERS.has(name));
  const isResponse = message.method === undefined && ('result' in message || 'error' in message);
  const fault =
    unknown !== undefined
      ? `it has a member ${unknown.slice(0, 80)}`
      : typeof message.method !== 'string' && !isResponse
        ? 'method must be a text'
        : message.params !== undefined &&
            (typeof message.params !== 'object' || message.params === null || Array.isArray(message.params))
          ? 'params must be an object'
          : version !== undefined && !PROTOCOL_VERSIONS.includes(version)
            ? `MCP-Protocol-Version ${version.slice(0, 40)} is not one of ${PROTOCOL_VERSIONS.join(', ')}`
            : (isId(message.id) && isTooLong(message.id)) || isTooLong(message.params?._meta?.progressToken)
              ? `id and progressToken must be numbers, or texts of at most ${ID_LENGTH_MAX} characters`
              : undefined;
  if (fault !== undefined) throw new Refusal('MALFORMED_REQUEST', `The message cannot be read: ${fault}.`);
}

/** Maximum length of a session id that is read. Ids from the service have 36 characters. */
const SESSION_MAX = 64;

/** Maximum length of the id and the progress token of a message, which each response repeats. */
const ID_LENGTH_MAX = 500;

const isTooLong = (id: unknown): boolean =>
  typeof id === 'string' ? id.length > ID_LENGTH_MAX : typeof id === 'object' && id !== null;

const isId = (id: unknown): id is string | number => typeof id === 'string' || typeof id === 'number';

interface ResponseContext {
  readonly call: ReturnType<RunningCalls['begin']>;
  readonly catalogue: McpCatalogue;
  readonly answerFor: McpSources['answerFor'];
}

async function answerMessage(
  request: McpRequest,
  message: Message,
  { call, catalogue, answerFor }: ResponseContext,
): Promise<Reply> {
  const headers: Record<string, string> = message.method === 'initialize' ? { 'Mcp-Session-Id': randomUUID() } : {};
  const { progressToken } = message.params?._meta ?? {};
  const signal = AbortSignal.any([call.signal, request.signal]);
  if (progressToken === undefined) {
    const client = createClient(request, { signal, report: async () => {} }, answerFor);
    const response = callMethod(message, catalogue, client).finally(() => call.end());
    // A client that cancelled its request expects no response.
    const text = await Promise.race([response, awaitAbort(call.signal)]);
    return text === undefined ? { status: 202 } : { headers, text };
  }
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      const send = (text: string): void =>
        controller.enqueue(new TextEncoder().encode(`event: message\ndata: ${text}\n\n`));
      let isOpen = true;
      const report = async (progress: number, text: string): Promise<void> => {
        if (!isOpen) return;
        const params = { progressToken, progress, total: 1, message: text };
        send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params }));
      };
      const close = (text?: string): void => {
        if (!isOpen) return;
        isOpen = false;
        if (text !== undefined) send(text);
        controller.close();
      };
      signal.addEventListener('abort', () => close(), { once: true });
      const client = createClient(request, { signal, report }, answerFor);
      void callMethod(message, catalogue, client)
        .finally(() => call.end())
        .then(close, () => close(formatError(message, INTERNAL_ERROR, 'The service failed to process this request.')));
    },
  });
  return { type: 'text/event-stream', stream, headers: { 'X-Accel-Buffering': 'no', ...headers } };
}

/** Calls a method and writes its response. Every failure is a response of the protocol. */
async function callMethod(
  { id, method, params = {} }: Message,
  catalogue: McpCatalogue,
  client: McpClient,
): Promise<string> {
  try {
    const methods = createMethods(catalogue, client);
    const name = String(method);
    if (!Object.hasOwn(methods, name))
      throw new ProtocolError(METHOD_NOT_FOUND, `Method not found: ${name.slice(0, 80)}`);
    const result = await methods[name]!(params as Readonly<Record<string, unknown>>);
    return JSON.stringify({ jsonrpc: '2.0', id, result });
  } catch (failure) {
    if (!(failure instanceof ProtocolError)) throw failure;
    return formatError({ id }, failure.code, failure.message, failure.data);
  }
}

const formatError = ({ id }: Message, code: number, message: string, data?: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } });

const awaitAbort = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined), { once: true }));

function createClient(
  { query, principal, header, isStillAllowed }: McpRequest,
  { signal, report }: Pick<McpClient, 'signal' | 'report'>,
  answerFor: McpSources['answerFor'],
): McpClient {
  const { tools } = query;
  const span = findCurrentSpan();
  const traceParent = span === undefined ? header('traceparent') : formatTraceParent(span);
  const requestId = header('x-request-id');
  const inheritedHeaders = {
    ...(requestId !== undefined && { 'x-request-id': requestId }),
    ...(traceParent !== undefined && { traceparent: traceParent }),
  };
  return {
    principal,
    toolsets: tools && new Set<string>(tools.includes('all') ? Object.keys(TOOLSETS) : tools),
    headers: inheritedHeaders,
    signal,
    report,
    ask: (toolRequest) => answerFor(toolRequest, { principal, isStillAllowed }),
  };
}

/** Tool of the short list. Its annotations are only those that differ from the defaults of the protocol. */
type ShortTool = Pick<ListedTool, 'name' | 'description' | 'inputSchema'> & {
  readonly annotations?: { readonly readOnlyHint: true };
};

/** Calls operations for a tool. */
interface TaskContext {
  /** Calls an operation by its name. A job that it starts is awaited. @throws Refusal */
  call(name: string, argumentValues: ToolArguments): Promise<ToolResult>;
  /** Calls an operation by its name without waiting. @throws Refusal */
  callOperation(name: string, argumentValues: ToolArguments): Promise<ToolResult>;
  describe(name: string): Promise<ListedTool & { readonly scope: string }>;
  /** Operations that the client may call. */
  readonly operations: readonly (readonly [name: string, route: Route])[];
}

interface ShortEntry {
  readonly tool: ShortTool;
  /** Names of operations that the tool calls. The client must have their permissions. */
  readonly operations: readonly string[];
  run(argumentValues: ToolArguments, context: TaskContext): Promise<ToolResult>;
}

/** Maximum length of a query. Each of its words is compared with each word of all operations. */
const QUERY_LENGTH_MAX = 500;

const TEXT = { type: 'string' };
const OBJECT = { type: 'object' };
const PROPERTIES = {
  index_id: TEXT,
  run_id: TEXT,
  benchmark: TEXT,
  start: TEXT,
  end: TEXT,
  date: TEXT,
  as_of: TEXT,
  by: TEXT,
  risk_model: TEXT,
  body: OBJECT,
  document: OBJECT,
  request: OBJECT,
  arguments: OBJECT,
  query: { ...TEXT, maxLength: QUERY_LENGTH_MAX },
  name: TEXT,
  text: TEXT,
  job_id: TEXT,
  seconds: { type: 'number' },
  ids: { type: 'array', items: TEXT },
} as const;
type PropertyName = keyof typeof PROPERTIES;

/** Declares a tool. A name with a question mark is optional. */
function declare(name: string, description: string, argumentNames: string, isReading: boolean): ShortTool {
  const names = argumentNames.split(' ').filter((word) => word !== '');
  const required = names.filter((word) => !word.endsWith('?'));
  return {
    name,
    description,
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(
        names.map((word) => word.replace('?', '')).map((word) => [word, PROPERTIES[word as PropertyName]]),
      ),
      ...(required.length > 0 && { required }),
    },
    ...(isReading && { annotations: { readOnlyHint: true } }),
  };
}

/** Maximum number of operations that a search returns. */
const FOUND_MAX = 20;

/** Tools by which an agent reaches every operation. */
const GENERAL_TOOLS: readonly ShortEntry[] = [
  {
    tool: declare('findOperations', 'Searches all operations of the service, best first.', 'query', true),
    operations: [],
    run: async ({ query }, { operations }) =>
      toResult({ operations: rankOperations(readQuery(query), operations).slice(0, FOUND_MAX) }),
  },
  {
    tool: declare('describeOperation', 'Arguments (JSON Schema), limits and example of an operation.', 'name', true),
    operations: [],
    run: async ({ name }, { describe }) => toResult(await describe(readText('name', name))),
  },
  {
    tool: declare(
      'callOperation',
      'Calls an operation with the arguments that describeOperation lists.',
      'name arguments?',
      false,
    ),
    operations: [],
    run: ({ name, arguments: argumentValues = {} }, { callOperation }) =>
      callOperation(readText('name', name), readObject('arguments', argumentValues)),
  },
  {
    tool: declare(
      WAIT_TOOL,
      'Waits for a job, up to 50 seconds, and returns its status and result.',
      'job_id seconds?',
      true,
    ),
    operations: [],
    run: (argumentValues, { callOperation }) => callOperation(WAIT_TOOL, argumentValues),
  },
  {
    tool: declare(
      'verifyText',
      'Checks each number of a Markdown text against its footnote "[^1]: SOURCE#/json/pointer", SOURCE as in results. Use before you answer.',
      'text',
      true,
    ),
    operations: ['verifyText'],
    run: ({ text }, { call }) => call('verifyText', { body: { text } }),
  },
];

/** Task that is one operation and the wait for its job. */
const createTask = (
  name: string,
  description: string,
  argumentNames: string,
  operation: string,
  isReading = false,
): ShortEntry => ({
  tool: declare(name, description, argumentNames, isReading),
  operations: [operation],
  run: (argumentValues, { call }) => call(operation, argumentValues),
});

/** Tools for whole tasks. `body` is that of the operation whose name the description states. */
const TASK_TOOLS: readonly ShortEntry[] = [
  {
    tool: declare(
      'backtestDocument',
      'Stores an index document (putIndex), backtests it (request as startBacktest) and returns the overview of the run.',
      'document request?',
      false,
    ),
    operations: ['putIndex', 'startBacktest', 'getOverview'],
    async run({ document, request = {} }, { call }) {
      const indexDocument = readObject('document', document);
      const index_id = readText('document.id', indexDocument['id']);
      const stored = await call('putIndex', { index_id, body: indexDocument });
      if (stored.isError === true) return stored;
      const run = await call('startBacktest', { index_id, body: readObject('request', request) });
      return run.isError === true || !isDone(run) ? run : call('getOverview', { index_id });
    },
  },
  {
    tool: declare(
      'explainLevel',
      'Level of an index on a date, and the contributions of its securities that day.',
      'index_id date run_id?',
      true,
    ),
    operations: ['getLevels', 'getAttribution'],
    async run({ index_id, date, run_id }, { call }) {
      const run = run_id === undefined ? {} : { run_id };
      const day = readText('date', date);
      const level = await call('getLevels', { index_id, ...run, start: findEarlierDay(day), end: day });
      const [previous, last] = listDates(level).slice(-2);
      if (last === undefined) return level;
      return joinResults([level, await call('getAttribution', { index_id, ...run, start: previous, end: last })]);
    },
  },
  createTask(
    'compareIndices',
    'Compares stored runs over their common dates.',
    'ids benchmark? start? end?',
    'compareRuns',
    true,
  ),
  {
    tool: declare(
      'attributeReturn',
      'Return of an index from the close of start, by security; with by (SECTOR) or benchmark, by group.',
      'index_id by? benchmark? start? end? run_id?',
      true,
    ),
    operations: ['getAttribution', 'getGroupAttribution'],
    run: (argumentValues, { call }) =>
      call(
        argumentValues['by'] === undefined && argumentValues['benchmark'] === undefined
          ? 'getAttribution'
          : 'getGroupAttribution',
        argumentValues,
      ),
  },
  createTask(
    'optimise',
    'Optimises weights under constraints and waits (body of startOptimisation).',
    'body',
    'startOptimisation',
  ),
  createTask(
    'explainInfeasibility',
    'Solves (body of startOptimisation); if infeasible, error.detail has the conflict and the smallest changes that resolve it.',
    'body',
    'startOptimisation',
  ),
  createTask(
    'estimateRisk',
    'Forecast risk of an index and what contributes to it.',
    'index_id as_of? risk_model? run_id?',
    'getTotalRisk',
    true,
  ),
  createTask(
    'explainDifference',
    'Finds why an outside level series differs from a run, and waits.',
    'index_id body',
    'explainDifference',
  ),
  createTask('report', 'Renders a report as a PDF and waits (body of renderReport).', 'body', 'renderReport'),
  createTask('importData', 'Imports tables into a new data store (body of importStore).', 'body', 'importStore'),
];

/** Lists the tools of the short list that a client may call with the operations that it may call. */
function listShortTools(operations: TaskContext['operations']): readonly ShortEntry[] {
  const names = new Set(operations.map(([name]) => name));
  return [...GENERAL_TOOLS, ...TASK_TOOLS].filter((entry) => entry.operations.every((name) => names.has(name)));
}

const toResult = (value: unknown): ToolResult => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });

/** Days before a date within which every exchange has a session. */
const CLOSED_DAYS_MAX = 14;

/** Returns a day some sessions earlier; the date itself if it is no date, so that the operation refuses it. */
function findEarlierDay(date: string): string {
  const day = parseDay(date);
  return day === undefined ? date : formatDay(day - CLOSED_DAYS_MAX);
}

/** Returns the dates of a levels view; none for an error. */
function listDates({ isError, content: [first] }: ToolResult): readonly string[] {
  if (isError === true || first?.type !== 'text') return [];
  return (JSON.parse(first.text) as { readonly levels: { readonly index: readonly string[] } }).levels.index;
}

/** Joins the results of several operations. The source of the first is the source of all; each text names its own. */
function joinResults(results: readonly ToolResult[]): ToolResult {
  const [first] = results;
  const failed = results.find(({ isError }) => isError === true);
  return failed ?? { ...first!, content: results.flatMap(({ content }) => content) };
}

/** Returns true if the awaited job of a result has succeeded. */
function isDone({ content: [first] }: ToolResult): boolean {
  return first?.type === 'text' && /"status":"succeeded"/.test(first.text.slice(0, 2000));
}

function readText(path: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw refuseArgument(path, value, 'a text');
}

function readQuery(value: unknown): string {
  const query = readText('query', value);
  if (query.length <= QUERY_LENGTH_MAX) return query;
  const message = `query has ${query.length} characters; at most ${QUERY_LENGTH_MAX} are accepted.`;
  throw refuseWithFindings('arguments', [{ severity: 'error', code: 'OUT_OF_RANGE', path: 'query', message }]);
}

function readObject(path: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw refuseArgument(path, value, 'an object');
}

function refuseArgument(path: string, value: unknown, expected: string) {
  const message = `${path} must be ${expected}, not ${JSON.stringify(value)?.slice(0, 80) ?? 'absent'}.`;
  const finding: Finding = { severity: 'error', code: value === undefined ? 'REQUIRED' : 'WRONG_TYPE', path, message };
  return refuseWithFindings('arguments', [finding]);
}

/** Refuses an operation that does not exist or that the client may not call. */
function refuseOperation(name: string, names: readonly string[]) {
  const shortName = name.slice(0, 80);
  const message = `There is no operation ${shortName}.${suggestName(shortName, names)}`;
  return refuseWithFindings('arguments', [{ severity: 'error', code: 'NOT_IN_CHOICES', path: 'name', message }]);
}

interface FoundOperation {
  readonly name: string;
  readonly sentence: string;
  readonly scope: string;
}

/** Words of a question that say nothing about an operation. */
const STOP_WORDS = new Set(
  'a an the of for to in on at as and or if how do does did i what when where which who why is are was were be it its this that with from by my all get list show me'.split(
    ' ',
  ),
);

/**
 * Ranks operations by the words that they share with a query. A word of the name counts three times, a word of the
 * summary twice, and a word of few operations more than one of many: most summaries begin with `Returns`. Words match by their first letters, so that `weights` finds `weight`.
 */
function rankOperations(query: string, operations: TaskContext['operations']): FoundOperation[] {
  const words = [...new Set(listWords(query))];
  const wanted = words.filter((word) => !STOP_WORDS.has(word));
  const counted = wanted.length > 0 ? wanted : words;
  const matches = operations.map(([name, route]) => {
    const { summary, description = '', path, tag } = route;
    const parts = [
      [listWords(name), 3],
      [listWords(summary), 2],
      [listWords(`${path} ${tag}`), 2],
      [listWords(description), 1],
    ] as const;
    return counted.map((word) =>
      Math.max(0, ...parts.map(([texts, weight]) => (texts.some((text) => sharesStem(text, word)) ? weight : 0))),
    );
  });
  const rarities = counted.map((_, i) => {
    const count = matches.filter((weights) => weights[i]! > 0).length;
    return Math.log(1 + operations.length / Math.max(1, count));
  });
  const ranked = operations.map(([name, { summary, scope }], position) => {
    const isNamed = name.toLowerCase() === query.trim().toLowerCase();
    const score = matches[position]!.reduce((sum, weight, i) => sum + weight * rarities[i]!, isNamed ? 1000 : 0);
    return { position, score, found: { name, sentence: summary, scope } };
  });
  return ranked
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score || a.position - b.position)
    .map(({ found }) => found);
}

/** Splits names such as `getGroupAttribution` and sentences into words. */
const listWords = (text: string): string[] =>
  text
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .match(/[a-z]+/g) ?? [];

/** Returns true if two words begin with the same letters and differ only in a short ending. */
function sharesStem(a: string, b: string): boolean {
  if (a === b) return true;
  const length = Math.min(a.length, b.length);
  if (length < 4) return false;
  let shared = 0;
  while (shared < length && a[shared] === b[shared]) shared++;
  return shared >= Math.max(4, Math.max(a.length, b.length) - 4);
}
