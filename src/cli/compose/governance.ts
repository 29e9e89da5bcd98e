import type { Removals } from '#http/removals.js';
import { createClosureHandlers } from '#http/routes/closures.js';
import { createGovernanceHandlers } from '#http/routes/governance.js';
import { createClosureEffects, type ClosureEffectsDependencies } from '#services/governance/closure-effects.js';
import { createClosures, type ClosuresDependencies } from '#services/governance/closures.js';
import { summariseGovernance } from '#services/governance/overview.js';
import { createProcedures } from '#services/governance/procedures.js';
import { createStatements, type StatementsDependencies } from '#services/governance/statements.js';
import { createVersions } from '#services/history/versions.js';
import type { Indices } from '#services/indices/indices.js';
import { formatTimestamp } from '#store/timestamp.js';
import type { Core } from './core.js';

export interface GovernanceInput extends Pick<StatementsDependencies, 'publications' | 'exports' | 'computeSchedule'> {
  readonly schedulesOn: ClosureEffectsDependencies['schedulesOn'];
  readonly indices: Pick<Indices, 'get'>;
  readonly removals: Removals;
  readonly endClosedDays: ClosuresDependencies['endClosedDays'];
}

/** Composes the procedures of the administrator, the benchmark statements and the recorded changes of calendars. */
export function composeGovernance(
  core: Core,
  { removals, indices, schedulesOn, endClosedDays, ...parts }: GovernanceInput,
) {
  const procedures = createProcedures(core);
  const readOverview = () => summariseGovernance(core);
  const getTimestamp = () => formatTimestamp(core.now());
  const statements = createStatements({
    ...core,
    ...parts,
    versions: createVersions(core),
    procedures,
    timestamp: getTimestamp,
  });
  const compare = createClosureEffects({ ...core, schedulesOn });
  const closures = createClosures({ ...core, compare, endClosedDays });
  return {
    procedures,
    closures,
    handlers: {
      ...createGovernanceHandlers({ overview: readOverview, statements, procedures, indices }, removals),
      ...createClosureHandlers(closures, removals),
    },
  };
}
