import type { Server as SdkServer } from '@modelcontextprotocol/sdk/server/index.js';
import { randomUUID } from 'node:crypto';
import { suggestName } from '#base/nearest-name.js';
import { callOnce } from '#base/once.js';
import { findCurrentSpan, formatTraceParent } from '#base/tracing/tracing.js';
import { DEFAULT_TOOLSETS, getToolset, isTool, type mcpRoutes, TOOLSETS } from '#contract/mcp.js';
import type { OpenApiDocument } from '#contract/openapi.js';
import { defineQuery, isReading, type Route, startsJobs } from '#contract/route.js';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal } from '#domain/base/refusals.js';
import type { ResponseParts } from '../answers.js';
import type { App } from '../app.js';
import type { Handlers, Principal, Reply, RouteRequest } from '../handler.js';
import { knowsPrefixes } from '../pipeline.js';
import { loadSdk, type Sdk } from './load-sdk.js';
import {
  type Arguments,
  createError,
  createRunningCalls,
  createToolRequest,
  createTools,
  createWaitTool,
  formatResourceTemplate,
  getType,
  type ListedTool,
  parseResourceUri,
  readWithin,
  type RunningCalls,
  type Tool,
  type ToolResult,
  toResourceUri,
  toToolResult,
  WAIT_TOOL,
  waitForJob,
} from './tools.js';

/** Number of entries per page of a listing. */
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
const JSON_TYPE = 'application/json';

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

/** Returns true for a route that can be read as a resource. */
export const isResource = (route: Route): boolean => route.method === 'GET' && route.scope === 'read' && isTool(route);

/** Lists the URI templates of all routes that can be read as resources. */
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
  readonly tools: ReadonlyMap<string, Tool>;
  readonly templates: readonly { readonly uriTemplate: string; readonly name: string; readonly description: string }[];
  readonly pages: readonly { readonly name: string; readonly title: string }[];
}

/** One request of a client. */
interface McpClient {
  readonly principal: Principal;
  readonly toolsets: ReadonlySet<string>;
  /** Headers that internal requests inherit. */
  readonly headers: Readonly<Record<string, string>>;
  /** Aborts when the client cancels or disconnects. */
  readonly signal: AbortSignal;
  /** Answers a request as if the client had sent it. */
  readonly ask: (request: Request) => Promise<ResponseParts>;
}

const INSTRUCTIONS = `Divisor constructs, backtests and analyses equity indices.
Tools are the operations of its HTTP API. Rates, returns and weights are fractions (0.05 is 5%); dates are YYYY-MM-DD; null means not measured.
Work on an index: listRuleTypes and getGuidePage (page "define") explain definitions; validateIndex, then previewDocument, then createIndex, startBacktest and ${WAIT_TOOL}; then the views of the run (getOverview, getPerformance, getAttribution, getWeights).
An error has a code, a hint and findings with the path of each fault: correct those and call again. Long answers are shortened: narrow the request by dates or identifiers.`;

/** Creates a protocol server for one request of one client. */
function createMcpServer(sdk: Sdk, catalogue: McpCatalogue, client: McpClient): SdkServer {
  const server = new sdk.Server(
    { name: 'divisor', title: 'Divisor', version: catalogue.version },
    {
      capabilities: { tools: {}, resources: {}, prompts: {} },
      instructions: INSTRUCTIONS,
      // The SDK needs the validator only for requests that the server sends. This server sends none.
      jsonSchemaValidator: { getValidator: () => () => ({ valid: false, data: undefined, errorMessage: '' }) },
    },
  );
  serveTools(sdk, server, catalogue, client);
  serveResources(sdk, server, catalogue, client);
  servePrompts(sdk, server);
  return server;
}

function serveTools(sdk: Sdk, server: SdkServer, catalogue: McpCatalogue, client: McpClient): void {
  const { tools } = catalogue;
  const callableTools = [...tools.values()].filter((tool) => canCallTool(tool, catalogue, client));
  server.setRequestHandler(sdk.ListToolsRequestSchema, ({ params }) => {
    const list = callableTools.filter(({ toolset }) => client.toolsets.has(toolset)).map((tool) => tool.listed);
    const allTools = [...(client.toolsets.has('jobs') ? [createWaitTool()] : []), ...list] as MutableDeep<ListedTool>[];
    const { page, ...next } = findListingPage(sdk, groupByBytes(allTools, LISTING_BYTES_MAX), params?.cursor, 1);
    return { tools: page.flat(), ...next };
  });
  server.setRequestHandler(
    sdk.CallToolRequestSchema,
    async ({ params: { name, arguments: argumentValues = {} } }, extra) => {
      const { progressToken } = extra._meta ?? {};
      const report = async (progress: number, message: string): Promise<void> => {
        if (progressToken === undefined) return;
        await extra.sendNotification({
          method: 'notifications/progress',
          params: { progressToken, progress, total: 1, message },
        });
      };
      if (name !== WAIT_TOOL && !tools.has(name)) {
        const names = [WAIT_TOOL, ...callableTools.map(({ listed }) => listed.name)];
        throw new sdk.McpError(
          sdk.ErrorCode.InvalidParams,
          `Unknown tool ${name.slice(0, 80)}.${suggestName(name.slice(0, 80), names)}`,
        );
      }
      return convertRefusal(() => callTool(tools.get(name), argumentValues, client, report));
    },
  );
}

/** Maximum size in bytes of one page of tools: 25,000 tokens of four bytes each. */
const LISTING_BYTES_MAX = 100_000;

/** Type without `readonly`. The SDK needs mutable lists. */
type MutableDeep<T> = { -readonly [K in keyof T]: T[K] };

/**
 * Returns true if the client may call a tool: its key has the scope and the prefixes for the route, and a read-only
 * service permits the route. Other tools are not listed; their routes would refuse a call.
 */
function canCallTool({ route, listed }: Tool, { isReadOnly }: McpCatalogue, { principal }: McpClient): boolean {
  const { scope } = route;
  const { scopes, prefixes } = principal;
  if (prefixes !== undefined && !knowsPrefixes(listed.name, route)) return false;
  if (isReadOnly && (!isReading(route) || startsJobs(route))) return false;
  return scope === 'open' || scopes.has(scope) || scopes.has('admin');
}

/** @param tool undefined for the tool that waits for a job */
async function callTool(
  tool: Tool | undefined,
  argumentValues: Arguments,
  client: McpClient,
  report: (progress: number, message: string) => Promise<void>,
): Promise<ToolResult> {
  const { headers, signal, ask } = client;
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
    if (failure instanceof Refusal) return createError(failure.toDetail());
    throw failure;
  }
}

/** Returns a page of a listing. @throws McpError for a cursor of another listing */
function findListingPage<T>(
  sdk: Sdk,
  entries: readonly T[],
  cursor: string | undefined,
  entriesMax: number,
): ListingPage<T> {
  const page = findPage(entries, cursor, entriesMax);
  if (page !== undefined) return page;
  const message = `The cursor ${JSON.stringify(cursor?.slice(0, 40))} does not belong to this listing.`;
  throw new sdk.McpError(sdk.ErrorCode.InvalidParams, message);
}

function serveResources(sdk: Sdk, server: SdkServer, catalogue: McpCatalogue, client: McpClient): void {
  const createInvalidError = (message: string, data?: unknown) =>
    new sdk.McpError(sdk.ErrorCode.InvalidParams, message, data);
  server.setRequestHandler(sdk.ListResourcesRequestSchema, async ({ params }) => {
    const listedResources: ListedResource[] = [
      ...listDocumentationResources(catalogue.pages),
      ...(await listStoredIndices(client)),
    ];
    const { page, ...next } = findListingPage(sdk, listedResources, params?.cursor, PAGE_ENTRIES);
    return { resources: page, ...next };
  });
  server.setRequestHandler(sdk.ListResourceTemplatesRequestSchema, ({ params }) => {
    const { page, ...next } = findListingPage(sdk, catalogue.templates, params?.cursor, PAGE_ENTRIES);
    return { resourceTemplates: page, ...next };
  });
  server.setRequestHandler(sdk.ReadResourceRequestSchema, async ({ params: { uri } }) => {
    const path = parseResourceUri(uri);
    if (path === undefined) throw createInvalidError('A resource URI must begin with divisor://service/.', { uri });
    const { headers, signal, ask } = client;
    const answer = await ask(new Request(`http://localhost${path}`, { headers: { ...headers }, signal }));
    const type = getType(answer);
    if (type === 'text/event-stream') {
      if (answer.body instanceof ReadableStream) answer.body.cancel().catch(() => undefined);
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
  });
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

function servePrompts(sdk: Sdk, server: SdkServer): void {
  server.setRequestHandler(sdk.ListPromptsRequestSchema, () => ({
    prompts: PROMPTS.map(({ name, title, description, arguments: promptArguments }) => ({
      name,
      title,
      description,
      arguments: [...promptArguments],
    })),
  }));
  server.setRequestHandler(sdk.GetPromptRequestSchema, ({ params: { name, arguments: argumentValues = {} } }) => {
    const prompt = PROMPTS.find((candidate) => candidate.name === name);
    const missingArguments =
      prompt?.arguments
        .filter((argument) => argument.required && !argumentValues[argument.name])
        .map((argument) => argument.name) ?? [];
    if (prompt === undefined || missingArguments.length > 0)
      throw new sdk.McpError(sdk.ErrorCode.InvalidParams, formatFault(prompt, name, missingArguments));
    return {
      description: prompt.description,
      messages: [{ role: 'user' as const, content: { type: 'text' as const, text: prompt.text(argumentValues) } }],
    };
  });
}

function formatFault(prompt: Prompt | undefined, name: string, missingArguments: readonly string[]): string {
  const names = PROMPTS.map((each) => each.name);
  if (prompt === undefined) return `Unknown prompt ${name.slice(0, 80)}.${suggestName(name.slice(0, 80), names)}`;
  return `The prompt ${prompt.name} requires ${missingArguments.join(', ')}.`;
}

export interface McpSources {
  readonly api: Readonly<Record<string, Route>>;
  readonly version: string;
  readonly isReadOnly: boolean;
  readonly openApi: () => OpenApiDocument;
  readonly pages: () => McpCatalogue['pages'];
  /** Answers a request on behalf of an authenticated client. */
  readonly answerFor: App['answerFor'];
}

/** Members of a protocol message that the route reads before it passes the message to the SDK. */
interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly requestId?: unknown; readonly _meta?: { readonly progressToken?: unknown } };
}

type McpRequest = RouteRequest<(typeof mcpRoutes)['callMcp']>;

/**
 * Creates the handlers for agents. Each request has its own protocol server, so every process of a service can answer
 * every message. The service remembers only running requests, so that a message can cancel them.
 */
export function createMcpHandlers(sources: McpSources): Handlers<typeof mcpRoutes> {
  const { api, version, isReadOnly } = sources;
  const getCatalogue = callOnce(async (): Promise<McpCatalogue> => ({
    version,
    isReadOnly,
    tools: await createTools(api, sources.openApi()),
    templates: listResourceTemplates(api),
    pages: sources.pages(),
  }));
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
      if (!isId(message.id)) return { status: 202 }; // the server sends no requests, and other notifications change nothing
      const catalogue = await getCatalogue();
      const call = runningCalls.begin({ keyId, session, id: message.id });
      return answerMessage(request, message, { call, catalogue, answerFor: sources.answerFor });
    },
  };
}

/** Maximum length of a session id that is read. Ids from the service have 36 characters. */
const SESSION_MAX = 64;

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
  const sdk = loadSdk();
  const signal = AbortSignal.any([call.signal, request.signal]);
  const server = createMcpServer(sdk, catalogue, createClient(request, signal, answerFor));
  const wantsProgress = message.params?._meta?.progressToken !== undefined;
  const transport = new sdk.WebStandardStreamableHTTPServerTransport({ enableJsonResponse: !wantsProgress });
  const endCall = (): void => {
    call.end();
    void server.close();
  };
  try {
    await server.connect(transport);
    const version = request.header('mcp-protocol-version');
    const transportRequest = new Request('http://localhost/mcp', {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...(version === undefined ? {} : { 'mcp-protocol-version': version }),
      },
    });
    // A client that cancelled its request expects no response.
    const cancellation = awaitAbort(call.signal);
    const response = await Promise.race([
      transport.handleRequest(transportRequest, { parsedBody: message }),
      cancellation,
    ]);
    if (response === undefined) {
      endCall();
      return { status: 202 };
    }
    if (wantsProgress) void awaitAbort(signal).then(() => server.close());
    return await createReply(response, message, endCall);
  } catch (failure) {
    endCall();
    throw failure;
  }
}

const awaitAbort = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined), { once: true }));

function createClient(
  { query, principal, header, isStillAllowed }: McpRequest,
  signal: AbortSignal,
  answerFor: McpSources['answerFor'],
): McpClient {
  const names: readonly string[] = query.tools ?? DEFAULT_TOOLSETS;
  const span = findCurrentSpan();
  const traceParent = span === undefined ? header('traceparent') : formatTraceParent(span);
  const requestId = header('x-request-id');
  const inheritedHeaders = {
    ...(requestId !== undefined && { 'x-request-id': requestId }),
    ...(traceParent !== undefined && { traceparent: traceParent }),
  };
  return {
    principal,
    toolsets: new Set<string>(names.includes('all') ? Object.keys(TOOLSETS) : names),
    headers: inheritedHeaders,
    signal,
    ask: (toolRequest) => answerFor(toolRequest, { principal, isStillAllowed }),
  };
}

/** Converts a response of the transport to the reply of a route. The session is needed only to cancel requests. */
async function createReply(response: Response, { method }: Message, endCall: () => void): Promise<Reply> {
  const { status, body } = response;
  if (status >= 400) throw await readRefusal(response);
  const type = response.headers.get('content-type') ?? 'application/json';
  const headers = method === 'initialize' ? { 'Mcp-Session-Id': randomUUID() } : {};
  if (body === null || !type.startsWith('text/event-stream')) {
    const text = await response.text();
    endCall();
    return { status, headers, text };
  }
  const streamHeaders = { 'X-Accel-Buffering': 'no', ...headers };
  return { status, headers: streamHeaders, type, stream: notifyAtEnd(body, endCall) };
}

/** Returns the refusal of a message that the transport rejects. */
async function readRefusal(response: Response): Promise<Refusal> {
  const { error } = (await response.json()) as { readonly error?: { readonly message?: string } };
  return new Refusal('MALFORMED_REQUEST', `The message cannot be read: ${error?.message ?? response.status}.`);
}

/** Calls `endCall` when a stream ends. This includes a reader that disconnects. */
function notifyAtEnd(stream: ReadableStream<Uint8Array>, endCall: () => void): ReadableStream<Uint8Array> {
  const reader = stream.getReader();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (!done) return controller.enqueue(value);
      endCall();
      controller.close();
    },
    async cancel(reason) {
      endCall();
      await reader.cancel(reason);
    },
  });
}
