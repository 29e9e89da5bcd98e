import { randomUUID } from 'node:crypto';
import type { CommitEvent } from '#domain/commit-events.js';
import { Refusal } from '#domain/refusal.js';
import { OutcomeUnknown, stateOf, type Database } from './database.js';
import type { Draft } from './draft.js';

export interface CommitOrder {
  readonly draft: Draft;
  readonly events: readonly CommitEvent[];
  /** What becomes of the rows of jobs. */
  readonly jobs: readonly JobRow[];
  /** Of the writes, ms since 1970. */
  readonly time: number;
}

/** What a queue asks of a job: written with the document of the job, and deleted with it. */
export interface JobRow {
  readonly job_id: string;
  readonly kind: string;
  readonly lane: string;
  readonly owner: string;
  readonly status: string;
  readonly sequence: number;
  readonly attempt: number;
  readonly estimated_bytes: number;
  /** Node of the attempt that runs, and how long its lease lasts from now; null otherwise. */
  readonly node: string | null;
  readonly lease_ms: number | null;
}

export interface Written {
  /** Artifacts that no document refers to any more. */
  readonly unreferenced: readonly string[];
}

/** What became of a commit. Undefined: something it had read has changed, nothing was written. */
export type Committed = Written | undefined;

export interface Commits {
  /** Writes a transaction if all that it read still holds. @throws Refusal as `Database.query` */
  commit(order: CommitOrder): Promise<Committed>;
  /** Whether all that a transaction read holds at one moment. */
  holds(draft: Draft): Promise<boolean>;
}

interface CommitRow {
  /** The version and the names of what nothing refers to any more; null where something it had read has changed. */
  readonly written: string | null;
}

/** How long a broken connection is tried again to ask what became of a commit. */
const DOUBT_MS = 15_000;
const ASK_AGAIN_MS = 200;

/** States of a transaction that the server gave up for another one. */
const CONFLICTS = ['40001', '40P01'];

/** @param node of this process; its own events are not read back */
export function createCommits(database: Database, { schema, node }: { schema: string; node: string }): Commits {
  const parameters = Array.from({ length: 18 }, (_, i) => `$${i + 1}`).join(', ');
  const statement = `SELECT ${schema}.commit_3(${parameters}) AS written`;

  async function commit(order: CommitOrder): Promise<Committed> {
    const { draft, events, jobs, time } = order;
    const token = randomUUID();
    const rows = jobs.length === 0 ? null : JSON.stringify(jobs);
    const writes = [...draft.writeColumns(), events.map((event) => JSON.stringify(event)), rows, draft.isNarrow];
    try {
      return await call(token, new Date(time), [...draft.readColumns(), ...writes]);
    } catch (thrown) {
      if (CONFLICTS.includes(stateOf(thrown) ?? '')) return undefined;
      if (!(thrown instanceof OutcomeUnknown) || (!draft.isWritten && events.length === 0)) throw thrown;
      const isCommitted = await hasCommitted(token, draft.kindWritten ?? '', thrown);
      return isCommitted ? { unreferenced: [] } : undefined;
    }
  }

  async function call(token: string, at: Date, columns: readonly unknown[]): Promise<Committed> {
    const [row] = await database.query<CommitRow>(statement, [token, node, at, ...columns]);
    const [version, ...unreferenced] = row!.written?.split(' ') ?? []; // One row always.
    return version === undefined ? undefined : { unreferenced };
  }

  /**
   * Whether a commit whose answer was lost has come to pass. Writing its token asks and decides in one: it waits for the
   * commit while that is under way, and keeps it from happening later.
   */
  async function hasCommitted(token: string, kind: string, lost: Refusal): Promise<boolean> {
    const until = performance.now() + DOUBT_MS;
    for (;;) {
      try {
        const decided = await database.query(
          `INSERT INTO ${schema}.changes (kind, token) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING kind`,
          [kind, token],
        );
        return decided.length === 0;
      } catch (thrown) {
        if (!(thrown instanceof Refusal) || performance.now() > until) throw lost;
      }
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
  }

  return {
    commit,
    async holds(draft) {
      const nothing = [...Array.from({ length: 8 }, () => []), null, false];
      return (await call(randomUUID(), new Date(0), [...draft.readColumns(), ...nothing])) !== undefined;
    },
  };
}
