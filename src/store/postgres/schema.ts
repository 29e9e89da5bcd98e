import type { ClientBase } from 'pg';
import { formatJobCommits, writeDelayedMoves } from './job-commit.js';
import { formatSealedDocuments, writeSealedKinds } from './seals.js';

/**
 * Returns a SQL function with the statements of a commit, like `commit_1`: a connection plans each statement once and
 * runs it only if it has work. Documents are found one by one, because the server reads the whole table for a join
 * until it has statistics. All writes of a commit have one version, which the function returns; 0 if it writes no
 * document, null if a document or listing that it read has changed.
 */
const formatCommitFunction = (schema: string, stripes: number): string => `
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

/**
 * Returns a function that prepares a connection. A connection plans the statements of a function at their first use,
 * which takes longer than an empty job, and seconds when 300 connections start at once. Therefore each connection runs
 * and rolls back a commit and a queue query before it is used. A connection on which the preparation fails plans later.
 * @param schema quoted identifier
 */
export const createPreparation =
  (schema: string) =>
  async (client: ClientBase): Promise<void> => {
    await client.query(`SELECT ${schema}.prepare_1(), ${schema}.prepare_2()`).catch(() => {});
  };

/** Returns a SQL function for `createPreparation` that runs a job from its submission to its end, and a queue query. */
const formatPreparation = (schema: string): string => `
  CREATE FUNCTION ${schema}.prepare_1() RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    key text := 'prepare:' || gen_random_uuid();
    phase text;
    written text := '0';
    gone_kinds text[];
    gone_ids text[];
  BEGIN
    /* There is nothing to be written through. */
    PERFORM set_config('synchronous_commit', 'off', true);
    BEGIN
      FOREACH phase IN ARRAY ARRAY['pending', 'running', 'succeeded'] LOOP
        IF phase = 'succeeded' THEN
          gone_kinds := '{job-input}';
          gone_ids := ARRAY[key];
        END IF;
        written := ${schema}.commit_3(gen_random_uuid(), gen_random_uuid(), now(), '{job}', ARRAY[key],
          ARRAY[written::bigint], '{}', '{}', '{job}', ARRAY[key], '{1}', '{"{}"}', '{""}', coalesce(gone_kinds, '{}'),
          coalesce(gone_ids, '{}'), '{}', jsonb_build_array(jsonb_build_object('job_id', key, 'kind', 'prepare',
            'lane', 'prepare', 'owner', '', 'status', phase, 'sequence', 0, 'attempt', 0, 'estimated_bytes', 0)), true);
      END LOOP;
      PERFORM ${schema}.pulse_1(key, '{}', pg_current_xact_id(), gen_random_uuid(), true, false, '{}', '{prepare}', 0, 0, '');
      RAISE SQLSTATE 'DV001';
    EXCEPTION WHEN SQLSTATE 'DV001' THEN
      /* Nothing of it has happened. */
    END;
  END $$;
`;

/** Returns a SQL function for `createPreparation` that runs the statements that write only one job. */
const prepareJobsFunction = (schema: string): string => `
  CREATE FUNCTION ${schema}.prepare_2() RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    key text := 'prepare:' || gen_random_uuid();
    written bigint;
  BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    BEGIN
      written := ${schema}.add_job_1(gen_random_uuid(), now(), key, 1::smallint, '{}', '', '', '', '{}', '', '', '',
        'prepare', 'prepare', '', 0, 0);
      written := ${schema}.move_job_1(gen_random_uuid(), now(), key, 1::smallint, '{}', '', '', '', written, true,
        'succeeded', 1);
      RAISE SQLSTATE 'DV001';
    EXCEPTION WHEN SQLSTATE 'DV001' THEN
      /* Nothing of it has happened. */
    END;
  END $$;
`;

/**
 * Returns a SQL function that combines all periodic queries of a node in one statement: it reports that the node is
 * alive, reads the events of other nodes, and checks for work, for silent attempts and for the number of nodes. Queries
 * that are not requested are skipped.
 */
const formatPulseFunction = (schema: string): string => `
  CREATE FUNCTION ${schema}.pulse_1(
    /* What the node says of itself; null while it has nothing to say. */
    own_name text, own_state text,
    /* Oldest transaction whose events may be unheard, and the process whose own are left out; null: nothing is asked. */
    heard_from xid8, heard_by uuid,
    asks_silent boolean, asks_nodes boolean,
    /* Kinds of job that it knows, lanes with a free place, memory left and in all. */
    work_kinds text[], work_lanes text[], free_bytes bigint, all_bytes bigint,
    /* Of its program, where it computes parts of jobs of others. */
    parts_version text,
    OUT horizon text, OUT event_ids text[], OUT events text[], OUT silent jsonb, OUT live_nodes int,
    OUT has_jobs boolean, OUT has_parts boolean
  ) LANGUAGE plpgsql AS $$
  BEGIN
    IF own_state IS NOT NULL THEN
      /* What a crash of the server loses is said again. */
      PERFORM set_config('synchronous_commit', 'off', true);
      INSERT INTO ${schema}.nodes (node, seen_at, state) VALUES (own_name, clock_timestamp(), own_state)
        ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at, state = excluded.state;
    END IF;
    IF heard_from IS NOT NULL THEN
      SELECT pg_snapshot_xmin(pg_current_snapshot())::text, array_agg(e.id::text ORDER BY e.id), array_agg(e.event ORDER BY e.id)
        INTO horizon, event_ids, events FROM ${schema}.events AS e WHERE e.transaction >= heard_from AND e.node <> heard_by;
    END IF;
    IF asks_silent THEN
      SELECT jsonb_agg(jsonb_build_object('job_id', job_id, 'sequence', sequence, 'attempt', attempt, 'node', node))
        INTO silent FROM (
          SELECT * FROM ${schema}.jobs WHERE status = 'running' AND lease_until < clock_timestamp() ORDER BY sequence DESC LIMIT 50
        ) AS ran_out;
    END IF;
    IF asks_nodes THEN
      SELECT count(*) INTO live_nodes FROM ${schema}.nodes WHERE seen_at > clock_timestamp() - interval '10 s';
      /* One of all nodes tidies at a time, whichever that is. */
      IF random() * live_nodes < 1 THEN
        DELETE FROM ${schema}.nodes WHERE seen_at < clock_timestamp() - interval '1 day';
        PERFORM ${schema}.tidy_1();
      END IF;
    END IF;
    IF work_lanes IS NOT NULL THEN
      has_jobs := EXISTS (
        SELECT FROM ${schema}.jobs WHERE status = 'pending' AND lane = ANY(work_lanes) AND kind = ANY(work_kinds)
          AND coalesce(reserved_until < clock_timestamp(), true) AND estimated_bytes <=
            CASE WHEN queued_at < clock_timestamp() - interval '30 s' THEN all_bytes ELSE free_bytes END
      );
      IF parts_version IS NOT NULL THEN
        has_parts := EXISTS (
          SELECT FROM ${schema}.parts AS p JOIN ${schema}.jobs AS j USING (job_id, sequence, attempt)
            WHERE p.node IS NULL AND p.version = parts_version AND j.status = 'running' AND j.node <> own_name
              AND j.lease_until > clock_timestamp() AND j.lane = ANY(work_lanes) AND j.estimated_bytes <= free_bytes
        );
      END IF;
    END IF;
  END $$;
`;

/** Version of the schema of this program: the number of the last migration step below. */
export const PROTOCOL = 9;

/** Number of advisory locks for documents, and as many for kinds. The hash of a key selects its lock. */
export const STRIPES = 1024;

/**
 * Returns the statements that create the schema, step by step. A step is additive: programs that support only the
 * previous step keep working, or the step raises `least` and they are rejected. A released step never changes; changed
 * functions get a new name.
 * @param schema quoted identifier
 */
export function listSteps(schema: string): readonly string[] {
  const parts = [
    formatDocumentTables,
    formatJobTables,
    formatLockFunction,
    formatJobsFunction,
    formatFirstCommitFunction,
    formatTidyFunction,
  ];
  const step1 = parts.map((part) => part(schema)).join('');
  const step5 = [formatSealedDocuments(schema, STRIPES), formatPulseFunction(schema), formatPreparation(schema)].join(
    '',
  );
  const step6 = [formatStarts(schema), formatJobCommits(schema, STRIPES), prepareJobsFunction(schema)].join('');
  const step7 = writeDelayedMoves(schema, STRIPES);
  const step8 = writeSealedKinds(schema, STRIPES);
  const step4 = formatCommitFunction(schema, STRIPES);
  const step9 = formatIndexUpdate(schema);
  return [step1, formatNodeTables(schema), formatPartTable(schema), step4, step5, step6, step7, step8, step9];
}

/**
 * Returns the names of the tables, sequences and functions that the steps create; other objects in the schema belong to
 * the operator.
 */
export function listSchemaObjects(): readonly string[] {
  const createdNames = listSteps('own')
    .join('')
    .matchAll(/CREATE (?:UNLOGGED )?(?:TABLE|SEQUENCE|FUNCTION) own\.(\w+)/g);
  return [...createdNames].map(([, name]) => name!); // the pattern has one group
}

const formatDocumentTables = (schema: string): string => `
  CREATE TABLE ${schema}.documents (
    kind text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    /* Of a sequence: no two writes have the same. */
    version bigint NOT NULL,
    /* Of the body's kind, as in a home. */
    schema smallint NOT NULL,
    /* SHA-256 of the body. */
    etag bytea NOT NULL,
    updated_at timestamptz NOT NULL,
    /* Canonical JSON. */
    body text NOT NULL,
    /* Names of the artifacts in the body. */
    artifacts text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (kind, id)
  );
  CREATE INDEX documents_artifacts ON ${schema}.documents USING gin (artifacts) WHERE artifacts <> '{}';
  CREATE SEQUENCE ${schema}.versions;

  /* One row for each commit and kind, summed up later: concurrent commits meet in no row. */
  CREATE TABLE ${schema}.changes (
    kind text COLLATE "C" NOT NULL,
    /* Of the commit: says afterwards whether it came to pass. */
    token uuid NOT NULL,
    count bigint NOT NULL DEFAULT 1,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (kind, token)
  );

  /* Events of commits, for the other processes. */
  CREATE TABLE ${schema}.events (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    /* Ids do not come in the order of commits: readers go by what was under way. */
    transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
    node uuid NOT NULL,
    event text NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX events_transaction ON ${schema}.events (transaction);
`;

/**
 * Returns the statements for the job rows of the queue. The rows contain the order of waiting jobs, and the leases of
 * running jobs; the documents of the jobs contain all other data. Commits write a row with its document; heartbeats
 * change only the row.
 */
const formatJobTables = (schema: string): string => `
  CREATE SEQUENCE ${schema}.job_sequence;
  CREATE SEQUENCE ${schema}.job_revision;
  CREATE TABLE ${schema}.jobs (
    job_id text COLLATE "C" PRIMARY KEY,
    kind text NOT NULL,
    lane text NOT NULL,
    owner text NOT NULL,
    status text NOT NULL,
    /* Order of submission. */
    sequence bigint NOT NULL,
    attempt int NOT NULL,
    estimated_bytes bigint NOT NULL,
    /* Order of starts: owners take turns. */
    turn bigint NOT NULL,
    /* Until when a node that asked for it decides whether it takes it. */
    reserved_until timestamptz,
    /* Of the attempt that runs. */
    node text,
    lease_until timestamptz,
    beat_at timestamptz,
    progress double precision NOT NULL DEFAULT 0,
    message text,
    /* Of a sequence: grows with every change. */
    revision bigint NOT NULL
  ) WITH (fillfactor = 70);
  CREATE INDEX jobs_waiting ON ${schema}.jobs (lane, turn, sequence) WHERE status = 'pending';
  CREATE INDEX jobs_of_owner ON ${schema}.jobs (owner, lane, turn) WHERE status = 'pending';
  CREATE INDEX jobs_running ON ${schema}.jobs (job_id) WHERE status = 'running';
  CREATE INDEX jobs_of_kind ON ${schema}.jobs (kind, sequence);
  CREATE INDEX jobs_by_sequence ON ${schema}.jobs (sequence);
`;

/**
 * Returns the SQL function that writes jobs. A new job follows the other jobs of its owner, at the current turn of the
 * queue or later; a requeued job keeps its turn, and so comes first.
 */
const formatJobsFunction = (schema: string): string => `
  CREATE FUNCTION ${schema}.put_jobs_1(job_rows jsonb) RETURNS void LANGUAGE sql AS $$
    INSERT INTO ${schema}.jobs AS j (job_id, kind, lane, owner, status, sequence, attempt, estimated_bytes, turn,
        node, lease_until, revision)
      SELECT r.job_id, r.kind, r.lane, r.owner, r.status, r.sequence, r.attempt, r.estimated_bytes,
          greatest(
            (SELECT max(turn) + 1 FROM ${schema}.jobs AS own
              WHERE own.owner = r.owner AND own.lane = r.lane AND own.status = 'pending'),
            (SELECT min(turn) FROM ${schema}.jobs AS every WHERE every.lane = r.lane AND every.status = 'pending'),
            0
          ),
          r.node, clock_timestamp() + r.lease_ms * interval '1 ms', nextval('${schema}.job_revision')
        FROM jsonb_to_recordset(job_rows) AS r(job_id text, kind text, lane text, owner text, status text,
          sequence bigint, attempt int, estimated_bytes bigint, node text, lease_ms double precision)
      ON CONFLICT (job_id) DO UPDATE SET kind = excluded.kind, lane = excluded.lane, owner = excluded.owner,
        status = excluded.status, sequence = excluded.sequence, attempt = excluded.attempt,
        estimated_bytes = excluded.estimated_bytes,
        turn = CASE WHEN j.sequence = excluded.sequence THEN j.turn ELSE excluded.turn END,
        reserved_until = NULL, node = excluded.node, lease_until = excluded.lease_until, beat_at = NULL,
        progress = 0, message = NULL, revision = excluded.revision
  $$;
`;

/**
 * Returns the SQL function that locks until the end of a commit: a writer of a document excludes other writers and
 * readers of the document; a reader of a listing excludes writers of the kind.
 */
const formatLockFunction = (schema: string): string => `
  CREATE FUNCTION ${schema}.lock_1(
    read_kinds text[], read_ids text[], written_kinds text[], written_ids text[], listed_kinds text[]
  ) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    held record;
  BEGIN
    FOR held IN
      SELECT number, bool_or(is_alone) AS is_alone FROM (
        SELECT hashtext(kind || '/' || id) & ${STRIPES - 1} AS number, is_alone FROM (
          SELECT kind, id, false AS is_alone FROM unnest(read_kinds, read_ids) AS r(kind, id)
          UNION ALL SELECT kind, id, true FROM unnest(written_kinds, written_ids) AS w(kind, id)
        ) AS keys
        UNION ALL SELECT ${STRIPES} + (hashtext(kind) & ${STRIPES - 1}), false FROM unnest(written_kinds) AS w(kind)
        UNION ALL SELECT ${STRIPES} + (hashtext(kind) & ${STRIPES - 1}), true FROM unnest(listed_kinds) AS l(kind)
      ) AS locks GROUP BY number ORDER BY number
    LOOP
      IF held.is_alone THEN PERFORM pg_advisory_xact_lock(hashtext('${schema}'), held.number);
      ELSE PERFORM pg_advisory_xact_lock_shared(hashtext('${schema}'), held.number);
      END IF;
    END LOOP;
  END $$;
`;

/**
 * Returns the SQL function that runs a transaction as one statement, so that no transaction is ever open while its
 * program sleeps, waits or is disconnected: the program reads without locks and records the versions that it read, and
 * `commit_1` writes if they are unchanged. Locks are acquired in numeric order, so that no two commits deadlock.
 */
const formatFirstCommitFunction = (schema: string): string => `
  CREATE FUNCTION ${schema}.commit_1(
    commit_token uuid, commit_node uuid, commit_at timestamptz,
    read_kinds text[], read_ids text[], read_versions bigint[],
    listed_kinds text[], listed_digests text[],
    put_kinds text[], put_ids text[], put_schemas smallint[], put_bodies text[], put_artifacts text[],
    deleted_kinds text[], deleted_ids text[],
    commit_events text[], job_rows jsonb,
    OUT is_committed boolean, OUT unreferenced text[]
  ) LANGUAGE plpgsql AS $$
  DECLARE
    written_kinds text[] := put_kinds || deleted_kinds;
    written_ids text[] := put_ids || deleted_ids;
    named text[];
  BEGIN
    PERFORM ${schema}.lock_1(read_kinds, read_ids, written_kinds, written_ids, listed_kinds);
    /* Each statement from here on sees every commit that held one of the locks before. */
    is_committed := NOT EXISTS (
      SELECT FROM unnest(read_kinds, read_ids, read_versions) AS r(kind, id, version)
        LEFT JOIN ${schema}.documents AS d ON d.kind = r.kind AND d.id = r.id
        WHERE coalesce(d.version, 0) <> r.version
    ) AND NOT EXISTS (
      SELECT FROM unnest(listed_kinds, listed_digests) AS l(kind, digest) WHERE digest <> (
        SELECT encode(sha256(convert_to(coalesce(string_agg(octet_length(id) || ':' || id, '' ORDER BY id), ''), 'UTF8')), 'hex')
          FROM ${schema}.documents AS d WHERE d.kind = l.kind
      )
    );
    IF NOT is_committed THEN RETURN; END IF;

    INSERT INTO ${schema}.changes (kind, token)
      SELECT DISTINCT kind, commit_token FROM unnest(written_kinds) AS k(kind)
      UNION SELECT '', commit_token WHERE cardinality(commit_events) > 0;
    SELECT array_agg(DISTINCT name) INTO named FROM (
      SELECT unnest(d.artifacts) AS name
        FROM unnest(written_kinds, written_ids) AS w(kind, id)
        JOIN ${schema}.documents AS d ON d.kind = w.kind AND d.id = w.id WHERE d.artifacts <> '{}'
    ) AS earlier;
    INSERT INTO ${schema}.documents AS d (kind, id, version, schema, etag, updated_at, body, artifacts)
      SELECT kind, id, nextval('${schema}.versions'), body_schema, sha256(convert_to(new_body, 'UTF8')), commit_at, new_body,
          CASE WHEN names = '' THEN '{}' ELSE string_to_array(names, ' ') END
        FROM unnest(put_kinds, put_ids, put_schemas, put_bodies, put_artifacts)
          AS p(kind, id, body_schema, new_body, names)
      ON CONFLICT (kind, id) DO UPDATE SET version = excluded.version, schema = excluded.schema,
        etag = excluded.etag, updated_at = excluded.updated_at, body = excluded.body, artifacts = excluded.artifacts;
    DELETE FROM ${schema}.documents AS d USING unnest(deleted_kinds, deleted_ids) AS gone(kind, id)
      WHERE d.kind = gone.kind AND d.id = gone.id;
    IF 'job' = ANY(deleted_kinds) THEN
      DELETE FROM ${schema}.jobs WHERE job_id IN (
        SELECT id FROM unnest(deleted_kinds, deleted_ids) AS gone(kind, id) WHERE kind = 'job'
      );
    END IF;
    IF job_rows IS NOT NULL THEN PERFORM ${schema}.put_jobs_1(job_rows); END IF;
    INSERT INTO ${schema}.events (node, event)
      SELECT commit_node, event FROM unnest(commit_events) WITH ORDINALITY AS e(event, place) ORDER BY place;
    SELECT array_agg(name) INTO unreferenced FROM unnest(named) AS n(name)
      WHERE NOT EXISTS (SELECT FROM ${schema}.documents AS d WHERE d.artifacts @> ARRAY[name] AND d.artifacts <> '{}');
  END $$;
`;

/**
 * Returns the statements for the nodes of the database, and for the waiting time of jobs, which operators and
 * autoscalers read.
 */
const formatNodeTables = (schema: string): string => `
  CREATE TABLE ${schema}.nodes (
    node text PRIMARY KEY,
    started_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz NOT NULL,
    /* JSON: its role, version, places and market. */
    state text NOT NULL
  ) WITH (fillfactor = 50);

  ALTER TABLE ${schema}.jobs ADD COLUMN queued_at timestamptz NOT NULL DEFAULT now();
  CREATE FUNCTION ${schema}.queued_2() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.queued_at := now();
    RETURN NEW;
  END $$;
  /* A job that is submitted again under its id waits from then on. */
  CREATE TRIGGER queued BEFORE UPDATE ON ${schema}.jobs
    FOR EACH ROW WHEN (NEW.sequence <> OLD.sequence) EXECUTE FUNCTION ${schema}.queued_2();
`;

/**
 * Returns the statements for the parts of running jobs that any node may compute. The table is unlogged: after a crash
 * of the server it is empty, and the node of each job computes the missing parts.
 */
const formatPartTable = (schema: string): string => `
  CREATE UNLOGGED TABLE ${schema}.parts (
    job_id text COLLATE "C" NOT NULL,
    sequence bigint NOT NULL,
    attempt int NOT NULL,
    part int NOT NULL,
    /* Of the program that offers it. */
    version text NOT NULL,
    /* That computes it; null while it waits. */
    node text,
    lease_until timestamptz,
    /* JSON: the artifact of its output, and the parts in that. */
    output text,
    PRIMARY KEY (job_id, sequence, attempt, part)
  );
  CREATE INDEX parts_waiting ON ${schema}.parts (job_id, sequence, attempt) WHERE node IS NULL;
  ${formatGrants(schema, 'jobs', 'parts')}
`;

/** Returns statements that grant the rights on a new table to roles that may write a table of an earlier step. */
const formatGrants = (schema: string, earlier: string, added: string): string => `
  DO $$
  DECLARE
    role oid;
  BEGIN
    FOR role IN SELECT DISTINCT grantee FROM pg_class, aclexplode(relacl)
      WHERE pg_class.oid = '${schema}.${earlier}'::regclass AND privilege_type = 'INSERT' AND grantee <> relowner
    LOOP
      EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ${schema}.${added} TO %s',
        CASE WHEN role = 0 THEN 'PUBLIC' ELSE role::regrole::text END);
    END LOOP;
  END $$;
`;

/**
 * Returns the statements for starts that write only the row of a job, so that its document still describes a waiting
 * job. Programs of earlier steps show the job as waiting, and leave it to other programs when its node falls silent.
 */
const formatStarts = (schema: string): string => `
  ALTER TABLE ${schema}.jobs
    /* Of the attempt that runs. */
    ADD COLUMN started_at timestamptz,
    /* Names a start, also one whose answer was lost. */
    ADD COLUMN claim uuid;
  /* Whoever asks for the jobs of a kind looks at all of them; each change of a status would write into it. */
  DROP INDEX ${schema}.jobs_of_kind;
  /* Room for the next version of a row beside it: the indexes need not follow. */
  ALTER TABLE ${schema}.documents SET (fillfactor = 70);
`;

/**
 * Returns the statement that updates the index of artifact names at once. With a list of pending entries, which each
 * search reads as a whole, a commit would need a millisecond or more for each name of which it deletes the last
 * reference.
 */
const formatIndexUpdate = (schema: string): string => `
  ALTER INDEX ${schema}.documents_artifacts SET (fastupdate = off);
  SELECT gin_clean_pending_list('${schema}.documents_artifacts'::regclass);
`;

const formatTidyFunction = (schema: string): string => `
  /* Sums up changes and forgets events once nobody can ask for them any more; one process at a time. */
  CREATE FUNCTION ${schema}.tidy_1() RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('${schema}'), -1) THEN RETURN; END IF;
    WITH summed AS (
      DELETE FROM ${schema}.changes WHERE at < now() - interval '10 minutes' RETURNING kind, count
    ) INSERT INTO ${schema}.changes (kind, token, count)
      SELECT kind, gen_random_uuid(), sum(count) FROM summed GROUP BY kind;
    DELETE FROM ${schema}.events WHERE at < now() - interval '10 minutes';
  END $$;
`;
