import { randomUUID } from 'node:crypto';
import { callOnce } from '#base/once.js';
import { findCurrentSpan, formatTraceParent } from '#base/tracing/spans.js';
import { DEFAULT_TOOLSETS, TOOLSETS, type mcpRoutes } from '#contract/mcp.js';
import type { OpenApiDocument } from '#contract/openapi.js';
import type { Route } from '#contract/route.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { App } from '../app.js';
import type { Handlers, Reply, RouteRequest } from '../handler.js';
import { loadSdk } from '../mcp/load-sdk.js';
import { createMcpServer, type McpCatalogue, type McpClient } from '../mcp/mcp-server.js';
import { listResourceTemplates } from '../mcp/resources.js';
import { createRunningCalls, type RunningCalls } from '../mcp/running-calls.js';
import { createTools } from '../mcp/tools.js';

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
  const getCatalogue = callOnce((): McpCatalogue => ({
    version,
    isReadOnly,
    tools: createTools(api, sources.openApi()),
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
      const call = runningCalls.begin({ keyId, session, id: message.id });
      return answerMessage(request, message, { call, catalogue: getCatalogue(), answerFor: sources.answerFor });
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
