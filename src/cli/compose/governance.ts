import type { Removals } from '#http/removals.js';
import { closureHandlers } from '#http/routes/closures.js';
import { governanceHandlers } from '#http/routes/governance.js';
import { createClosureEffects, type ClosureEffectsDependencies } from '#services/governance/closure-effects.js';
import { createClosures, type ClosuresDependencies } from '#services/governance/closures.js';
import { summariseGovernance } from '#services/governance/overview.js';
import { createProcedures } from '#services/governance/procedures.js';
import { createStatements, type StatementsDependencies } from '#services/governance/statements.js';
import { createVersions } from '#services/history/versions.js';
import type { Indices } from '#services/indices/indices.js';
import { formatTimestamp } from '#store/timestamp.js';
import type { Rooms } from './rooms.js';

export interface GovernanceInput extends Pick<StatementsDependencies, 'publications' | 'exports' | 'scheduleOf'> {
  readonly schedulesOn: ClosureEffectsDependencies['schedulesOn'];
  readonly indices: Pick<Indices, 'get'>;
  readonly removals: Removals;
  readonly endClosedDays: ClosuresDependencies['endClosedDays'];
}

/** Composes procedures of the administrator, benchmark statements and recorded changes of calendars. */
export function composeGovernance(
  rooms: Rooms,
  { removals, indices, schedulesOn, endClosedDays, ...parts }: GovernanceInput,
) {
  const procedures = createProcedures(rooms);
  const overview = () => summariseGovernance(rooms.documents);
  const timestamp = () => formatTimestamp(rooms.now());
  const statements = createStatements({ ...rooms, ...parts, versions: createVersions(rooms), procedures, timestamp });
  const compare = createClosureEffects({ ...rooms, schedulesOn });
  const closures = createClosures({ ...rooms, compare, endClosedDays });
  return {
    procedures,
    closures,
    handlers: {
      ...governanceHandlers({ overview, statements, procedures, indices }, removals),
      ...closureHandlers(closures, removals),
    },
  };
}
