import type { Database } from './database.js';
import { ADDED_COLUMNS, formatJobNumber } from './job-commit.js';
import { STRIPES } from './schema.js';

/** Writer of new jobs. */
export interface JobAdditions {
  /**
   * Writes a job with its row and its input. Jobs that are added at the same time share one commit.
   * @param values of `ADDED_COLUMNS`, in order
   * @returns the version of the write; null if the job has changed since it was read
   * @throws as `Database.query`, for all jobs of the commit: none was written
   */
  add(values: readonly unknown[]): Promise<string | null>;
}

interface Addition {
  readonly values: readonly unknown[];
  resolve(written: string | null): void;
  reject(reason: unknown): void;
}

interface AddedRow {
  readonly written: string | null;
}

/**
 * Maximum length of the text of a job that shares a statement with other jobs. The parameters of a statement have a
 * maximum size.
 */
const SHARED_LENGTH_MAX = 1_000_000;

const isLarge = (values: readonly unknown[]): boolean =>
  values.some((value) => typeof value === 'string' && value.length > SHARED_LENGTH_MAX);

/** Creates the writer. @param schema quoted identifier */
export function createJobAdditions(database: Pick<Database, 'query'>, schema: string): JobAdditions {
  const columns = ADDED_COLUMNS.map(([name]) => name).join(', ');
  const parameterList = ADDED_COLUMNS.map((_, i) => `$${i + 1}`).join(', ');
  const arrayParameters = ADDED_COLUMNS.map(([, type], i) => `$${i + 1}::${type}[]`).join(', ');
  const idsParameter = `$${ADDED_COLUMNS.findIndex(([name]) => name === 'of_job') + 1}::text[]`;
  const insertOne = `SELECT ${schema}.add_job_1(${parameterList}) AS written`;
  // Acquires all locks first, in numeric order like every commit, so that no two commits wait for each other forever.
  const insertSeveral = `WITH locked AS MATERIALIZED (
      SELECT count(pg_advisory_xact_lock(hashtext('${schema}'), number)) FROM (
        SELECT DISTINCT ${formatJobNumber('id', STRIPES)} AS number FROM unnest(${idsParameter}) AS added(id) ORDER BY number
      ) AS numbers
    ) SELECT ${schema}.add_job_1(${columns}) AS written FROM locked, unnest(${arrayParameters}) AS added(${columns})`;
  let waitingAdditions: Addition[] = [];

  function writeWaiting(): void {
    const jointAdditions = waitingAdditions.filter(({ values }) => !isLarge(values));
    const singleBatches = waitingAdditions.filter(({ values }) => isLarge(values)).map((addition) => [addition]);
    waitingAdditions = [];
    for (const additions of [jointAdditions, ...singleBatches]) if (additions.length > 0) void write(additions);
  }

  async function write(additions: readonly Addition[]): Promise<void> {
    const [first, ...otherAdditions] = additions;
    try {
      const rows = await (otherAdditions.length === 0
        ? database.query<AddedRow>(insertOne, first!.values)
        : database.query<AddedRow>(
            insertSeveral,
            ADDED_COLUMNS.map((_, i) => additions.map(({ values }) => values[i])),
          ));
      for (const [i, { resolve }] of additions.entries()) resolve(rows[i]!.written); // the statement returns one row per job
    } catch (thrown) {
      for (const { reject } of additions) reject(thrown);
    }
  }

  return {
    add: (values) =>
      new Promise((resolve, reject) => {
        if (waitingAdditions.push({ values, resolve, reject }) === 1) setImmediate(writeWaiting);
      }),
  };
}
