import { parseValidDay, formatDay } from '#domain/time/days.js';
import { compareText, type Finding } from '#domain/refusals/findings.js';
import { computeFactorRisk } from '#domain/risk/factor-risk.js';
import { findPart, groupPartsByDate } from '#domain/risk/imported/model-dates.js';
import { computeModelFactorRisk } from '#domain/risk/model-factor-risk.js';
import { computeActiveByName } from '#domain/risk/model-shares.js';
import { openPackedFactors } from '#domain/risk/packed-factors.js';
import type { FactorMeasure, FactorModelFile, InputOfView } from '#jobs/tasks/views.js';
import type { TaskControl } from '#jobs/thread-messages.js';
import type { Engine } from '#kernels/engines/engine.js';
import { decomposeRisk, type MeasuredFactors } from '#views/risk-decomposition.js';
import { openCompared } from './compared.js';
import {
  listHoldingsByName,
  createHoldingDatapoints,
  findHoldingPositions,
  getPositions,
  readHoldings,
  readRiskWindow,
  listUncovered,
  sumAbsent,
  formatWindowDates,
  type RunHoldings,
} from './holding-risk.js';
import type { MarketData } from '#domain/market/market-data.js';
import { assertKnownSecurities } from './model-risk.js';
import { runOnEngine } from '../input/numerics.js';
import { openCachedMarket } from '../input/open-markets.js';
import { useRunFile } from '../run-files/run-file.js';
import { readStoredDoubles } from '../input/stored-matrix.js';

/**
 * Decomposes the active variance of a run against a benchmark by factors; the total variance if the benchmark is null.
 * @throws Refusal NO_DATA_AT_DATE, RISK_INSUFFICIENT_DATA, MODEL_LACKS_NAMES
 */
export function showFactorRisk(
  { columns, as_of, benchmark, market: handle, measure }: Omit<InputOfView<'factor-risk'>, 'view'>,
  { report }: TaskControl,
): Promise<object> {
  const asOf = as_of ?? null;
  const onPart = (): void => report(0);
  const runHoldings = useRunFile(columns, (run) => readHoldings(run, asOf));
  const ownMarket = openCachedMarket(handle);
  const comparedBenchmark =
    benchmark === null ? null : openCompared({ ...benchmark, onPart }, ownMarket, runHoldings.header);
  return runOnEngine((engine) => {
    const weights = {
      runHoldings,
      market: comparedBenchmark?.market ?? ownMarket,
      weights: listHoldingsByName(runHoldings.weights.names, runHoldings.weights.held),
      compared: comparedBenchmark?.weightsOn(engine, runHoldings.weights.day) ?? new Map<string, number>(),
      onPart,
    };
    const measuredFactors =
      'stored' in measure ? selectStoredFactors(measure.stored, weights) : estimateFactors(engine, measure, weights);
    return decomposeRisk(measureWithHindsight(measuredFactors, runHoldings), {
      benchmark: comparedBenchmark?.id ?? null,
      requested_as_of: asOf,
      as_of: formatDay(runHoldings.weights.day),
    });
  });
}

interface ComparedRun {
  readonly runHoldings: RunHoldings;
  readonly market: MarketData;
  readonly weights: ReadonlyMap<string, number>;
  /** Weights of the benchmark; empty if no benchmark is requested. */
  readonly compared: ReadonlyMap<string, number>;
  readonly onPart: () => void;
}

function estimateFactors(
  engine: Engine,
  { model, factors, estimator, findings }: Exclude<FactorMeasure, { readonly stored: FactorModelFile }>,
  { runHoldings, market, weights, compared, onPart }: ComparedRun,
): MeasuredFactors {
  const window = readRiskWindow(runHoldings, market, onPart);
  const { sm } = window;
  const risk = computeFactorRisk(
    engine,
    { ...window, datapoints: createHoldingDatapoints(window, runHoldings.header) },
    {
      weights: findHoldingPositions(sm, weights),
      benchmark: getPositions(sm, compared),
      absent: sumAbsent(sm, computeActiveByName(weights, compared)),
      model,
      factors,
    },
  );
  return {
    ...risk,
    uncovered: listUncovered(sm, risk, new Set([...weights.keys(), ...compared.keys()])),
    riskModel: null,
    estimator,
    window: formatWindowDates(runHoldings),
    findings,
  };
}

function selectStoredFactors(
  stored: FactorModelFile,
  { runHoldings, weights, compared }: ComparedRun,
): MeasuredFactors {
  const { modelId, factors, estimator } = stored;
  const { names, numbers, window } = readFactorsOn(stored, formatDay(runHoldings.weights.day));
  assertKnownSecurities({ modelId, names }, weights);
  const model = openPackedFactors(numbers, factors, names.length);
  const risk = computeModelFactorRisk(model, names, computeActiveByName(weights, compared));
  return {
    ...risk,
    model: estimator,
    riskModel: modelId,
    estimator: null,
    observations: null,
    window,
    findings: createLackFindings(modelId, risk.uncovered),
  };
}

interface FactorsOnDate extends Pick<FactorModelFile, 'names'>, Pick<MeasuredFactors, 'window'> {
  readonly numbers: Float64Array;
}

/**
 * Returns the packed factors of a date. For an imported model, these are the factors in force on the date. Before the
 * first date of the model, they are its oldest factors.
 */
function readFactorsOn({ path, names, factors, dates, ...span }: FactorModelFile, date: string): FactorsOnDate {
  const numbers = readStoredDoubles([path]);
  if (dates === undefined)
    return { names, numbers, window: { window_start: span.observedStart, window_end: span.observedEnd } };
  const K = factors.length;
  const parts = groupPartsByDate(names, dates, K);
  const datePart = findPart(parts, date) ?? parts[0]!; // an imported model has at least one date
  const end = datePart.factorsAt + datePart.names.length * (K + 1) + K * K;
  const window = { window_start: datePart.date, window_end: datePart.date };
  return { names: datePart.names, numbers: numbers.subarray(datePart.factorsAt, end), window };
}

/** Maximum number of securities in a finding. */
const LISTED_NAMES_MAX = 5;

function createLackFindings(modelId: string, names: readonly string[]): Finding[] {
  if (names.length === 0) return [];
  const remainderText = names.length > LISTED_NAMES_MAX ? ` and ${names.length - LISTED_NAMES_MAX} more` : '';
  const message = `The risk model ${modelId} has no estimate of ${names.slice(0, LISTED_NAMES_MAX).join(', ')}${remainderText}: the other weights are scaled to the full weight.`;
  const listedNames = names.toSorted(compareText).slice(0, LISTED_NAMES_MAX);
  return [
    {
      severity: 'warning',
      code: 'MODEL_LACKS_NAMES',
      path: 'risk_model',
      message,
      count: names.length,
      places: listedNames,
    },
  ];
}

/** Adds a warning if the estimate uses returns after the date of the weights. */
function measureWithHindsight(measured: MeasuredFactors, { weights }: RunHoldings): MeasuredFactors {
  const { riskModel, window, findings } = measured;
  const { window_end: end } = window;
  if (parseValidDay(end) <= weights.day) return measured;
  const modelText = riskModel === null ? 'The estimate' : `The risk model ${riskModel}`;
  const message = `${modelText} uses returns up to ${end}, after the weights of ${formatDay(weights.day)}.`;
  return { ...measured, findings: [...findings, { severity: 'warning', code: 'LOOK_AHEAD', path: 'as_of', message }] };
}
