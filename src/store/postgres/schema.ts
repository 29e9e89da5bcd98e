/** What this program knows of the schema: the number of the last step below. */
export const PROTOCOL = 1;

/** Locks that keys share by their hash: a transaction of any size takes at most so many. */
const STRIPES = 1024;

/**
 * Statements that make the schema what it is, step by step. A step is additive: programs that know the one before it go
 * on working beside it, or it raises `least` and they are refused. A step that was released never changes; functions
 * that change get a new name.
 *
 * @param schema a quoted identifier
 */
export function stepsOf(schema: string): readonly string[] {
  return [[documentTables(schema), lockFunction(schema), commitFunction(schema), tidyFunction(schema)].join('')];
}

const documentTables = (schema: string): string => `
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
 * Locks of a commit, until it ends: whoever writes a document is alone with it, and with those who have read it; whoever
 * has listed a kind is alone with those who write in it.
 */
const lockFunction = (schema: string): string => `
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
 * A transaction is one statement, so that none is ever open while its program sleeps, waits or is cut off: the program
 * reads without locks, remembers which versions it read, and `commit_1` writes when they still hold. Its locks are
 * taken in the order of their numbers, so no two commits wait for each other.
 */
const commitFunction = (schema: string): string => `
  CREATE FUNCTION ${schema}.commit_1(
    commit_token uuid, commit_node uuid, commit_at timestamptz,
    read_kinds text[], read_ids text[], read_versions bigint[],
    listed_kinds text[], listed_digests text[],
    put_kinds text[], put_ids text[], put_schemas smallint[], put_bodies text[], put_artifacts text[],
    deleted_kinds text[], deleted_ids text[],
    commit_events text[],
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
    INSERT INTO ${schema}.events (node, event)
      SELECT commit_node, event FROM unnest(commit_events) WITH ORDINALITY AS e(event, place) ORDER BY place;
    SELECT array_agg(name) INTO unreferenced FROM unnest(named) AS n(name)
      WHERE NOT EXISTS (SELECT FROM ${schema}.documents AS d WHERE d.artifacts @> ARRAY[name] AND d.artifacts <> '{}');
  END $$;
`;

const tidyFunction = (schema: string): string => `
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
