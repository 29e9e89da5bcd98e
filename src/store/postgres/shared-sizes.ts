import type { QueryResultRow } from 'pg';

/** Size of a database, and of the results that its documents refer to. */
export interface SharedSizes {
  /** Size including indexes and space that PostgreSQL has not freed yet. */
  readonly databaseBytes: number;
  /** Number of results that documents refer to, each counted once. */
  readonly results: number;
  readonly resultBytes: number;
}

type Query = (text: string) => Promise<readonly QueryResultRow[]>;

/** Patterns of an artifact reference in canonical JSON. A reference may contain another one. */
const NAME_PATTERN = '"name":"([0-9a-f]{32}\\.art)"';
const REFERENCE_PATTERNS = [
  `"bytes":(\\d{1,15}),${NAME_PATTERN}`,
  `"bytes":(\\d{1,15}),"inset":\\{[^{}]*\\},${NAME_PATTERN}`,
];

/**
 * Measures the sizes.
 * @param schema quoted identifier
 * @cost reads every document that refers to a result: seconds for a large database
 */
export async function measureSharedSizes(query: Query, schema: string): Promise<SharedSizes> {
  const artifactDocuments = `${schema}.documents WHERE artifacts <> '{}'`;
  const results = REFERENCE_PATTERNS.map(
    (reference) =>
      `SELECT m[2] AS name, m[1]::bigint AS bytes FROM named, regexp_matches(body, '${reference}', 'g') AS m`,
  );
  const [row] = await query(
    `WITH named AS (SELECT artifacts, body FROM ${artifactDocuments}), found AS (${results.join(' UNION ')})
    SELECT pg_database_size(current_database()) AS database_bytes,
      (SELECT count(DISTINCT name) FROM named, unnest(artifacts) AS name) AS results,
      (SELECT coalesce(sum(bytes), 0) FROM found) AS result_bytes`,
  );
  const getNumber = (name: string): number => Number(row?.[name]); // as text, because the number may exceed 32 bits
  return {
    databaseBytes: getNumber('database_bytes'),
    results: getNumber('results'),
    resultBytes: getNumber('result_bytes'),
  };
}

/** Maximum age of the sizes. They change slowly, and measuring reads every document that refers to a result. */
const AGE_MS = 600_000;

/**
 * Watches the sizes. @returns a function that returns the last known sizes without waiting. They are at most ten
 * minutes old if it is called regularly
 */
export function watchSharedSizes(
  look: () => Promise<SharedSizes>,
  monotonicMs: () => number = () => performance.now(),
): () => SharedSizes | undefined {
  let measuredAt = -Infinity;
  let last: SharedSizes | undefined;
  return () => {
    if (monotonicMs() - measuredAt > AGE_MS) {
      measuredAt = monotonicMs();
      look().then(
        (sharedSizes) => (last = sharedSizes),
        () => (last = undefined), // an unavailable figure is omitted
      );
    }
    return last;
  };
}
