import { Buffer } from 'node:buffer';
import { KINDS_IN_PARTS } from '#domain/outputs/jobs.js';
import { sealOfDocument } from './seals.js';
import { ABSENT_ETAG, type CommitOrder, type JobRow } from './transaction.js';

/** Parameters of every SQL function that writes a job, with their types. */
const WRITTEN_COLUMNS = [
  ['commit_token', 'uuid'],
  ['commit_at', 'timestamptz'],
  ['of_job', 'text'],
  ['body_schema', 'smallint'],
  ['new_body', 'text'],
  ['new_etag', 'bytea'],
  ['new_seal', 'bytea'],
  ['named', 'text'],
] as const;

/** Parameters of `add_job_1`, with their types. */
export const ADDED_COLUMNS = [
  ...WRITTEN_COLUMNS,
  ['input_body', 'text'],
  ['input_etag', 'bytea'],
  ['input_seal', 'bytea'],
  ['input_named', 'text'],
  ['job_kind', 'text'],
  ['job_lane', 'text'],
  ['job_owner', 'text'],
  ['job_sequence', 'bigint'],
  ['job_bytes', 'bigint'],
] as const;

const formatDeclarations = (columns: readonly (readonly [string, string])[]): string =>
  columns.map((column) => column.join(' ')).join(', ');
const WRITTEN_DECLARATIONS = formatDeclarations(WRITTEN_COLUMNS);

/**
 * Returns SQL functions for commits that write only one job with its row and its input. Most commits are of this kind.
 * One statement locks, compares and writes. It returns the version of the write. If the job has changed since it was
 * read, it returns null, and `commit_3` decides. `move_job_2` returns a job to the queue with a delay.
 */
export const formatJobCommits = (schema: string, stripes: number): string => `
  CREATE FUNCTION ${schema}.add_job_1(${formatDeclarations(ADDED_COLUMNS)}) RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE
    written bigint;
  BEGIN
    WITH document AS (
      INSERT INTO ${schema}.documents (kind, id, version, schema, etag, seal, updated_at, body, artifacts)
        SELECT 'job', of_job, nextval('${schema}.versions'), body_schema, new_etag, new_seal, commit_at, new_body,
            string_to_array(named, ' ')
          WHERE ${formatLock(schema, stripes)}
        ON CONFLICT DO NOTHING RETURNING version
    ), input AS (
      INSERT INTO ${schema}.documents (kind, id, version, schema, etag, seal, updated_at, body, artifacts)
        SELECT 'job-input', of_job, version, body_schema, input_etag, input_seal, commit_at, input_body,
            string_to_array(input_named, ' ')
          FROM document
    ), job AS (
      INSERT INTO ${schema}.jobs (job_id, kind, lane, owner, status, sequence, attempt, estimated_bytes, turn, revision)
        SELECT of_job, job_kind, job_lane, job_owner, 'pending', job_sequence, 1, job_bytes,
            greatest(0, (
              SELECT turn + 1 FROM ${schema}.jobs AS own
                WHERE own.owner = job_owner AND own.lane = job_lane AND own.status = 'pending' ORDER BY turn DESC LIMIT 1
            ), (
              SELECT turn FROM ${schema}.jobs AS every WHERE every.lane = job_lane AND every.status = 'pending'
                ORDER BY turn LIMIT 1
            )), nextval('${schema}.job_revision')
          FROM document
    ), change AS (
      INSERT INTO ${schema}.changes (kind, token) SELECT 'job', commit_token FROM document
    ) SELECT version INTO written FROM document;
    RETURN written;
  END $$;

${formatMoveFunction(schema, stripes, { name: 'move_job_1', terms: '', reservedUntil: 'NULL' })}
${formatMoveFunction(schema, stripes, {
  name: 'move_job_2',
  terms: ', delay_ms double precision',
  reservedUntil: "clock_timestamp() + delay_ms * interval '1 ms'",
})}
`;

interface MoveFunction {
  readonly name: string;
  /** Parameters of a function in addition to those of every move of a job. */
  readonly terms: string;
  readonly reservedUntil: string;
}

const formatMoveFunction = (schema: string, stripes: number, { name, terms, reservedUntil }: MoveFunction): string => `
  CREATE FUNCTION ${schema}.${name}(${WRITTEN_DECLARATIONS},
    read_version bigint, is_over boolean, job_status text, job_attempt int${terms}
  ) RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE
    written bigint;
  BEGIN
    WITH document AS (
      UPDATE ${schema}.documents SET version = nextval('${schema}.versions'), schema = body_schema, etag = new_etag,
          seal = new_seal, updated_at = commit_at, body = new_body, artifacts = string_to_array(named, ' ')
        WHERE kind = 'job' AND id = of_job AND version = read_version AND artifacts = '{}' AND ${formatLock(schema, stripes)}
        RETURNING version
    ), job AS (
      UPDATE ${schema}.jobs SET status = job_status, attempt = job_attempt, reserved_until = ${reservedUntil}, node = NULL,
          lease_until = NULL, started_at = NULL, claim = NULL, beat_at = NULL, progress = 0, message = NULL,
          revision = nextval('${schema}.job_revision')
        FROM document WHERE job_id = of_job
    ), input AS (
      DELETE FROM ${schema}.documents AS d USING document WHERE is_over AND d.kind = 'job-input' AND d.id = of_job
    ), change AS (
      INSERT INTO ${schema}.changes (kind, token) SELECT 'job', commit_token FROM document
    ) SELECT version INTO written FROM document;
    RETURN written;
  END $$;
`;

/**
 * Returns a SQL expression that locks the job. Other functions use the same lock, which also covers the input of the
 * job.
 */
const formatLock = (schema: string, stripes: number): string =>
  `(SELECT pg_advisory_xact_lock(hashtext('${schema}'), ${formatJobNumber('of_job', stripes)})) IS NOT NULL`;

/** Returns a SQL expression for the lock number of a job. */
export const formatJobNumber = (id: string, stripes: number): string => `hashtext('job/' || ${id}) & ${stripes - 1}`;

interface JobStatement {
  readonly call: string;
  readonly values: readonly unknown[];
}

/**
 * Returns the statement that writes the whole commit if it concerns only one job. Such a commit is a new job with its
 * input, or a change of status.
 */
export function createJobStatement(
  { draft, events, jobs, time }: CommitOrder,
  token: string,
): JobStatement | undefined {
  const [row, ...otherJobRows] = jobs;
  if (row === undefined || otherJobRows.length > 0 || events.length > 0 || !draft.isNarrow || row.node !== null)
    return undefined;
  const [readKinds, readIds, versions] = draft.readColumns() as readonly string[][];
  const [kinds, ids, schemas, bodies, named, goneKinds, goneIds] = draft.writeColumns() as readonly string[][];
  const id = row.job_id;
  const concernsJob = [...readIds!, ...ids!, ...goneIds!].every((each) => each === id) && readKinds![0] === 'job';
  const kindsText = [...kinds!, '-', ...goneKinds!].join(' ');
  const listSealedValues = (i: number): readonly unknown[] => {
    const etag = draft.getWrite(kinds![i] as 'job', id)!.etag; // the document is written, not deleted
    const bytes = Buffer.from(etag, 'hex');
    return [bodies![i], bytes, Buffer.from(sealOfDocument(kinds![i]!, id, bytes), 'hex'), named![i]];
  };
  const version = versions![0];
  const listCommonValues = (): readonly unknown[] => [token, new Date(time), id, schemas![0], ...listSealedValues(0)];
  if (!concernsJob) return undefined;
  if (kindsText === 'job job-input -' && version === ABSENT_ETAG && row.status === 'pending' && row.attempt === 1)
    return {
      call: 'add_job_1',
      values: [
        ...listCommonValues(),
        ...listSealedValues(1),
        row.kind,
        row.lane,
        row.owner,
        row.sequence,
        row.estimated_bytes,
      ],
    };
  // If a job in parts loses its input, artifacts may become unreferenced. Only `commit_3` reports these.
  const dropsArtifacts = goneIds!.length > 0 && KINDS_IN_PARTS.has(id.slice(0, id.indexOf(':')));
  if ((kindsText === 'job -' || kindsText === 'job - job-input') && version !== ABSENT_ETAG && !dropsArtifacts)
    return createMoveStatement(row, [...listCommonValues(), version, goneIds!.length > 0]);
  return undefined;
}

function createMoveStatement({ status, attempt, delay_ms: delayMs }: JobRow, values: readonly unknown[]): JobStatement {
  const moveValues = [...values, status, attempt];
  return delayMs === undefined
    ? { call: 'move_job_1', values: moveValues }
    : { call: 'move_job_2', values: [...moveValues, delayMs] };
}
