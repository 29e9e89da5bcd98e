import type { RunColumns } from '#domain/backtest/run-columns.js';
import type { RunViewInput, Task, WeightsViewInput } from '#jobs/tasks.js';
import { createComposer, inForce } from '#domain/backtest/compositions.js';
import { indexDecider } from '#domain/backtest/index-decider.js';
import { indexBook } from '#domain/backtest/index-run.js';
import type { Day } from '#domain/days.js';
import type { MarketData } from '#domain/market/market-data.js';
import { Refusal } from '#domain/refusal.js';
import { lastAtMost } from '#domain/search.js';
import { assetView } from '#views/asset-view.js';
import { attributionView } from '#views/attribution-view.js';
import { compareView } from '#views/compare-view.js';
import { createJsonWriter } from '#views/json-writer.js';
import { levelsView } from '#views/levels-view.js';
import { heldWeights, weightsView } from '#views/weights-view.js';
import { outputBytes } from './hand-over.js';
import { openedMarket } from './open-markets.js';
import { openedCalendars } from './opened-calendars.js';
import { withRunFile } from './run-file.js';

/** A view of stored runs: read by ranges from their columns, serialised here. */
export const viewRun: Task<'view-run'> = (input) => {
  const json = createJsonWriter();
  json.value(show(input));
  return outputBytes(json.bytes());
};

function show(input: RunViewInput): unknown {
  switch (input.view) {
    case 'attribution':
      return withRunFile(input.columns, (run) => attributionView(run, input));
    case 'asset':
      return withRunFile(input.columns, (run) => assetView(run, input.identifier));
    case 'levels':
      return withRunFile(input.columns, (run) => levelsView(run, input));
    case 'compare':
      return withRuns(input.columns, compareView);
    case 'weights':
      return withRunFile(input.columns, (run) => showWeights(run, input));
  }
}

/** Opens several runs at once. */
function withRuns<T>(paths: readonly string[], use: (runs: readonly RunColumns[]) => T, opened: readonly RunColumns[] = []): T {
  const [first, ...rest] = paths;
  return first === undefined ? use(opened) : withRunFile(first, (run) => withRuns(rest, use, [...opened, run]));
}

function showWeights(run: RunColumns, { asOf, risk, benchmark, market: handle }: WeightsViewInput): unknown {
  const weights = heldWeights(run, asOf);
  const market = handle && openedMarket(handle);
  if (risk) throw new Refusal('NOT_SUPPORTED', 'This build estimates no risk of weights.');
  return weightsView({
    runId: run.header.run_id,
    requestedAsOf: asOf,
    weights,
    benchmark: benchmark && benchmarkWeights({ ...benchmark, market, day: weights.day }),
    sharesOf: (name) => market && sharesOutstanding(market, name, weights.day),
    risk: null,
    activeRisk: null,
  });
}

interface BenchmarkWeightsInput {
  readonly indexId: string;
  readonly documents: NonNullable<WeightsViewInput['benchmark']>['documents'];
  readonly market: MarketData | null;
  readonly day: Day;
}

/** Weights that an index, run from its definition, holds on a day. */
function benchmarkWeights({ indexId, documents, market, day }: BenchmarkWeightsInput): ReadonlyMap<string, number> {
  if (!market) throw new Refusal('NO_DATA_SOURCE', 'No data store is active to run the benchmark on.');
  const composer = createComposer({ market, calendars: openedCalendars(), documents, until: day, createDecider: indexDecider });
  const compositions = composer.compositions(indexId);
  const { sm, list } = compositions;
  const session = lastAtMost(sm.sessions, day);
  if (!inForce(list, session)) throw new Refusal('NO_DATA_AT_DATE', `The benchmark ${indexId} has no composition at that date.`);
  const book = indexBook({ compositions, to: session });
  const row = (book.length - 1) * book.columns.length;
  return new Map([...book.columns].map((column, slot) => [sm.identifiers[column]!, book.weights[row + slot]!]));
}

/** Latest shares outstanding of a name on or before a day, null where the market does not tell. */
function sharesOutstanding(market: MarketData, name: string, day: Day): number | null {
  const shares = market.fields.get('SHARES_OUTSTANDING');
  const column = market.identifiers.indexOf(name);
  if (!shares || column < 0) return null;
  for (let row = lastAtMost(market.dates, day); row >= 0; row--) {
    const value = shares[row * market.identifiers.length + column]!;
    if (value === value) return value;
  }
  return null;
}
