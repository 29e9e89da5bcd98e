import { getPath } from 'hono/utils/url';
import { hasResult, isFinal, isRepeatablePath } from '#contract/operations.js';
import type { receiptRoutes } from '#contract/receipts.js';
import { JSON_TYPE, type Route } from '#contract/route.js';
import { LIMITS } from '#domain/base/limits.js';
import { NAMED_DOCUMENTS } from '#domain/definition/reach.js';
import type { Subject } from '#domain/definition/versions.js';
import { formatSource, normaliseSource, parseSource } from '#domain/outputs/receipts.js';
import {
  BODY_MEMBER,
  HASH_MEMBER,
  hashResult,
  packBody,
  type ReadResult,
  type Receipts,
  shortenHash,
  unpackBody,
} from '#services/reports/receipts.js';
import { cancelBody, getType, readAhead, readWithin, type ResponseParts } from './answers.js';
import type { AdmittedClient, Handlers, Reply } from './handler.js';

/** Header with the address of a result, with everything pinned. */
const SOURCE_HEADER = 'X-Source';

/** Query members that do not change a result. */
const IRRELEVANT_MEMBERS = ['format', 'wait', 'callback', 'priority'];

/** Maximum number of requests that the verification of one text repeats. */
const REPEATED_MAX = 50;

/** Returns the number of the last version of a document if it has this ETag; null otherwise. */
export type FindVersion = (subject: Subject, etag: string) => Promise<number | null>;

/** Adds the address of its result to the reply of a read. @param sentBytes body of the request, if it has one */
type AddSource = (request: Request, search: string, reply: Reply, sentBytes?: Uint8Array) => Reply | Promise<Reply>;

/** Returns undefined for a route without results. @param paths all paths of the service */
export function createSourceWriter(
  route: Route,
  paths: ReadonlySet<string>,
  findVersion: FindVersion,
): AddSource | undefined {
  const { method, path } = route;
  if (!hasResult(route)) return undefined;
  const isFinalResult = isFinal(route);
  const parameter = /\{(\w+)\}$/.exec(path)?.[1];
  const kind = parameter === undefined ? undefined : NAMED_DOCUMENTS[parameter]?.kind;
  const versionsPath = [`${path}/versions`, `${path}/document/versions`].find((each) => paths.has(`${each}/{version}`));

  return async (request, search, reply, sentBytes) => {
    const ownPath = getPath(request);
    const etag = reply.etag ?? reply.documentEtag;
    if (
      versionsPath !== undefined &&
      kind !== undefined &&
      kind !== 'risk-model' &&
      search === '' &&
      etag !== undefined
    ) {
      const id = decodeURIComponent(ownPath.slice(ownPath.lastIndexOf('/') + 1));
      const version = await findVersion({ kind, id }, etag);
      if (version !== null) return addHeader(reply, `${ownPath}${versionsPath.slice(path.length)}/${version}`);
    }
    const query = new URLSearchParams(search);
    for (const name of IRRELEVANT_MEMBERS) query.delete(name);
    for (const [name, value] of Object.entries(reply.pins ?? {})) query.set(name, value);
    if (method === 'POST') {
      const member = packBody(sentBytes);
      if (member === undefined) return reply;
      query.set(BODY_MEMBER, member);
    }
    if (isFinalResult || reply.pins !== undefined) return addHeader(reply, ownPath, query);
    if (reply.type !== undefined && !reply.type.startsWith(JSON_TYPE)) return reply;
    if (reply.stream !== undefined && etag !== undefined) {
      query.set(HASH_MEMBER, shortenHash(etag));
      return addHeader(reply, ownPath, query);
    }
    const whole = reply.stream === undefined ? reply : await readAhead(reply, reply.stream);
    if (whole.stream !== undefined) return whole;
    const body = whole.bytes ?? whole.text ?? JSON.stringify(whole.json ?? null);
    query.set(HASH_MEMBER, hashResult(body));
    const { json: _, ...written } = whole;
    return addHeader(typeof body === 'string' ? { ...written, text: body } : whole, ownPath, query);
  };
}

/**
 * Returns the request that reads an address: a GET, or the read by POST that it contains; undefined if it contains no
 * such read. An address must not start anything.
 */
export function createSourceRequest(path: string, query: URLSearchParams, options: RequestInit): Request | undefined {
  const member = query.get(BODY_MEMBER);
  const rest = new URLSearchParams(query);
  for (const name of [BODY_MEMBER, HASH_MEMBER]) rest.delete(name);
  const url = `http://localhost${path}${rest.size === 0 ? '' : `?${rest}`}`;
  if (member === null) return new Request(url, options);
  const body = isRepeatablePath(path) ? unpackBody(member) : undefined;
  if (body === undefined) return undefined;
  const headers = new Headers(options.headers);
  headers.set('content-type', JSON_TYPE);
  return new Request(url, { ...options, method: 'POST', headers, ...(body.byteLength > 0 && { body }) });
}

function addHeader(reply: Reply, path: string, query: URLSearchParams = new URLSearchParams()): Reply {
  const source = formatSource(path, query);
  return { ...reply, headers: { ...reply.headers, [SOURCE_HEADER]: source } };
}

/** Reads the address of the source of a result. */
export const readSourceHeader = ({ headers }: ResponseParts): string | undefined =>
  headers.get(SOURCE_HEADER) ?? undefined;

interface ReceiptSources {
  /** Answers a request on behalf of an authenticated client. */
  readonly answerFor: (request: Request, client: AdmittedClient) => Promise<ResponseParts>;
  readonly receipts: Receipts;
}

export function createReceiptHandlers({ answerFor, receipts }: ReceiptSources): Handlers<typeof receiptRoutes> {
  return {
    async verifyText({ body, principal, signal, header, isStillAllowed }) {
      const requestId = header('x-request-id');
      let repeated = 0;
      const ask: Ask = async (path, query) => {
        if (query.has(BODY_MEMBER) && ++repeated > REPEATED_MAX) return `More than ${REPEATED_MAX} requests to repeat.`;
        const headers = { accept: JSON_TYPE, ...(requestId !== undefined && { 'x-request-id': requestId }) };
        // A request adds a listener to its signal, and a text may have thousands.
        const request = createSourceRequest(path, query, { headers, signal: AbortSignal.any([signal]) });
        if (request === undefined) return 'The address contains no read that can be repeated.';
        return answerFor(request, { principal, isStillAllowed });
      };
      return { json: await receipts.verify(body().text, (address) => readResult(address, ask), signal) };
    },
  };
}

/** Reads an address; a text says why it cannot be read. */
type Ask = (path: string, query: URLSearchParams) => Promise<ResponseParts | string>;

/** Reads the result of a pinned address. */
async function readResult(address: string, ask: Ask): Promise<ReadResult> {
  const parsed = parseSource(address);
  if (parsed === undefined) return { reason: 'The address must begin with divisor:/ and a path of the service.' };
  const { path, query } = parsed;
  for (const name of [...IRRELEVANT_MEMBERS, HASH_MEMBER]) query.delete(name);
  const answer = await ask(path, query);
  if (typeof answer === 'string') return { reason: answer };
  if (answer.status !== 200 || getType(answer) !== JSON_TYPE) return { reason: await explainStatus(answer) };
  const pinned = readSourceHeader(answer);
  // The body was sent as the address states it; other versions of the library compress it to other characters.
  if (pinned === undefined || normaliseSource(pinned, BODY_MEMBER) !== normaliseSource(address, BODY_MEMBER)) {
    cancelBody(answer);
    if (pinned === undefined) return { reason: 'The address is no result.' };
    const isChanged =
      parseSource(address)!.query.has(HASH_MEMBER) &&
      normaliseSource(pinned, HASH_MEMBER, BODY_MEMBER) === normaliseSource(address, HASH_MEMBER, BODY_MEMBER);
    return { reason: isChanged ? 'The result has changed since.' : 'The address is not pinned.', pinned };
  }
  const bytes = await readWithin(answer, LIMITS.MAX_RESOURCE_BYTES);
  return bytes === undefined ? { reason: `The result has more than ${LIMITS.MAX_RESOURCE_BYTES} bytes.` } : { bytes };
}

async function explainStatus(answer: ResponseParts): Promise<string> {
  if (answer.status === 200 || typeof answer.body !== 'string') {
    cancelBody(answer);
    return 'The address has no result in JSON.';
  }
  const { error } = JSON.parse(answer.body) as { readonly error?: { readonly message?: string } };
  return (error?.message ?? 'The address cannot be read.').slice(0, 300);
}
