import { randomUUID } from 'node:crypto';
import { Refusal } from '#domain/refusals/refusal.js';
import { OutcomeUnknown, stateOf, type Database } from './database.js';
import type { CommitOrder } from './commit-order.js';
import type { Draft } from './draft.js';
import { jobStatement } from './job-commit.js';

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
/** State of one that would write a second row under a key. */
const TAKEN = '23505';

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
      if (await writesJob(order, token)) return { unreferenced: [] };
      return await call(token, new Date(time), [...draft.readColumns(), ...writes]);
    } catch (thrown) {
      if (CONFLICTS.includes(stateOf(thrown) ?? '')) return undefined;
      if (!(thrown instanceof OutcomeUnknown) || (!draft.isWritten && events.length === 0)) throw thrown;
      const isCommitted = await hasCommitted(token, draft.kindWritten ?? '', thrown);
      return isCommitted ? { unreferenced: [] } : undefined;
    }
  }

  /** @returns whether the commit was one of one job, and is written */
  async function writesJob(order: CommitOrder, token: string): Promise<boolean> {
    const statement = jobStatement(order, token);
    if (statement === undefined) return false;
    const { call, values } = statement;
    const parameters = values.map((_, i) => `$${i + 1}`).join(', ');
    try {
      const sql = `SELECT ${schema}.${call}(${parameters}) AS written`;
      const [row] = await database.query<CommitRow>(sql, values);
      return row!.written !== null; // One row always.
    } catch (thrown) {
      if (stateOf(thrown) === TAKEN) return false;
      throw thrown;
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
        // Nobody waits for a server that says nothing.
        if (!(thrown instanceof Refusal) || database.isSilent() || performance.now() > until) throw lost;
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
