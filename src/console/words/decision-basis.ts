import type { StaleState } from '#clients/typescript/divisor.js';

/** States on which definition and data the explained decisions of a stale run are based. */
export const formatDecisionBasis = ({ definition, data }: StaleState): string =>
  [
    definition && 'The definition has changed since the run. This page uses the definition of the run.',
    data && 'The data has changed since the run. This page uses the current data.',
  ]
    .filter(Boolean)
    .join(' ');
