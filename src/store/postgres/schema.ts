import type { ClientBase } from 'pg';
import { formatJobCommits } from './job-commit.js';
import { formatSealedCommit } from './seals.js';

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

/** Version of the schema that a new database gets. Releases since 0.5.0 have it; their databases get the later steps. */
export const FIRST_PROTOCOL = 9;

/** Version of the schema of this program: the number of the last migration step below. */
export const PROTOCOL = 9;

/** Number of advisory locks for documents, and as many for kinds. The hash of a key selects its lock. */
export const STRIPES = 1024;

/**
 * Returns the statements that create the schema, and those of the later steps, in order. A step is additive: programs
 * that support only the previous step keep working, or the step raises `least` and they are rejected. A released step
 * never changes; changed functions get a new name.
 * @param schema quoted identifier
 */
export const listSteps = (schema: string): readonly string[] => [
  [
    formatDocumentTables(schema),
    formatJobTables(schema),
    formatNodeTables(schema),
    formatPartTable(schema),
    formatTidyFunction(schema),
    formatSealedCommit(schema, STRIPES),
    formatPulseFunction(schema),
    formatPreparation(schema),
    formatJobCommits(schema, STRIPES),
    prepareJobsFunction(schema),
  ].join(''),
];

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
    /* Over the key and the hash. */
    seal bytea,
    updated_at timestamptz NOT NULL,
    /* Canonical JSON. */
    body text NOT NULL,
    /* Names of the artifacts in the body. */
    artifacts text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (kind, id)
  ) WITH (fillfactor = 70); /* Room for the next version of a row next to it: the indexes need not follow. */
  /*
   * Without a list of pending entries, which each search reads as a whole: a commit would need a millisecond or more for
   * each name of which it deletes the last reference.
   */
  CREATE INDEX documents_artifacts ON ${schema}.documents USING gin (artifacts) WITH (fastupdate = off)
    WHERE artifacts <> '{}';
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
    revision bigint NOT NULL,
    /* A job that is submitted again under its id waits from this time. Operators and autoscalers read it. */
    queued_at timestamptz NOT NULL DEFAULT now(),
    /* Of the attempt that runs: a start writes only this row, so that the document still describes a waiting job. */
    started_at timestamptz,
    /* Names a start, also one whose answer was lost. */
    claim uuid
  ) WITH (fillfactor = 70);
  CREATE INDEX jobs_waiting ON ${schema}.jobs (lane, turn, sequence) WHERE status = 'pending';
  CREATE INDEX jobs_of_owner ON ${schema}.jobs (owner, lane, turn) WHERE status = 'pending';
  CREATE INDEX jobs_running ON ${schema}.jobs (job_id) WHERE status = 'running';
  CREATE INDEX jobs_by_sequence ON ${schema}.jobs (sequence);
`;

/** Returns the statements for the nodes of the database. */
const formatNodeTables = (schema: string): string => `
  CREATE TABLE ${schema}.nodes (
    node text PRIMARY KEY,
    started_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz NOT NULL,
    /* JSON: its role, version, places and market. */
    state text NOT NULL
  ) WITH (fillfactor = 50);
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
