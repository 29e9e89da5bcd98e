import {
  type Data,
  Field,
  Float64,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { toCanonicalJson } from '#domain/base/json.js';
import type { FactorModel } from '#domain/risk/model-terms.js';
import type {
  FactorModelPayload,
  RiskModelPart,
  RiskModelRequest,
  RiskValidationRequest,
} from '#domain/risk/risk-models.js';
import {
  computeCorrelationRow,
  computeVolatilities,
  type PackedMatrix,
  unpackRow,
} from '#domain/risk/stored-models.js';
import { createJsonWriter, type JsonWriter } from './json/writer.js';
import type { RiskValidationView } from '#contract/risk-models.js';
import { computeMean } from '#domain/analytics/returns.js';
import { formatDay } from '#domain/base/time.js';
import {
  type ForecastDay,
  PORTFOLIO_FAMILIES,
  type PortfolioFamily,
  type PortfolioValidation,
  type RiskValidation,
} from '#domain/risk/validation.js';
import type { EstimatedFactors } from '#domain/risk/factors.js';

/**
 * Maximum number of securities for which an Arrow stream contains the correlation. With more, the JSON text of the
 * correlation would be longer than the table.
 */
const CORRELATION_NAMES_MAX = 2_000;

/**
 * Writes a part of a risk model as JSON: rows of the covariance or correlation separated by commas, or the object with
 * the volatilities.
 */
export function writeRiskModelPart(matrix: PackedMatrix, part: RiskModelPart): Uint8Array<ArrayBuffer> {
  const json = createJsonWriter();
  const volatilities = computeVolatilities(matrix);
  if (part.part === 'volatilities') {
    json.raw(toCanonicalJson(groupByName(part.assetIds, volatilities)));
    return json.bytes();
  }
  const row = new Float64Array(matrix.order);
  for (let i = part.from; i < part.to; i++) {
    if (part.part === 'covariance') unpackRow(matrix, i, row);
    else computeCorrelationRow(matrix, volatilities, i, row);
    json.raw(i === part.from ? '[' : ',[');
    json.numbers(row);
    json.raw(']');
  }
  return json.bytes();
}

interface ExportedModel {
  readonly date: string;
  readonly names: readonly string[];
  readonly matrix: () => PackedMatrix;
  /** Factors of the model; null for a covariance without factors. */
  readonly factors: FactorModel | null;
}

/** Writes a model on one date as a member of an import file. */
export function writeExportedModel({ date, names, matrix, factors }: ExportedModel): Uint8Array<ArrayBuffer> {
  const json = createJsonWriter();
  json.raw(`{"date":${JSON.stringify(date)}`);
  if (factors === null) {
    const packedMatrix = matrix();
    const row = new Float64Array(packedMatrix.order);
    writeFrame(json, { name: 'covariance', index: names, columns: names }, (i) => {
      unpackRow(packedMatrix, i, row);
      return row;
    });
  } else {
    const { factors: factorNames, exposures, covariance, specific } = factors;
    const K = factorNames.length;
    const createRowReader = (packedRows: Float64Array) => (i: number) => packedRows.subarray(i * K, (i + 1) * K);
    writeFrame(json, { name: 'exposures', index: names, columns: factorNames }, createRowReader(exposures));
    writeFrame(
      json,
      { name: 'factor_covariance', index: factorNames, columns: factorNames },
      createRowReader(covariance),
    );
    json.raw(`,"specific_variances":${toCanonicalJson(groupByName(names, specific))}`);
  }
  json.raw('}');
  return json.bytes();
}

interface FrameTerms {
  readonly name: string;
  readonly index: readonly string[];
  readonly columns: readonly string[];
}

function writeFrame(json: JsonWriter, { name, index, columns }: FrameTerms, rowAt: (i: number) => Float64Array): void {
  json.raw(`,"${name}":{"index":${JSON.stringify(index)},"columns":${JSON.stringify(columns)},"data":[`);
  index.forEach((_, i) => {
    json.raw(i === 0 ? '[' : ',[');
    json.numbers(rowAt(i));
    json.raw(']');
  });
  json.raw(']}');
}

/**
 * Encodes the covariance as an Arrow IPC stream: a column `asset_id`, and one column per security. The rest of the body
 * is stored as JSON in the schema metadata.
 */
export function encodeRiskModel(
  matrix: PackedMatrix,
  assetIds: readonly string[],
  body: Readonly<Record<string, unknown>>,
): Uint8Array {
  const rows = assetIds.map((_, i) => {
    const row = new Float64Array(matrix.order);
    unpackRow(matrix, i, row); // the matrix is symmetric, so row i is column i
    return row;
  });
  const volatilities = computeVolatilities(matrix);
  const summary = {
    ...body,
    asset_ids: assetIds,
    volatilities: groupByName(assetIds, volatilities),
    correlation: matrix.order > CORRELATION_NAMES_MAX ? null : createCorrelationFrame(matrix, volatilities, assetIds),
  };
  const schema = new Schema(
    [new Field('asset_id', new Utf8(), false), ...assetIds.map((assetId) => new Field(assetId, new Float64(), false))],
    new Map([['body', toCanonicalJson(summary)]]),
  );
  const children: Data[] = [
    vectorFromArray([...assetIds], new Utf8()).data[0]!,
    ...rows.map((values) => makeData({ type: new Float64(), length: values.length, nullCount: 0, data: values })),
  ];
  const batch = new RecordBatch(
    schema,
    makeData({ type: new Struct(schema.fields), length: matrix.order, nullCount: 0, children }),
  );
  return tableToIPC(new Table(schema, [batch]), 'stream');
}

/**
 * Returns values by identifier. JSON.stringify would write identifiers that consist of digits first. Therefore only
 * `toCanonicalJson` may write the object.
 */
function groupByName(assetIds: readonly string[], values: Float64Array): Record<string, number> {
  return Object.fromEntries(assetIds.map((assetId, i) => [assetId, values[i]!]));
}

function createCorrelationFrame(
  matrix: PackedMatrix,
  volatilities: Float64Array,
  assetIds: readonly string[],
): unknown {
  const row = new Float64Array(matrix.order);
  const data = assetIds.map((_, i) => {
    computeCorrelationRow(matrix, volatilities, i, row);
    return [...row];
  });
  return { index: assetIds, columns: assetIds, data };
}

interface ValidatedModel {
  readonly modelId: string;
  readonly settings: RiskModelRequest;
  readonly request: RiskValidationRequest;
  readonly indexId: string | null;
}

export function createRiskValidationView(
  { modelId, settings, request: { sessions, horizon }, indexId }: ValidatedModel,
  { days, skipped, portfolios }: RiskValidation,
): RiskValidationView {
  const {
    estimator,
    factors,
    eigenvalue_simulations,
    threshold,
    lags,
    target,
    intensity,
    intensity_method,
    half_life,
  } = settings;
  const portfolioViews = portfolios.map(createPortfolioView);
  return {
    model_id: modelId,
    settings: {
      estimator,
      factors,
      eigenvalue_simulations,
      threshold,
      lags,
      target,
      intensity,
      intensity_method,
      half_life,
    },
    sessions,
    horizon,
    index_id: indexId,
    start: formatDay(days[0]!.day),
    end: formatDay(days.at(-1)!.until),
    forecasts: days.length,
    skipped,
    families: PORTFOLIO_FAMILIES.flatMap((family) => createFamilyViews(family, portfolioViews)),
    portfolios: portfolioViews,
    by_date: groupByDate(days),
  };
}

export function describeValidation({ forecasts, horizon, families }: RiskValidationView): string {
  const biasTexts = families.map(({ family, bias }) => `${family.replace('_', ' ')} ${bias.toFixed(2)}`);
  return `${forecasts} forecasts of ${horizon} sessions. Bias: ${biasTexts.join(', ')}.`;
}

type PortfolioView = RiskValidationView['portfolios'][number];

function createPortfolioView({ family, number, ...portfolio }: PortfolioValidation): PortfolioView {
  const [low, high] = portfolio.biasBand;
  return {
    family,
    number,
    observations: portfolio.observations,
    bias: portfolio.bias,
    q_statistic: portfolio.qStatistic,
    qlike: portfolio.qlike,
    mean_rolling_deviation: portfolio.rollingDeviation,
    bias_low: low,
    bias_high: high,
    in_band: portfolio.bias >= low && portfolio.bias <= high,
    forecast_volatility: portfolio.forecastVolatility,
    realised_volatility: portfolio.realisedVolatility,
  };
}

function createFamilyViews(
  family: PortfolioFamily,
  portfolioViews: readonly PortfolioView[],
): RiskValidationView['families'] {
  const portfolios = portfolioViews.filter((portfolio) => portfolio.family === family);
  if (portfolios.length === 0) return [];
  const computeAverage = (readValue: (portfolio: PortfolioView) => number): number =>
    computeMean(Float64Array.from(portfolios, readValue));
  const computeKnownMean = (readValue: (portfolio: PortfolioView) => number | null): number | null => {
    const knownValues = portfolios.flatMap((portfolio) => readValue(portfolio) ?? []);
    return knownValues.length < portfolios.length ? null : computeMean(Float64Array.from(knownValues));
  };
  return [
    {
      family,
      portfolios: portfolios.length,
      share_in_band: computeAverage(({ in_band: isIn }) => (isIn ? 1 : 0)),
      bias: computeAverage(({ bias }) => bias),
      q_statistic: computeKnownMean((portfolio) => portfolio.q_statistic),
      qlike: computeAverage(({ qlike }) => qlike),
      mean_rolling_deviation: computeKnownMean((portfolio) => portfolio.mean_rolling_deviation),
    },
  ];
}

/** Portfolio families with only one portfolio. It is reported by date. */
const SINGLE_FAMILIES = ['equal_weight', 'index'] as const satisfies readonly PortfolioFamily[];

function groupByDate(days: readonly ForecastDay[]): RiskValidationView['by_date'] {
  const shownFamilies = PORTFOLIO_FAMILIES.filter((family) =>
    days.some(({ tried }) => tried.some((forecastOutcome) => forecastOutcome.family === family)),
  );
  const singleFamilies = SINGLE_FAMILIES.filter((family) => shownFamilies.includes(family));
  return {
    index: days.map(({ day }) => formatDay(day)),
    columns: [
      'names',
      ...singleFamilies.flatMap((family) => [`${family}_forecast`, `${family}_return`]),
      ...shownFamilies.map((family) => `${family}_standardised`),
    ],
    data: days.map(({ names, tried }) => [
      names,
      ...singleFamilies.flatMap((family) => {
        const forecastOutcome = tried.find((forecast) => forecast.family === family);
        return [forecastOutcome?.forecast ?? null, forecastOutcome?.outcome ?? null];
      }),
      ...shownFamilies.map((family) =>
        computeRootMeanSquare(tried.filter((forecastOutcome) => forecastOutcome.family === family)),
      ),
    ]),
  };
}

/** Computes the root mean square of standardised outcomes; null if there are none. */
function computeRootMeanSquare(outcomes: ForecastDay['tried']): number | null {
  if (outcomes.length === 0) return null;
  return Math.sqrt(computeMean(Float64Array.from(outcomes, ({ forecast, outcome }) => (outcome / forecast) ** 2)));
}

/** Converts the factors of an imported model to their form in the API. */
export function toImportedFactors({ factors, covariance }: FactorModel): FactorModelPayload {
  const K = factors.length;
  return {
    r_squared: null,
    factors: factors.map((factor, k) => ({
      factor,
      volatility: Math.sqrt(covariance[k * (K + 1)]!),
      mean_t_statistic: null,
      significant_share: null,
    })),
  };
}

/** Converts the factors of an estimated risk model to their form in the API. */
export function createFactorModelPayload({ model, fit }: EstimatedFactors): FactorModelPayload {
  const K = model.factors.length;
  return {
    r_squared: fit.rSquared,
    factors: model.factors.map((factor, k) => ({
      factor,
      volatility: Math.sqrt(model.covariance[k * (K + 1)]!),
      mean_t_statistic: fit.tStatistics?.[k] ?? null,
      significant_share: fit.significant?.[k] ?? null,
    })),
  };
}
