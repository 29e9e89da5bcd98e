import type { Task } from '#jobs/tasks.js';
import type { TaskControl } from '#jobs/thread-messages.js';
import type {
  FactorAttributionInput,
  GroupsViewInput,
  ReconcileInput,
  RunViewInput,
  WeightsViewInput,
} from '#jobs/tasks/views.js';
import type { Day } from '#domain/time/days.js';
import { referenceAt, type MarketData } from '#domain/market/market-data.js';
import { factorAttributionView } from '#views/factor-attribution-view.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { lastAtMost } from '#domain/numbers/search.js';
import { assetView } from '#views/asset-view.js';
import { attributionView } from '#views/attribution-view.js';
import { closesView } from '#views/closes-view.js';
import { comparisonBytes, comparisonCsv, writeComparison } from '#views/compare-view.js';
import { createJsonWriter, type JsonWriter } from '#views/json-writer.js';
import { exposuresFile } from '#views/exposures/exposures-file.js';
import { limitsFile } from '#views/limits/limits-file.js';
import { scenariosFile } from '#views/scenarios/scenarios-file.js';
import { exposuresBytes, writeExposures } from '#views/exposures/exposures-json.js';
import { groupsView } from '#views/groups-view.js';
import { indexLevels, writeLevels } from '#views/levels-view.js';
import { metricsView, performanceView } from '#views/performance-view.js';
import { rebalancesView, rebalanceView } from '#views/rebalances-view.js';
import { reconcileView, type StoredFile } from '#views/reconcile/reconcile-view.js';
import type { MeasuredRisk } from '#views/reconcile/risk-checks.js';
import { groupOf } from '#domain/market/market-groups.js';
import { summaryView } from '#views/summary-view.js';
import { weightsView } from '#views/weights-view.js';
import { benchmarkWeights } from './benchmark-books.js';
import { comparedWith } from './compared.js';
import { showComparison } from './comparison.js';
import { showActions } from './actions.js';
import { showDividendPoints } from './dividend-points.js';
import { showExposures } from './exposures.js';
import { showFactorRisk } from './factor-risk.js';
import { answerBytes } from '../output/hand-over.js';
import { sharedHashes } from '../run-files/hash-files.js';
import { measureByEstimate, measureByModel } from './model-risk.js';
import { openedMarket } from '../input/open-markets.js';
import { heldByName, heldDatapoints, measureRisk, readHeld, riskWindow } from './held-risk.js';
import { onEngine } from '../input/numerics.js';
import { withRunFile } from '../run-files/run-file.js';
import { showScenarios } from './scenarios.js';
import { stoppable } from '../output/stoppable-writer.js';
import { showLimits } from './watched-limits.js';

/** A view of stored runs: read by ranges from their columns, serialised here. */
export const viewRun: Task<'view-run'> = async (input, control) => {
  if (input.view === 'exposures' && input.format !== 'json')
    return answerBytes(await exposuresFile(await showExposures(input, control), input.table, input.format));
  if (input.view === 'limits' && input.format !== 'json')
    return answerBytes(await limitsFile(showLimits(input, control), input.table, input.format));
  if (input.view === 'scenarios' && input.format !== 'json')
    return answerBytes(await scenariosFile(showScenarios(input), input.table, input.format));
  const { bytes, write } = await show(input, control);
  const json = stoppable(createJsonWriter(bytes), control);
  write(json);
  return answerBytes(json.bytes());
};

/** A view that is made and only has to be written. */
interface Shown {
  /** About as many as will be written, where there is something to go by. */
  readonly bytes?: number;
  write(json: JsonWriter): void;
}

async function show(input: RunViewInput, control: TaskControl): Promise<Shown> {
  switch (input.view) {
    case 'attribution':
      return document(withRunFile(input.columns, (run) => attributionView(run, input)));
    case 'asset':
      return document(withRunFile(input.columns, (run) => assetView(run, input.identifier)));
    case 'closes':
      return document(withRunFile(input.columns, closesView));
    case 'summary':
      return document(withRunFile(input.columns, summaryView));
    case 'metrics':
      return document(withRunFile(input.columns, metricsView));
    case 'performance':
      return document(withRunFile(input.columns, (run) => performanceView(run, input)));
    case 'rebalances':
      return document(withRunFile(input.columns, rebalancesView));
    case 'rebalance':
      return document(withRunFile(input.columns, (run) => rebalanceView(run, input.date)));
    case 'actions': {
      const actions = showActions(input);
      return typeof actions === 'string' ? { write: (json) => json.raw(actions) } : document(actions);
    }
    case 'dividend-points':
      return document(showDividendPoints(input));
    case 'exposures': {
      const exposures = await showExposures(input, control);
      return { bytes: exposuresBytes(exposures), write: (json) => writeExposures(json, exposures) };
    }
    case 'scenarios':
      return document(showScenarios(input));
    case 'limits':
      return document(showLimits(input, control));
    case 'levels': {
      const levels = withRunFile(input.columns, (run) => indexLevels(run, input));
      return { write: (json) => writeLevels(json, levels) };
    }
    case 'compare': {
      const comparison = await showComparison(input);
      if (input.format === 'csv') return { write: (json) => json.raw(comparisonCsv(comparison)) };
      return { bytes: comparisonBytes(comparison), write: (json) => writeComparison(json, comparison, input) };
    }
    case 'weights':
      return document(await showWeights(input, control));
    case 'factor-risk':
      return document(await showFactorRisk(input, control));
    case 'factor-attribution':
      return document(showFactorAttribution(input));
    case 'groups':
      return document(await showGroups(input));
    case 'reconcile':
      return document(await showReconciliation(input, control));
  }
}

const document = (shown: object): Shown => ({ write: (json) => json.value(shown) });

/** Views that idle threads make ready look between their parts whether they are asked to stop. */
async function showWeights(input: WeightsViewInput, { report }: TaskControl): Promise<object> {
  const onPart = (): void => report(0);
  const { columns, asOf, risk, model = null, estimator, benchmark, market: handle } = input;
  const held = withRunFile(columns, (run) => readHeld(run, asOf));
  const market = handle && openedMarket(handle);
  const { compared, measured } = await onEngine((engine) => {
    const other = benchmark && comparedWith({ ...benchmark, onPart }, requireMarket(market), held.header);
    const compared = other && other.weightsOn(engine, held.weights.day);
    const against = other && { id: other.id, weights: compared! };
    if (model !== null) return { compared, measured: measureByModel(model, held.weights, against) };
    if (!risk) return { compared, measured: null };
    const measured = { held, market: other?.market ?? market!, benchmark: against, onPart };
    return {
      compared,
      measured: estimator ? measureByEstimate(engine, estimator, measured) : measureRisk(engine, measured),
    };
  });
  return weightsView({
    runId: held.header.run_id,
    requestedAsOf: asOf,
    weights: held.weights,
    benchmark: compared,
    sharesOf: (name) => (market && input.isMarketOfRun ? sharesOutstanding(market, name, held.weights.day) : null),
    risk: measured?.risk ?? null,
    activeRisk: measured?.active ?? null,
  });
}

function requireMarket(market: MarketData | null): MarketData {
  if (!market) throw new Refusal('NO_DATA_SOURCE', 'No data store is active to run the benchmark on.');
  return market;
}

async function showReconciliation(input: ReconcileInput, { report }: TaskControl): Promise<object> {
  const risk = await riskOfLast(input);
  const onDate = (): void => report(0);
  return withRunFile(input.columns, (run) => reconcileView(run, () => storedFiles(input), { risk, onDate }));
}

function storedFiles({ files, cells }: ReconcileInput): StoredFile[] {
  const found = sharedHashes({ paths: files.map(({ path }) => path), cells });
  return files.map(({ name, sha256 }, k) => ({ name, recorded: sha256, found: found[k]! }));
}

/** Risk of what a run holds last, null where the served market does not tell. */
async function riskOfLast({ columns, market: handle, benchmark }: ReconcileInput): Promise<MeasuredRisk | null> {
  if (!handle) return null;
  try {
    const held = withRunFile(columns, (run) => readHeld(run, null));
    const market = openedMarket(handle);
    return await onEngine((engine) => {
      const weights = benchmark && benchmarkWeights(engine, { ...benchmark, market, day: held.weights.day });
      return {
        names: [...heldByName(held.weights.names, held.weights.held).keys()],
        ...measureRisk(engine, { held, market, benchmark: benchmark && { id: benchmark.indexId, weights: weights! } }),
      };
    });
  } catch (thrown) {
    if (thrown instanceof Refusal) return null;
    throw thrown;
  }
}

function showFactorAttribution({ columns, market, ...asked }: FactorAttributionInput): object {
  return withRunFile(columns, (run) => {
    const window = riskWindow(readHeld(run, null), openedMarket(market));
    return factorAttributionView(run, { ...window, datapoints: heldDatapoints(window, run.header) }, asked);
  });
}

function showGroups({ columns, start, end, by, benchmark, market: handle }: GroupsViewInput): Promise<object> {
  const market = openedMarket(handle);
  return onEngine((engine) =>
    withRunFile(columns, (run) => {
      const other = benchmark && comparedWith(benchmark, market, run.header);
      return groupsView(run, {
        window: { start, end },
        by,
        groupOf: (name, day) => groupOf(referenceAt(market.reference, name, by, day)),
        benchmark: other && { ...other, book: other.bookTo(engine, run.i32('days').at(-1)!) },
      });
    }),
  );
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
