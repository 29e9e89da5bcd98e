import { createCounterRandom } from '#kernels/random/counter-random.js';
import type { Finding } from '../refusals/findings.js';
import { LIMITS } from '../refusals/limits.js';
import type { ScenarioTerms } from '../objectives/scenario-terms.js';
import { Refusal } from '../refusals/refusal.js';
import { createReturnDraws, type DrawAlgebra } from '../simulation/draw-returns.js';
import type { RiskEstimate } from './covariance.js';

export interface DrawnScenariosInput {
  readonly algebra: DrawAlgebra;
  readonly risk: Pick<RiskEstimate, 'metric' | 'means' | 'scenarios' | 'periods'>;
  /** Annualised expected returns, [N]; null to draw around the means of the window. */
  readonly expectedReturns: Float64Array | null;
}

/**
 * Returns a function that provides scenarios of returns, [T x N]: historical returns, draws from them, or draws from
 * the risk model. Scenarios with equal terms are computed once.
 * @throws Refusal RISK_INSUFFICIENT_DATA if there are too few returns
 * @cost T N; T N^2 for draws with a covariance
 */
export function drawScenarios({
  algebra,
  risk,
  expectedReturns,
}: DrawnScenariosInput): (terms: ScenarioTerms) => Float64Array {
  const scenariosByKey = new Map<string, Float64Array>();
  return (terms) => {
    const key = JSON.stringify(terms);
    const result = scenariosByKey.get(key) ?? findScenarios(terms);
    scenariosByKey.set(key, result);
    return result;
  };

  function findScenarios({ sessions, drawn }: ScenarioTerms): Float64Array {
    const { n } = risk.metric;
    if (drawn === null) return risk.scenarios(sessions).returns;
    const random = createCounterRandom({ seed: drawn.seed, stream: 0 });
    if (drawn.source === 'bootstrap') return resampleReturns(risk.scenarios(sessions).returns, n, { ...drawn, random });
    const { periods } = risk;
    const means = (expectedReturns ?? risk.means()).map((mean) => mean / periods);
    const draws = createReturnDraws(algebra, { metric: risk.metric, means, periods });
    return draws.draw(random, drawn.draws, drawn.source === 'student' ? drawn.degrees : null);
  }
}

interface Blocks {
  readonly draws: number;
  readonly block: number;
  readonly random: ReturnType<typeof createCounterRandom>;
}

/**
 * Concatenates blocks of consecutive rows. The start of each block is uniformly random.
 * @source Kunsch (1989), The jackknife and the bootstrap for general stationary observations, Annals of Statistics
 * 17(3)
 */
export function resampleReturns(returns: Float64Array, n: number, { draws, block, random }: Blocks): Float64Array {
  const rowCount = returns.length / n;
  const length = Math.min(block, rowCount);
  const out = new Float64Array(draws * n);
  for (let t = 0; t < draws; t += length) {
    const from = random.integer(rowCount - length + 1);
    const count = Math.min(length, draws - t);
    out.set(returns.subarray(from * n, (from + count) * n), t * n);
  }
  return out;
}

/** Parameters that may request draws, with their path in the request. */
export interface RequestedDraws {
  readonly params: Readonly<Record<string, unknown>>;
  readonly path: string;
  /** Id of the row; null for an objective, and for a row without an id. */
  readonly rowId: string | null;
}

/**
 * Checks that the requested draws fit into memory.
 * @throws Refusal VALIDATION_FAILED with a finding for each parameter that requests too many draws
 */
export function assertDrawsFit(securityCount: number, requestedDraws: readonly RequestedDraws[]): void {
  const drawsMax = Math.floor(LIMITS.MAX_SCENARIO_VALUES / securityCount);
  const findings = requestedDraws.flatMap(({ params: { source = 'historical', draws }, path, rowId }): Finding[] =>
    source === 'historical' || typeof draws !== 'number' || draws <= drawsMax
      ? []
      : [
          {
            severity: 'error',
            code: 'OUT_OF_RANGE',
            path: `${path}.draws`,
            row_id: rowId,
            message: `${draws} scenarios of ${securityCount} securities need too much memory; the maximum is ${drawsMax}.`,
            value: draws,
          },
        ],
  );
  if (findings.length > 0) throw new Refusal('VALIDATION_FAILED', findings[0]!.message, { findings });
}
