import { AwsClient } from 'aws4fetch';
import { Buffer } from 'node:buffer';
import { webcrypto } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { timeRequest } from '#base/tracing/tracing.js';
import { Refusal } from '#domain/base/refusals.js';
import { findNameProblem } from '#domain/definition/target-addresses.js';
import { ArtifactStoreFault } from '../artifacts/artifact.js';
import type { StorageKeys, S3Access } from '../port.js';
import {
  EXPIRED_TOKEN,
  explainRefusal,
  findDistrustReason,
  formatResponse,
  isClosed,
  isWithoutTls,
  mayPass,
} from './failures.js';
import { createCurrentKeys } from './keys.js';

interface ListedObject {
  readonly name: string;
  /** Time of the last write to the object, ms since 1970. */
  readonly writtenAt: number;
}

/** Content to send, read piece by piece. */
export interface ObjectSource {
  readonly length: number;
  slice(start: number, end: number): Promise<Uint8Array<ArrayBuffer>>;
}

export interface OpenObject {
  readonly body: AsyncIterable<Uint8Array>;
  readonly bytes: number;
  /** SHA-256 that the writer recorded, in hexadecimal digits. It is undefined for an object of another program. */
  readonly sha256: string | undefined;
}

/**
 * Client of the objects in a bucket under one prefix. Temporary failures are retried. Every method throws Refusal
 * STORE_UNAVAILABLE, or an ArtifactStoreFault for a failure that requires other settings.
 */
export interface S3Client {
  /** Writes an object; the service verifies its SHA-256. @param sha256 of the bytes, hex */
  put(name: string, content: Uint8Array | ObjectSource, sha256: string): Promise<void>;
  /**
   * Reads an object, again from its beginning if the transfer breaks off.
   * @returns the result of `take`; undefined if there is no object
   */
  get<T>(name: string, take: (object: OpenObject) => Promise<T>): Promise<T | undefined>;
  /** Returns size and hash of an object. Returns undefined if there is no object. */
  look(name: string): Promise<Omit<OpenObject, 'body'> | undefined>;
  /** Copies an object within the service. @returns true if it existed */
  copy(from: string, to: string): Promise<boolean>;
  /** Removes an object; ignores an absent one. */
  remove(name: string): Promise<void>;
  list(): AsyncIterable<ListedObject>;
  /**
   * Returns the reason why the renewal of keys has failed although the present keys are valid. Returns undefined if it
   * has not failed.
   */
  renewalFault(): string | undefined;
}

/** Size of the parts in which larger objects are uploaded. */
const PART_BYTES = 16 << 20;
const PARTS_MAX = 4;
/** Time for which temporary failures are retried. It is enough for a restart of the service or a network failover. */
const PATIENCE_MS = 45_000;
const PAUSE_MS = 100;
const PAUSE_MS_MAX = 2000;
/** Number of immediate retries after the service closed a connection. The service does this with idle connections. */
const CLOSED_RETRIES = 2;
/** Time after which a request is aborted if no response, or no further byte of an object, arrives. */
const ANSWER_MS = 60_000;
const SHA256_HEADER = 'x-amz-meta-sha256';
const NO_BUCKET = 'NoSuchBucket';

/** Retry limits of one call. They are the end of the retries, and the pause before the next attempt. */
interface RetryLimits {
  isOver(): boolean;
  pause(): Promise<void>;
}

function createPatience(ms: number): RetryLimits {
  const deadline = performance.now() + ms;
  let next = PAUSE_MS;
  return {
    isOver: () => performance.now() > deadline,
    async pause() {
      await sleep(next);
      next = Math.min(2 * next, PAUSE_MS_MAX);
    },
  };
}

/** Thrown when the transfer of an object breaks off, because the service or the network is unavailable. */
class InterruptedError extends Error {
  override readonly name = 'Interrupted';
}

/** Timer that aborts a request if no data arrives for some time. */
interface ServiceSilence {
  readonly signal: AbortSignal;
  broken(): void;
  /** Stops the timer and aborts the rest of the request. */
  end(): void;
}

function createSilenceTimer(ms: number): ServiceSilence {
  const request = new AbortController();
  const timer = setTimeout(() => request.abort(new DOMException(`no data for ${ms} ms`, 'TimeoutError')), ms);
  return {
    signal: request.signal,
    broken: () => void timer.refresh(),
    end() {
      clearTimeout(timer);
      request.abort();
    },
  };
}

async function* readBody(body: ReadableStream<Uint8Array>, silence: ServiceSilence): AsyncGenerator<Uint8Array> {
  try {
    for await (const bytes of body) {
      silence.broken();
      yield bytes;
    }
  } catch (cause) {
    throw new InterruptedError('the transfer broke off', { cause });
  }
}

/** Retry limits. They are the total time of retries, and the maximum wait for an answer. */
export interface S3RetryLimits {
  readonly patienceMs?: number;
  readonly answerMs?: number;
}

export function createS3Client(
  access: S3Access,
  { patienceMs = PATIENCE_MS, answerMs = ANSWER_MS }: S3RetryLimits = {},
): S3Client {
  const { endpoint, bucket, prefix } = access;
  const keys = createCurrentKeys(access.keys);
  let signer: Signer | undefined;
  const root = `${endpoint}/${encodeKey(bucket)}`;
  const getUrl = (name: string): string => `${root}/${encodeKey(prefix + name)}`;

  /** Sends a request, and retries temporary failures. @param acceptedStatuses statuses that the caller handles */
  async function ask(url: string, init: RequestInit, acceptedStatuses: readonly number[] = []): Promise<Response> {
    for (const patience = createPatience(patienceMs); ; await patience.pause()) {
      const { answer, cause, used } = await attemptOpen(url, init);
      if (cause instanceof ArtifactStoreFault || (cause instanceof Refusal && patience.isOver())) throw cause;
      if (cause instanceof Refusal) continue;
      let message = '';
      if (answer !== undefined) {
        if (answer.ok) return answer;
        const code = (await answer.text()).match(/<Code>(\w{1,64})<\/Code>/)?.[1] ?? '';
        message = `${answer.status} ${code}`.trim();
        // A missing bucket does not prove that an object is missing.
        if (code === NO_BUCKET) throw new ArtifactStoreFault(`The object store ${endpoint} has no bucket ${bucket}.`);
        if (acceptedStatuses.includes(answer.status)) return answer;
        const isOld = used !== undefined && EXPIRED_TOKEN.test(code) && keys.expired(used);
        if (!isOld && !mayPass(answer.status, code))
          throw new ArtifactStoreFault(explainRefusal(access, answer.status, code));
      }
      if (isWithoutTls(cause))
        throw new ArtifactStoreFault(
          `${endpoint} answers without TLS: should AWS_ENDPOINT_URL_S3 begin with http://?`,
          cause,
        );
      const distrustReason = findDistrustReason(cause);
      if (distrustReason !== undefined)
        throw new ArtifactStoreFault(`The certificate of the object store is refused: ${distrustReason}.`, cause);
      if (patience.isOver())
        throw createUnavailableRefusal(
          `The object store cannot be reached at ${endpoint}${formatResponse(message, cause)}.`,
          cause,
        );
    }
  }

  /**
   * Sends a request on an open connection. If the service closes the connection, that is not a failure of the service,
   * however late it is noticed. The request is then repeated.
   */
  async function attemptOpen(url: string, init: RequestInit): Promise<Attempt> {
    for (let retries = 0; ; retries++) {
      const attemptResult = await attempt(url, init);
      if (retries === CLOSED_RETRIES || !isClosed(attemptResult.cause)) return attemptResult;
    }
  }

  async function attempt(url: string, init: RequestInit): Promise<Attempt> {
    try {
      const currentKeys = await keys.get();
      if (signer?.used !== currentKeys) signer = createSigner(access, currentKeys);
      const { aws } = signer;
      // A redirect could lead to a host to which the operator permits nothing.
      const requestInit = { signal: AbortSignal.timeout(answerMs), ...init, redirect: 'manual' as const };
      return { used: currentKeys, answer: await timeRequest(init.method ?? 'GET', () => aws.fetch(url, requestInit)) };
    } catch (cause) {
      return { cause };
    }
  }

  return {
    renewalFault: keys.fault,
    async put(name, content, sha256) {
      const source = content instanceof Uint8Array ? createSource(content) : content;
      if (source.length > PART_BYTES) return putParts({ ask, attempt }, getUrl(name), source, sha256);
      const headers = { [SHA256_HEADER]: sha256, 'x-amz-content-sha256': sha256 };
      await ask(getUrl(name), { method: 'PUT', body: await source.slice(0, source.length), headers });
    },
    async get(name, take) {
      for (const patience = createPatience(patienceMs); ; await patience.pause()) {
        const silence = createSilenceTimer(answerMs);
        try {
          const { ok, headers, body } = await ask(getUrl(name), { signal: silence.signal }, [404]);
          if (!ok || body === null) return undefined;
          const bytes = Number(headers.get('content-length'));
          return await take({ body: readBody(body, silence), bytes, sha256: headers.get(SHA256_HEADER) ?? undefined });
        } catch (thrown) {
          if (!(thrown instanceof InterruptedError)) throw thrown;
          if (patience.isOver())
            throw createUnavailableRefusal(`The object store ${endpoint} broke off a response.`, thrown);
        } finally {
          silence.end();
        }
      }
    },
    async look(name) {
      const { ok, headers } = await ask(getUrl(name), { method: 'HEAD' }, [404]);
      return ok
        ? { bytes: Number(headers.get('content-length')), sha256: headers.get(SHA256_HEADER) ?? undefined }
        : undefined;
    },
    async copy(from, to) {
      const source = `/${bucket}/${encodeKey(prefix + from)}`;
      const response = await ask(getUrl(to), { method: 'PUT', headers: { 'x-amz-copy-source': source } }, [404]);
      return response.ok && !(await response.text()).includes('<Error>');
    },
    async remove(name) {
      await ask(getUrl(name), { method: 'DELETE' }, [404]);
    },
    list: () => listObjects(ask, root, prefix),
  };
}

/**
 * Encodes a key for the path of a URL, so that every program on the way reads the same key.
 * @throws ArtifactStoreFault if a name in the key would be read as another folder
 */
function encodeKey(key: string): string {
  const names = key.split('/');
  const problem = names.map(findNameProblem).find((text) => text !== undefined);
  if (problem !== undefined) throw new ArtifactStoreFault(`The key ${JSON.stringify(key)} of an object ${problem}.`);
  return names.map(encodeURIComponent).join('/');
}

interface Requests {
  ask(url: string, init: RequestInit, acceptedStatuses?: readonly number[]): Promise<Response>;
  attempt(url: string, init: RequestInit): Promise<Attempt>;
}

/** Uploads an object in parts, several at a time. */
async function putParts(
  { ask, attempt }: Requests,
  url: string,
  { length, slice }: ObjectSource,
  sha256: string,
): Promise<void> {
  const uploadResponse = await ask(`${url}?uploads`, { method: 'POST', headers: { [SHA256_HEADER]: sha256 } });
  const id = (await uploadResponse.text()).match(/<UploadId>([^<]+)<\/UploadId>/)?.[1] ?? '';
  const uploadParameter = `uploadId=${encodeURIComponent(id)}`;
  try {
    const tags: string[] = [];
    let next = 0;
    const send = async (): Promise<void> => {
      for (let i = next++; i * PART_BYTES < length; i = next++) {
        const part = await slice(i * PART_BYTES, Math.min((i + 1) * PART_BYTES, length));
        const init = { method: 'PUT', body: part, headers: await computeChecksumHeader(part) };
        const partResponse = await ask(`${url}?partNumber=${i + 1}&${uploadParameter}`, init);
        tags[i] = partResponse.headers.get('etag') ?? '';
      }
    };
    await Promise.all(Array.from({ length: PARTS_MAX }, send));
    const parts = tags.map((tag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${tag}</ETag></Part>`);
    const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
    const endResponse = await ask(`${url}?${uploadParameter}`, { method: 'POST', body });
    // The status is sent before the parts have been joined, so that the body must be checked.
    if ((await endResponse.text()).includes('<Error>'))
      throw createUnavailableRefusal('The object store could not join parts.');
  } catch (thrown) {
    await attempt(`${url}?${uploadParameter}`, { method: 'DELETE' }); // the service removes an unfinished upload later if this fails
    throw thrown;
  }
}

async function* listObjects(ask: Requests['ask'], root: string, prefix: string): ReturnType<S3Client['list']> {
  for (let token: string | undefined, isMore = true; isMore; isMore = token !== undefined) {
    const tokenParameter = token === undefined ? '' : `&continuation-token=${encodeURIComponent(token)}`;
    const query = `list-type=2&prefix=${encodeURIComponent(prefix)}${tokenParameter}`;
    const text = await (await ask(`${root}?${query}`, {})).text();
    for (const [, entry = ''] of text.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
      const key = entry.match(/<Key>([^<]+)<\/Key>/)?.[1] ?? '';
      const writtenAt = Date.parse(entry.match(/<LastModified>([^<]+)<\/LastModified>/)?.[1] ?? '');
      yield { name: key.slice(prefix.length), writtenAt };
    }
    token = text.match(/<NextContinuationToken>([^<]+)<\/NextContinuationToken>/)?.[1];
  }
}

/** Response, or the cause of the failure. */
interface Attempt {
  readonly answer?: Response;
  readonly cause?: unknown;
  /** Keys that signed the request. */
  readonly used?: StorageKeys;
}

interface Signer {
  readonly used: StorageKeys;
  readonly aws: AwsClient;
}

function createSigner({ region }: S3Access, used: StorageKeys): Signer {
  const { accessKeyId, secretAccessKey, sessionToken } = used;
  const token = sessionToken === undefined ? {} : { sessionToken };
  return { used, aws: new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3', retries: 0, ...token }) };
}

const createSource = (bytes: Uint8Array): ObjectSource => ({
  length: bytes.length,
  slice: async (start, end) => copyShared(bytes.subarray(start, end)),
});

/**
 * Copies a body if it is in shared memory, because `fetch` does not accept such memory. Columns of runs are in shared
 * memory.
 */
function copyShared(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof SharedArrayBuffer ? new Uint8Array(bytes) : (bytes as Uint8Array<ArrayBuffer>); // not shared
}

/** Returns the header by which the service detects and rejects a corrupted body. */
async function computeChecksumHeader(bytes: Uint8Array<ArrayBuffer>): Promise<Record<string, string>> {
  const digest = await webcrypto.subtle.digest('SHA-256', bytes);
  return { 'x-amz-content-sha256': Buffer.from(digest).toString('hex') };
}

const createUnavailableRefusal = (message: string, cause?: unknown): Refusal =>
  new Refusal('STORE_UNAVAILABLE', message, null, { cause });
