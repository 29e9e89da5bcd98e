import type { Database } from '#store/postgres/database.js';
import type { Lane } from '../compute-pool.js';
import type { LaneLoads } from '../queue.js';

/** What a node says of itself at every heartbeat. */
export interface NodeState {
  readonly role: string;
  readonly version: string;
  /** Jobs that it runs at once. */
  readonly places: Readonly<Record<Lane, number>>;
  /** Content of the market that it serves; null without one. */
  readonly market: string | null;
  /** Finishes of attempts that had been given up. */
  readonly stale: number;
  /** Number of the tables that it knows. */
  readonly protocol: number;
  /** Names of the checks of its health that fail. */
  readonly lacks: readonly string[];
}

/** As a node of any version may have said it. */
type SaidState = Omit<NodeState, 'protocol' | 'lacks'> & Partial<Pick<NodeState, 'protocol' | 'lacks'>>;

/** A node as the others see it. */
export interface NodeEntry extends NodeState {
  readonly node: string;
  readonly started_at: string;
  /** Seconds since its last heartbeat. */
  readonly silent_seconds: number;
  /** Jobs that it runs. */
  readonly jobs: readonly string[];
}

/** Statements on the nodes of a database. */
export interface NodeRows {
  /** Says that a node lives. @returns nodes that live, this one among them */
  beat(node: string, state: NodeState): Promise<number>;
  /** Forgets a node that ends in order. */
  leave(node: string): Promise<void>;
  /** By name; those that fell silent within a day among them. */
  list(): Promise<readonly NodeEntry[]>;
  lanes(): Promise<LaneLoads>;
}

/** A node that is silent for so long takes no work. */
const LIVE_SECONDS = 10;

/** @param schema as a quoted identifier */
export function createNodeRows(database: Database, schema: string): NodeRows {
  const nodes = `${schema}.nodes`;
  const jobs = `${schema}.jobs`;
  const live = `seen_at > clock_timestamp() - interval '${LIVE_SECONDS} s'`;

  return {
    async beat(node, state) {
      const [row] = await database.query<{ readonly count: number }>(
        `WITH own AS (
            INSERT INTO ${nodes} (node, seen_at, state) VALUES ($1, clock_timestamp(), $2)
              ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at, state = excluded.state
          ), gone AS (DELETE FROM ${nodes} WHERE seen_at < clock_timestamp() - interval '1 day')
          SELECT count(*)::int AS count FROM ${nodes} WHERE ${live} AND node <> $1`,
        [node, JSON.stringify(state)],
      );
      return row!.count + 1; // One row always.
    },
    async leave(node) {
      await database.query(`DELETE FROM ${nodes} WHERE node = $1`, [node]);
    },
    async list() {
      type Row = Omit<NodeEntry, keyof NodeState> & { readonly state: string };
      const rows = await database.query<Row>(
        `SELECT node, started_at::text, extract(epoch FROM clock_timestamp() - seen_at)::float AS silent_seconds, state,
            array(SELECT job_id FROM ${jobs} AS j WHERE j.status = 'running' AND j.node = n.node ORDER BY 1) AS jobs
          FROM ${nodes} AS n ORDER BY node`,
        [],
      );
      // As `beat` wrote it; earlier versions said less.
      return rows.map(({ state, ...row }) => ({ ...row, protocol: 1, lacks: [], ...(JSON.parse(state) as SaidState) }));
    },
    async lanes() {
      type Row = {
        readonly waiting: number;
        readonly running: number;
        readonly oldest: number | null;
        readonly places: number;
      };
      const [heavy, light] = await Promise.all(
        ['heavy', 'light'].map(async (lane) => {
          const [row] = await database.query<Row>(
            `SELECT
                (SELECT count(*) FROM ${jobs} WHERE status = 'pending' AND lane = $1)::int AS waiting,
                (SELECT count(*) FROM ${jobs} WHERE status = 'running' AND lane = $1)::int AS running,
                (SELECT extract(epoch FROM clock_timestamp() - min(queued_at)) FROM ${jobs}
                  WHERE status = 'pending' AND lane = $1)::float AS oldest,
                (SELECT coalesce(sum((state::jsonb -> 'places' ->> $1)::int), 0) FROM ${nodes} WHERE ${live})::int AS places`,
            [lane],
          );
          const { oldest, ...counts } = row!; // One row always.
          return { ...counts, oldestSeconds: oldest };
        }),
      );
      return { heavy: heavy!, light: light! };
    },
  };
}
