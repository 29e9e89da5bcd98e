import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { formatShare } from '../../catalogue/sentence-numbers.js';
import { defineBasis, costBps, describeCosts, defineRateSeries } from '../fields.js';
import { defineOverlayType } from '../overlay-type.js';
import { reportWithoutEffect, reportIdleMembers } from '../remarks.js';
import { computeAccruals, BASIS_POINT, subtractCosts, assertPositive, computeYearFractions } from '../steps.js';

const FACTOR_MAX = 10;

const schema = defineObject(() => ({
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

export const leverage = defineOverlayType({
  type: 'leverage',
  label: 'Leveraged or inverse',
  help: 'A multiple of the daily return, reset every session. A negative multiple is inverse.',
  formula:
    'L[t] = L[t-1] * (1 + K (g[t] - 1) + carry); K > 1: carry = -(K - 1) (r[t-1] + spread) days / basis; K < 1: carry = (1 - K) (r[t-1] - spread) days / basis; with costs growth G[t] becomes G[t] (1 - cost |K - K g[t] / G[t]|)',
  reference: 'S&P Dow Jones Indices, Index Mathematics Methodology: leveraged and inverse indices',
  schema,
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
        ...reportIdleMembers(schema, spec, { members, why }),
      ];
    }
    if (financing !== null || spread_bps > 0) return [];
    const why = 'without financing and spread_bps no interest is counted';
    return reportIdleMembers(schema, spec, { members: ['basis'], why });
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
