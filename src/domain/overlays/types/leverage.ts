import { z } from 'zod';
import { basis, costBps, costSentences, rateSeries } from '../fields.js';
import { overlayType } from '../overlay-type.js';
import { accruals, BASIS_POINT, lessCosts, positive, yearFractions } from '../steps.js';

export const leverage = overlayType({
  type: 'leverage',
  label: 'Leveraged or inverse',
  help: 'A multiple of the daily return, set anew every session; a negative one is inverse.',
  formula:
    'L[t] = L[t-1] * (1 + K (g[t] - 1) + carry); K > 1: carry = -(K - 1) (r[t-1] + spread) days / basis; K < 1: carry = (1 - K) (r[t-1] - spread) days / basis; with costs growth G[t] becomes G[t] (1 - cost |K - K g[t] / G[t]|)',
  reference: 'S&P Dow Jones Indices, Index Mathematics Methodology: leveraged and inverse indices',
  schema: z.strictObject({
    type: z.literal('leverage'),
    factor: z
      .number()
      .min(-10)
      .max(10)
      .refine((factor) => factor !== 0, { error: 'must not be 0', params: { finding: 'OUT_OF_RANGE' } })
      .meta({ description: 'Multiple of the daily return; negative is inverse.' }),
    financing: rateSeries('rate of financing').nullable().default(null),
    spread_bps: z.number().min(0).max(10_000).default(0).meta({ description: 'Over the rate, basis points a year.' }),
    cost_bps: costBps,
    basis: basis(360),
  }),
  example: { type: 'leverage', factor: 2, financing: 'SOFR', spread_bps: 50 },
  series: ({ financing }) => (financing === null ? [] : [{ path: 'financing', series: financing }]),
  sentences: ({ factor, financing, spread_bps, cost_bps, basis: days }) => [
    `Every session it earns ${factor} times the return of the index beneath, set anew at the close.`,
    factor > 1
      ? `The borrowed ${factor - 1} of its value costs ${rateText(financing)} plus ${spread_bps} basis points, by calendar days over ${days}.`
      : `The ${1 - factor} of its value in cash earns ${rateText(financing)} less ${spread_bps} basis points, by calendar days over ${days}.`,
    ...costSentences(cost_bps),
  ],
  path({ factor, financing, spread_bps, cost_bps, basis: days }, context) {
    const { growth: beneath } = context.sources[0]!;
    const interest = accruals(context, financing, days);
    const fractions = yearFractions(context.days, days);
    const spread = (factor > 1 ? 1 : -1) * spread_bps * BASIS_POINT;
    const carry = interest.map((earned, t) => (1 - factor) * (earned + spread * fractions[t]!));
    const growth = beneath.map((own, t) =>
      t === 0 ? 1 : positive(1 + factor * (own - 1) + carry[t]!, context.dateOf, t),
    );
    const exposures = [new Float64Array(growth.length).fill(factor)];
    const parts = [{ part: 'financing' as const, contributions: carry }];
    return lessCosts({ growth, exposures, exchange: null, parts, resets: null }, context, cost_bps);
  },
});

const rateText = (series: string | null): string => (series === null ? 'a rate of 0' : `the rate ${series}`);
