/**
 * Returns a SQL function that combines all periodic queries of a node in one statement: it reports that the node is
 * alive, reads the events of other nodes, and checks for work, for silent attempts and for the number of nodes. Queries
 * that are not requested are skipped.
 */
export const formatPulseFunction = (schema: string): string => `
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
