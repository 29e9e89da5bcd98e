import { createPausedKinds, type PausedKinds } from '#jobs/port/job-kind.js';
import { createPostgresQueue, type Notices } from '#jobs/distributed/queue.js';
import type { JobQueue, QueueLimits } from '#jobs/port/queue.js';
import { Refusal } from '#domain/base/refusals.js';
import type { Database } from '#store/postgres/database.js';
import { openPostgresDocuments, type PostgresDocuments } from '#store/postgres/document-store.js';
import type { TestSchema } from '../../postgresql/shared-postgresql.js';
import type { TestClock } from '../test-clock.js';

const quietLog = { info: () => {}, warn: () => {}, error: () => {} };

export interface OpenedNode {
  /** Makes the next change of a job fail, as if the database did not respond. The callback runs first. */
  failNext(meanwhile: () => Promise<void>): void;
  /** Delays the response to the next claim until a callback has ended. */
  delayNextClaim(meanwhile: () => Promise<unknown>): void;
  /** Executes the next statement that contains this text, but loses its response. */
  loseNext(text: string): void;
  readonly queue: JobQueue;
  readonly documents: PostgresDocuments;
  readonly paused: PausedKinds;
  /** Statements of the node so far. It leaves out the ones that the node repeats every half second. */
  readonly statements: readonly string[];
  /** Resolves after all statements of the node have been answered. */
  answered(): Promise<void>;
  close(): Promise<void>;
}

const createUnavailable = (): Refusal => new Refusal('STORE_UNAVAILABLE', 'simulated');

/** Creates a bus that passes cancellations between the nodes of a test without delay. */
export function createNotices(): Notices {
  const listeners: ((text: string) => void)[] = [];
  return {
    publish: async (text) => listeners.forEach((call) => call(text)),
    subscribe: (listener) => void listeners.push(listener),
  };
}

export async function openNode(
  world: TestSchema,
  limits: QueueLimits,
  time: TestClock,
  { name = 'node', cancellations }: { readonly name?: string; readonly cancellations?: Notices | undefined } = {},
): Promise<OpenedNode> {
  const ownDatabase = world.another();
  const statements: string[] = [];
  const underWay = new Set<Promise<unknown>>();
  let lostText: string | undefined;
  const database: Database = {
    ...ownDatabase,
    query(text, values) {
      if (!text.includes('pg_current_snapshot')) statements.push(text);
      const isLost = lostText !== undefined && text.includes(lostText);
      if (isLost) lostText = undefined;
      const asking = ownDatabase.query<never>(text, values);
      const answer = isLost ? asking.then(() => Promise.reject(createUnavailable())) : asking;
      const reservedAnswer = text.includes('reserved AS') ? delayAnswer(answer) : answer;
      underWay.add(reservedAnswer);
      return reservedAnswer.finally(() => underWay.delete(reservedAnswer));
    },
  };
  let delay: (() => Promise<unknown>) | undefined;
  async function delayAnswer<T>(answer: Promise<T>): Promise<T> {
    const lateAnswer = delay;
    delay = undefined;
    const rows = await answer;
    await lateAnswer?.();
    return rows;
  }
  const documents = await openPostgresDocuments({ database, schema: world.schema });
  let failure: (() => Promise<void>) | undefined;
  const jobTransaction: PostgresDocuments['jobTransaction'] = async (change, options) => {
    const currentFailure = failure;
    failure = undefined;
    if (currentFailure === undefined) return documents.jobTransaction(change, options);
    await currentFailure();
    throw createUnavailable();
  };
  const { clock } = time;
  const schema = `"${world.schema}"`;
  const slots = { heavy: 3, light: 1 };
  const pausedKinds = await createPausedKinds(documents, clock, false);
  const queue = createPostgresQueue({
    paused: pausedKinds,
    documents: { ...documents, jobTransaction },
    database,
    schema,
    node: name,
    clock,
    limits,
    log: quietLog,
    ...(cancellations && { cancellations }),
    describe: () => ({
      role: 'worker',
      version: '1.2.3',
      places: slots,
      memory_bytes: limits.jobBytesMax,
      market: null,
      lacks: ['disk'],
      clock_offset_ms: 0,
      removes_orphans: false,
    }),
  });
  return {
    queue,
    documents,
    paused: pausedKinds,
    statements,
    async answered() {
      while (underWay.size > 0) await Promise.allSettled(underWay);
      await new Promise((resolve) => setImmediate(resolve)); // waits until the responses have been processed
    },
    loseNext: (text) => void (lostText = text),
    failNext: (meanwhile) => void (failure = meanwhile),
    delayNextClaim: (meanwhile) => void (delay = meanwhile),
    async close() {
      await queue.close();
      await documents.close();
    },
  };
}
