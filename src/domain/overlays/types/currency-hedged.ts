import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { findMajorUnit } from '../../market/currency-codes.js';
import { requireExactlyOne } from '../../schema/one-of.js';
import { CurrencyCode } from '../../schema/shape.js';
import { formatShare } from '../../catalogue/sentence-numbers.js';
import { defineBasis, defineRateSeries } from '../fields.js';
import { defineOverlayType, type OverlayContext, type OverlayPath } from '../overlay-type.js';
import { reportWithoutEffect, reportIdleMembers, type UnderlyingTerms, type Remark } from '../remarks.js';
import { assertPositive } from '../steps.js';
import { computeExchangeGrowth } from './currency.js';

const STRIKE_WORDS = 'that are struck on the last session of each month until that of the next';

const ratio = z.number().min(0).max(1);

const schema = defineObject(() => ({
  type: z.literal('currency_hedged'),
  to: CurrencyCode.meta({ description: 'Currency of the overlay.' }),
  ratio: ratio.default(1).meta({ description: 'Fraction that is hedged.' }),
  rates: z
    .strictObject({
      domestic: defineRateSeries('rate of the currency of the overlay'),
      foreign: defineRateSeries('rate of the currency of the underlying index').optional(),
    })
    .meta({ description: 'Interest rates for the prices of forwards.' }),
  currencies: z
    .array(
      z.strictObject({
        currency: CurrencyCode.meta({ description: 'Currency in which securities are quoted.' }),
        rate: defineRateSeries('rate of that currency'),
        ratio: ratio.optional().meta({ description: 'Hedged fraction of this currency, instead of `ratio`.' }),
      }),
    )
    .min(1)
    .max(40)
    .optional()
    .meta({
      description:
        'Hedges each of these currencies by the weight of its securities, instead of the whole index by `rates.foreign`. Other currencies are not hedged.',
    }),
  adjust: z
    .enum(['monthly', 'daily'])
    .default('monthly')
    .meta({ description: 'Dates on which the hedged amount is reset to the level.' }),
  basis: defineBasis(360),
})).superRefine(requireExactlyOne({ by: 'a currency hedge', of: ['rates.foreign', 'currencies'] }));

type Terms = z.output<typeof schema>;

export const currencyHedged = defineOverlayType({
  type: 'currency_hedged',
  label: 'Currency hedged',
  help: 'The index in another currency, hedged with one-month forwards: as a whole, or by the currencies of its securities.',
  formula:
    'L[t] = L[m] * (I[t] / I[m] + ratio (F[m] - f[t]) / s[m]); F[m] = s[m] (1 + d[m] n / basis) / (1 + r[m] n / basis), n: days of the forward; f[t] = s[t] + (F[t] - s[t]) (days left) / n, F[t] the forward of n days on t; m: last session of a month, I: the index converted. Daily: L[t] = L[t-1] * (I[t] / I[t-1] + ratio (f[t-1] - f[t]) / s[t-1]). By currencies ratio (F[m] - f[t]) / s[m] is sum_c ratio[c] w[c,m] (F[c,m] - f[c,t]) / s[c,m], w: weight of the names quoted in c after the close of m',
  reference:
    'S&P Dow Jones Indices, Index Mathematics Methodology: currency hedged indices; weights by currency as in MSCI Hedged Indexes Methodology',
  schema,
  example: { type: 'currency_hedged', to: 'EUR', ratio: 1, rates: { domestic: 'ESTR', foreign: 'SOFR' } },
  currency: ({ to }) => to,
  weighed: ({ currencies = [] }) => currencies.map(({ currency }) => currency),
  series: ({ to, rates, currencies = [] }) => [
    { path: 'rates.domestic', series: rates.domestic, currency: to },
    ...(rates.foreign === undefined ? [] : [{ path: 'rates.foreign', series: rates.foreign, currency: null }]),
    ...currencies.map(({ rate, currency }, k) => ({ path: `currencies[${k}].rate`, series: rate, currency })),
  ],
  sentences: ({ to, ratio: whole, rates, currencies, adjust, basis: days }) => [
    currencies === undefined
      ? `The underlying index is converted into ${to}, and ${formatShare(whole)} of it is hedged by forwards ${STRIKE_WORDS}.`
      : `The underlying index is converted into ${to}. Hedged fractions of the weights of the securities by currency: ${currencies.map(({ currency, ratio: ownRatio = whole }) => `${currency} ${formatShare(ownRatio)}`).join(', ')}; by forwards ${STRIKE_WORDS}. Other currencies stay unhedged.`,
    `Forwards follow from spot and the rates ${[rates.domestic, ...(currencies?.map(({ rate }) => rate) ?? [rates.foreign])].join(' and ')} by calendar days over ${days}; within the month they are marked by interpolation between spot and forward.`,
    `The hedged amount is set to the level${currencies === undefined ? '' : ' and the weights'} ${adjust === 'monthly' ? 'when they are struck' : 'every session'}.`,
  ],
  remarks: (spec, beneath) => [...reportUnhedgeable(spec, beneath), ...reportUnhedged(spec)],
  path(spec, context) {
    const exchange = computeExchangeGrowth(context.exchange());
    const { growth: underlyingGrowth } = context.sources[0]!;
    const convertedGrowth = underlyingGrowth.map((own, t) => (t === 0 ? 1 : own * exchange[t]!));
    return computeHedgedPath({ converted: convertedGrowth, exchange, legs: createLegs(spec, context) }, spec, context);
  },
});

const createRefusal = (path: string, code: string, message: string): Remark => ({
  severity: 'error',
  code: 'DUPLICATE_ID',
  path,
  message: `overlay.${path} ${message}.`,
  value: code,
});

/** Reports duplicate currencies, and the currency of the overlay itself. */
function reportUnhedgeable({ to, currencies }: Terms, { currency: underlyingCurrency }: UnderlyingTerms): Remark[] {
  if (currencies === undefined) {
    const isSame = underlyingCurrency !== undefined && findMajorUnit(underlyingCurrency) === findMajorUnit(to);
    const why = `is ${to}, and the underlying index is already in ${underlyingCurrency}; use currencies to hedge the currencies of its securities`;
    return isSame ? [createRefusal('to', to, why)] : [];
  }
  const codes = currencies.map(({ currency }) => findMajorUnit(currency));
  return currencies.flatMap(({ currency: code }, k) => {
    const path = `currencies[${k}].currency`;
    const first = codes.indexOf(codes[k]!);
    const unit = code === codes[k] ? code : `${code}, which counts as ${codes[k]}`;
    if (codes[k] === findMajorUnit(to))
      return [createRefusal(path, code, `is ${unit}: the currency of the overlay is not hedged`)];
    return first === k ? [] : [createRefusal(path, code, `is ${unit}, which currencies[${first}] already lists`)];
  });
}

/** Reports hedges without effect and unused terms. */
function reportUnhedged(spec: Terms): Remark[] {
  const { ratio: whole, rates, currencies } = spec;
  const ratios = currencies?.map(({ ratio: entryRatio = whole }) => entryRatio) ?? [whole];
  const members = ['adjust', 'basis'] as const;
  const why = 'nothing is hedged at a ratio of 0';
  if (ratios.every((own) => own === 0))
    return [
      reportWithoutEffect(currencies === undefined ? 'rates' : 'currencies', currencies ?? rates, why),
      ...reportIdleMembers(schema, spec, { members, why }),
    ];
  const isOverruled = currencies?.every(({ ratio: ownRatio }) => ownRatio !== undefined) === true;
  return [
    ...ratios.flatMap((own, k) => (own === 0 ? [reportWithoutEffect(`currencies[${k}]`, currencies![k], why)] : [])), // there are several hedged currencies
    ...(isOverruled && whole !== 1
      ? [reportWithoutEffect('ratio', whole, 'every entry of currencies has its own ratio')]
      : []),
  ];
}

interface ForwardMarks {
  /** Price of a forward that is agreed at each close for delivery at the next month end, [T]. */
  readonly opened: Float64Array;
  /** Price at each close of the forward that was open until then, [T]. */
  readonly closed: Float64Array;
}

/** Hedge of one currency. */
interface HedgeLeg extends ForwardMarks {
  readonly ratio: number;
  /** Fraction of the index in this currency after each close, [T]. */
  readonly weight: Float64Array;
  readonly spot: Float64Array;
}

function createLegs(spec: Terms, context: OverlayContext): HedgeLeg[] {
  const { rates, currencies, ratio: whole } = spec;
  if (currencies === undefined) {
    const spot = context.exchange();
    const weight = new Float64Array(spot.length).fill(1);
    return [{ ratio: whole, weight, spot, ...computeMarks({ spot, foreign: rates.foreign! }, spec, context) }]; // one of the two is present
  }
  return currencies.map(({ currency, rate, ratio: ownRatio = whole }) => {
    const spot = context.exchange(currency);
    return {
      ratio: ownRatio,
      weight: context.weightIn(currency),
      spot,
      ...computeMarks({ spot, foreign: rate }, spec, context),
    };
  });
}

interface HedgedPair {
  readonly spot: Float64Array;
  /** Series of the interest rate of the hedged currency. */
  readonly foreign: string;
}

/**
 * Computes forward prices by session. Each forward ends at the first month end after the session on which it is agreed.
 */
function computeMarks(
  { spot, foreign: series }: HedgedPair,
  { rates, basis: year }: Terms,
  context: OverlayContext,
): ForwardMarks {
  const { days } = context;
  const domestic = context.rate(rates.domestic);
  const foreignRates = context.rate(series);
  const ends = context.monthEnds();
  const computeMark = (t: number, struck: number, end: number): number => {
    const tenor = end - struck;
    if (tenor <= 0) return spot[t]!; // the calendar ends before the next month end
    const forward = (spot[t]! * (1 + (domestic[t]! * tenor) / year)) / (1 + (foreignRates[t]! * tenor) / year);
    return spot[t]! + ((forward - spot[t]!) * (end - days[t]!)) / tenor;
  };
  let struck = days[0]!;
  const openMarks = new Float64Array(days.length);
  const closeMarks = new Float64Array(days.length);
  for (let t = 0; t < days.length; t++) {
    const before = t === 0 ? ends[0]! : ends[t - 1]!;
    closeMarks[t] = computeMark(t, struck, before);
    if (ends[t] !== before) struck = days[t]!;
    openMarks[t] = computeMark(t, struck, ends[t]!);
  }
  return { opened: openMarks, closed: closeMarks };
}

interface HedgeInput {
  /** Growth in the currency of the overlay, [T]. */
  readonly converted: Float64Array;
  readonly exchange: Float64Array;
  readonly legs: readonly HedgeLeg[];
}

/**
 * Computes the path of the hedged index. Invested amount and level are in units of the level when the hedged amount was
 * last set.
 */
function computeHedgedPath(
  { converted, exchange, legs }: HedgeInput,
  { adjust }: Terms,
  context: OverlayContext,
): OverlayPath {
  const ends = context.monthEnds();
  const length = converted.length;
  const growth = new Float64Array(length).fill(1);
  const exposure = new Float64Array(length).fill(1);
  const hedge = new Float64Array(length);
  let struck = 0;
  let investedFraction = 1;
  let level = 1;
  for (let t = 1; t < length; t++) {
    const gain = computeGain(legs, struck, t);
    const investedAfter = investedFraction * converted[t]!;
    // The gains of the hedge are held in cash until the hedged amount is set again.
    const after = level + (investedAfter - investedFraction) + gain;
    growth[t] = assertPositive(after / level, context, t);
    hedge[t] = gain / level;
    level = after;
    investedFraction = investedAfter;
    if (adjust === 'daily' || ends[t] !== ends[t - 1]) {
      struck = t;
      investedFraction = 1;
      level = 1;
    }
    exposure[t] = investedFraction / level;
  }
  const parts = [{ part: 'hedge' as const, contributions: hedge }];
  return { growth, exposures: [exposure], exchange, parts, resets: null };
}

/** Returns the gain of the forwards over a session, in units of the level when their amounts were set. */
function computeGain(legs: readonly HedgeLeg[], struck: number, t: number): number {
  let gain = 0;
  for (const { ratio: hedgeRatio, weight, spot, opened, closed } of legs)
    gain += (hedgeRatio * weight[struck]! * (opened[t - 1]! - closed[t]!)) / spot[struck]!;
  return gain;
}
