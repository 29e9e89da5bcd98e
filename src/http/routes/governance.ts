import type { GovernanceOverview, governanceRoutes } from '#contract/governance.js';
import type { Indices } from '#services/indices/indices.js';
import type { Procedures, StoredProcedure } from '#services/governance/procedures.js';
import type { Statements } from '#services/governance/statements.js';
import { formatStatement } from '#views/statement-text.js';
import type { Handlers, Reply } from '../handler.js';
import type { Removals } from '../removals.js';

interface GovernanceServices {
  readonly overview: () => Promise<GovernanceOverview>;
  readonly statements: Statements;
  readonly procedures: Procedures;
  readonly indices: Pick<Indices, 'get'>;
}

export function createGovernanceHandlers(
  { overview, statements, procedures, indices }: GovernanceServices,
  removals: Removals,
): Handlers<typeof governanceRoutes> {
  return {
    getGovernance: async () => ({ json: await overview() }),
    async getStatement({ params, media, signal }) {
      const statement = await statements.statement(params.index_id, signal);
      if (media !== 'text/markdown') return { json: statement };
      return { bytes: new TextEncoder().encode(formatStatement(statement)), type: `${media}; charset=utf-8` };
    },
    async listMethodologyChanges({ params, query }) {
      const { document } = await indices.get(params.index_id);
      const changes = await statements.changes(params.index_id, query.limit);
      return { json: { changes, amendments: document.amendments ?? [] } };
    },
    async listProcedures({ query }) {
      const { items, ...skipped } = await procedures.page(query);
      return { json: { procedures: items, ...skipped } };
    },
    getProcedure: async ({ params }) => toProcedureReply(await procedures.get(params.procedure_id)),
    putProcedure: async ({ params, body, precondition, authorship }) =>
      toProcedureReply(await procedures.put(params.procedure_id, body(), precondition(), authorship())),
    async deleteProcedure(request) {
      const id = request.params.procedure_id;
      const removal = await removals.of(request, { kind: 'procedure', id });
      if (!('purgedRuns' in removal)) await procedures.remove(id, request.precondition(), removal);
      return {};
    },
  };
}

export const toProcedureReply = ({ procedure, etag }: StoredProcedure): Reply => ({
  json: procedure,
  documentEtag: etag,
});
