import type { ClientBase } from 'pg';

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
export const formatPreparation = (schema: string): string => `
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
export const prepareJobsFunction = (schema: string): string => `
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
