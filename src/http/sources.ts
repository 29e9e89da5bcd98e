import { getPath } from 'hono/utils/url';
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { receiptRoutes } from '#contract/receipts.js';
import { JSON_TYPE, type Route } from '#contract/route.js';
import { LIMITS } from '#domain/base/limits.js';
import { refuseWithFindings } from '#domain/base/refusals.js';
import { NAMED_DOCUMENTS } from '#domain/definition/reach.js';
import type { Subject } from '#domain/definition/versions.js';
import {
  type CitedResult,
  rejectNumber,
  SOURCE_SCHEME,
  summariseText,
  type TextNumber,
  type VerifiedNumber,
} from '#domain/outputs/receipts.js';
import type { Jobs } from '#jobs/port/job-kind.js';
import { cancelBody, getType, readWithin, type ResponseParts } from './answers.js';
import type { Handlers, Principal, Reply } from './handler.js';

/** Header with the address of a result, with everything pinned. */
export const SOURCE_HEADER = 'X-Source';

/** Query members that do not change a result. */
const IRRELEVANT_MEMBERS = ['format', 'wait', 'callback', 'priority'];

/** Query member with the first digits of the hash of a result that nothing else pins. */
const HASH_MEMBER = 'sha256';
const HASH_DIGITS = 16;

/** Path parameters that identify a result which never changes. */
const FINAL_PARAMETERS = /\{(?:version|render_id)\}|^\/optimise\/runs\//;

/** Tags of routes whose responses are no results. */
const OTHER_TAGS: ReadonlySet<string> = new Set(['documentation', 'service', 'mcp', 'health']);

/** Returns the number of the last version of a document if it has this ETag; null otherwise. */
export type FindVersion = (subject: Subject, etag: string) => Promise<number | null>;

/** Adds the address of its result to the reply of a read. */
export type AddSource = (request: Request, search: string, reply: Reply) => Reply | Promise<Reply>;

/** Returns undefined for a route without results. @param paths all paths of the service */
export function createSourceWriter(
  route: Route,
  paths: ReadonlySet<string>,
  findVersion: FindVersion,
): AddSource | undefined {
  const { method, path, scope, tag, success } = route;
  if (method !== 'GET' || scope !== 'read' || OTHER_TAGS.has(tag) || success.schema === undefined) return undefined;
  const isFinal = FINAL_PARAMETERS.test(path);
  const parameter = /\{(\w+)\}$/.exec(path)?.[1] as keyof typeof NAMED_DOCUMENTS | undefined;
  const kind = parameter === undefined ? undefined : NAMED_DOCUMENTS[parameter]?.kind;
  const versionsPath = [`${path}/versions`, `${path}/document/versions`].find((each) => paths.has(`${each}/{version}`));

  return async (request, search, reply) => {
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
    if (isFinal || reply.pins !== undefined) return addHeader(reply, ownPath, query);
    if (reply.type !== undefined && !reply.type.startsWith(JSON_TYPE)) return reply;
    if (reply.stream !== undefined) {
      if (etag === undefined) return reply;
      query.set(HASH_MEMBER, etag.slice(0, HASH_DIGITS));
      return addHeader(reply, ownPath, query);
    }
    const body = reply.bytes ?? reply.text ?? JSON.stringify(reply.json ?? null);
    query.set(HASH_MEMBER, createHash('sha256').update(body).digest('hex').slice(0, HASH_DIGITS));
    const { json: _, ...written } = reply;
    return addHeader(typeof body === 'string' ? { ...written, text: body } : reply, ownPath, query);
  };
}

function addHeader(reply: Reply, path: string, query: URLSearchParams = new URLSearchParams()): Reply {
  const source = formatAddress(path, query);
  return { ...reply, headers: { ...reply.headers, [SOURCE_HEADER]: source } };
}

/** Formats an address. Characters that a person reads stay as they are. */
function formatAddress(path: string, query: URLSearchParams): string {
  const search =
    query.size === 0 ? '' : `?${String(query).replaceAll('%2C', ',').replaceAll('%3A', ':').replaceAll('%40', '@')}`;
  return `${SOURCE_SCHEME}${path}${search}`;
}

/** Reads the address of the source of a result. */
export const readSource = ({ headers }: ResponseParts): string | undefined => headers.get(SOURCE_HEADER) ?? undefined;

/** Returns path and query of an address; undefined if it is no address of this service. */
export function parseSource(address: string): { readonly path: string; readonly query: URLSearchParams } | undefined {
  const rest = /^divisor:(?:\/\/service)?(\/[^/].*)$/.exec(address)?.[1];
  const url = rest === undefined ? null : URL.parse(rest, 'http://localhost');
  return url === null ? undefined : { path: url.pathname, query: url.searchParams };
}

/** Returns an address in one form, whatever the order and the encoding of its members. */
function normalise(address: string, omittedMember?: string): string {
  const parsed = parseSource(address);
  if (parsed === undefined) return address;
  const { path, query } = parsed;
  if (omittedMember !== undefined) query.delete(omittedMember);
  query.sort();
  return formatAddress(decodePath(path), query);
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Client for which addresses are read. */
interface Reader {
  readonly principal: Principal;
  isStillAllowed(): Promise<boolean>;
}

export interface ReceiptDependencies {
  /** Answers a request on behalf of an authenticated client. */
  readonly answerFor: (request: Request, client: Reader) => Promise<ResponseParts>;
  readonly jobs: Pick<Jobs, 'query'>;
  readonly documents: { ids(kind: (typeof NAMED_KINDS)[number]): Promise<readonly string[]> };
}

/** Kinds of documents that a sentence may name. */
const NAMED_KINDS = ['index', 'strategy', 'constraint-set', 'risk-model'] as const;

/** Sources that are read at the same time, and bytes of sources that a thread receives at once. */
const READ_CONCURRENCY = 4;
const BATCH_BYTES = 2 ** 20;
const BATCH_SOURCES = 100;

export function createReceiptHandlers({
  answerFor,
  jobs,
  documents,
}: ReceiptDependencies): Handlers<typeof receiptRoutes> {
  return {
    async verifyText({ body, principal, signal, header, isStillAllowed }) {
      const { text } = body();
      assertLength(text);
      const ids = (await Promise.all(NAMED_KINDS.map((kind) => documents.ids(kind)))).flat().join('\n');
      const numbers = await jobs.query('read-text', { text, ids }, signal);
      const requestId = header('x-request-id');
      const ask = (path: string) =>
        answerFor(
          new Request(`http://localhost${path}`, {
            headers: { accept: JSON_TYPE, ...(requestId !== undefined && { 'x-request-id': requestId }) },
            signal,
          }),
          { principal, isStillAllowed },
        );
      const verify = (results: readonly CitedResult[]) => jobs.query('verify-numbers', { results }, signal);
      const verified = await verifyBySource(numbers, ask, verify);
      return { json: summariseText(verified.toSorted((a, b) => a.start - b.start)) };
    },
  };
}

function assertLength(text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= LIMITS.MAX_TEXT_BYTES) return;
  const message = `text has ${bytes} bytes; at most ${LIMITS.MAX_TEXT_BYTES} are accepted.`;
  throw refuseWithFindings('body', [{ severity: 'error', code: 'OUT_OF_RANGE', path: 'text', message }]);
}

type Ask = (path: string) => Promise<ResponseParts>;

/** Reads each cited result once, a few at a time, and judges the numbers that cite it in a thread. */
async function verifyBySource(
  numbers: readonly TextNumber[],
  ask: Ask,
  verify: (results: readonly CitedResult[]) => Promise<readonly VerifiedNumber[]>,
): Promise<VerifiedNumber[]> {
  const verified: VerifiedNumber[] = [];
  const byAddress = new Map<string, TextNumber[]>();
  for (const number of numbers) {
    if (number.citation === null) verified.push(rejectNumber(number, 'unsourced', `${number.missing!}.`));
    else {
      const citing = byAddress.get(number.citation.address);
      if (citing === undefined) byAddress.set(number.citation.address, [number]);
      else citing.push(number);
    }
  }
  const sources = [...byAddress];
  let batch: CitedResult[] = [];
  let batchBytes = 0;
  for (let k = 0; k < sources.length; k += READ_CONCURRENCY) {
    const part = sources.slice(k, k + READ_CONCURRENCY);
    const read = await Promise.all(part.map(([address]) => readResult(address, ask)));
    await setImmediate(); // a refused address is answered without a pause
    for (const [i, [address, citing]] of part.entries()) {
      const result = read[i]!;
      if ('bytes' in result) {
        batch.push({ address, bytes: result.bytes, numbers: citing });
        batchBytes += result.bytes.byteLength;
      } else
        verified.push(
          ...citing.map((number) => rejectNumber(number, 'unreadable', result.reason, locate(number, result.pinned))),
        );
    }
    if (batchBytes < BATCH_BYTES && batch.length < BATCH_SOURCES && k + READ_CONCURRENCY < sources.length) continue;
    if (batch.length > 0) verified.push(...(await verify(batch)));
    batch = [];
    batchBytes = 0;
  }
  return verified;
}

/** Returns the address with the pointer of a number. */
function locate({ citation }: TextNumber, pinned: string | undefined): string {
  const { address, pointer } = citation!; // only numbers with a citation have a result
  return `${pinned ?? address}${pointer === null ? '' : `#${encodeURI(pointer)}`}`;
}

type ReadResult = { readonly bytes: Uint8Array } | { readonly reason: string; readonly pinned?: string };

/** Reads the result of a pinned address. */
async function readResult(address: string, ask: Ask): Promise<ReadResult> {
  const parsed = parseSource(address);
  if (parsed === undefined) return { reason: 'The address must begin with divisor:/ and a path of the service.' };
  const { path, query } = parsed;
  for (const name of [...IRRELEVANT_MEMBERS, HASH_MEMBER]) query.delete(name);
  const answer = await ask(query.size === 0 ? path : `${path}?${query}`);
  if (answer.status !== 200 || getType(answer) !== JSON_TYPE) return { reason: await explainStatus(answer) };
  const pinned = readSource(answer);
  if (pinned === undefined || normalise(pinned) !== normalise(address)) {
    cancelBody(answer);
    if (pinned === undefined) return { reason: 'The address is no result.' };
    const isChanged =
      parseSource(address)!.query.has(HASH_MEMBER) &&
      normalise(pinned, HASH_MEMBER) === normalise(address, HASH_MEMBER);
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
