import { isLiveNode } from '#jobs/postgres/node-rows.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { DatabaseDocuments } from '#store/postgres/open-documents.js';

/** Creates the metrics of a database. Figures that are unavailable are left out, and nobody waits for them. */
export function createDatabaseFigures({ database, schema, clock, fault }: DatabaseDocuments) {
  return {
    onStatement: database.onStatement,
    connections: database.connections,
    isSilent: database.isSilent,
    clockOffset: () => clock.offsetMs() / 1000,
    async nodes() {
      const connectionFault = fault();
      if (connectionFault !== undefined) throw new Refusal('STORE_UNAVAILABLE', connectionFault);
      const [row] = await database.query<Record<'live' | 'lost', number>>(
        `SELECT count(*) FILTER (WHERE ${isLiveNode})::int AS live, count(*) FILTER (WHERE NOT ${isLiveNode})::int AS lost
          FROM ${schema}.nodes`,
        [],
      );
      return { ...row! }; // The query returns exactly one row.
    },
  };
}
