import type { QueryResultRow } from 'pg';

/** What a database takes, and what its documents name in the place of results. */
export interface SharedSizes {
  /** With its indexes, and what PostgreSQL has not made free yet. */
  readonly databaseBytes: number;
  /** Results that documents name, each once. */
  readonly results: number;
  readonly resultBytes: number;
}

type Query = (text: string) => Promise<readonly QueryResultRow[]>;

/** Canonical JSON has the members of a reference in this order; one may have another one within it. */
const NAME = '"name":"([0-9a-f]{32}\\.art)"';
const REFERENCES = [`"bytes":(\\d{1,15}),${NAME}`, `"bytes":(\\d{1,15}),"inset":\\{[^{}]*\\},${NAME}`];

/** @param schema as a quoted identifier. @cost reads every document that names a result: seconds of a large database */
export async function sharedSizes(query: Query, schema: string): Promise<SharedSizes> {
  const named = `${schema}.documents WHERE artifacts <> '{}'`;
  const found = REFERENCES.map(
    (reference) =>
      `SELECT m[2] AS name, m[1]::bigint AS bytes FROM named, regexp_matches(body, '${reference}', 'g') AS m`,
  );
  const [row] = await query(
    `WITH named AS (SELECT artifacts, body FROM ${named}), found AS (${found.join(' UNION ')})
    SELECT pg_database_size(current_database()) AS database_bytes,
      (SELECT count(DISTINCT name) FROM named, unnest(artifacts) AS name) AS results,
      (SELECT coalesce(sum(bytes), 0) FROM found) AS result_bytes`,
  );
  const numberOf = (name: string): number => Number(row?.[name]); // As text: it may be beyond 32 bits.
  return {
    databaseBytes: numberOf('database_bytes'),
    results: numberOf('results'),
    resultBytes: numberOf('result_bytes'),
  };
}

/** Sizes change slowly, and cost the database a look at every document that names a result. */
const AGE_MS = 600_000;

/** @returns what tells the sizes as they were found last, at most ten minutes ago while somebody asks; nobody waits */
export function watchSharedSizes(
  look: () => Promise<SharedSizes>,
  monotonicMs: () => number = () => performance.now(),
): () => SharedSizes | undefined {
  let lookedAt = -Infinity;
  let last: SharedSizes | undefined;
  return () => {
    if (monotonicMs() - lookedAt > AGE_MS) {
      lookedAt = monotonicMs();
      look().then(
        (found) => (last = found),
        () => (last = undefined), // A figure that cannot be had is left out.
      );
    }
    return last;
  };
}
