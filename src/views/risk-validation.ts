import type { RiskValidationView } from '#contract/risk-models.js';
import { computeMean } from '#domain/analytics/returns.js';
import { formatDay } from '#domain/base/time.js';
import type { RiskModelRequest, RiskValidationRequest } from '#domain/risk/risk-models.js';
import {
  type ForecastDay,
  PORTFOLIO_FAMILIES,
  type PortfolioFamily,
  type PortfolioValidation,
  type RiskValidation,
} from '#domain/risk/validation.js';

export interface ValidatedModel {
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

/** Summarises a validation in a sentence. */
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
