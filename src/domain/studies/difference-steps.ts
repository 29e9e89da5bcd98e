import type { Difference, DifferenceStep } from './difference-result.js';

/** Returns the steps of an explanation. In one of release 0.11.0 each cause is a step. */
export const listSteps = ({ steps, causes }: Pick<Difference, 'causes' | 'steps'>): readonly DifferenceStep[] =>
  steps ?? causes.map(({ sentence, sessions, effect_bps }, k) => ({ causes: [k], sentence, sessions, effect_bps }));
