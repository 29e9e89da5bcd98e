import { findSqlState, openDatabase } from '#store/postgres/database.js';
import { assertGranted, assertMigrated, INSUFFICIENT_PRIVILEGE, SCHEMA } from '#store/postgres/migrate.js';
import { type DatabaseTarget, runWithClient } from '#store/postgres/open-documents.js';
import { createNodeRows, type NodeEntry } from './nodes.js';

/** Lists the nodes of a database, for a process that is not a node. @throws StartRefusal 75, 78 */
export async function listNodes({ url, schema = SCHEMA }: DatabaseTarget): Promise<readonly NodeEntry[]> {
  await runWithClient(url, (client) => assertMigrated(client, schema));
  const database = openDatabase({ url, connectionsMax: 1 });
  try {
    return await createNodeRows(database, `"${schema}"`).list();
  } catch (thrown) {
    if (findSqlState(thrown) === INSUFFICIENT_PRIVILEGE)
      await runWithClient(url, (client) => assertGranted(client, schema));
    throw thrown;
  } finally {
    await database.close();
  }
}
