import { randomUUID } from 'node:crypto';
import { Refusal } from '#domain/refusals/refusal.js';
import { UnknownOutcomeError, findState, type Database } from './database.js';
import type { CommitOrder } from './commit-order.js';
import type { TransactionDraft } from './draft.js';
import { createJobAdditions } from './job-additions.js';
import { createJobStatement } from './job-commit.js';

export interface WrittenVersion {
  /** Artifacts that have become orphaned. */
  readonly unreferenced: readonly string[];
}

/**
 * Outcome of a commit. It is undefined if a document or listing that the transaction read has changed; nothing was
 * written then.
 */
export type CommitResult = WrittenVersion | undefined;

export interface Commits {
  /** Writes a transaction if everything that it read is unchanged. @throws Refusal like `Database.query` */
  commit(order: CommitOrder): Promise<CommitResult>;
  /** Returns true if everything that a transaction read is consistent with one snapshot. */
  holds(draft: TransactionDraft): Promise<boolean>;
}

interface CommitRow {
  /**
   * Version of the written documents and names of artifacts that no document refers to any more. Null if a document or
   * listing that the commit read has changed.
   */
  readonly written: string | null;
}

/** Time for which a broken connection is retried to determine the outcome of a commit. */
const OUTCOME_RETRY_MS = 15_000;
const ASK_AGAIN_MS = 200;

/** SQLSTATEs of a transaction that the server aborted in favour of another transaction. */
const CONFLICT_STATES = ['40001', '40P01'];
/** SQLSTATE of a duplicate key. */
const UNIQUE_VIOLATION = '23505';

/** Creates the commits of a process. @param node id of this process, which does not read its own events */
export function createCommits(database: Database, { schema, node }: { schema: string; node: string }): Commits {
  const parameterList = Array.from({ length: 18 }, (_, i) => `$${i + 1}`).join(', ');
  const statement = `SELECT ${schema}.commit_3(${parameterList}) AS written`;
  const additions = createJobAdditions(database, schema);

  async function runCommit(order: CommitOrder): Promise<CommitResult> {
    const { draft, events, jobs, time } = order;
    const token = randomUUID();
    const rows = jobs.length === 0 ? null : JSON.stringify(jobs);
    const writes = [...draft.writeColumns(), events.map((event) => JSON.stringify(event)), rows, draft.isNarrow];
    try {
      if (await writesJob(order, token)) return { unreferenced: [] };
      return await call(token, new Date(time), [...draft.readColumns(), ...writes]);
    } catch (thrown) {
      if (CONFLICT_STATES.includes(findState(thrown) ?? '')) return undefined;
      if (!(thrown instanceof UnknownOutcomeError) || (!draft.isWritten && events.length === 0)) throw thrown;
      const isCommitted = await hasCommitted(token, draft.kindWritten ?? '', thrown);
      return isCommitted ? { unreferenced: [] } : undefined;
    }
  }

  /** Writes a commit that concerns only one job. @returns false if the commit needs another statement */
  async function writesJob(order: CommitOrder, token: string): Promise<boolean> {
    const statement = createJobStatement(order, token);
    if (statement === undefined) return false;
    const { call, values } = statement;
    const valueList = values.map((_, i) => `$${i + 1}`).join(', ');
    try {
      if (call === 'add_job_1') return (await additions.add(values)) !== null;
      const sql = `SELECT ${schema}.${call}(${valueList}) AS written`;
      const [row] = await database.query<CommitRow>(sql, values);
      return row!.written !== null; // exactly one row
    } catch (thrown) {
      if (findState(thrown) === UNIQUE_VIOLATION) return false;
      throw thrown;
    }
  }

  async function call(token: string, time: Date, columns: readonly unknown[]): Promise<CommitResult> {
    const [row] = await database.query<CommitRow>(statement, [token, node, time, ...columns]);
    const [version, ...unreferenced] = row!.written?.split(' ') ?? []; // exactly one row
    return version === undefined ? undefined : { unreferenced };
  }

  /**
   * Returns true if an unconfirmed commit has succeeded. The insertion of its token determines the outcome: it waits
   * for a running commit, and prevents a later one.
   */
  async function hasCommitted(token: string, kind: string, lost: Refusal): Promise<boolean> {
    const deadline = performance.now() + OUTCOME_RETRY_MS;
    for (;;) {
      try {
        const decidedRows = await database.query(
          `INSERT INTO ${schema}.changes (kind, token) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING kind`,
          [kind, token],
        );
        return decidedRows.length === 0;
      } catch (thrown) {
        // Does not wait for a server that does not answer.
        if (!(thrown instanceof Refusal) || database.isSilent() || performance.now() > deadline) throw lost;
      }
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
  }

  return {
    commit: runCommit,
    async holds(draft) {
      const emptyCommit = [...Array.from({ length: 8 }, () => []), null, false];
      return (await call(randomUUID(), new Date(0), [...draft.readColumns(), ...emptyCommit])) !== undefined;
    },
  };
}
