import { raiseToPower } from '#kernels/power.js';
import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { requireExactlyOne } from '../../schema/one-of.js';
import { formatShare } from '../../catalogue/sentence-numbers.js';
import { annualisation, defineBasis, costBps, describeCosts, defineRateSeries } from '../fields.js';
import { defineOverlayType, type OverlaySource } from '../overlay-type.js';
import { reportWithoutEffect, reportIdleMembers, type Remark } from '../remarks.js';
import { computeAccruals, BASIS_POINT, subtractCosts, assertPositive, computeYearFractions } from '../steps.js';
import {
  explainExposure,
  reviewExposures,
  reviewFields,
  listReviewRemarks,
  describeReview,
  type TargetExposures,
} from '../exposure-reviews.js';

const halfLife = z.number().gt(0).max(2520).meta({ description: 'Sessions.' });

const schema = defineObject(() => ({
  type: z.literal('risk_control'),
  target: z
    .number()
    .gt(0)
    .max(2)
    .meta({ label: 'Target volatility', description: 'Annual volatility of the overlay.', unit: 'fraction' }),
  half_lives: z.array(halfLife).min(1).max(4).nullable().default(null).meta({
    label: 'Half-lives',
    description: 'Half-lives of the weights of squared returns, in sessions. The largest volatility is used.',
  }),
  sessions: z
    .int()
    .min(2)
    .max(2520)
    .nullable()
    .default(null)
    .meta({ description: 'Number of sessions of the mean of squared returns. Replaces the half-lives.' }),
  max_leverage: z
    .number()
    .gt(0)
    .max(10)
    .default(1.5)
    .meta({ label: 'Largest exposure', description: 'Largest fraction in the index: 1.5 is 150%.' }),
  lag: z
    .int()
    .min(0)
    .max(20)
    .default(2)
    .meta({ description: 'Number of sessions between the last return in the volatility and the exposure.' }),
  ...reviewFields,
  cash: defineRateSeries('rate of cash').nullable().default(null),
  spread_bps: z
    .number()
    .min(0)
    .max(10_000)
    .optional()
    .meta({ description: 'Spread over the rate, for borrowed money at an exposure above 1. Default: 0.' }),
  cost_bps: costBps,
  basis: defineBasis(360),
  annualisation,
}));

export const riskControl = defineOverlayType({
  type: 'risk_control',
  label: 'Risk control',
  help: 'The index with a target volatility. The rest is invested in cash.',
  formula:
    'x[t] = min(max_leverage, target / vol[t-lag]); e[0] = x[0]; on a review where |x[t] - e[t-1]| > tolerance: e[t] = e[t-1] + max(-max_change, min(max_change, x[t] - e[t-1])), otherwise e[t] = e[t-1]; without tolerance, max_change and review e[t] = x[t]; L[t+1] = L[t] * (1 + e[t] (g[t+1] - 1) + (1 - e[t]) c[t] days / basis - max(0, e[t] - 1) spread days / basis); vol: root of annualisation times the mean of squared log returns, of the largest half-life; with costs growth G[t] becomes G[t] (1 - cost |e[t] - e[t-1] g[t] / G[t]|)',
  reference: 'S&P Dow Jones Indices, Index Mathematics Methodology: risk control indices',
  schema: schema.superRefine(requireExactlyOne({ by: 'a risk control', of: ['half_lives', 'sessions'] })),
  example: { type: 'risk_control', target: 0.1, half_lives: [11, 23], max_leverage: 1.5, lag: 2, cash: 'SOFR' },
  series: ({ cash }) => (cash === null ? [] : [{ path: 'cash', series: cash, currency: null }]),
  sentences: ({
    target,
    half_lives,
    sessions,
    max_leverage,
    lag,
    cash,
    spread_bps,
    cost_bps,
    basis: days,
    annualisation: year,
    ...review
  }) => [
    `After each close it holds the underlying index at a leverage of ${formatShare(target)} divided by its volatility, at most ${formatShare(max_leverage)} of its value, and the rest in cash.`,
    `The volatility is the root of ${year ?? 'the sessions of a year (252, or 365 if the calendar trades every day)'} times the mean of squared logarithmic returns up to ${lag === 0 ? 'that close' : `${lag} session${lag === 1 ? '' : 's'} before`}, ${sessions === null ? `with weights that halve every ${half_lives!.join(' and every ')} sessions${half_lives!.length > 1 ? '; the largest counts' : ''}` : `over ${sessions} sessions`}. Returns of the index beneath before the base date count; before the first return is known it holds ${formatShare(Math.min(1, max_leverage))}.`,
    ...describeReview(review),
    `Cash earns ${cash === null ? 'nothing' : `the rate ${cash} of the close before, by calendar days over ${days}`}.`,
    ...(spread_bps === undefined
      ? []
      : [
          `Borrowing costs ${spread_bps} basis points per year more${cash === null ? `, by calendar days over ${days}` : ''}.`,
        ]),
    ...describeCosts(cost_bps),
  ],
  remarks(spec) {
    const { half_lives, cash, max_leverage, spread_bps = 0 } = spec;
    const canBorrow = max_leverage > 1;
    const why = {
      spread: `max_leverage is ${max_leverage}, so nothing is borrowed`,
      basis: 'no interest is counted',
    };
    return [
      ...reportRepeated(half_lives ?? []),
      ...reportCap(spec),
      ...listReviewRemarks(spec),
      ...(canBorrow ? [] : reportIdleMembers(schema, spec, { members: ['spread_bps'], why: why.spread })),
      ...(cash === null && !(canBorrow && spread_bps > 0)
        ? reportIdleMembers(schema, spec, { members: ['basis'], why: why.basis })
        : []),
    ];
  },
  path(spec, context) {
    const source = context.sources[0]!;
    const targets = computeTargetExposures({ ...spec, annualisation: spec.annualisation ?? context.periods }, source);
    const reviewedExposures = reviewExposures(targets.exposure, spec, context);
    const { exposure } = reviewedExposures;
    const interest = computeAccruals(context, spec.cash, spec.basis);
    const spread = computeYearFractions(context.days, spec.basis).map(
      (days) => (spec.spread_bps ?? 0) * BASIS_POINT * days,
    );
    const cash = interest.map((earned, t) => {
      if (t === 0) return 0;
      const heldExposure = exposure[t - 1]!;
      return (1 - heldExposure) * earned - (heldExposure > 1 ? (heldExposure - 1) * spread[t]! : 0);
    });
    const growth = source.growth.map((own, t) =>
      t === 0 ? 1 : assertPositive(1 + exposure[t - 1]! * (own - 1) + cash[t]!, context, t),
    );
    const parts = [{ part: 'cash' as const, contributions: cash }];
    const explain = explainExposure(targets, reviewedExposures);
    const path = { growth, exposures: [exposure], exchange: null, parts, resets: null, explain };
    return subtractCosts(path, context, spec.cost_bps);
  },
});

const reportRepeated = (halfLives: readonly number[]): Remark[] =>
  halfLives.flatMap((halfLife, k) => {
    const first = halfLives.indexOf(halfLife);
    return first === k ? [] : [reportWithoutEffect(`half_lives[${k}]`, halfLife, `half_lives[${first}] is the same`)];
  });

/**
 * Reports a maximum exposure that is below the target volatility. The target then has no effect: the exposure is below
 * its maximum only at volatilities that no index has.
 */
const reportCap = ({ target, max_leverage }: Terms): Remark[] =>
  max_leverage >= target
    ? []
    : [
        reportWithoutEffect(
          'target',
          target,
          `max_leverage is ${max_leverage}, which is the exposure for every volatility below ${formatShare(Number((target / max_leverage).toPrecision(4)))} per year`,
        ),
      ];

interface Terms {
  readonly target: number;
  readonly half_lives: readonly number[] | null;
  readonly sessions: number | null;
  readonly max_leverage: number;
  readonly lag: number;
}

interface AnnualTerms extends Terms {
  /** Number of sessions per year. */
  readonly annualisation: number;
}

/**
 * Returns the exposures at which the index would have the target volatility, [T]. Before the first return the exposure
 * is 1, or the maximum exposure if that is less.
 */
function computeTargetExposures(
  { target, half_lives, sessions, max_leverage, lag, annualisation: year }: AnnualTerms,
  { growth, before }: OverlaySource,
): TargetExposures {
  const squares = Float64Array.from([...before, ...growth.subarray(1)], (own) => Math.log(own) ** 2);
  const volatilities =
    sessions === null
      ? half_lives!.map((sessionsOfHalf) =>
          computeDecayed(squares, { decay: raiseToPower(0.5, 1 / sessionsOfHalf), year }),
        )
      : [computeWindowMean(squares, { sessions, year })];
  const volatility = growth.map((_, t) => {
    const observationIndex = before.length + t - 1 - lag;
    return observationIndex < 0 ? Number.NaN : Math.max(...volatilities.map((of) => of[observationIndex]!));
  });
  const exposure = volatility.map((own) =>
    Number.isNaN(own) ? Math.min(1, max_leverage) : Math.min(max_leverage, target / own),
  );
  return { exposure, volatility };
}

/** Returns the annual volatility up to each return from squared returns with exponentially decaying weights, [R]. */
function computeDecayed(
  squares: Float64Array,
  { decay, year }: { readonly decay: number; readonly year: number },
): Float64Array {
  let sum = 0;
  let weight = 0;
  return squares.map((square) => {
    sum = decay * sum + (1 - decay) * square;
    weight = decay * weight + (1 - decay);
    return Math.sqrt((year * sum) / weight);
  });
}

/**
 * Returns the annual volatility from the latest squared returns with equal weights, [R]. At the beginning there are
 * fewer returns.
 */
function computeWindowMean(
  squares: Float64Array,
  { sessions, year }: { readonly sessions: number; readonly year: number },
): Float64Array {
  return squares.map((_, position) => {
    const from = Math.max(0, position + 1 - sessions);
    let sum = 0;
    for (let k = from; k <= position; k++) sum += squares[k]!;
    return Math.sqrt((year * sum) / (position + 1 - from));
  });
}
