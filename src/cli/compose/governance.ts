import type { Removals } from '#http/removals.js';
import { governanceHandlers } from '#http/routes/governance.js';
import { createProcedures } from '#services/governance/procedures.js';
import { createStatements, type StatementsDependencies } from '#services/governance/statements.js';
import { createVersions } from '#services/history/versions.js';
import type { Indices } from '#services/indices/indices.js';
import { formatTimestamp } from '#store/timestamp.js';
import type { Rooms } from './rooms.js';

export interface GovernanceInput extends Pick<StatementsDependencies, 'publications' | 'scheduleOf'> {
  readonly indices: Pick<Indices, 'get'>;
  readonly removals: Removals;
}

/** Composes procedures of the administrator and benchmark statements. */
export function composeGovernance(rooms: Rooms, { removals, indices, ...parts }: GovernanceInput) {
  const procedures = createProcedures(rooms);
  const timestamp = () => formatTimestamp(rooms.now());
  const statements = createStatements({ ...rooms, ...parts, versions: createVersions(rooms), procedures, timestamp });
  return { procedures, handlers: governanceHandlers({ statements, procedures, indices }, removals) };
}
