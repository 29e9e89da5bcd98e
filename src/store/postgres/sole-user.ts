import pg from 'pg';
import { EXIT_TEMPORARY, StartRefusal } from '../start-refusal.js';
import { clientOptions } from './database.js';

/** The right to be the only service on a database. */
export interface SoleUse {
  release(): Promise<void>;
}

/** How often the connection that holds the right is asked whether it lives. */
const ASK_MS = 2000;
const ANSWER_MS = 10_000;

/**
 * Takes a database for this process alone: results, managed stores and the served market are those of one home. The right ends with the
 * connection, so a process that lost it has to end before it writes beside another one.
 *
 * @param onLost receives why the right is gone
 * @throws StartRefusal 75 when another process has it
 */
export async function takeAlone(
  { url, schema }: { readonly url: string; readonly schema: string },
  onLost: (cause: unknown) => void,
): Promise<SoleUse> {
  const client = new pg.Client({ ...clientOptions(url), query_timeout: ANSWER_MS });
  let isOver = false;
  const lose = (cause: unknown): void => {
    if (isOver) return;
    isOver = true;
    clearInterval(asking);
    onLost(new Error('The connection that held the database is lost.', { cause }));
  };
  const asking = setInterval(() => void client.query('SELECT 1').catch(lose), ASK_MS);
  asking.unref();
  async function release(): Promise<void> {
    isOver = true;
    clearInterval(asking);
    await client.end().catch(() => {}); // It has gone by itself.
  }

  client.on('error', lose);
  try {
    await client.connect();
    const { rows } = await client.query<{ readonly is_taken: boolean }>(
      'SELECT pg_try_advisory_lock(hashtext($1)) AS is_taken',
      [`${schema} service`],
    );
    if (rows[0]?.is_taken !== true)
      throw new StartRefusal(EXIT_TEMPORARY, 'Another process serves the database; run one at a time.');
  } catch (thrown) {
    await release();
    throw thrown;
  }
  return { release };
}
