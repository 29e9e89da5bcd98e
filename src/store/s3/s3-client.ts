import { Buffer } from 'node:buffer';
import { webcrypto } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { AwsClient } from 'aws4fetch';
import { Refusal } from '#domain/refusals/refusal.js';
import { PlaceFault } from '../access/place-fault.js';
import { currentKeys } from './keys/current-keys.js';
import type { Keys } from '../access/key-source.js';
import { timedRequest } from '#base/tracing/object-requests.js';
import { distrustOf, isWithoutTls, reasonOf } from './request-failure.js';
import type { S3Access } from '../access/s3-access.js';

/** An object as a listing shows it. */
export interface ListedObject {
  readonly name: string;
  /** Time of its last write, ms since 1970. */
  readonly writtenAt: number;
}

/** Bytes to be sent that are fetched piece by piece. */
export interface ObjectSource {
  readonly length: number;
  slice(start: number, end: number): Promise<Uint8Array<ArrayBuffer>>;
}

/** An object on its way. */
export interface OpenObject {
  readonly body: AsyncIterable<Uint8Array>;
  readonly bytes: number;
  /** SHA-256 that its writer has said, hex; undefined for an object of somebody else. */
  readonly sha256: string | undefined;
}

/**
 * Objects of a bucket below one prefix. Failures that may pass are tried again.
 * Each call: @throws Refusal STORE_UNAVAILABLE; a PlaceFault for what only another setting mends
 */
export interface S3Client {
  /** Writes an object; the service compares it with its SHA-256. @param sha256 of the bytes, hex */
  put(name: string, content: Uint8Array | ObjectSource, sha256: string): Promise<void>;
  /**
   * Reads an object, from its beginning again where its bytes cease to come.
   * @returns what `take` makes of it; undefined where there is none
   */
  get<T>(name: string, take: (object: OpenObject) => Promise<T>): Promise<T | undefined>;
  /** Size and hash of an object as the service has them; undefined where there is none. */
  look(name: string): Promise<Omit<OpenObject, 'body'> | undefined>;
  /** An object under another name, by the service itself. @returns whether it was there */
  copy(from: string, to: string): Promise<boolean>;
  /** Absent ones are fine. */
  remove(name: string): Promise<void>;
  list(): AsyncIterable<ListedObject>;
  /** Why keys that still hold could not be renewed; undefined while they could. */
  renewalFault(): string | undefined;
}

/** Larger objects are sent in parts of this size: the least that makes a request worth its while. */
const PART_BYTES = 16 << 20;
/** Parts on their way at once. */
const PARTS_MAX = 4;
/** How long a failure that may pass is tried again: a restart of the service, a switch of the network. */
const PATIENCE_MS = 45_000;
const PAUSE_MS = 100;
const PAUSE_MS_MAX = 2000;
/** A request without an answer, or an object without another byte, for so long is given up. */
const ANSWER_MS = 60_000;
const SHA256 = 'x-amz-meta-sha256';
const NO_BUCKET = 'NoSuchBucket';

/** A failure that is waited out: whether it has been borne long enough, and the pause before the next try. */
interface Patience {
  isOver(): boolean;
  pause(): Promise<void>;
}

function patienceOf(ms: number): Patience {
  const until = performance.now() + ms;
  let next = PAUSE_MS;
  return {
    isOver: () => performance.now() > until,
    async pause() {
      await sleep(next);
      next = Math.min(2 * next, PAUSE_MS_MAX);
    },
  };
}

/** Bytes of an object that ceased to come: the service or the network has gone. */
class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/** Gives a request up when nothing of its answer has come for so long. */
interface Silence {
  readonly signal: AbortSignal;
  broken(): void;
  /** Gives up what is left of the request. */
  end(): void;
}

function silenceOf(ms: number): Silence {
  const request = new AbortController();
  const timer = setTimeout(() => request.abort(new DOMException(`nothing came for ${ms} ms`, 'TimeoutError')), ms);
  return {
    signal: request.signal,
    broken: () => void timer.refresh(),
    end() {
      clearTimeout(timer);
      request.abort();
    },
  };
}

async function* arriving(body: ReadableStream<Uint8Array>, silence: Silence): AsyncGenerator<Uint8Array> {
  try {
    for await (const bytes of body) {
      silence.broken();
      yield bytes;
    }
  } catch (cause) {
    throw new Interrupted('the bytes ceased to come', { cause });
  }
}

/** How long failures are borne. */
export interface S3Patience {
  readonly patienceMs?: number;
  readonly answerMs?: number;
}

export function createS3Client(
  access: S3Access,
  { patienceMs = PATIENCE_MS, answerMs = ANSWER_MS }: S3Patience = {},
): S3Client {
  const { endpoint, bucket, prefix } = access;
  const keys = currentKeys(access.keys);
  let signer: Signer | undefined;
  const root = `${endpoint}/${bucket}`;
  const urlOf = (name: string): string => `${root}/${encodeURI(prefix)}${name}`;

  /** One request, again while it fails in a way that may pass. @param known statuses that the caller understands */
  async function ask(url: string, init: RequestInit, known: readonly number[] = []): Promise<Response> {
    for (const patience = patienceOf(patienceMs); ; await patience.pause()) {
      const { answer, cause, used } = await attempt(url, init);
      if (cause instanceof PlaceFault || (cause instanceof Refusal && patience.isOver())) throw cause;
      if (cause instanceof Refusal) continue;
      let said = '';
      if (answer !== undefined) {
        if (answer.ok) return answer;
        const code = (await answer.text()).match(/<Code>(\w{1,64})<\/Code>/)?.[1] ?? '';
        said = `${answer.status} ${code}`.trim();
        // A bucket that is missing says nothing of its objects.
        if (code === NO_BUCKET) throw new PlaceFault(`The object store ${endpoint} has no bucket ${bucket}.`);
        if (known.includes(answer.status)) return answer;
        const isOld = used !== undefined && EXPIRED.test(code) && keys.expired(used);
        if (!isOld && !mayPass(answer.status, code)) throw new PlaceFault(refusalOf(access, answer.status, code));
      }
      if (isWithoutTls(cause))
        throw new PlaceFault(
          `At ${endpoint} an answer comes without TLS: is it http:// in AWS_ENDPOINT_URL_S3?`,
          cause,
        );
      const distrust = distrustOf(cause);
      if (distrust !== undefined)
        throw new PlaceFault(`The certificate of the object store is refused: ${distrust}.`, cause);
      if (patience.isOver())
        throw unavailable(`The object store cannot be reached at ${endpoint}${reasonOf(said, cause)}.`, cause);
    }
  }

  async function attempt(url: string, init: RequestInit): Promise<Attempt> {
    try {
      const used = await keys.get();
      if (signer?.used !== used) signer = signerOf(access, used);
      const { aws } = signer;
      const whole = { signal: AbortSignal.timeout(answerMs), ...init };
      return { used, answer: await timedRequest(init.method ?? 'GET', () => aws.fetch(url, whole)) };
    } catch (cause) {
      return { cause };
    }
  }

  async function putParts(name: string, { length, slice }: ObjectSource, sha256: string): Promise<void> {
    const url = urlOf(name);
    const begun = await ask(`${url}?uploads`, { method: 'POST', headers: { [SHA256]: sha256 } });
    const id = (await begun.text()).match(/<UploadId>([^<]+)<\/UploadId>/)?.[1] ?? '';
    const upload = `uploadId=${encodeURIComponent(id)}`;
    try {
      const tags: string[] = [];
      let next = 0;
      const send = async (): Promise<void> => {
        for (let i = next++; i * PART_BYTES < length; i = next++) {
          const part = await slice(i * PART_BYTES, Math.min((i + 1) * PART_BYTES, length));
          const init = { method: 'PUT', body: part, headers: await checked(part) };
          const sent = await ask(`${url}?partNumber=${i + 1}&${upload}`, init);
          tags[i] = sent.headers.get('etag') ?? '';
        }
      };
      await Promise.all(Array.from({ length: PARTS_MAX }, send));
      const parts = tags.map((tag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${tag}</ETag></Part>`);
      const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
      const ended = await ask(`${url}?${upload}`, { method: 'POST', body });
      // The status comes before the parts are joined.
      if ((await ended.text()).includes('<Error>')) throw unavailable('The object store could not join parts.');
    } catch (thrown) {
      await attempt(`${url}?${upload}`, { method: 'DELETE' }); // What is left is the service's to expire.
      throw thrown;
    }
  }

  return {
    renewalFault: keys.fault,
    async put(name, content, sha256) {
      const source = content instanceof Uint8Array ? sourceOf(content) : content;
      if (source.length > PART_BYTES) return putParts(name, source, sha256);
      const headers = { [SHA256]: sha256, 'x-amz-content-sha256': sha256 };
      await ask(urlOf(name), { method: 'PUT', body: await source.slice(0, source.length), headers });
    },
    async get(name, take) {
      for (const patience = patienceOf(patienceMs); ; await patience.pause()) {
        const silence = silenceOf(answerMs);
        try {
          const { ok, headers, body } = await ask(urlOf(name), { signal: silence.signal }, [404]);
          if (!ok || body === null) return undefined;
          const bytes = Number(headers.get('content-length'));
          return await take({ body: arriving(body, silence), bytes, sha256: headers.get(SHA256) ?? undefined });
        } catch (thrown) {
          if (!(thrown instanceof Interrupted)) throw thrown;
          if (patience.isOver()) throw unavailable(`The object store ${endpoint} broke off an answer.`, thrown);
        } finally {
          silence.end();
        }
      }
    },
    async look(name) {
      const { ok, headers } = await ask(urlOf(name), { method: 'HEAD' }, [404]);
      return ok
        ? { bytes: Number(headers.get('content-length')), sha256: headers.get(SHA256) ?? undefined }
        : undefined;
    },
    async copy(from, to) {
      const source = `/${bucket}/${encodeURI(prefix)}${from}`;
      const answer = await ask(urlOf(to), { method: 'PUT', headers: { 'x-amz-copy-source': source } }, [404]);
      return answer.ok && !(await answer.text()).includes('<Error>');
    },
    async remove(name) {
      await ask(urlOf(name), { method: 'DELETE' }, [404]);
    },
    async *list() {
      for (let token: string | undefined, isMore = true; isMore; isMore = token !== undefined) {
        const after = token === undefined ? '' : `&continuation-token=${encodeURIComponent(token)}`;
        const query = `list-type=2&prefix=${encodeURIComponent(prefix)}${after}`;
        const text = await (await ask(`${root}?${query}`, {})).text();
        for (const [, entry = ''] of text.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
          const key = entry.match(/<Key>([^<]+)<\/Key>/)?.[1] ?? '';
          const writtenAt = Date.parse(entry.match(/<LastModified>([^<]+)<\/LastModified>/)?.[1] ?? '');
          yield { name: key.slice(prefix.length), writtenAt };
        }
        token = text.match(/<NextContinuationToken>([^<]+)<\/NextContinuationToken>/)?.[1];
      }
    },
  };
}

/** An answer, or why there is none. */
interface Attempt {
  readonly answer?: Response;
  readonly cause?: unknown;
  /** Keys that the request was signed with. */
  readonly used?: Keys;
}

interface Signer {
  readonly used: Keys;
  readonly aws: AwsClient;
}

function signerOf({ region }: S3Access, used: Keys): Signer {
  const { accessKeyId, secretAccessKey, sessionToken } = used;
  const token = sessionToken === undefined ? {} : { sessionToken };
  return { used, aws: new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3', retries: 0, ...token }) };
}

const sourceOf = (bytes: Uint8Array): ObjectSource => ({
  length: bytes.length,
  slice: async (start, end) => unshared(bytes.subarray(start, end)),
});

/** A body that can be sent: that of a run lies in shared memory, which `fetch` does not take. */
function unshared(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof SharedArrayBuffer ? new Uint8Array(bytes) : (bytes as Uint8Array<ArrayBuffer>); // Not shared.
}

/** Header by which a service refuses a body that is another one. */
async function checked(bytes: Uint8Array<ArrayBuffer>): Promise<Record<string, string>> {
  const digest = await webcrypto.subtle.digest('SHA-256', bytes);
  return { 'x-amz-content-sha256': Buffer.from(digest).toString('hex') };
}

const EXPIRED = /^(ExpiredToken|InvalidToken)$/;

/** What to look at where a service refuses, by its words; none of them is repeated but the code. */
const SETTINGS: readonly (readonly [code: RegExp, setting: string])[] = [
  [
    /^(InvalidAccessKeyId|SignatureDoesNotMatch)$/,
    'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or those of the profile, are not a pair that it knows',
  ],
  [EXPIRED, 'AWS_SESSION_TOKEN has expired or is of another key'],
  [
    /^(AccessDenied|AllAccessDisabled)$/,
    'the role, or the key of AWS_ACCESS_KEY_ID, may not read, write and list there',
  ],
  [/^RequestTimeTooSkewed$/, 'the clock of this machine is wrong'],
  [
    /^(AuthorizationHeaderMalformed|PermanentRedirect|TemporaryRedirect|IllegalLocationConstraintException|IncorrectEndpoint)$/,
    'the bucket is in another region than AWS_REGION or AWS_ENDPOINT_URL_S3 says',
  ],
];

function refusalOf({ endpoint, region, bucket }: S3Access, status: number, code: string): string {
  const setting = SETTINGS.find(([pattern]) => pattern.test(code))?.[1];
  const refused = `The object store ${endpoint} refused the bucket ${bucket} (region ${region}) with ${`${status} ${code}`.trim()}`;
  if (setting === undefined && status === 400 && code === '')
    return `${refused}: is it https:// in AWS_ENDPOINT_URL_S3?`;
  return setting === undefined ? `${refused}.` : `${refused}: ${setting}.`;
}

/** A body that was damaged on its way, or came too slowly: all of them are told with 400. */
const SENT_BADLY = /^(XAmzContentSHA256Mismatch|BadDigest|RequestTimeout)$/;

/** Answers of a service that is overloaded, starts or stops, and those to a body that is to be sent again. */
const mayPass = (status: number, code: string): boolean =>
  status >= 500 || status === 429 || status === 408 || SENT_BADLY.test(code);

const unavailable = (message: string, cause?: unknown): Refusal =>
  new Refusal('STORE_UNAVAILABLE', message, null, { cause });
