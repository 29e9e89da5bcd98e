import type { OverviewView, PerformanceView } from '#clients/typescript/divisor.js';
import { countSessionsOfYear } from '../../words/statistics.js';
import { returnText } from '../../words/labels.js';
import {
  formatChange,
  formatCount,
  formatDecimal,
  formatPercent,
  formatPoints,
  getSignClass,
} from '../../words/numbers.js';

interface Figure {
  readonly term: string;
  readonly value: string;
  readonly help?: string;
  readonly kind?: string;
  readonly note?: string;
}

/** State of a risk control after a close. */
export interface RiskControl {
  /** Target volatility, and maximum exposure; null if the definition changed since the run. */
  readonly target: number | null;
  readonly maxExposure: number | null;
  /** Exposure to the underlying index; null until it is loaded. */
  readonly exposure: number | null;
  /** Annual volatility from which the target exposure was computed; null until it is loaded. */
  readonly volatility: number | null;
}

/**
 * Describes the series of all figures in a response, for example `Index INDEX-1, total return, before costs of the
 * run`.
 */
export const formatSubject = (view: Pick<PerformanceView, 'of' | 'return_variant'>, tracked: string): string =>
  view.of === 'index'
    ? `Index ${tracked}, ${returnText(view.return_variant)}, before costs of the run`
    : `Portfolio after costs, ${returnText(view.return_variant)}`;

/** Formats the return of the last session, for example `+0.40% on 2024-03-15`. */
export const formatDayReturn = ({ day_return: value, end }: Pick<PerformanceView, 'day_return' | 'end'>): string =>
  `${formatChange(value)} on ${end}`;

/** @param write default: as a return */
const createSignedFigure = (term: string, value: number | null, help: string, write = formatChange): Figure => ({
  term,
  value: write(value),
  kind: getSignClass(value),
  help,
});

/** Tracking error of a series to a reference, and its return minus that of the reference. */
interface Relation {
  readonly reference: string;
  readonly trackingErrorAnnual: number | null;
  readonly difference: number | null;
}

/**
 * Returns the relation of the series to the benchmark of its run. Returns null if the run has no benchmark, or tracks
 * it.
 */
function findBenchmarkRelation(
  { benchmark, benchmark_statistics: relative }: PerformanceView,
  tracked: string,
): Relation | null {
  if (relative === null || benchmark === null || benchmark === tracked) return null;
  return {
    reference: benchmark,
    trackingErrorAnnual: relative.tracking_error,
    difference: relative.excess_return,
  };
}

/**
 * Describes how closely the series follows its reference, for example `Realised tracking error 1.01% · −27.41 pp to CORE`.
 * The reference of a strategy is its index, otherwise the benchmark of the run. Returns null without a reference.
 */
export function formatRelation(view: PerformanceView, tracked: string): string | null {
  const { tracking_error: error, tracking_difference: difference } = view.metrics;
  const relation =
    view.of === 'portfolio' && tracked !== view.index_id
      ? { reference: tracked, trackingErrorAnnual: error, difference }
      : findBenchmarkRelation(view, tracked);
  if (relation === null) return null;
  return `Realised tracking error ${formatPercent(relation.trackingErrorAnnual)} · ${formatPoints(relation.difference)} to ${relation.reference}`;
}

const createAnnualisedFigure = ({ metrics, level }: PerformanceView): Figure => ({
  ...createSignedFigure(
    'Annualised return',
    metrics.annualised_return,
    '(1 + return)^(sessions of a year / n) - 1, n sessions',
  ),
  note: `${countSessionsOfYear(level.index)} sessions a year`,
});

/**
 * Returns the main figures of a date range.
 *
 * @param tracked index tracked by the run; as a benchmark it adds no figures
 * @param control state of a risk control; its exposure replaces the figures relative to the benchmark
 */
export function listMainFigures(
  view: PerformanceView,
  tracked: string,
  control: RiskControl | null = null,
): readonly Figure[] {
  const { metrics, of, return_variant: variant } = view;
  const { tracking_error: error, tracking_difference: difference } = metrics;
  return [
    {
      term: 'Level',
      value: formatDecimal(view.end_level),
      note: formatDayReturn(view),
      help: of === 'index' ? 'Index points after the close' : 'Value of the portfolio: 100 at the start of its run',
    },
    createSignedFigure(
      capitalise(returnText(variant)),
      metrics.total_return,
      'Last level divided by the first, minus 1',
    ),
    createAnnualisedFigure(view),
    {
      term: 'Realised volatility',
      value: formatPercent(metrics.volatility),
      help: 'Annualised standard deviation of the daily returns of the range',
      ...(control?.target != null && { note: `target ${formatPercent(control.target)}` }),
    },
    {
      term: 'Sharpe ratio',
      value: formatDecimal(metrics.sharpe_ratio),
      help: 'Annualised: mean return x sessions of a year over volatility, risk-free rate 0',
    },
    {
      term: 'Max drawdown',
      value: formatPercent(metrics.max_drawdown),
      help: 'Lowest level against its peak before, within the range',
    },
    ...(of === 'portfolio'
      ? [
          {
            term: 'Realised tracking error',
            value: formatPercent(error),
            note: 'to its index',
            help: `Annualised: of the portfolio after costs to ${tracked}`,
          },
          {
            ...createSignedFigure(
              'Tracking difference',
              difference,
              `Return of the portfolio minus that of ${tracked}, not annualised`,
              formatPoints,
            ),
            note: 'to its index, cumulative',
          },
        ]
      : []),
    ...(control === null ? createRelativeFigures(view, tracked) : createControlFigures(control, view.end)),
  ];
}

/** Returns the figures relative to the benchmark of the run; empty if the run has no benchmark, or tracks it. */
function createRelativeFigures(view: PerformanceView, tracked: string): readonly Figure[] {
  const relation = findBenchmarkRelation(view, tracked);
  if (relation === null) return [];
  const { reference, trackingErrorAnnual, difference } = relation;
  return [
    {
      term: 'Realised tracking error',
      value: formatPercent(trackingErrorAnnual),
      note: `to ${reference}`,
      help: 'Annualised: to the benchmark of the run',
    },
    {
      ...createSignedFigure('Excess return', difference, 'On shared dates, not annualised', formatPoints),
      note: `to ${reference}, cumulative`,
    },
  ];
}

const createControlFigures = ({ exposure, maxExposure, volatility }: RiskControl, date: string): readonly Figure[] => [
  {
    term: 'Exposure',
    value: formatPercent(exposure, 1),
    ...(maxExposure !== null && { note: `at most ${formatPercent(maxExposure, 0)}` }),
    help: `Fraction in the underlying index after the close of ${date}; the rest is cash`,
  },
  {
    term: 'Volatility estimate',
    value: formatPercent(volatility),
    note: 'of the underlying index',
    help: 'Annual volatility from which the target exposure was computed',
  },
];

const capitalise = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export function createStatistics({ statistics }: PerformanceView): readonly Figure[] {
  return [
    {
      term: 'Sortino ratio',
      value: formatDecimal(statistics.sortino_ratio),
      help: 'Annualised: mean return x sessions of a year over downside volatility',
    },
    {
      term: 'Downside volatility',
      value: formatPercent(statistics.downside_volatility),
      help: 'Annualised root mean square of the returns below 0, the others counted as 0',
    },
    {
      term: 'CVaR 95%, one day',
      value: formatPercent(statistics.cvar_95),
      help: 'Conditional value at risk: mean loss of the worst twentieth of the sessions, positive for a loss',
    },
    { term: 'Skewness', value: formatDecimal(statistics.skewness), help: 'Of daily returns' },
    {
      term: 'Hit rate',
      value: formatPercent(statistics.hit_rate),
      help: 'Share of the sessions with a return above 0',
    },
    createSignedFigure('Best day', statistics.best_return, 'Highest return of one session'),
    createSignedFigure('Worst day', statistics.worst_return, 'Lowest return of one session'),
  ];
}

/** Returns the figures relative to the benchmark of the run. Returns none if the run has no benchmark. */
export function createBenchmarkFigures({ benchmark_statistics: relative }: PerformanceView): readonly Figure[] {
  if (relative === null) return [];
  return [
    createSignedFigure('Return of the benchmark', relative.benchmark_return, 'On shared dates, not annualised'),
    createSignedFigure(
      'Excess return',
      relative.excess_return,
      'Return minus benchmark return, not annualised',
      formatPoints,
    ),
    {
      term: 'Realised tracking error',
      value: formatPercent(relative.tracking_error),
      help: 'Realised, annualised standard deviation of return differences to the benchmark',
    },
    {
      term: 'Information ratio',
      value: formatDecimal(relative.information_ratio),
      help: 'Annualised: mean of the return differences over their standard deviation',
    },
    {
      term: 'Up capture',
      value: formatPercent(relative.up_capture),
      help: "Geometric mean return over the benchmark's, on its sessions above 0",
    },
    { term: 'Down capture', value: formatPercent(relative.down_capture), help: 'The same on its sessions below 0' },
    { term: 'Shared dates', value: formatCount(relative.observations) },
  ];
}

type Forecast = NonNullable<NonNullable<OverviewView['parent']>['forecast']>;

const isOutside = ({ bias, bias_low: low, bias_high: high }: Forecast): boolean =>
  bias !== null && low !== null && high !== null && (bias < low || bias > high);

/** Returns the figures of a derived index relative to its parent, for the whole run. */
export function createParentFigures({ parent }: OverviewView): readonly Figure[] {
  if (parent === undefined) return [];
  const { forecast } = parent;
  return [
    createSignedFigure(`Return of ${parent.index_id}`, parent.total_return, 'On shared dates, not annualised'),
    createSignedFigure(
      'Tracking difference',
      parent.tracking_difference,
      'Return of the portfolio after costs minus that of the parent',
      formatPoints,
    ),
    {
      term: 'Realised tracking error',
      value: formatPercent(parent.tracking_error),
      help: 'Annualised standard deviation of return differences to the parent',
    },
    ...(forecast === undefined
      ? []
      : [
          {
            term: 'Forecast tracking error',
            value: formatPercent(forecast.tracking_error),
            help: 'Annualised: as the risk model forecast it at the rebalances, a root mean square over the dates',
          },
          {
            term: 'Realised over forecast',
            value: formatDecimal(forecast.bias),
            kind: isOutside(forecast) ? 'warning' : '',
            help: 'Bias of the forecasts: risk was underestimated if it is above 1',
            note: `unbiased range: ${formatDecimal(forecast.bias_low)} to ${formatDecimal(forecast.bias_high)}`,
          },
        ]),
  ];
}
