import { formatCommitFunction as secondCommitFunction } from './commit-function.js';
import { writeDelayedMoves, formatJobCommits } from './job-commit.js';
import { formatPreparation, prepareJobsFunction } from './preparation.js';
import { formatPulseFunction } from './pulse-function.js';
import { writeSealedKinds, formatSealedDocuments } from './sealed-commit.js';

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
  const step4 = secondCommitFunction(schema, STRIPES);
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
