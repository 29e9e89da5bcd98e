import type { Day } from '#domain/time/days.js';
import type { MarketData } from '#domain/market/market-data.js';
import { findLastAtMost } from '#domain/numbers/search.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { InputOfView } from '#jobs/tasks/views.js';
import type { TaskControl } from '#jobs/thread-messages.js';
import { createWeightsView } from '#views/weights-view.js';
import { openCachedMarket } from '../input/open-markets.js';
import { runOnEngine } from '../input/numerics.js';
import { useRunFile } from '../run-files/run-file.js';
import { openCompared } from './compared.js';
import { measureRisk, readHoldings } from './holding-risk.js';
import { measureByEstimate, measureByModel } from './model-risk.js';

/** Returns the weights of a run on a date, and their risk if it is requested. */
export async function showWeights(input: InputOfView<'weights'>, { report }: TaskControl): Promise<object> {
  const onPart = (): void => report(0);
  const { columns, as_of: asOf = null, risk, model = null, estimator, benchmark, market: handle } = input;
  const runHoldings = useRunFile(columns, (run) => readHoldings(run, asOf));
  const market = handle && openCachedMarket(handle);
  const { compared, measured } = await runOnEngine((engine) => {
    const otherComparedBenchmark =
      benchmark && openCompared({ ...benchmark, onPart }, requireMarket(market), runHoldings.header);
    const comparedWeights = otherComparedBenchmark && otherComparedBenchmark.weightsOn(engine, runHoldings.weights.day);
    const comparedSide = otherComparedBenchmark && { id: otherComparedBenchmark.id, weights: comparedWeights! };
    if (model !== null)
      return { compared: comparedWeights, measured: measureByModel(model, runHoldings.weights, comparedSide) };
    if (!risk) return { compared: comparedWeights, measured: null };
    const measuredWeights = {
      runHoldings,
      market: otherComparedBenchmark?.market ?? market!,
      benchmark: comparedSide,
      onPart,
    };
    return {
      compared: comparedWeights,
      measured: estimator
        ? measureByEstimate(engine, estimator, measuredWeights)
        : measureRisk(engine, measuredWeights),
    };
  });
  return createWeightsView({
    runId: runHoldings.header.run_id,
    requestedAsOf: asOf,
    weights: runHoldings.weights,
    benchmark: compared,
    findShares: (name) =>
      market && input.isMarketOfRun ? findSharesOutstanding(market, name, runHoldings.weights.day) : null,
    risk: measured?.risk ?? null,
    activeRisk: measured?.active ?? null,
  });
}

function requireMarket(market: MarketData | null): MarketData {
  if (!market) throw new Refusal('NO_DATA_SOURCE', 'No data store is active to run the benchmark on.');
  return market;
}

/** Returns the latest shares outstanding of a security on or before a day. Returns null if the market has none. */
function findSharesOutstanding(market: MarketData, name: string, day: Day): number | null {
  const shares = market.fields.get('SHARES_OUTSTANDING');
  const column = market.identifiers.indexOf(name);
  if (!shares || column < 0) return null;
  for (let row = findLastAtMost(market.dates, day); row >= 0; row--) {
    const value = shares[row * market.identifiers.length + column]!;
    if (value === value) return value;
  }
  return null;
}
