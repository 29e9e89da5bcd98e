import type { Authorship } from '#domain/definition/versions.js';
import { JOB_KINDS, type JobKindName } from '#domain/outputs/jobs.js';
import type { DocumentStore } from '#store/port.js';
import type { Clock } from './clock.js';

/** Stored pause of a job kind. The name of the kind is its id. */
export interface KindPause {
  readonly paused_at: string;
  readonly author: string;
  readonly reason: string | null;
}

/** Job kinds that no node starts now. Running jobs continue; new jobs are accepted and wait. */
export interface PausedKinds {
  has(kind: JobKindName): boolean;
  /** Registers a callback for kinds that start again. */
  onResumed(call: () => void): void;
  /** Returns the stored pause of a kind; undefined if the kind is not paused. */
  get(kind: JobKindName): Promise<KindPause | undefined>;
  /** Pauses a kind; leaves an existing pause unchanged. */
  pause(kind: JobKindName, pause: KindPause, by: Authorship): Promise<void>;
  resume(kind: JobKindName, by: Authorship): Promise<void>;
}

/**
 * Interval between two reads of the stored pauses. Reads are necessary, because events are lost during a long outage of
 * the database.
 */
const READ_MS = 30_000;

/** Reads the stored pauses and follows their changes. @param isShared true if other processes also change the pauses */
export async function createPausedKinds(
  documents: DocumentStore,
  clock: Pick<Clock, 'after'>,
  isShared: boolean,
): Promise<PausedKinds> {
  const listeners: (() => void)[] = [];
  let pausedKinds: ReadonlySet<string> = new Set(await documents.ids('paused-kind'));

  function replacePaused(now: ReadonlySet<string>): void {
    const isResumed = [...pausedKinds].some((kind) => !now.has(kind));
    pausedKinds = now;
    if (isResumed) for (const call of listeners) call();
  }

  function readLater(): void {
    clock.after(READ_MS, () => {
      documents
        .ids('paused-kind')
        .then((ids) => replacePaused(new Set(ids)))
        .catch(() => {}) // the next read tries again
        .finally(readLater);
    });
  }
  if (isShared) readLater();

  documents.subscribe('kind-paused', ({ kind, is_paused: isPaused }) => {
    const otherKinds = [...pausedKinds].filter((pausedKind) => pausedKind !== kind);
    replacePaused(new Set(isPaused ? [...otherKinds, kind] : otherKinds));
  });

  return {
    has: (kind) => pausedKinds.has(kind),
    onResumed: (call) => void listeners.push(call),
    async get(kind) {
      const storedPause = await documents.get('paused-kind', kind);
      // `pause` wrote the document and the store checked its seal
      return storedPause === undefined || 'unreadable' in storedPause ? undefined : (storedPause.body as KindPause);
    },
    async pause(kind, pause, authorship) {
      await documents.transaction(
        async (tx) => {
          if ((await tx.get('paused-kind', kind)) !== undefined) return;
          await tx.put('paused-kind', kind, pause);
          tx.publish({ type: 'kind-paused', kind, is_paused: true });
        },
        { by: authorship },
      );
    },
    async resume(kind, authorship) {
      await documents.transaction(
        async (tx) => {
          if (await tx.delete('paused-kind', kind)) tx.publish({ type: 'kind-paused', kind, is_paused: false });
        },
        { by: authorship },
      );
    },
  };
}

export const getJobKind = (jobId: string): JobKindName => JOB_KINDS.find((kind) => jobId.startsWith(`${kind}:`))!; // the id of each job begins with its kind
