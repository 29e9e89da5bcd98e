import type { StaleState } from '#clients/typescript/divisor.js';

/** States on which definition and data the explained decisions of a stale run are based. */
export const formatDecisionBasis = ({ definition, data }: StaleState): string =>
  [
    definition && 'The definition of this run applies here; it has changed since the run.',
    data && 'The current data applies here; it differs from the data of the run.',
  ]
    .filter(Boolean)
    .join(' ');
