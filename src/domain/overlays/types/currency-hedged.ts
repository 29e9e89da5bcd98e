import { z } from 'zod';
import { CurrencyCode } from '../../shape.js';
import { basis, rateSeries } from '../fields.js';
import { overlayType, type OverlayContext, type OverlayPath } from '../overlay-type.js';
import { positive } from '../steps.js';
import { exchangeGrowth } from './currency.js';

export const currencyHedged = overlayType({
  type: 'currency_hedged',
  label: 'Currency hedged',
  help: 'The index in another currency, hedged by one-month forwards.',
  formula:
    'L[t] = L[m] * (I[t] / I[m] + ratio (F[m] - f[t]) / s[m]); F[m] = s[m] (1 + d[m] n / basis) / (1 + r[m] n / basis), n: days of the forward; f[t] = s[t] + (F[t] - s[t]) (days left) / n, F[t] the forward of n days on t; m: last session of a month, I: the index converted. Daily: L[t] = L[t-1] * (I[t] / I[t-1] + ratio (f[t-1] - f[t]) / s[t-1])',
  reference: 'S&P Dow Jones Indices, Index Mathematics Methodology: currency hedged indices',
  schema: z.strictObject({
    type: z.literal('currency_hedged'),
    to: CurrencyCode.meta({ description: 'Currency of the overlay.' }),
    ratio: z.number().min(0).max(1).default(1).meta({ description: 'Fraction of the index that is hedged.' }),
    rates: z
      .strictObject({
        domestic: rateSeries('rate of the currency of the overlay'),
        foreign: rateSeries('rate of the currency beneath'),
      })
      .meta({ description: 'Rates of interest that forwards are made from.' }),
    adjust: z
      .enum(['monthly', 'daily'])
      .default('monthly')
      .meta({ description: 'When the amount hedged is set to the level again.' }),
    basis: basis(360),
  }),
  example: { type: 'currency_hedged', to: 'EUR', ratio: 1, rates: { domestic: 'ESTR', foreign: 'SOFR' } },
  currency: ({ to }) => to,
  series: ({ rates }) => [
    { path: 'rates.domestic', series: rates.domestic },
    { path: 'rates.foreign', series: rates.foreign },
  ],
  sentences: ({ to, ratio, rates, adjust, basis: days }) => [
    `The index beneath is converted into ${to}, and ${ratio} of it is hedged by forwards that are struck on the last session of each month for that of the next.`,
    `Forwards follow from spot and the rates ${rates.domestic} and ${rates.foreign} by calendar days over ${days}; within the month they are marked by interpolation between spot and forward.`,
    `The amount hedged is set to the level ${adjust === 'monthly' ? 'when they are struck' : 'every session'}.`,
  ],
  path(spec, context) {
    const exchange = exchangeGrowth(context.exchange());
    const { growth: beneath } = context.sources[0]!;
    const converted = beneath.map((own, t) => (t === 0 ? 1 : own * exchange[t]!));
    const { opened, closed } = marks(spec, context);
    return hedged({ converted, exchange, opened, closed, spot: context.exchange() }, spec, context);
  },
});

interface Terms {
  readonly ratio: number;
  readonly adjust: 'monthly' | 'daily';
  readonly basis: number;
  readonly rates: { readonly domestic: string; readonly foreign: string };
}

interface Marks {
  /** Mark of the forward that runs on from each close: on the day it is struck the forward itself, [T]. */
  readonly opened: Float64Array;
  /** Mark of the forward that ran up to each close, [T]. */
  readonly closed: Float64Array;
}

/** Forwards by session: each runs to the first end of a month after the session it is struck on. */
function marks({ rates, basis: year }: Terms, context: OverlayContext): Marks {
  const { days } = context;
  const spot = context.exchange();
  const domestic = context.rate(rates.domestic);
  const foreign = context.rate(rates.foreign);
  const ends = context.monthEnds();
  const markAt = (t: number, struck: number, end: number): number => {
    const tenor = end - struck;
    if (tenor <= 0) return spot[t]!; // Where the calendar ends.
    const forward = (spot[t]! * (1 + (domestic[t]! * tenor) / year)) / (1 + (foreign[t]! * tenor) / year);
    return spot[t]! + ((forward - spot[t]!) * (end - days[t]!)) / tenor;
  };
  let struck = days[0]!;
  const opened = new Float64Array(days.length);
  const closed = new Float64Array(days.length);
  for (let t = 0; t < days.length; t++) {
    const before = t === 0 ? ends[0]! : ends[t - 1]!;
    closed[t] = markAt(t, struck, before);
    if (ends[t] !== before) struck = days[t]!;
    opened[t] = markAt(t, struck, ends[t]!);
  }
  return { opened, closed };
}

interface Hedged extends Marks {
  /** Growth in the currency of the overlay. */
  readonly converted: Float64Array;
  readonly exchange: Float64Array;
  readonly spot: Float64Array;
}

/** In units of the level at the last strike: what is in the index, and the level. */
function hedged(
  { converted, exchange, opened, closed, spot }: Hedged,
  terms: Terms,
  context: OverlayContext,
): OverlayPath {
  const { ratio, adjust } = terms;
  const ends = context.monthEnds();
  const length = converted.length;
  const growth = new Float64Array(length).fill(1);
  const exposure = new Float64Array(length).fill(1);
  const hedge = new Float64Array(length);
  let strike = spot[0]!;
  let invested = 1;
  let level = 1;
  for (let t = 1; t < length; t++) {
    const gain = (ratio * (opened[t - 1]! - closed[t]!)) / strike;
    const grown = invested * converted[t]!;
    // What the hedge gained since the strike stays beside the index until the next one.
    const after = level + (grown - invested) + gain;
    growth[t] = positive(after / level, context.dateOf, t);
    hedge[t] = gain / level;
    level = after;
    invested = grown;
    if (adjust === 'daily' || ends[t] !== ends[t - 1]) {
      strike = spot[t]!;
      invested = 1;
      level = 1;
    }
    exposure[t] = invested / level;
  }
  const parts = [{ part: 'hedge' as const, contributions: hedge }];
  return { growth, exposures: [exposure], exchange, parts, resets: null };
}
