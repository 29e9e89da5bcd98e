import { hash } from 'node:crypto';
import type { ClientBase, QueryResult } from 'pg';

/**
 * Returns a SQL expression for a seal.
 * @param key columns of the kind and the id
 * @param etag hash of the body
 */
const formatSeal = ({ kind, id, etag }: { kind: string; id: string; etag: string }): string =>
  `sha256(convert_to(${kind} || '/' || ${id}, 'UTF8') || ${etag})`;

const PARAMETERS = `
    commit_token uuid, commit_node uuid, commit_at timestamptz,
    read_kinds text[], read_ids text[], read_versions bigint[],
    listed_kinds text[], listed_digests text[],
    put_kinds text[], put_ids text[], put_schemas smallint[], put_bodies text[], put_artifacts text[],
    deleted_kinds text[], deleted_ids text[],
    commit_events text[], job_rows jsonb`;

/**
 * Returns the SQL function with the statements of a commit. It runs as few statements as necessary, because starting a
 * statement costs more than its effect on a row. All writes of a commit have one version, which the function returns,
 * followed by the names of orphaned artifacts; 0 if it writes no document, null if a document or listing that it read
 * has changed.
 */
export const formatSealedCommit = (schema: string, stripes: number): string => `
  CREATE FUNCTION ${schema}.commit_3(${PARAMETERS},
    /* Two writes at most, no listing, and one read at most, which is of the first write. */
    is_narrow boolean
  ) RETURNS text LANGUAGE plpgsql AS $$
  DECLARE
    written_kinds text[] := put_kinds || deleted_kinds;
    written_ids text[] := put_ids || deleted_ids;
    counted_kinds text[] := '{}';
    written_version bigint := 0;
    found_version bigint;
    earlier text[];
    named text[] := '{}';
    new_etag bytea;
    job ${schema}.jobs;
  BEGIN
    IF is_narrow THEN
      ${formatNarrowLocks(schema, stripes)}
    ELSE
      ${formatLocks(schema, stripes)}
    END IF;
    /* Each statement from here on sees every commit that held one of the locks before. */
    FOR i IN 1 .. cardinality(read_ids) LOOP
      SELECT version, artifacts INTO found_version, earlier FROM ${schema}.documents
        WHERE kind = read_kinds[i] AND id = read_ids[i];
      IF coalesce(found_version, 0) <> read_versions[i] THEN RETURN NULL; END IF;
    END LOOP;
    IF NOT is_narrow AND cardinality(listed_kinds) > 0 AND EXISTS (
      SELECT FROM unnest(listed_kinds, listed_digests) AS l(kind, digest) WHERE digest <> (
        SELECT encode(sha256(convert_to(coalesce(string_agg(octet_length(id) || ':' || id, '' ORDER BY id), ''), 'UTF8')), 'hex')
          FROM ${schema}.documents AS d WHERE d.kind = l.kind
      )
    ) THEN RETURN NULL; END IF;
    ${formatPuts(schema)}
    ${formatDeletions(schema)}
    ${formatChanges(schema)}
    IF job_rows IS NOT NULL THEN
      FOR i IN 0 .. jsonb_array_length(job_rows) - 1 LOOP
        ${formatJobs(schema)}
      END LOOP;
    END IF;
    IF cardinality(commit_events) > 0 THEN
      INSERT INTO ${schema}.changes (kind, token) VALUES ('', commit_token);
      INSERT INTO ${schema}.events (node, event)
        SELECT commit_node, event FROM unnest(commit_events) WITH ORDINALITY AS e(event, place) ORDER BY place;
    END IF;
    IF cardinality(named) > 0 THEN
      RETURN concat_ws(' ', written_version, (
        SELECT string_agg(DISTINCT name, ' ') FROM unnest(named) AS n(name)
          WHERE NOT EXISTS (SELECT FROM ${schema}.documents AS d WHERE d.artifacts @> ARRAY[name] AND d.artifacts <> '{}')
      ));
    END IF;
    RETURN written_version;
  END $$;
`;

/**
 * Returns statements that lock in numeric order, so that no two commits deadlock: a writer of a document excludes other
 * writers and readers of the document, and a reader of a listing excludes writers of the kind.
 * Of two locks with one number the exclusive lock comes first, so that no commit waits for a lock that other commits
 * share.
 */
const formatLocks = (schema: string, stripes: number): string => `
      PERFORM CASE WHEN is_shared THEN pg_advisory_xact_lock_shared(hashtext('${schema}'), number)
          ELSE pg_advisory_xact_lock(hashtext('${schema}'), number) END
        FROM (
          SELECT hashtext(kind || '/' || id) & ${stripes - 1} AS number, false AS is_shared
            FROM unnest(written_kinds, written_ids) AS w(kind, id)
          UNION ALL SELECT hashtext(kind || '/' || id) & ${stripes - 1}, true FROM unnest(read_kinds, read_ids) AS r(kind, id)
          UNION ALL SELECT ${stripes} + (hashtext(kind) & ${stripes - 1}), false FROM unnest(listed_kinds) AS l(kind)
          UNION ALL SELECT ${stripes} + (hashtext(kind) & ${stripes - 1}), true FROM unnest(written_kinds) AS w(kind)
          ORDER BY number, is_shared
        ) AS locks;
`;

/** Returns statements that lock for at most two writes; `least` and `greatest` ignore nulls. */
function formatNarrowLocks(schema: string, stripes: number): string {
  const hashTwice = (template: string): string =>
    [1, 2].map((i) => `hashtext(${template.replaceAll('#', `[${i}]`)}) & ${stripes - 1}`).join(', ');
  const keys = hashTwice(`written_kinds# || '/' || written_ids#`);
  const kinds = hashTwice('written_kinds#');
  return `
      PERFORM pg_advisory_xact_lock(hashtext('${schema}'), least(${keys})),
        pg_advisory_xact_lock(hashtext('${schema}'), greatest(${keys})),
        pg_advisory_xact_lock_shared(hashtext('${schema}'), ${stripes} + least(${kinds})),
        pg_advisory_xact_lock_shared(hashtext('${schema}'), ${stripes} + greatest(${kinds}));
`;
}

/** Returns statements that write the documents, under locks that exclude other writers. */
const formatPuts = (schema: string): string => `
    FOR i IN 1 .. cardinality(put_ids) LOOP
      IF i = 1 THEN written_version := nextval('${schema}.versions'); END IF;
      /* The one that was read is known. */
      IF i > 1 OR NOT is_narrow OR cardinality(read_ids) = 0 THEN
        SELECT version, artifacts INTO found_version, earlier FROM ${schema}.documents
          WHERE kind = put_kinds[i] AND id = put_ids[i];
      END IF;
      new_etag := sha256(convert_to(put_bodies[i], 'UTF8'));
      IF found_version IS NULL THEN
        INSERT INTO ${schema}.documents (kind, id, version, schema, etag, seal, updated_at, body, artifacts)
          VALUES (put_kinds[i], put_ids[i], written_version, put_schemas[i], new_etag,
            ${formatSeal({ kind: 'put_kinds[i]', id: 'put_ids[i]', etag: 'new_etag' })}, commit_at, put_bodies[i],
            string_to_array(put_artifacts[i], ' '));
      ELSE
        named := named || earlier;
        UPDATE ${schema}.documents SET version = written_version, schema = put_schemas[i], etag = new_etag,
            seal = ${formatSeal({ kind: 'kind', id: 'id', etag: 'new_etag' })}, updated_at = commit_at, body = put_bodies[i],
            artifacts = string_to_array(put_artifacts[i], ' ')
          WHERE kind = put_kinds[i] AND id = put_ids[i];
      END IF;
    END LOOP;
`;

const formatDeletions = (schema: string): string => `
    FOR i IN 1 .. cardinality(deleted_ids) LOOP
      DELETE FROM ${schema}.documents WHERE kind = deleted_kinds[i] AND id = deleted_ids[i] RETURNING artifacts INTO earlier;
      IF FOUND THEN named := named || earlier; END IF;
      IF deleted_kinds[i] = 'job' THEN
        DELETE FROM ${schema}.jobs WHERE job_id = deleted_ids[i];
      END IF;
    END LOOP;
`;

/**
 * Returns statements that count the changes of each kind once. Changes of job inputs are not counted together with
 * jobs, because their count is never read.
 */
const formatChanges = (schema: string): string => `
    FOR i IN 1 .. cardinality(written_kinds) LOOP
      IF written_kinds[i] <> ALL(counted_kinds) AND (written_kinds[i] <> 'job-input' OR 'job' <> ALL(written_kinds)) THEN
        counted_kinds := counted_kinds || written_kinds[i];
        INSERT INTO ${schema}.changes (kind, token) VALUES (written_kinds[i], commit_token);
      END IF;
    END LOOP;
`;

/**
 * Returns statements that write the row of a job, which waits from its submission. Its turn is assigned when it starts
 * to wait, and not again: after the other jobs of its owner, at the current turn of the queue or later. The row keeps
 * its kind until the job is submitted again (the first attempt of another sequence): programs of earlier releases write
 * the kind that they know with every change, and could otherwise claim jobs that they do not support.
 */
const formatJobs = (schema: string): string => `
        job := jsonb_populate_record(NULL::${schema}.jobs, job_rows -> i);
        job.lease_until := clock_timestamp() + (job_rows -> i ->> 'lease_ms')::double precision * interval '1 ms';
        job.revision := nextval('${schema}.job_revision');
        job.turn := 0;
        IF job.status = 'pending' THEN
          job.turn := greatest(0, (
              SELECT turn + 1 FROM ${schema}.jobs AS own
                WHERE own.owner = job.owner AND own.lane = job.lane AND own.status = 'pending' ORDER BY turn DESC LIMIT 1
            ), (
              SELECT turn FROM ${schema}.jobs AS every WHERE every.lane = job.lane AND every.status = 'pending'
                ORDER BY turn LIMIT 1
            ));
        END IF;
        UPDATE ${schema}.jobs AS j SET
            kind = CASE WHEN j.sequence = job.sequence OR job.attempt > 1 THEN j.kind ELSE job.kind END, lane = job.lane, owner = job.owner, status = job.status,
            sequence = job.sequence, attempt = job.attempt, estimated_bytes = job.estimated_bytes,
            turn = CASE WHEN j.sequence = job.sequence THEN j.turn ELSE job.turn END,
            queued_at = CASE WHEN j.sequence = job.sequence THEN j.queued_at ELSE now() END,
            reserved_until = NULL, node = job.node, lease_until = job.lease_until, beat_at = NULL, progress = 0,
            message = NULL, revision = job.revision
          WHERE j.job_id = job.job_id;
        IF NOT FOUND THEN
          INSERT INTO ${schema}.jobs (job_id, kind, lane, owner, status, sequence, attempt, estimated_bytes, turn, node,
              lease_until, revision)
            VALUES (job.job_id, job.kind, job.lane, job.owner, job.status, job.sequence, job.attempt,
              job.estimated_bytes, job.turn, job.node, job.lease_until, job.revision);
        END IF;
`;

interface Key {
  readonly kind: string;
  readonly id: string;
}

const BATCH_ROWS = 1000;

/**
 * Seals the documents of earlier releases in batches, while services keep running. If a commit writes a document
 * meanwhile, it seals the document itself.
 * @param schema quoted identifier
 */
export async function sealDocuments(client: ClientBase, schema: string): Promise<void> {
  let last: Key | undefined = { kind: '', id: '' };
  while (last !== undefined) {
    const { rows }: QueryResult<Key> = await client.query<Key>(
      `WITH unsealed AS (
          SELECT kind, id FROM ${schema}.documents WHERE (kind, id) > ($1, $2) AND seal IS NULL
            ORDER BY kind, id LIMIT ${BATCH_ROWS} FOR UPDATE SKIP LOCKED
        ), sealed AS (
          UPDATE ${schema}.documents AS d SET seal = ${formatSeal({ kind: 'd.kind', id: 'd.id', etag: 'd.etag' })}
            FROM unsealed AS u WHERE d.kind = u.kind AND d.id = u.id
        ) SELECT kind, id FROM unsealed ORDER BY kind DESC, id DESC LIMIT 1`,
      [last.kind, last.id],
    );
    last = rows[0];
  }
}

/** Returns the seal of a document, computed like `formatSeal`. */
export function sealOfDocument(kind: string, id: string, etag: Uint8Array): string {
  return hash('sha256', Buffer.concat([Buffer.from(`${kind}/${id}`), etag]), 'hex');
}
