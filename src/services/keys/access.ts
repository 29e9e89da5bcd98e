import { LRUCache } from 'lru-cache';
import type { DocumentAccess } from '#contract/access.js';
import type { Route } from '#contract/route.js';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal } from '#domain/base/refusals.js';
import { isIdWithin, mayRead, NAMED_DOCUMENTS, type Reach } from '#domain/definition/reach.js';
import type { Authorship, Subject } from '#domain/definition/versions.js';
import { JOB_KIND_CATALOGUE, type JobSubject } from '#domain/outputs/jobs.js';
import { isBuiltIn } from '#domain/outputs/report-templates.js';
import type { JobSystem } from '#jobs/port/job-kind.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import type { LocatedJob } from '#jobs/port/queue.js';
import { findFirstAuthor } from '#store/history/history.js';
import type { DocumentStore } from '#store/port.js';
import { findCurrentReach, refuseOutside, refuseOutside as outside, runUnrestricted } from '#store/reach.js';

export { findCurrentReach as currentReach, runForClient, runWithinReach as withinReach } from '#store/reach.js';
export { workInTurns } from '#store/reach.js';
export { refuseOutside as outside };

/** Client with the names under which documents can be shared with it. */
interface SharingClient {
  readonly keyId: string | null;
  readonly name: string | null;
  /** True if the client's name does not identify a person. */
  readonly isSubject?: true;
  readonly prefixes?: readonly string[];
}

/**
 * Returns the names by which documents and lists of approvers can refer to a client. The name of a subject is left out,
 * because the provider chooses it.
 */
export function listClientNames({ keyId, name, isSubject }: SharingClient): string[] {
  const names = isSubject === true ? [keyId] : [keyId, name];
  return names.filter((each) => each !== null);
}

/** Service that knows the owner of a document and the clients that may read it. */
export interface Access {
  /** Returns the resources that a client may access; undefined if it may access all resources. */
  findReach(client: SharingClient): Promise<Reach | undefined>;
  /** Returns owner and readers of a document. @throws the refusal of the family for a document that does not exist */
  read(subject: Subject): Promise<DocumentAccess>;
  /** Gives other clients read access to a document of the author. @throws the refusals of `read`, FORBIDDEN_ID */
  share(subject: Subject, sharedWith: readonly string[], by: Authorship): Promise<DocumentAccess>;
}

interface SharedDocument {
  readonly subject: string;
  readonly with: ReadonlySet<string>;
}

/** @param isHidden true if ids that do not match the prefixes of a client are reported as not found */
export function createAccess(documents: DocumentStore, isHidden: boolean): Access {
  let cachedShares: { readonly revision: number; readonly shared: readonly SharedDocument[] } | undefined;

  async function listSharedDocuments(): Promise<readonly SharedDocument[]> {
    const revision = await documents.revision('sharing');
    if (cachedShares?.revision === revision) return cachedShares.shared;
    const { documents: sharedDocuments } = await documents.list('sharing', (body, subject) => {
      const names = listNames(body);
      return names.length === 0 ? undefined : { subject, with: new Set(names) };
    });
    cachedShares = { revision, shared: sharedDocuments };
    return sharedDocuments;
  }

  async function assertDocumentStored({ kind, id }: Subject): Promise<void> {
    const result = kind === 'store' ? await storeWithin(id) : await documents.get(kind, id);
    if (result === undefined) throw refuseOutside({ prefixes: [], shared: new Set(), isHidden: true }, kind, id);
  }

  /**
   * Returns the document of a store if the client owns it or it was shared with the client. Every client may read a
   * store by id, but only these clients see its owner.
   */
  async function storeWithin(id: string) {
    const reach = findCurrentReach();
    return reach === undefined || isIdWithin(reach, id) || reach.shared.has(`store/${id}`)
      ? documents.get('store', id)
      : undefined;
  }

  async function read(subject: Subject): Promise<DocumentAccess> {
    await assertDocumentStored(subject);
    const name = `${subject.kind}/${subject.id}`;
    const storedDocument = await documents.get('sharing', name);
    const owner = await findFirstAuthor(documents, subject);
    return {
      owner: owner == null ? null : { key_id: owner.key_id ?? null, name: owner.author },
      shared_with: storedDocument === undefined || 'unreadable' in storedDocument ? [] : listNames(storedDocument.body),
    };
  }

  return {
    async findReach(client) {
      const { prefixes } = client;
      if (prefixes === undefined) return undefined;
      const names = listClientNames(client);
      const isOwnShare = (shared: SharedDocument) => names.some((word) => shared.with.has(word));
      const sharedSubjects = (await runUnrestricted(listSharedDocuments))
        .filter(isOwnShare)
        .map(({ subject }) => subject);
      return { prefixes, shared: new Set(sharedSubjects), isHidden };
    },
    read,
    async share(subject, sharedWith, authorship) {
      await assertDocumentStored(subject);
      const reach = findCurrentReach();
      if (reach !== undefined && !isIdWithin(reach, subject.id)) throw refuseOutside(reach, subject.kind, subject.id);
      const name = `${subject.kind}/${subject.id}`;
      const names = [...new Set(sharedWith)];
      await documents.transaction(
        async (tx) =>
          void (names.length === 0
            ? await tx.delete('sharing', name)
            : await tx.put('sharing', name, { shared_with: names })),
        { by: authorship },
      );
      return read(subject);
    },
  };
}

function listNames(body: unknown): string[] {
  const names = (body as { readonly shared_with?: unknown } | null)?.shared_with;
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
}

/** Refuses a name that the client of this request may not use. @throws Refusal FORBIDDEN_ID */
export function assertOwnName(id: string): void {
  const reach = findCurrentReach();
  if (reach !== undefined && !isIdWithin(reach, id)) throw refuseOutside({ ...reach, isHidden: false }, '', id);
}

/** Returns a generated id with a prefix that the client of this request may use. */
export const prefixName = (name: string): string => `${findCurrentReach()?.prefixes[0] ?? ''}${name}`;

/** Returns the refusal for a client with prefixes, on a route that does not support prefixes. */
export const refusePrefixes = (prefixes: readonly string[]): Refusal =>
  new Refusal('FORBIDDEN_ID', 'The key is limited to ids of its prefixes; this route concerns all of the service.', {
    prefixes,
  });

/** Values of a request that can name documents. The query is checked after the path, as in all routes. */
interface NamingValues {
  readonly path: (name: string) => string | undefined;
  readonly query: () => Readonly<Record<string, unknown>>;
}

/**
 * Refuses a request for documents that a client with prefixes may not use. The client must be allowed to read the
 * documents in path and query. If the operation writes or runs, the client must own them.
 * @throws Refusal FORBIDDEN_ID, or the refusal of an absent document
 */
export function assertWithinReach(reach: Reach, route: Pick<Route, 'scope' | 'onStore'>, values: NamingValues): void {
  const assertReadable = (kind: string, subject: string): void => {
    if (!mayRead(reach, kind, subject)) throw outside(reach, kind, subject);
  };
  const assertNamed = (kind: string, subject: string | undefined): void => {
    if (subject === undefined || (kind === 'template' && isBuiltIn(subject))) return;
    if (route.scope === 'read') assertReadable(kind, subject);
    else if (!isIdWithin(reach, subject)) throw outside(reach, kind, subject);
  };
  for (const [name, { kind }] of Object.entries(NAMED_DOCUMENTS)) assertNamed(kind, values.path(name));
  assertNamed(values.path('kind') ?? '', values.path('document_id'));
  const queryValues = values.query();
  for (const [name, { kind }] of Object.entries(NAMED_DOCUMENTS)) {
    const subject = queryValues[name];
    if (typeof subject !== 'string') continue;
    if (kind === 'store' && route.onStore === 'query') assertReadable(kind, subject);
    else assertNamed(kind, subject);
  }
}

type FollowedJobs = Pick<JobSystem, 'find' | 'list' | 'cancel' | 'retry' | 'watch' | 'watchAll' | 'liveIds'>;

/** Job kinds with ids that clients choose. */
const NAMED_KINDS: ReadonlySet<string> = new Set(['sweep', 'rerun', 'study']);
/** Job kinds whose ids contain the id of a risk model. */
const MODEL_KINDS: ReadonlySet<string> = new Set(['risk', 'validate']);

/**
 * Returns the jobs that the client of this request may see: jobs about documents with its prefixes, and about documents
 * that were shared with it.
 */
export function limitJobs(system: FollowedJobs): FollowedJobs {
  const reach = findCurrentReach();
  if (reach === undefined) return system;
  const findReachableJob = async (jobId: string): Promise<LocatedJob | undefined> => {
    const match = await system.find(jobId);
    return match !== undefined && isVisible(reach, match.status) ? match : undefined;
  };
  const assertJobReachable = async (jobId: string): Promise<void> => {
    const result = await findReachableJob(jobId);
    const subject = result && findSubject(result.status);
    if (subject === undefined || isIdWithin(reach, subject.id) || isWithinReach(reach, result!.status)) return;
    throw outside(reach, subject.kind, subject.id);
  };
  return {
    find: findReachableJob,
    watch: (jobId, listener) => system.watch(jobId, listener),
    watchAll: (listener) => system.watchAll(listener), // also reports other jobs, which `find` omits
    liveIds: () => system.liveIds(),
    async list({ limit, before, ...query }) {
      const jobStatus: JobStatus[] = [];
      for (let from = before; ;) {
        const { jobs, ...skips } = await system.list({ ...query, limit, before: from });
        jobStatus.push(...jobs.filter((status) => isVisible(reach, status)));
        from = jobs.at(-1)?.job_id;
        if (jobs.length < limit || jobStatus.length >= limit) return { jobs: jobStatus.slice(0, limit), ...skips };
      }
    },
    async cancel(jobId) {
      await assertJobReachable(jobId);
      return system.cancel(jobId);
    },
    async retry(jobId) {
      await assertJobReachable(jobId);
      return system.retry(jobId);
    },
  };
}

function isVisible(reach: Reach, status: JobStatus): boolean {
  const subject = findSubject(status);
  return subject !== undefined && mayRead(reach, subject.kind, subject.id);
}

/**
 * Returns true for a job with an id that the client may use, such as its sweep of an index that was only shared with
 * it.
 */
const isWithinReach = (reach: Reach, { kind, job_id: jobId }: JobStatus): boolean =>
  NAMED_KINDS.has(kind) && isIdWithin(reach, jobId.slice(jobId.indexOf(':') + 1));

/**
 * Returns the document that a job is about, or the name that a client gave to the job. Returns undefined if there is
 * neither.
 */
function findSubject({ kind, job_id: jobId, request }: JobStatus): { kind: string; id: string } | undefined {
  const ident = jobId.slice(jobId.indexOf(':') + 1);
  const subject: JobSubject | null = JOB_KIND_CATALOGUE[kind].subject;
  if (MODEL_KINDS.has(kind)) return { kind: 'risk-model', id: ident };
  if (subject?.of === 'dataset') return { kind: 'store', id: ident };
  if (subject?.named === 'ident') return { kind: 'index', id: ident };
  const requestFields = request as Readonly<Record<string, unknown>> | null;
  for (const [name, of] of [
    ['index_id', 'index'],
    ['template_id', 'template'],
  ] as const) {
    const id = requestFields?.[name];
    if (typeof id === 'string') return { kind: of, id };
  }
  return NAMED_KINDS.has(kind) ? { kind, id: ident } : undefined;
}

/**
 * Counter of refused keys by address. It limits how fast keys can be guessed and how much work a misconfigured client
 * causes.
 */
interface FailedKeys {
  /**
   * Records a refused key.
   * @returns milliseconds by which the response must be delayed: 0 for the first refusals of a minute, so that a client
   * can find its mistake
   */
  note(address: string): number;
}

/** Maximum number of refusals per minute without a delay. */
const PROMPT_REFUSALS_MAX = 20;
const WINDOW_MS = 60_000;
/**
 * Delay in ms of a response to a refused key. It limits one connection to two guesses per second. The response to a
 * valid key is never delayed.
 */
const DELAY_MS = 500;
/** Maximum number of addresses that are remembered. The oldest ones are dropped. */
const ADDRESSES_MAX = 10_000;

/** @param monotonicMs a monotonic clock */
export function createFailedKeys(monotonicMs: () => number): FailedKeys {
  const windows = new LRUCache<string, { count: number; readonly endMs: number }>({ max: ADDRESSES_MAX });
  return {
    note(address) {
      const now = monotonicMs();
      let window = windows.peek(address);
      if (window === undefined || now >= window.endMs) {
        window = { count: 0, endMs: now + WINDOW_MS };
        windows.set(address, window);
      }
      window.count++;
      return window.count > PROMPT_REFUSALS_MAX ? DELAY_MS : 0;
    },
  };
}

/** Waits until a request of a key may start; the result is undefined if it may start at once. */
export type KeyTurns = (keyId: string | null) => Promise<void> | undefined;

/**
 * Lets each key start one request per turn of the event loop. Further requests of the key wait for the following turns,
 * so that a request of another key waits for at most one of them.
 */
export function createKeyTurns(): KeyTurns {
  /** Waiting requests by key. A key that started a request in this turn has an entry. */
  const waiting = new Map<string | null, (() => void)[]>();
  const startNext = (keyId: string | null): void => {
    const start = waiting.get(keyId)!.shift();
    if (start === undefined) return void waiting.delete(keyId);
    setImmediate(startNext, keyId);
    start();
  };
  return (keyId) => {
    const line = waiting.get(keyId);
    if (line !== undefined) return new Promise((start) => line.push(start));
    waiting.set(keyId, []);
    setImmediate(startNext, keyId);
    return undefined;
  };
}

/** Rate limits of keys. Each key has a token bucket with a maximum size and a refill rate. */
export interface KeyRates {
  /** Counts one request of a key. @throws Refusal RATE_LIMITED if the bucket is empty */
  take(keyId: string): void;
}

interface RateOptions {
  /** Monotonic clock in milliseconds. */
  readonly monotonicMs: () => number;
  readonly perSecond?: number;
  readonly burst?: number;
}

export function createKeyRates({
  monotonicMs,
  perSecond = LIMITS.MAX_KEY_REQUESTS_PER_SECOND,
  burst = LIMITS.MAX_KEY_REQUEST_BURST,
}: RateOptions): KeyRates {
  /**
   * One bucket per key. The map cannot grow beyond the number of keys, because only authenticated keys get a bucket.
   */
  const buckets = new Map<string, { left: number; atMs: number }>();
  return {
    take(keyId) {
      const now = monotonicMs();
      const bucket = buckets.get(keyId);
      if (bucket === undefined) {
        buckets.set(keyId, { left: burst - 1, atMs: now });
        return;
      }
      bucket.left = Math.min(burst, bucket.left + ((now - bucket.atMs) * perSecond) / 1000);
      bucket.atMs = now;
      if (bucket.left < 1) {
        throw new Refusal(
          'RATE_LIMITED',
          `The key exceeded its limit of ${burst} requests at once and ${perSecond} per second afterwards.`,
          { requests_per_second: perSecond, burst },
        );
      }
      bucket.left--;
    },
  };
}
