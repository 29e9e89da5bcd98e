import type { Server as SdkServer } from '@modelcontextprotocol/sdk/server/index.js';
import { isReading } from '#contract/route.js';
import { startsJobs } from '#contract/common-query.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { suggestName } from '#base/text/nearest-name.js';
import type { Principal } from '../handler.js';
import { knowsPrefixes } from '../route-access.js';
import type { ResponseParts } from '../reply.js';
import type { Sdk } from './load-sdk.js';
import { PROMPTS, type Prompt } from './prompts.js';
import { parseResourceUri } from './resource-uri.js';
import { PAGE_ENTRIES, findPage, groupByBytes, type ListingPage } from './listing-pages.js';
import { listDocumentationResources, listIndexResources, type ListedResource } from './resources.js';
import { readWithin, createError, toToolResult, getType, type ToolResult } from './tool-answer.js';
import { createToolRequest, type Arguments } from './tool-request.js';
import { WAIT_TOOL, type ListedTool, type Tool } from './tools.js';
import { waitForJob, createWaitTool } from './wait-for-job.js';

/** Sources of the tools, shared by all clients. */
export interface McpCatalogue {
  readonly version: string;
  readonly isReadOnly: boolean;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly templates: readonly { readonly uriTemplate: string; readonly name: string; readonly description: string }[];
  readonly pages: readonly { readonly name: string; readonly title: string }[];
}

/** One request of a client. */
export interface McpClient {
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
export function createMcpServer(sdk: Sdk, catalogue: McpCatalogue, client: McpClient): SdkServer {
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
