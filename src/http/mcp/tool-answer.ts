import { ERRORS, type ErrorDetail } from '#domain/refusals/refusal.js';
import { LIMITS } from '#domain/refusals/limits.js';
import type { ResponseParts } from '../reply.js';
import { toResourceUri } from './resource-uri.js';
import { shortenJson, type Cut } from './shorten-json.js';

/** Content of a tool result. */
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
  const isText = /^(?:application\/(?:json|x-ndjson)|text\/)/.test(type);
  if (!isText) return createLinkResult(answer, type, address);
  const bytes = await readWithin(answer, PARSED_BYTES_MAX);
  if (bytes === undefined) return createLinkResult(answer, type, address);
  const text = Buffer.from(bytes).toString('utf8');
  if (answer.status >= 400) return createErrorResult(answer, text);
  if (text === '') return { content: [{ type: 'text', text: `Done (${answer.status}).` }] };
  const bodyBytesMax = bytesMax - NOTICE_BYTES;
  if (bytes.byteLength <= bodyBytesMax) return { content: [{ type: 'text', text }] };
  const shortText = type.startsWith('application/json')
    ? shortenJson(JSON.parse(text), bodyBytesMax)
    : shortenText(text, bodyBytesMax);
  return {
    content: [{ type: 'text', text: shortText.text }, ...createNotices(shortText.cuts, type, address, bytesMax)],
  };
}

function shortenText(text: string, bytesMax: number): ReturnType<typeof shortenJson> {
  const truncatedText = Buffer.from(text).subarray(0, bytesMax).toString('utf8');
  return {
    text: truncatedText.slice(0, truncatedText.lastIndexOf('\n') + 1 || undefined),
    cuts: [{ path: '', total: text.length, unit: 'characters' }],
  };
}

function createNotices(
  cuts: readonly Cut[],
  type: string,
  address: Pick<Request, 'method' | 'url'>,
  bytesMax: number,
): Content[] {
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
function createLinks(type: string, { method, url }: Pick<Request, 'method' | 'url'>): Content[] {
  if (method !== 'GET') return [];
  const uri = toResourceUri(url);
  return [{ type: 'resource_link', uri, name: uri, mimeType: type, description: 'The whole response.' }];
}

function createLinkResult(answer: ResponseParts, type: string, address: Pick<Request, 'method' | 'url'>): ToolResult {
  cancelBody(answer);
  const sizeText = answer.headers.length === undefined ? '' : ` of ${answer.headers.length} bytes`;
  const text = `The response is a file${sizeText} (${type}); read it with ${formatRequest(address)}.`;
  return { content: [{ type: 'text', text }, ...createLinks(type, address)] };
}

/** Returns an error result that explains the error code. An agent can then correct its call. */
function createErrorResult(answer: ResponseParts, text: string): ToolResult {
  const { error } = JSON.parse(text) as { readonly error: ErrorDetail };
  const retryAfter = answer.headers.byName()['Retry-After'];
  return createError(error, retryAfter === undefined ? {} : { retry_after_seconds: Number(retryAfter) });
}

export function createError(error: ErrorDetail, extraDetail: Readonly<Record<string, unknown>> = {}): ToolResult {
  const detail = { error, hint: ERRORS[error.code].help, ...extraDetail };
  return { content: [{ type: 'text', text: shortenJson(detail, LIMITS.MAX_TOOL_ANSWER_BYTES).text }], isError: true };
}

/** Returns the media type of a response without its parameters. */
export const getType = ({ headers }: ResponseParts): string =>
  (headers.byName()['Content-Type'] ?? 'text/plain').split(';')[0]!.trim();

/** Reads the body of a response. If it is longer than the limit, closes the response and returns undefined. */
export async function readWithin(answer: ResponseParts, bytesMax: number): Promise<Uint8Array | undefined> {
  const { body, headers } = answer;
  if (body === null) return new Uint8Array(0);
  if ((headers.length ?? 0) > bytesMax) return void cancelBody(answer);
  if (typeof body === 'string') return Buffer.from(body);
  if (body instanceof Uint8Array) return body.byteLength > bytesMax ? undefined : body;
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    total += chunk.byteLength;
    if (total > bytesMax) return undefined; // leaving the loop cancels the stream
    chunks.push(chunk.slice());
  }
  return Buffer.concat(chunks, total);
}

function cancelBody({ body }: ResponseParts): void {
  if (body instanceof ReadableStream) body.cancel().catch(() => undefined);
}
