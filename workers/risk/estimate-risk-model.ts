import { createHash } from 'node:crypto';
import { marketOn } from '#domain/books/market-on.js';
import { factorModelPayload } from '#views/factor-model-view.js';
import { canonicalJson } from '#domain/json/canonical-json.js';
import { daysCalendar } from '#domain/calendars/days-calendar.js';
import { dayFrom, formatDay, type Day } from '#domain/time/days.js';
import { RiskModelRequest, type Estimator } from '#domain/risk/risk-model-document.js';
import { compareText } from '#domain/refusals/findings.js';
import { growthOf } from '#domain/index-mathematics/growth.js';
import { growthTerms, securityTerms, type GrowthTerms } from '#domain/index-mathematics/growth-terms.js';
import type { MarketHandle } from '#domain/market/handle.js';
import type { MarketData } from '#domain/market/market-data.js';
import { narrowMarket } from '#domain/market/narrow-market.js';
import { alignMarket, type SessionMarket } from '#domain/market/session-market.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { overAskedRange } from '#domain/risk/asked-range.js';
import { dailyReturns } from '#domain/risk/daily-returns.js';
import { estimateFrom } from '#domain/risk/estimate-risk-model.js';
import { isFactorEstimator } from '#domain/risk/factor-model.js';
import { packFactors } from '#domain/risk/packed-factors.js';
import { packUpper } from '#domain/risk/packed-matrix.js';
import { returnSpan, returnsOf, type ReturnSource } from '#domain/risk/return-panel.js';
import { firstAtLeast, lastAtMost } from '#domain/numbers/search.js';
import type { EstimateStage } from '#kernels/moments/estimate-covariance.js';
import type { Task, ThreadInput } from '#jobs/tasks.js';
import type { EstimateRiskModelInput, RiskUniverse } from '#jobs/tasks/indices.js';
import type { TaskControl } from '#jobs/thread-messages.js';
import { datapointsOf } from '../input/datapoints.js';
import { onProductEngine } from '../input/numerics.js';
import { openedCalendars } from '../input/opened-calendars.js';
import { openedMarket } from '../input/open-markets.js';
import { withRunFile } from '../run-files/run-file.js';
import { outputContent, withEarlyOutput, writeOutputs } from '../output/task-outputs.js';

/** Completed share of the work at the start of each stage, whatever the number of securities. */
const DONE: Readonly<Record<EstimateStage | 'returns', number>> = {
  returns: 0.05,
  moments: 0.15,
  product: 0.2,
  eigenvalues: 0.4,
  repair: 0.7,
};

/** Estimates a covariance model of the universe over the window: writes its matrix, and returns the rest. */
export const estimateModel: Task<'estimate-risk-model'> = async (input, control) =>
  withEarlyOutput(input.outputs, 'covariance', async (output) => {
    const { matrix, parts, ...model } = await makeModel(input, control, output.begin);
    const ending = output.end(matrix);
    const writing = writeOutputs(input.outputs, { factors: parts });
    await Promise.allSettled([ending, writing]); // a failed task writes nothing afterwards
    const [covariance, { factors }] = await Promise.all([ending, writing]);
    const content = canonicalJson({ asset_ids: model.assetIds, covariance: covariance.sha256 });
    const contentHash = createHash('sha256').update(content).digest('hex');
    return { ...model, covariance, factors, contentHash };
  });

/**
 * Securities and days of a practice model: large enough that its kernels are compiled; it takes about 10 ms once they
 * are.
 */
const WARM_UP_SECURITIES = 250;
const WARM_UP_DAYS = 504;

/**
 * Estimates and discards a model of some securities of a market, which compiles the code. @throws Refusal
 * RISK_INSUFFICIENT_DATA
 */
export async function warmUpModel(market: MarketHandle, control: TaskControl): Promise<void> {
  const { identifiers, dates } = openedMarket(market);
  const universe = { kind: 'names', identifiers: identifiers.slice(0, WARM_UP_SECURITIES) } as const;
  const start = formatDay(dates[Math.max(0, dates.length - WARM_UP_DAYS)]!);
  await makeModel({ market, universe, request: RiskModelRequest.parse({ start }) }, control, () => {});
}

/**
 * Computes the model with the bytes of its matrix and factors.
 * @param onMatrix receives those of the matrix before the check of its eigenvalues, after which a repair may change
 * them
 */
async function makeModel(
  input: Omit<ThreadInput<'estimate-risk-model'>, 'outputs'>,
  control: TaskControl,
  onMatrix: (bytes: Uint8Array<ArrayBuffer>) => void,
) {
  const market = openedMarket(input.market);
  reportStage(control, 'returns');
  const { request } = input;
  const returns = overAskedRange(request, market, () => readReturns(market, input));
  const { sm } = returns;
  return onProductEngine((engine) => {
    let matrix: Uint8Array<ArrayBuffer> | undefined;
    const onStage = (stage: EstimateStage, covariance: Float64Array): void => {
      reportStage(control, stage);
      if (stage === 'eigenvalues') onMatrix((matrix = packedBytes(covariance)));
      if (stage === 'repair') matrix = undefined;
    };
    const { coverage, diagnostics, covariance, factors } = overAskedRange(request, market, () =>
      estimateFrom(engine, returns, request, onStage),
    );
    const span = returnSpan(sm, coverage);
    const assetIds = Array.from(coverage.columns, (column) => sm.identifiers[column]!);
    return {
      matrix: matrix ?? packedBytes(covariance),
      parts: factors && outputContent(new Uint8Array(packFactors(factors.model).buffer)),
      assetIds,
      diagnostics: {
        assets: assetIds.length,
        observations: coverage.sessions.length,
        average_correlation: diagnostics.averageCorrelation,
        condition_number: diagnostics.conditionNumber,
        intensity: diagnostics.intensity,
        positive_semi_definite: diagnostics.isPositiveSemiDefinite,
        repaired: diagnostics.isRepaired,
        smallest_eigenvalue: diagnostics.smallestEigenvalue,
        target: request.estimator === 'shrinkage' ? request.target : null,
      },
      factorModel: factors && factorModelPayload(factors),
      excluded: Object.fromEntries([...coverage.excluded].map(([column, why]) => [sm.identifiers[column]!, why])),
      observedStart: formatDay(span.first),
      observedEnd: formatDay(span.last),
      precision: engine.precision,
    };
  });
}

/** @param matrix [n x n] row-major, symmetric */
function packedBytes(matrix: Float64Array): Uint8Array<ArrayBuffer> {
  return outputContent(new Uint8Array(packUpper(matrix, Math.sqrt(matrix.length)).buffer));
}

function reportStage(control: TaskControl, stage: EstimateStage | 'returns'): void {
  control.report(DONE[stage], stage);
}

/** Reads returns with columns in the order of the identifiers. @throws Refusal RISK_INSUFFICIENT_DATA */
function readReturns(
  market: MarketData,
  { universe, request }: Pick<EstimateRiskModelInput, 'universe' | 'request'>,
): ReturnSource {
  const from = request.start === null ? null : dayFrom(request.start);
  const to = request.end === null ? null : dayFrom(request.end);
  const terms = termsOf(universe, request.returns);
  if (universe.kind === 'names' && !isFactorEstimator(request.estimator)) {
    const columnOf = new Map(market.identifiers.map((identifier, column) => [identifier, column]));
    const columns = knownAmong(universe.identifiers, (identifier) => columnOf.get(identifier) ?? -1);
    return dailyReturns(market, { columns, from, to }, terms);
  }
  const sm =
    universe.kind === 'names'
      ? ownDays(market, { identifiers: universe.identifiers, estimator: request.estimator, from, to })
      : marketOn({ market, calendars: openedCalendars(), code: universe.calendar });
  const knownColumns = knownAmong(universe.kind === 'names' ? universe.identifiers : heldLast(universe), sm.columnOf);
  const window = {
    sm,
    growth: growthOf(sm, terms),
    datapoints: datapointsOf(sm, universe.kind === 'names' ? null : universe),
    from: from === null ? 0 : firstAtLeast(sm.sessions, from),
    to: to === null ? sm.sessions.length - 1 : lastAtMost(sm.sessions, to),
  };
  return returnsOf(window, knownColumns);
}

/** Returns the columns of the identifiers in a market. @throws Refusal RISK_INSUFFICIENT_DATA if it has none */
function knownAmong(identifiers: readonly string[], columnOf: (identifier: string) => number): number[] {
  const columns = identifiers.map(columnOf).filter((column) => column >= 0);
  if (columns.length > 0) return columns;
  throw new Refusal('RISK_INSUFFICIENT_DATA', `None of the ${identifiers.length} securities is in the served store.`, {
    assets: 0,
  });
}

/** Inputs of estimators in addition to returns. */
const READS: Partial<Record<Estimator, 'reference' | 'datapoints'>> = {
  industries: 'reference',
  styles: 'datapoints',
};

interface OwnDays {
  readonly identifiers: readonly string[];
  readonly estimator: Estimator;
  readonly from: Day | null;
  readonly to: Day | null;
}

/** Creates the axis of plain securities: the days of the window on which one of them has a bar. */
export function ownDays(market: MarketData, { identifiers, estimator, from, to }: OwnDays): SessionMarket {
  const wanted = new Set(identifiers);
  const columns = market.identifiers.flatMap((identifier, column) => (wanted.has(identifier) ? [column] : []));
  const narrow = narrowMarket(market, { columns, from, to, keeps: READS[estimator] });
  return alignMarket({ market: narrow, calendar: daysCalendar(narrow.dates), calendars: openedCalendars() });
}

/** Lists the securities of a stored run's last date, long or short, ascending. */
function heldLast({ columns }: { readonly columns: string }): string[] {
  return withRunFile(columns, (run) => {
    const { names, dates } = run.header;
    const weights = run.f64('weights', (dates - 1) * names.length, dates * names.length);
    return names.filter((_, i) => weights[i] !== 0).toSorted(compareText);
  });
}

function termsOf(universe: RiskUniverse, variant: 'total' | 'price'): GrowthTerms {
  return universe.kind === 'run' ? growthTerms(universe.treatment, universe.currency, variant) : plainTerms(variant);
}

/**
 * Growth terms of plain securities: dividends by the request, splits and special dividends applied, in the currencies
 * of their prices.
 */
export function plainTerms(variant: 'total' | 'price'): GrowthTerms {
  return securityTerms(variant, '');
}
