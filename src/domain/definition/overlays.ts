import { z } from 'zod';
import { raiseToPower } from '#kernels/power.js';
import { formatShare } from '../base/numbers.js';
import { CurrencyCode, defineObject, Id, requireExactlyOne } from '../base/schema.js';
import { findMajorUnit } from '../market/rates.js';
import { RETURN_VARIANTS } from '../market/market-data.js';
import { createParameterSpecs, type ParameterSpec } from './catalogue.js';
import {
  annualisation,
  assertPositive,
  BASIS_POINT,
  computeAccruals,
  computeTargetExposures,
  computeYearFractions,
  costBps,
  createWholeHolding,
  defineBasis,
  defineOverlayType,
  defineRateSeries,
  describeCosts,
  DEVIATIONS,
  explainExposure,
  type OverlayContext,
  type OverlayPath,
  type OverlayType,
  percent,
  type Remark,
  reportIdleMembers,
  reportWithoutEffect,
  reviewExposures,
  type RiskControlTerms,
  subtractCosts,
  type UnderlyingTerms,
  type VolatilitySpan,
} from './overlay-type.js';
import { RebalanceSpec } from './schedule.js';

const schema = defineObject(() => ({
  type: z.literal('blend'),
  parts: z
    .array(
      z.strictObject({
        index_id: Id.meta({ description: 'Index of the part.' }),
        weight: z.number().gt(0).max(1).meta({ description: 'Weight at each rebalance of the blend.' }),
      }),
    )
    .min(1)
    .max(20)
    .meta({ description: 'Indices and their weights, with a sum of 1.' }),
  rebalance: RebalanceSpec.prefault({}).meta({ description: 'Dates on which the weights are restored.' }),
  variant: z
    .enum(RETURN_VARIANTS)
    .optional()
    .meta({ description: 'Return variant of every part. Default: the variant of the first part.' }),
  cost_bps: costBps,
}));

const blend = defineOverlayType({
  type: 'blend',
  label: 'Blend',
  help: 'Several indices with fixed weights, which are restored on a separate schedule.',
  formula:
    'v[k,t] = v[k,t-1] g[k,t]; L[t] = L[t-1] * sum_k v[k,t] / sum_k v[k,t-1]; at a rebalance v[k] = weight[k] * sum v, less cost * sum_k |change of v[k]|',
  reference: 'S&P Dow Jones Indices, Index Mathematics Methodology: weighted return indices',
  schema,
  example: {
    type: 'blend',
    parts: [
      { index_id: 'CORE-40', weight: 0.6 },
      { index_id: 'VALUE-20', weight: 0.4 },
    ],
    rebalance: { frequency: 'monthly' },
  },
  sentences: ({ parts, variant, cost_bps }) => [
    `It blends ${parts.map(({ index_id, weight }) => `${index_id} at ${formatShare(weight)}`).join(', ')}; between rebalances of the blend the parts drift.`,
    variant === undefined
      ? `Every part uses the return variant of ${parts[0]!.index_id}.`
      : `Every part uses its ${variant} return.`,
    ...describeCosts(cost_bps),
  ],
  remarks(spec) {
    const { parts, rebalance } = spec;
    if (parts.length === 1) {
      const why = 'there is only one part';
      return reportIdleMembers(schema, spec, { members: ['rebalance', 'cost_bps'], why });
    }
    return [
      ...(rebalance.frequency === 'none'
        ? reportIdleMembers(schema, spec, { members: ['cost_bps'], why: 'rebalance.frequency is none' })
        : []),
      ...reportDecisionDates(rebalance),
    ];
  },
  path({ parts, rebalance, cost_bps }, context) {
    const { sources, days } = context;
    const resets = context.resets(rebalance);
    const growth = new Float64Array(days.length).fill(1);
    const total = parts.reduce((sum, { weight }) => sum + weight, 0);
    const exposures = parts.map(({ weight }) => new Float64Array(days.length).fill(weight / total));
    for (let t = 1; t < days.length; t++) {
      let after = 0;
      for (let k = 0; k < parts.length; k++) after += exposures[k]![t - 1]! * sources[k]!.growth[t]!;
      growth[t] = after;
      if (resets[t] === 1) continue;
      for (let k = 0; k < parts.length; k++)
        exposures[k]![t] = (exposures[k]![t - 1]! * sources[k]!.growth[t]!) / after;
    }
    return subtractCosts({ growth, exposures, exchange: null, parts: [], resets }, context, cost_bps);
  },
});

/** Reports settings of decision dates. They have no effect, because the weights of a blend are known in advance. */
const reportDecisionDates = (
  { effective_lag: lag, ...rebalance }: RebalanceSpec,
  why: string = FIXED_REASON,
): Remark[] => [
  ...(lag === 0 ? [] : [reportWithoutEffect('rebalance.effective_lag', lag, why)]),
  ...DATED_MEMBERS.flatMap((member) =>
    rebalance[member] === undefined ? [] : [reportWithoutEffect(`rebalance.${member}`, rebalance[member], why)],
  ),
];

const FIXED_REASON = 'the weights of a blend are fixed';
const DATED_MEMBERS = ['reference', 'announcement', 'pricing_date', 'phase'] as const;

const currency = defineOverlayType({
  type: 'currency',
  label: 'Currency converted',
  help: 'The index in another currency, without a hedge.',
  formula: 'L[t] = L[t-1] * g[t] * s[t] / s[t-1], s: price of the currency beneath in that of the overlay',
  reference: 'MSCI Index Calculation Methodology: indices in other currencies',
  schema: defineObject(() => ({
    type: z.literal('currency'),
    to: CurrencyCode.meta({ description: 'Currency of the overlay.' }),
  })),
  example: { type: 'currency', to: 'EUR' },
  currency: ({ to }) => to,
  sentences: ({ to }) => [`The underlying index is converted into ${to} at the exchange rate of each session.`],
  remarks: warnOfSameCurrency,
  path(_spec, context) {
    const { growth: underlyingGrowth } = context.sources[0]!;
    const exchange = computeExchangeGrowth(context.exchange());
    return {
      growth: underlyingGrowth.map((own, t) => (t === 0 ? 1 : own * exchange[t]!)),
      exposures: [new Float64Array(underlyingGrowth.length).fill(1)],
      exchange,
      parts: [],
      resets: null,
    };
  },
});

function warnOfSameCurrency({ to }: { readonly to: string }, { currency }: UnderlyingTerms): Remark[] {
  if (currency === undefined || findMajorUnit(currency) !== findMajorUnit(to)) return [];
  return [reportWithoutEffect('to', to, `the underlying index is already in ${currency}`)];
}

/** Returns the growth of a rate over each session, 1 on the first session, [T]. */
function computeExchangeGrowth(rates: Float64Array): Float64Array {
  return rates.map((rate, t) => (t === 0 ? 1 : rate / rates[t - 1]!));
}

const STRIKE_WORDS = 'that are struck on the last session of each month until that of the next';

const ratio = z.number().min(0).max(1);

const currencyHedgedSchema = defineObject(() => ({
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

type Terms = z.output<typeof currencyHedgedSchema>;

const currencyHedged = defineOverlayType({
  type: 'currency_hedged',
  label: 'Currency hedged',
  help: 'The index in another currency, hedged with one-month forwards: as a whole, or by the currencies of its securities.',
  formula:
    'L[t] = L[m] * (I[t] / I[m] + ratio (F[m] - f[t]) / s[m]); F[m] = s[m] (1 + d[m] n / basis) / (1 + r[m] n / basis), n: days of the forward; f[t] = s[t] + (F[t] - s[t]) (days left) / n, F[t] the forward of n days on t; m: last session of a month, I: the index converted. Daily: L[t] = L[t-1] * (I[t] / I[t-1] + ratio (f[t-1] - f[t]) / s[t-1]). By currencies ratio (F[m] - f[t]) / s[m] is sum_c ratio[c] w[c,m] (F[c,m] - f[c,t]) / s[c,m], w: weight of the names quoted in c after the close of m',
  reference:
    'S&P Dow Jones Indices, Index Mathematics Methodology: currency hedged indices; weights by currency as in MSCI Hedged Indexes Methodology',
  schema: currencyHedgedSchema,
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
      ...reportIdleMembers(currencyHedgedSchema, spec, { members, why }),
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

const decrementSchema = defineObject(() => ({
  type: z.literal('decrement'),
  percent: percent.nullable().default(null).meta({ description: 'Percent per year: 5 is 5%.' }),
  points: z.number().gt(0).nullable().default(null).meta({ description: 'Index points per year, instead of percent.' }),
  basis: defineBasis(365),
  method: z
    .enum(['geometric', 'arithmetic'])
    .default('geometric')
    .meta({ description: 'Method of subtracting percent.' }),
}));

const decrement = defineOverlayType({
  type: 'decrement',
  label: 'Decrement',
  help: 'The index less a synthetic dividend per year, in percent or in points, which is subtracted every day.',
  formula:
    'geometric: L[t] = L[t-1] * g[t] * (1 - p)^(days / basis); arithmetic: L[t] = L[t-1] * g[t] * (1 - p * days / basis); points: L[t] = L[t-1] * g[t] - points * days / basis',
  reference: 'STOXX Index Guide and Euronext decrement indices, percentage and point versions',
  schema: decrementSchema.superRefine(requireExactlyOne({ by: 'a decrement', of: ['percent', 'points'] })),
  example: { type: 'decrement', percent: 5, basis: 365, method: 'geometric' },
  sentences: ({ percent: p, points, basis: days, method }) => [
    points !== null
      ? `A synthetic dividend of ${points} index points per year is subtracted every day by calendar days over ${days}.`
      : `A synthetic dividend of ${p}% per year is subtracted every day: the level is multiplied by ${method === 'geometric' ? `(1 - ${p}%) to the power of calendar days over ${days}` : `1 minus ${p}% times calendar days over ${days}`}.`,
  ],
  remarks(spec, { baseValue }) {
    const { percent: p, points } = spec;
    if (points === null)
      return p === 0
        ? [
            reportWithoutEffect('percent', p, 'nothing is subtracted'),
            ...reportIdleMembers(decrementSchema, spec, { members: ['method', 'basis'], why: 'percent is 0' }),
          ]
        : [];
    const why = 'it applies to percent, but points is present';
    return [
      ...reportIdleMembers(decrementSchema, spec, { members: ['method'], why }),
      ...(points < baseValue ? [] : [warnOfExhaustion(points, baseValue)]),
    ];
  },
  path({ percent: p, points, basis: days, method }, context) {
    const fractions = computeYearFractions(context.days, days);
    if (points !== null)
      return subtractPoints(
        context,
        fractions.map((fraction) => points * fraction),
      );
    const rate = p! / 100; // one of the two is present
    const computeFactor = (t: number): number =>
      method === 'geometric' ? raiseToPower(1 - rate, fractions[t]!) : 1 - rate * fractions[t]!;
    return createWholeHolding(context, 'decrement', (growth, t) => growth * computeFactor(t));
  },
});

/** Returns a warning about annual points that consume the whole base value. */
const warnOfExhaustion = (points: number, baseValue: number): Remark => ({
  severity: 'warning',
  code: 'OUT_OF_RANGE',
  path: 'points',
  message: `overlay.points is ${points} per year and the base value is ${baseValue}. The level falls to 0 within a year unless the underlying index grows by the same amount.`,
  value: points,
});

function subtractPoints(context: OverlayContext, points: Float64Array): OverlayPath {
  let level = context.baseValue;
  return createWholeHolding(context, 'decrement', (growth, t) => {
    const after = level * growth - points[t]!;
    const decrementedGrowth = after / level;
    level = after;
    return decrementedGrowth;
  });
}

const excessReturn = defineOverlayType({
  type: 'excess_return',
  label: 'Excess return',
  help: 'Return of the index in excess of cash.',
  formula: 'L[t] = L[t-1] * g[t] / (1 + c[t-1] * days / basis)',
  reference: 'S&P Dow Jones Indices, Index Mathematics Methodology: excess return indices',
  schema: defineObject(() => ({
    type: z.literal('excess_return'),
    cash: defineRateSeries('rate of cash'),
    basis: defineBasis(360),
  })),
  example: { type: 'excess_return', cash: 'SOFR' },
  series: ({ cash }) => [{ path: 'cash', series: cash, currency: null }],
  sentences: ({ cash, basis: days }) => [
    `Its return is that of the underlying index over cash: growth is divided by 1 plus the rate ${cash} of the previous close, times calendar days over ${days}.`,
  ],
  path({ cash, basis: days }, context) {
    const interest = computeAccruals(context, cash, days);
    return createWholeHolding(context, 'cash', (growth, t) => growth / (1 + interest[t]!));
  },
});

const heldIncomeSchema = defineObject(() => ({
  type: z.literal('held_income'),
  rebalance: RebalanceSpec.prefault({ frequency: 'monthly', anchor: 'last_session' }).meta({
    description: 'Reviews, at whose close the cash is invested in the index. Default: the last session of each month.',
  }),
  cash: defineRateSeries('rate of cash')
    .nullable()
    .default(null)
    .meta({ description: 'Series of the rate that the cash earns. Default: it earns nothing.' }),
  basis: defineBasis(360),
  proceeds: z.enum(['reinvested', 'held']).optional().meta({
    description:
      'Proceeds of constituents that leave between reviews, such as redeemed bonds: the index distributes them over the others at once (reinvested), or they stay in cash until the next review of the overlay (held). Default: reinvested.',
  }),
}));

const heldIncome = defineOverlayType({
  type: 'held_income',
  label: 'Income held as cash',
  help: 'Dividends and coupons of the index stay in cash until the next review, as in bond indices. A total return index otherwise reinvests them at once.',
  formula:
    'P[t] = P[t-1] p[t]; C[t] = C[t-1] (1 + c[t-1] days / basis) + P[t-1] (g[t] - p[t]), p: growth of the underlying index without income; L[t] = L[t-1] (P[t] + C[t]) / (P[t-1] + C[t-1]); proceeds held: at the close x[t] P[t] moves from P to C, x: fraction of the underlying index that leaves; at the close of a review P becomes P + C and C becomes 0',
  reference:
    'Bloomberg Fixed Income Index Methodology and ICE Bond Index Methodologies: cash flows are held until the next rebalancing; S&P Dow Jones Indices, iBoxx: total return with cash payments',
  schema: heldIncomeSchema,
  example: { type: 'held_income', rebalance: { frequency: 'monthly', anchor: 'last_session' } },
  series: ({ cash }) => (cash === null ? [] : [{ path: 'cash', series: cash, currency: null }]),
  sentences: ({ cash, basis: days, proceeds }) => [
    proceeds === 'held'
      ? 'Dividends and coupons of the underlying index, and the proceeds of constituents that leave it, are held in cash.'
      : 'Dividends and coupons of the underlying index are held in cash.',
    `Cash earns ${cash === null ? 'nothing' : `the rate ${cash} of the close before, by calendar days over ${days}`}.`,
  ],
  remarks(spec, { isOverlay }) {
    return [
      ...(isOverlay === true ? [refuseOverlaidIncome] : []),
      ...reportDecisionDates(spec.rebalance, 'the whole cash is invested'),
      ...(spec.cash === null
        ? reportIdleMembers(heldIncomeSchema, spec, { members: ['basis'], why: 'the cash earns no interest' })
        : []),
    ];
  },
  path({ rebalance, cash, basis: days, proceeds }, context) {
    const source = context.sources[0]!;
    const price = source.priceGrowth();
    const exitShares = proceeds === 'held' ? source.exitShares() : null;
    const resets = context.resets(rebalance);
    const interest = computeAccruals(context, cash, days);
    const exposure = new Float64Array(price.length).fill(1);
    const growth = new Float64Array(price.length).fill(1);
    const earned = new Float64Array(price.length);
    for (let t = 1; t < price.length; t++) {
      const held = exposure[t - 1]!;
      earned[t] = (1 - held) * interest[t]!;
      growth[t] = assertPositive(1 + held * (source.growth[t]! - 1) + earned[t]!, context, t);
      if (resets[t] === 0) exposure[t] = ((held * price[t]!) / growth[t]!) * (1 - (exitShares?.[t] ?? 0));
    }
    const parts = [{ part: 'cash' as const, contributions: earned }];
    return { growth, exposures: [exposure], exchange: null, parts, resets: null };
  },
});

const refuseOverlaidIncome: Remark = {
  severity: 'error',
  code: 'NOT_IN_CHOICES',
  path: 'type',
  message:
    'overlay.type is held_income, but the underlying index is an overlay, which pays no dividends itself. Use an index of securities, and define the other overlay on this one.',
  value: 'held_income',
};

/** Maximum term of a bill: at any rate up to 100% its discount is then below its face value. */
const BILL_DAYS_MAX = 182;

const collateralSchema = defineObject(() => ({
  type: z.literal('collateral'),
  rate: defineRateSeries('rate of the collateral, such as a Treasury bill'),
  quotation: z.enum(['discount', 'yield']).default('discount').meta({
    description: 'Quotation of the rate: discount of a bill from its face value, or simple money-market yield.',
  }),
  term_days: z
    .int()
    .min(1)
    .max(BILL_DAYS_MAX)
    .default(91)
    .meta({ description: 'Term of the bill in days.', when: [{ quotation: ['discount'] }] }),
  idle_days: z.enum(['added', 'compounded']).default('added').meta({
    description:
      'Interest of the days without a session: it is added to the return of the session with that of the other days (added), or the level after the return and the interest of one day earns it (compounded).',
  }),
  basis: defineBasis(360),
}));

const collateral = defineOverlayType({
  type: 'collateral',
  label: 'Collateral',
  help: 'An excess return index of futures plus the interest of its collateral, such as Treasury bills: the total return of futures.',
  formula:
    'discount: i = (1 - r[t-1] term / basis)^(-1 / term) - 1; yield: i = r[t-1] / basis; added: L[t] = L[t-1] * (g[t] + (1 + i)^days - 1), for a yield L[t-1] * (g[t] + i days); compounded: L[t] = L[t-1] * (g[t] + i) * (1 + i)^(days - 1)',
  reference:
    'S&P GSCI Methodology: total return (91-day Treasury bill rate, compounded); Bloomberg Commodity Index Methodology: total return (added)',
  schema: collateralSchema,
  example: { type: 'collateral', rate: 'TBILL-91', quotation: 'discount', term_days: 91 },
  series: ({ rate }) => [{ path: 'rate', series: rate, currency: null }],
  sentences: ({ rate, quotation, term_days, idle_days, basis: days }) => [
    `Its return is that of the underlying index plus the interest of its collateral at the rate ${rate} of the previous close, ${quotation === 'discount' ? `the discount of a bill of ${term_days} days over ${days}, as its daily compounded yield` : `a yield by calendar days over ${days}`}.`,
    idle_days === 'added'
      ? 'The interest of all days since the previous session is added to the return of the session.'
      : 'The interest of one day is added to the return of the session; the level then compounds it over the other days since the previous session.',
  ],
  remarks: (spec) =>
    spec.quotation === 'yield'
      ? reportIdleMembers(collateralSchema, spec, { members: ['term_days'], why: 'quotation is yield' })
      : [],
  path({ rate: series, quotation, term_days: term, idle_days, basis: year }, context) {
    const { days } = context;
    const rates = context.rate(series);
    const isDiscount = quotation === 'discount';
    return createWholeHolding(context, 'cash', (growth, t) => {
      const rate = rates[t - 1]!;
      const daily = isDiscount ? raiseToPower(1 - (rate * term) / year, -1 / term) - 1 : rate / year;
      const count = days[t]! - days[t - 1]!;
      if (idle_days === 'compounded') return (growth + daily) * raiseToPower(1 + daily, count - 1);
      return growth + (isDiscount ? raiseToPower(1 + daily, count) - 1 : daily * count);
    });
  },
});

const fee = defineOverlayType({
  type: 'fee',
  label: 'Fee',
  help: 'The index less an annual fee, which is subtracted every day.',
  formula: 'L[t] = L[t-1] * g[t] * (1 - p)^(days / basis)',
  reference: 'geometric day count, as in fee-adjusted indices of STOXX and Solactive',
  schema: defineObject(() => ({ type: z.literal('fee'), percent, basis: defineBasis(365) })),
  example: { type: 'fee', percent: 0.5, basis: 365 },
  sentences: ({ percent: p, basis: days }) => [
    `A fee of ${p}% per year is subtracted every day: the level is multiplied by (1 - ${p}%) to the power of calendar days over ${days}.`,
  ],
  remarks: ({ percent: p }) => (p === 0 ? [reportWithoutEffect('percent', p, 'no fee is charged')] : []),
  path(spec, context) {
    const fractions = computeYearFractions(context.days, spec.basis);
    return createWholeHolding(
      context,
      'fee',
      (growth, t) => growth * raiseToPower(1 - spec.percent / 100, fractions[t]!),
    );
  },
});

const FACTOR_MAX = 10;

const leverageSchema = defineObject(() => ({
  type: z.literal('leverage'),
  factor: z
    .number()
    .min(-FACTOR_MAX)
    .max(FACTOR_MAX)
    .refine((factor) => factor !== 0, {
      error: `must be from ${-FACTOR_MAX} to ${FACTOR_MAX} and not 0, which holds nothing of the index`,
      params: { finding: 'OUT_OF_RANGE' },
    })
    .meta({ description: 'Multiple of the daily return. A negative multiple is inverse.' }),
  financing: defineRateSeries('rate of financing').nullable().default(null),
  spread_bps: z
    .number()
    .min(0)
    .max(10_000)
    .default(0)
    .meta({ description: 'Spread over the rate, in basis points per year.' }),
  cost_bps: costBps,
  basis: defineBasis(360),
}));

const leverage = defineOverlayType({
  type: 'leverage',
  label: 'Leveraged or inverse',
  help: 'A multiple of the daily return, reset every session. A negative multiple is inverse.',
  formula:
    'L[t] = L[t-1] * (1 + K (g[t] - 1) + carry); K > 1: carry = -(K - 1) (r[t-1] + spread) days / basis; K < 1: carry = (1 - K) (r[t-1] - spread) days / basis; with costs growth G[t] becomes G[t] (1 - cost |K - K g[t] / G[t]|)',
  reference: 'S&P Dow Jones Indices, Index Mathematics Methodology: leveraged and inverse indices',
  schema: leverageSchema,
  example: { type: 'leverage', factor: 2, financing: 'SOFR', spread_bps: 50 },
  series: ({ financing }) => (financing === null ? [] : [{ path: 'financing', series: financing, currency: null }]),
  sentences: ({ factor, financing, spread_bps, cost_bps, basis: days }) => [
    `On every session it earns ${factor} times the return of the underlying index; the exposure is reset at the close.`,
    ...describeCarry(factor, formatRate(financing, spread_bps, factor), days),
    ...describeCosts(cost_bps),
  ],
  remarks(spec) {
    const { factor, financing, spread_bps } = spec;
    if (factor === 1) {
      const why = 'a factor of 1 borrows nothing, holds no cash and trades nothing';
      const members = ['financing', 'spread_bps', 'cost_bps', 'basis'] as const;
      return [
        reportWithoutEffect('factor', factor, 'the overlay is the index beneath'),
        ...reportIdleMembers(leverageSchema, spec, { members, why }),
      ];
    }
    if (financing !== null || spread_bps > 0) return [];
    const why = 'without financing and spread_bps no interest is counted';
    return reportIdleMembers(leverageSchema, spec, { members: ['basis'], why });
  },
  path({ factor, financing, spread_bps, cost_bps, basis: days }, context) {
    const { growth: underlyingGrowth } = context.sources[0]!;
    const interest = computeAccruals(context, financing, days);
    const fractions = computeYearFractions(context.days, days);
    const spread = (factor > 1 ? 1 : -1) * spread_bps * BASIS_POINT;
    const carry = interest.map((earned, t) => (1 - factor) * (earned + spread * fractions[t]!));
    const growth = underlyingGrowth.map((own, t) =>
      t === 0 ? 1 : assertPositive(1 + factor * (own - 1) + carry[t]!, context, t),
    );
    const exposures = [new Float64Array(growth.length).fill(factor)];
    const parts = [{ part: 'financing' as const, contributions: carry }];
    return subtractCosts({ growth, exposures, exchange: null, parts, resets: null }, context, cost_bps);
  },
});

/** Describes interest on borrowing or cash. */
function describeCarry(factor: number, rate: string | null, days: number): string[] {
  if (factor === 1) return [];
  const shareText = formatShare(Number(Math.abs(factor - 1).toPrecision(12)));
  const positionPhrase =
    factor > 1 ? `Its borrowing, ${shareText} of its value, costs` : `Its cash, ${shareText} of its value, earns`;
  return [rate === null ? `${positionPhrase} nothing.` : `${positionPhrase} ${rate}, by calendar days over ${days}.`];
}

/** Returns the rate as text; null without interest. */
function formatRate(series: string | null, spreadBps: number, factor: number): string | null {
  if (series === null && spreadBps === 0) return null;
  const rateText = series === null ? 'a rate of 0' : `the rate ${series}`;
  return spreadBps === 0 ? rateText : `${rateText} ${factor > 1 ? 'plus' : 'minus'} ${spreadBps} basis points`;
}

const quanto = defineOverlayType({
  type: 'quanto',
  label: 'Quanto',
  help: 'The return of the index in its own currency, paid in another currency, without exchange rates.',
  formula: 'L[t] = L[t-1] * g[t], L in the currency of the overlay and g in that of the underlying index',
  reference: 'S&P Dow Jones Indices, Index Mathematics Methodology: quanto indices',
  schema: defineObject(() => ({
    type: z.literal('quanto'),
    to: CurrencyCode.meta({
      description: 'Currency in which the return is paid, which is the currency of the overlay.',
    }),
  })),
  example: { type: 'quanto', to: 'EUR' },
  currency: ({ to }) => to,
  converts: false,
  sentences: ({ to }) => [
    `The return of the underlying index in its own currency is paid in ${to}: changes of the exchange rate have no effect.`,
  ],
  remarks: warnOfSameCurrency,
  path(_spec, context) {
    const growth = context.sources[0]!.growth.slice();
    return {
      growth,
      exposures: [new Float64Array(growth.length).fill(1)],
      exchange: null,
      parts: [],
      resets: null,
    };
  },
});

const changeOfExposure = z.number().gt(0).max(10).optional();

/**
 * Dates and limits of changes of exposure. All are optional, so that stored documents without them remain unchanged.
 */
const reviewFields = {
  tolerance: changeOfExposure.meta({
    description:
      'The exposure changes only if the target exposure differs from it by more than this value: 0.05 is 5 percentage points. Default: 0.',
  }),
  max_change: changeOfExposure.meta({
    description: 'Maximum change of the exposure at one review: 0.1 is 10 percentage points. Default: unlimited.',
  }),
  review: z.enum(['daily', 'monthly']).optional().meta({
    description:
      'Dates on which the exposure can change: after every close, or after the last close of a month. Default: daily.',
  }),
};

const exposureReviewsSchema = z.strictObject(reviewFields);
type Review = z.output<typeof exposureReviewsSchema>;

function describeReview({ tolerance, max_change: most, review = 'daily' }: Review): string[] {
  const isPlain = tolerance === undefined && most === undefined && review === 'daily';
  if (isPlain) return [];
  const reviewPhrase = review === 'monthly' ? 'after the last close of each month' : 'after each close';
  const exceptionPhrase =
    tolerance === undefined
      ? ''
      : ` if that differs by more than ${formatPoints(tolerance)} from the previous exposure`;
  const limitText = most === undefined ? '' : `, by at most ${formatPoints(most)} at once`;
  return [
    `The exposure is set to that leverage ${reviewPhrase}${exceptionPhrase}${limitText}; otherwise it stays unchanged, restored at each close. The first exposure is that leverage itself.`,
  ];
}

const formatPoints = (exposure: number): string =>
  `${exposure} (${Number((100 * exposure).toPrecision(12))} percentage points)`;

/** Reports settings that can have no effect. Target exposures are above 0 and at most the maximum leverage. */
function listReviewRemarks({ max_leverage: largest, ...spec }: Review & { readonly max_leverage: number }): Remark[] {
  const { tolerance, max_change: most, review } = spec;
  if (tolerance !== undefined && tolerance >= largest) {
    const why = `tolerance is ${tolerance} and max_leverage ${largest}, so the first exposure never changes`;
    const reviewRemarks = review === 'monthly' ? [reportWithoutEffect('review', review, why)] : [];
    return [
      { ...reportWithoutEffect('tolerance', tolerance, why), message: describeUnchanged(tolerance, largest) },
      ...reportIdleMembers(exposureReviewsSchema, spec, { members: ['max_change'], why }),
      ...reviewRemarks,
    ];
  }
  if (most === undefined || most < largest) return [];
  return [reportWithoutEffect('max_change', most, `max_leverage is ${largest}, and no exposure changes by that much`)];
}

const describeUnchanged = (tolerance: number, largest: number): string =>
  `overlay.tolerance is ${tolerance} and max_leverage ${largest}: no target differs by more, and the exposure stays that of the first session.`;

const DEVIATION_PHRASES: Readonly<Record<(typeof DEVIATIONS)[number], string>> = {
  zero_mean: 'the mean of squared logarithmic returns',
  sample: 'the variance of logarithmic returns about their mean (divisor: their number less 1)',
  population: 'the variance of logarithmic returns about their mean (divisor: their number)',
};

const halfLife = z.number().gt(0).max(2520).meta({ description: 'Sessions.' });

const riskControlSchema = defineObject(() => ({
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
  windows: z.array(z.int().min(2).max(2520)).min(1).max(4).nullable().optional().meta({
    label: 'Windows',
    description: 'Several numbers of sessions instead of `sessions`. The largest volatility is used.',
  }),
  deviation: z.enum(DEVIATIONS).optional().meta({
    label: 'Deviation',
    description:
      'Volatility over `sessions` or `windows`: root of the mean of squared returns (zero_mean), or standard deviation of the returns about their mean, with the number of returns less 1 (sample) or the number of returns (population) as divisor. Default: zero_mean.',
  }),
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
    'x[t] = min(max_leverage, target / vol[t-lag]); e[0] = x[0]; on a review where |x[t] - e[t-1]| > tolerance: e[t] = e[t-1] + max(-max_change, min(max_change, x[t] - e[t-1])), otherwise e[t] = e[t-1]; without tolerance, max_change and review e[t] = x[t]; L[t+1] = L[t] * (1 + e[t] (g[t+1] - 1) + (1 - e[t]) c[t] days / basis - max(0, e[t] - 1) spread days / basis); vol: root of annualisation times the mean of squared log returns (or their variance about the mean), the largest of the half-lives or windows; with costs growth G[t] becomes G[t] (1 - cost |e[t] - e[t-1] g[t] / G[t]|)',
  reference: 'S&P Dow Jones Indices, Index Mathematics Methodology: risk control indices',
  schema: riskControlSchema.superRefine(
    requireExactlyOne({ by: 'a risk control', of: ['half_lives', 'sessions', 'windows'] }),
  ),
  example: { type: 'risk_control', target: 0.1, half_lives: [11, 23], max_leverage: 1.5, lag: 2, cash: 'SOFR' },
  series: ({ cash }) => (cash === null ? [] : [{ path: 'cash', series: cash, currency: null }]),
  sentences: ({
    target,
    half_lives,
    sessions,
    windows,
    deviation = 'zero_mean',
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
    `The volatility is the root of ${year ?? 'the sessions of a year (252, or 365 if the calendar trades every day)'} times ${DEVIATION_PHRASES[deviation]} up to ${lag === 0 ? 'that close' : `${lag} session${lag === 1 ? '' : 's'} before`}, ${describeSpans({ half_lives, sessions, windows })}. Returns of the index beneath before the base date count; before the first return is known it holds ${formatShare(Math.min(1, max_leverage))}.`,
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
    const { half_lives, windows, deviation, cash, max_leverage, spread_bps = 0 } = spec;
    const canBorrow = max_leverage > 1;
    const why = {
      spread: `max_leverage is ${max_leverage}, so nothing is borrowed`,
      basis: 'no interest is counted',
    };
    return [
      ...reportRepeated('half_lives', half_lives ?? []),
      ...reportRepeated('windows', windows ?? []),
      ...(half_lives === null || deviation === undefined
        ? []
        : [reportWithoutEffect('deviation', deviation, 'half_lives weigh squared returns')]),
      ...reportCap(spec),
      ...listReviewRemarks(spec),
      ...(canBorrow ? [] : reportIdleMembers(riskControlSchema, spec, { members: ['spread_bps'], why: why.spread })),
      ...(cash === null && !(canBorrow && spread_bps > 0)
        ? reportIdleMembers(riskControlSchema, spec, { members: ['basis'], why: why.basis })
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

function describeSpans({ half_lives, sessions, windows }: Pick<RiskControlTerms, VolatilitySpan>): string {
  const largestText = (spans: readonly number[]): string => (spans.length > 1 ? '; the largest counts' : '');
  if (sessions !== null) return `over ${sessions} sessions`;
  if (windows) return `over ${windows.join(' and over ')} sessions${largestText(windows)}`;
  return `with weights that halve every ${half_lives!.join(' and every ')} sessions${largestText(half_lives!)}`;
}

const reportRepeated = (member: 'half_lives' | 'windows', spans: readonly number[]): Remark[] =>
  spans.flatMap((span, k) => {
    const first = spans.indexOf(span);
    return first === k ? [] : [reportWithoutEffect(`${member}[${k}]`, span, `${member}[${first}] is the same`)];
  });

/**
 * Reports a maximum exposure that is below the target volatility. The target then has no effect: the exposure is below
 * its maximum only at volatilities that no index has.
 */
const reportCap = ({ target, max_leverage }: RiskControlTerms): Remark[] =>
  max_leverage >= target
    ? []
    : [
        reportWithoutEffect(
          'target',
          target,
          `max_leverage is ${max_leverage}, which is the exposure for every volatility below ${formatShare(Number((target / max_leverage).toPrecision(4)))} per year`,
        ),
      ];

/** All overlay types, in the order of forms. */
const OVERLAY_ENTRIES = [
  currency,
  currencyHedged,
  quanto,
  riskControl,
  leverage,
  decrement,
  excessReturn,
  collateral,
  heldIncome,
  blend,
  fee,
] as const;

export const OVERLAY_TYPES: readonly OverlayType[] = OVERLAY_ENTRIES as unknown as readonly OverlayType[]; // An entry is called only with specifications of its type.

export const OverlaySpec = z
  .discriminatedUnion('type', [
    currency.schema.meta({ id: 'CurrencyOverlay', description: currency.help }),
    currencyHedged.schema.meta({ id: 'CurrencyHedgedOverlay', description: currencyHedged.help }),
    quanto.schema.meta({ id: 'QuantoOverlay', description: quanto.help }),
    riskControl.schema.meta({ id: 'RiskControlOverlay', description: riskControl.help }),
    leverage.schema.meta({ id: 'LeverageOverlay', description: leverage.help }),
    decrement.schema.meta({ id: 'DecrementOverlay', description: decrement.help }),
    excessReturn.schema.meta({ id: 'ExcessReturnOverlay', description: excessReturn.help }),
    collateral.schema.meta({ id: 'CollateralOverlay', description: collateral.help }),
    heldIncome.schema.meta({ id: 'HeldIncomeOverlay', description: heldIncome.help }),
    blend.schema.meta({ id: 'BlendOverlay', description: blend.help }),
    fee.schema.meta({ id: 'FeeOverlay', description: fee.help }),
  ])
  .meta({ id: 'OverlaySpec' });
export type OverlaySpec = z.infer<typeof OverlaySpec>;

const OVERLAYS_BY_TYPE = new Map(OVERLAY_TYPES.map((entry) => [entry.type, entry]));

/** Returns the catalogue entry of an overlay. */
export function findOverlayType({ type }: OverlaySpec): OverlayType {
  return OVERLAYS_BY_TYPE.get(type)!; // the catalogue has every type of the schema
}

/** Returns the weights of a blend. Returns undefined for other overlays. */
export function listBlendParts(
  spec: OverlaySpec,
): readonly { readonly index_id: string; readonly weight: number }[] | undefined {
  return spec.type === 'blend' ? spec.parts : undefined;
}

/** Catalogue entry as served by the API. */
export interface OverlayTypeSpec extends Pick<
  OverlayType,
  'type' | 'label' | 'help' | 'formula' | 'reference' | 'example'
> {
  readonly parameters: readonly ParameterSpec[];
}

/** Returns the catalogue as served by the API. */
export const listOverlaySpecs = (): OverlayTypeSpec[] =>
  OVERLAY_TYPES.map(({ type, label, help, formula, reference, schema, example }) => ({
    type,
    label,
    help,
    formula,
    reference,
    parameters: createParameterSpecs(schema).filter(({ name }) => name !== 'type'),
    example,
  }));
