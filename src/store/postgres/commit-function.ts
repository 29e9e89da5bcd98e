/**
 * Returns a SQL function with the statements of a commit, like `commit_1`: a connection plans each statement once and
 * runs it only if it has work. Documents are found one by one, because the server reads the whole table for a join
 * until it has statistics. All writes of a commit have one version, which the function returns; 0 if it writes no
 * document, null if a document or listing that it read has changed.
 */
export const formatCommitFunction = (schema: string, stripes: number): string => `
  CREATE FUNCTION ${schema}.commit_2(
    commit_token uuid, commit_node uuid, commit_at timestamptz,
    read_kinds text[], read_ids text[], read_versions bigint[],
    listed_kinds text[], listed_digests text[],
    put_kinds text[], put_ids text[], put_schemas smallint[], put_bodies text[], put_artifacts text[],
    deleted_kinds text[], deleted_ids text[],
    commit_events text[], job_rows jsonb,
    OUT written_version bigint, OUT unreferenced text[]
  ) LANGUAGE plpgsql AS $$
  DECLARE
    written_kinds text[] := put_kinds || deleted_kinds;
    written_ids text[] := put_ids || deleted_ids;
    named text[];
  BEGIN
    ${formatLocks(schema, stripes)}
    /* Each statement from here on sees every commit that held one of the locks before. */
    IF EXISTS (
      SELECT FROM unnest(read_kinds, read_ids, read_versions) AS r(kind, id, version) WHERE r.version <>
        coalesce((SELECT d.version FROM ${schema}.documents AS d WHERE d.kind = r.kind AND d.id = r.id), 0)
    ) THEN RETURN; END IF;
    IF cardinality(listed_kinds) > 0 AND EXISTS (
      SELECT FROM unnest(listed_kinds, listed_digests) AS l(kind, digest) WHERE digest <> (
        SELECT encode(sha256(convert_to(coalesce(string_agg(octet_length(id) || ':' || id, '' ORDER BY id), ''), 'UTF8')), 'hex')
          FROM ${schema}.documents AS d WHERE d.kind = l.kind
      )
    ) THEN RETURN; END IF;
    written_version := 0;
    ${formatPuts(schema)}
    IF cardinality(deleted_kinds) > 0 THEN
      DELETE FROM ${schema}.documents AS d USING unnest(deleted_kinds, deleted_ids) AS gone(kind, id)
        WHERE d.kind = gone.kind AND d.id = gone.id;
      IF 'job' = ANY(deleted_kinds) THEN
        DELETE FROM ${schema}.jobs WHERE job_id IN (
          SELECT id FROM unnest(deleted_kinds, deleted_ids) AS gone(kind, id) WHERE kind = 'job'
        );
      END IF;
    END IF;
    IF job_rows IS NOT NULL THEN
      ${formatJobs(schema)}
    END IF;
    IF cardinality(commit_events) > 0 THEN
      INSERT INTO ${schema}.events (node, event)
        SELECT commit_node, event FROM unnest(commit_events) WITH ORDINALITY AS e(event, place) ORDER BY place;
    END IF;
    IF named IS NOT NULL THEN
      SELECT array_agg(name) INTO unreferenced FROM unnest(named) AS n(name)
        WHERE NOT EXISTS (SELECT FROM ${schema}.documents AS d WHERE d.artifacts @> ARRAY[name] AND d.artifacts <> '{}');
    END IF;
  END $$;
`;

/**
 * Returns statements that lock like `lock_1`, in numeric order, so that commits of both functions wait for each other.
 */
const formatLocks = (schema: string, stripes: number): string => `
    PERFORM CASE WHEN is_alone THEN pg_advisory_xact_lock(hashtext('${schema}'), number)
        ELSE pg_advisory_xact_lock_shared(hashtext('${schema}'), number) END
      FROM (
        SELECT number, bool_or(is_alone) AS is_alone FROM (
          SELECT hashtext(kind || '/' || id) & ${stripes - 1} AS number, is_alone FROM (
            SELECT kind, id, false AS is_alone FROM unnest(read_kinds, read_ids) AS r(kind, id)
            UNION ALL SELECT kind, id, true FROM unnest(written_kinds, written_ids) AS w(kind, id)
          ) AS keys
          UNION ALL SELECT ${stripes} + (hashtext(kind) & ${stripes - 1}), false FROM unnest(written_kinds) AS w(kind)
          UNION ALL SELECT ${stripes} + (hashtext(kind) & ${stripes - 1}), true FROM unnest(listed_kinds) AS l(kind)
        ) AS keys GROUP BY number ORDER BY number
      ) AS locks;
`;

/** Returns statements that write the documents, and read their previous references. */
const formatPuts = (schema: string): string => `
    INSERT INTO ${schema}.changes (kind, token)
      SELECT DISTINCT kind, commit_token FROM unnest(written_kinds) AS k(kind)
      UNION ALL SELECT '', commit_token WHERE cardinality(commit_events) > 0;
    IF cardinality(written_kinds) > 0 THEN
      SELECT array_agg(DISTINCT name) INTO named FROM (
        SELECT unnest((SELECT d.artifacts FROM ${schema}.documents AS d WHERE d.kind = w.kind AND d.id = w.id)) AS name
          FROM unnest(written_kinds, written_ids) AS w(kind, id)
      ) AS earlier;
    END IF;
    IF cardinality(put_kinds) > 0 THEN
      written_version := nextval('${schema}.versions');
      INSERT INTO ${schema}.documents AS d (kind, id, version, schema, etag, updated_at, body, artifacts)
        SELECT kind, id, written_version, body_schema, sha256(convert_to(new_body, 'UTF8')), commit_at, new_body,
            CASE WHEN names = '' THEN '{}' ELSE string_to_array(names, ' ') END
          FROM unnest(put_kinds, put_ids, put_schemas, put_bodies, put_artifacts)
            AS p(kind, id, body_schema, new_body, names)
        ON CONFLICT (kind, id) DO UPDATE SET version = excluded.version, schema = excluded.schema,
          etag = excluded.etag, updated_at = excluded.updated_at, body = excluded.body, artifacts = excluded.artifacts;
    END IF;
`;

/**
 * Returns statements that write jobs like `put_jobs_1`; a turn is assigned when a job starts to wait, and not again.
 */
const formatJobs = (schema: string): string => `
      INSERT INTO ${schema}.jobs AS j (job_id, kind, lane, owner, status, sequence, attempt, estimated_bytes, turn,
          node, lease_until, revision)
        SELECT r.job_id, r.kind, r.lane, r.owner, r.status, r.sequence, r.attempt, r.estimated_bytes,
            CASE WHEN r.status <> 'pending' THEN 0 ELSE greatest(
              (SELECT max(turn) + 1 FROM ${schema}.jobs AS own
                WHERE own.owner = r.owner AND own.lane = r.lane AND own.status = 'pending'),
              (SELECT min(turn) FROM ${schema}.jobs AS every WHERE every.lane = r.lane AND every.status = 'pending'),
              0
            ) END,
            r.node, clock_timestamp() + r.lease_ms * interval '1 ms', nextval('${schema}.job_revision')
          FROM jsonb_to_recordset(job_rows) AS r(job_id text, kind text, lane text, owner text, status text,
            sequence bigint, attempt int, estimated_bytes bigint, node text, lease_ms double precision)
        ON CONFLICT (job_id) DO UPDATE SET kind = excluded.kind, lane = excluded.lane, owner = excluded.owner,
          status = excluded.status, sequence = excluded.sequence, attempt = excluded.attempt,
          estimated_bytes = excluded.estimated_bytes,
          turn = CASE WHEN j.sequence = excluded.sequence THEN j.turn ELSE excluded.turn END,
          reserved_until = NULL, node = excluded.node, lease_until = excluded.lease_until, beat_at = NULL,
          progress = 0, message = NULL, revision = excluded.revision;
`;
