import type { SimulationView } from '#contract/simulations.js';
import type { SimulationPlan, SimulationRequest } from '#domain/simulation/simulation.js';
import type { SimulationSummary } from '#domain/simulation/summarise.js';

export interface SimulationViewInput {
  readonly runId: string;
  readonly request: SimulationRequest;
  readonly plan: SimulationPlan;
  readonly summary: SimulationSummary;
  /** Number of returns of the run. The next two fields are the first and the last date, YYYY-MM-DD. */
  readonly observations: number;
  readonly observedStart: string;
  readonly observedEnd: string;
  /** Mean return per session. */
  readonly mean: number;
  readonly deviation: number;
  /** Number of sessions per year. */
  readonly periods: number;
  readonly factorShare: number | null;
  /** Simulated sessions, [horizon], as dates YYYY-MM-DD. */
  readonly dates: readonly string[];
  readonly precision: SimulationView['precision'];
}

export function createSimulationView(input: SimulationViewInput): SimulationView {
  const { request, plan, summary, observedEnd } = input;
  return {
    index_id: input.runId,
    method: request.method,
    horizon: plan.horizon,
    paths: plan.paths,
    seed: plan.seed,
    observations: input.observations,
    observed_start: input.observedStart,
    observed_end: observedEnd,
    mean_return: input.mean,
    volatility: input.deviation * Math.sqrt(input.periods),
    factor_share: input.factorShare,
    levels: {
      index: [observedEnd, ...input.dates],
      columns: request.percentiles.map(String),
      data: summary.levels.map((row) => [...row]),
    },
    total_return: summary.totalReturn,
    max_drawdown: summary.maxDrawdown,
    time_under_water: summary.timeUnderWater,
    shortfall: { level: request.level, at_end: summary.shortfall.atEnd, at_any_time: summary.shortfall.atAnyTime },
    precision: input.precision,
  };
}
