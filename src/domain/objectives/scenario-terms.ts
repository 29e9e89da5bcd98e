import { z } from 'zod';
import { LIMITS } from '../refusals/limits.js';
import { tailParams } from './tail-params.js';

/** Sources of scenarios. */
export const SCENARIO_SOURCES = ['historical', 'bootstrap', 'normal', 'student'] as const;

/** Scenarios that an objective or a constraint row requests. */
export interface ScenarioTerms {
  /** Number of most recent returns from the store; null for the window of the risk model. */
  readonly sessions: number | null;
  /** Terms of simulated scenarios; null for historical returns. */
  readonly drawn: SimulatedTerms | null;
}

interface SimulatedTerms {
  readonly source: Exclude<(typeof SCENARIO_SOURCES)[number], 'historical'>;
  readonly draws: number;
  /** Number of consecutive returns in a bootstrap block. */
  readonly block: number;
  /** Degrees of freedom of Student's distribution. */
  readonly degrees: number;
  readonly seed: number;
}

/** Sources that simulate scenarios, and all sources that read the history of returns. */
const DRAWN_SOURCES = ['bootstrap', 'normal', 'student'] as const;
const HISTORY_SOURCES = ['historical', 'bootstrap'] as const;

const { scenarios } = tailParams.shape;

/** Schema of the scenario parameters of a class that accepts simulated scenarios. */
export const drawnScenarioParams = {
  scenarios: scenarios.meta({ ...scenarios.meta(), when: [{ source: HISTORY_SOURCES }] }),
  source: z.enum(SCENARIO_SOURCES).default('historical').meta({
    label: 'Source',
    help: "Source of the scenarios: historical returns, blocks of historical returns drawn with replacement, or draws with the covariance of the risk model, from a normal or Student's distribution.",
  }),
  draws: z
    .int()
    .min(LIMITS.MIN_MODEL_OBSERVATIONS)
    .max(LIMITS.MAX_DRAWN_SCENARIOS)
    .default(5000)
    .meta({
      label: 'Draws',
      help: 'Number of drawn scenarios; ignored for historical scenarios.',
      when: [{ source: DRAWN_SOURCES }],
    }),
  block: z
    .int()
    .min(1)
    .max(LIMITS.MAX_SCENARIOS)
    .default(21)
    .meta({
      label: 'Block',
      help: 'Number of consecutive returns in a block of a bootstrap. Maximum: the number of returns.',
      unit: 'sessions',
      when: [{ source: ['bootstrap'] }],
    }),
  degrees_of_freedom: z
    .int()
    .min(3)
    .max(1000)
    .default(5)
    .meta({
      label: 'Degrees of freedom',
      help: "Degrees of freedom of Student's distribution. Fewer degrees of freedom mean heavier tails.",
      when: [{ source: ['student'] }],
    }),
  seed: z
    .int()
    .min(0)
    .default(0)
    .meta({
      label: 'Seed',
      help: 'Seed of the draws. Equal seeds give equal draws.',
      when: [{ source: DRAWN_SOURCES }],
    }),
};

/** Parsed scenario parameters of a class, whether or not it accepts simulated scenarios. */
interface ScenarioParams {
  readonly scenarios: number | null;
  readonly source?: (typeof SCENARIO_SOURCES)[number];
  readonly draws?: number;
  readonly block?: number;
  readonly degrees_of_freedom?: number;
  readonly seed?: number;
}

/** Returns the scenarios that the parameters request. */
export function readScenarioTerms({ scenarios, source = 'historical', ...drawn }: ScenarioParams): ScenarioTerms {
  if (source === 'historical') return { sessions: scenarios, drawn: null };
  const { draws = 0, block = 1, degrees_of_freedom: degrees = 0, seed = 0 } = drawn; // a source other than `historical` requires these parameters
  return { sessions: scenarios, drawn: { source, draws, block, degrees, seed } };
}
