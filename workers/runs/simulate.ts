import type { RecordedClosures } from '#domain/calendars/closures.js';
import { marketOn } from '#domain/books/market-on.js';
import { canonicalJson } from '#domain/json/canonical-json.js';
import { currencyOfSecurities } from '#domain/backtest/run-file/settings.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { formatDay } from '#domain/time/days.js';
import { periodsPerYear } from '#domain/calendars/periods-per-year.js';
import { growthOf } from '#domain/index-mathematics/growth.js';
import { securityTerms } from '#domain/index-mathematics/growth-terms.js';
import { factorRiskOf } from '#domain/risk/factor-risk.js';
import { lastAtMost } from '#domain/numbers/search.js';
import { growthOfLevel, momentsOf, planSimulation, sharedTallies } from '#domain/simulation/simulation.js';
import { summariseSimulation } from '#domain/simulation/summarise.js';
import type { PathTallies } from '#kernels/simulation/simulate-paths.js';
import { simulationView } from '#views/simulation-view.js';
import type { Task } from '#jobs/tasks.js';
import type { PlanSimulationInput, SimulationStart } from '#jobs/tasks/runs.js';
import { heldByName, heldPositions } from '../views/held-risk.js';
import { numerics, onEngine } from '../input/numerics.js';
import { openedCalendars } from '../input/opened-calendars.js';
import { openedMarket } from '../input/open-markets.js';
import { withRunFile } from '../run-files/run-file.js';
import { outputContent, writeOutputs } from '../output/task-outputs.js';

/** Number of paths between two checks of the cancel flag: a few milliseconds. */
const PATHS_PER_STEP = 4_096;

/** Reads the run and computes the common inputs of all parts. */
export const planOfSimulation: Task<'plan-simulation'> = async (input) => {
  const { request } = input;
  const run = readRun(input);
  const growth = growthOfLevel(run.level);
  const moments = momentsOf(growth);
  const observed = {
    observations: growth.length,
    observedStart: formatDay(run.days[0]!),
    observedEnd: formatDay(run.days.at(-1)!),
    mean: moments.mean,
    periods: periodsPerYear(run.days),
  };
  if (request.method === 'block_bootstrap') {
    const plan = planSimulation(request, { kind: 'block_bootstrap', growth, block: request.block }, moments);
    return { plan, ...observed, deviation: moments.deviation, factorShare: null };
  }
  const { totalVariance, factorShare } = await modelledRisk(input, run);
  const deviation = Math.sqrt(totalVariance / observed.periods);
  const plan = planSimulation(
    request,
    { kind: 'gaussian', mean: moments.mean, deviation },
    { mean: moments.mean, deviation },
  );
  return { plan, ...observed, deviation, factorShare } satisfies SimulationStart;
};

interface RunHistory {
  readonly days: Int32Array;
  readonly level: Float64Array;
  readonly currency: string;
  readonly closures: RecordedClosures | undefined;
  /** Weights after the last close, by security. */
  readonly weights: ReadonlyMap<string, number>;
}

function readRun({ columns }: PlanSimulationInput): RunHistory {
  return withRunFile(columns, (run: RunColumns) => {
    const { names, dates } = run.header;
    const weights = run.f64('weights', (dates - 1) * names.length, dates * names.length);
    return {
      days: run.i32('days').slice(),
      level: run.f64('level').slice(),
      currency: currencyOfSecurities(run.header),
      closures: run.header.closures,
      weights: heldByName(names, weights),
    };
  });
}

/** Returns the variance of the last weights under a statistical factor model of the run's window. */
async function modelledRisk({ request, calendar, market: handle }: PlanSimulationInput, run: RunHistory) {
  const calendars = openedCalendars(run.closures);
  const sm = marketOn({ market: openedMarket(handle!), calendars, code: calendar }); // the service required a market
  const window = {
    sm,
    growth: growthOf(sm, securityTerms('total', run.currency)),
    from: Math.max(0, sm.sessionAt(run.days[0]!)),
    to: lastAtMost(sm.sessions, run.days.at(-1)!),
  };
  const weights = heldPositions(sm, run.weights);
  const { factors } = request;
  return onEngine((engine) =>
    factorRiskOf(engine, window, { weights, benchmark: new Map(), model: 'statistical', factors }),
  );
}

/** Draws one part of the paths into the shared memory. */
export const simulatePart: Task<'simulate-paths'> = async ({ plan, part, memory }, control) => {
  const engine = await numerics();
  const shared = sharedTallies(memory, plan);
  const from = plan.cuts[part]!;
  const to = plan.cuts[part + 1]!;
  const counts = new Uint32Array(plan.horizon * plan.bins.count);
  for (let first = from; first < to; first += PATHS_PER_STEP) {
    control.report((first - from) / (to - from), 'paths');
    const end = Math.min(first + PATHS_PER_STEP, to);
    const tallies: PathTallies = {
      counts,
      finals: shared.finals.subarray(first, end),
      lows: shared.lows.subarray(first, end),
      drawdowns: shared.drawdowns.subarray(first, end),
      underwater: shared.underwater.subarray(first, end),
    };
    engine.simulatePaths(
      { model: plan.model, horizon: plan.horizon, seed: plan.seed, first, bins: plan.bins },
      tallies,
    );
  }
  shared.counts[part]!.set(counts);
  return { precision: engine.precision };
};

/** Summarises drawn paths: a SimulationView as JSON. */
export const sumSimulation: Task<'sum-simulation'> = ({ outputs, start, memory, request, ...rest }) => {
  const summary = summariseSimulation(request, start.plan, sharedTallies(memory, start.plan));
  const view = canonicalJson(simulationView({ ...start, ...rest, request, summary }));
  return writeOutputs(outputs, { view: outputContent(view) });
};
