import { z } from 'zod';
import { defineObject, Id, IsoDate } from '#domain/base/schema.js';
import { defineRoutes } from './route.js';

const defineRate = (help: string) =>
  z
    .number()
    .default(0)
    .meta({ description: `${help} A fraction, annual and continuously compounded. Default: 0.` });
const defineQueryRate = (help: string) =>
  z
    .number()
    .default(0)
    .meta({ description: `${help} A fraction, annual and continuously compounded. Default: 0.` });
const asOf = IsoDate.nullable()
  .default(null)
  .meta({ description: 'Valuation date. Default: the date of the latest level.' });
const EXPIRIES_MAX = 64;
const DIVIDENDS_MAX = 1000;

export const CarryDecomposition = defineObject(() => ({
  borrow: z.number(),
  dividend: z
    .number()
    .meta({ description: 'Effect of dividends. It is negative, because dividends reduce the forward.' }),
  financing: z.number(),
  residual: z.number().meta({ description: 'Total less the three parts.' }),
  total: z.number().meta({ description: 'Fair value less spot.' }),
})).meta({ id: 'CarryDecomposition' });

const spotSource = {
  index_id: Id.nullable()
    .default(null)
    .meta({ description: 'Index whose level is the spot. Exactly one of index_id and spot is required.' }),
  spot: z.number().gt(0).nullable().default(null).meta({ description: 'Spot level, greater than 0. Requires as_of.' }),
};

export const FuturesPriceRequest = defineObject(() => ({
  ...spotSource,
  expiry: IsoDate,
  as_of: asOf,
  risk_free_rate: defineRate('Financing rate.'),
  dividend_yield: defineRate('Dividend yield.'),
  borrow_rate: defineRate('Cost of borrowing the securities. A positive rate lowers the forward.'),
  cash_rates: z
    .strictObject({
      borrowing: z.number().meta({ description: 'Rate at which cash is borrowed.' }),
      lending: z.number().meta({ description: 'Rate at which cash is lent; at most the rate of borrowing.' }),
    })
    .nullable()
    .default(null)
    .meta({
      description:
        'Separate rates for borrowing and lending cash, as fractions, annual and continuously compounded. They determine the prices without arbitrage, `no_arbitrage`; fair_value still uses risk_free_rate.',
    }),
  dividends: z
    .array(z.strictObject({ ex_date: IsoDate, amount: z.number().min(0) }))
    .max(DIVIDENDS_MAX)
    .default([])
    .meta({
      description:
        'Discrete dividends in index points between as_of and expiry. Cannot be combined with a non-zero dividend_yield.',
    }),
  dividend_source: z.enum(['given', 'announced']).default('given').meta({
    description:
      '`announced`: the announced dividends of the latest run of `index_id`, in index points, with an ex-date up to the expiry, as known on the last date of the run. Excludes `dividends` and a yield.',
  }),
  market_price: z
    .number()
    .gt(0)
    .nullable()
    .default(null)
    .meta({ description: 'Observed price, which is used for the mispricing and the implied rates.' }),
  multiplier: z.number().gt(0).default(1).meta({ description: 'Amount of money per index point.' }),
  contracts: z.number().default(1).meta({ description: 'Number of contracts; negative for a short position.' }),
})).meta({ id: 'FuturesPriceRequest' });
export type FuturesPriceRequest = z.infer<typeof FuturesPriceRequest>;

export const FuturesPriceResponse = defineObject(() => ({
  index_id: z.string().nullable(),
  requested_as_of: z.string().nullable(),
  as_of: z.string().meta({ description: 'Session that was used.' }),
  expiry: z.string(),
  days: z.int(),
  year_fraction: z.number().meta({ description: 'days / 365.' }),
  spot: z.number(),
  fair_value: z.number(),
  basis: z.number().meta({ description: 'fair_value less spot.' }),
  annualised_carry: z.number().meta({ description: 'ln(fair_value / spot) / year_fraction.' }),
  carry: CarryDecomposition,
  dividend_points: z
    .number()
    .meta({ description: 'Sum of the discrete dividends between as_of and expiry, index points; 0 with a yield.' }),
  notional: z.number().meta({ description: 'contracts x multiplier x fair_value.' }),
  delta: z.number().meta({ description: 'Change of the fair value per point of spot.' }),
  rho: z.number().meta({ description: 'Change of the fair value per basis point of the risk-free rate.' }),
  dividend_sensitivity: z.number().meta({ description: 'Change of the fair value per basis point of dividend yield.' }),
  mispricing: z.number().nullable().meta({ description: 'market_price less fair_value; null without market_price.' }),
  implied_rate: z.number().nullable().meta({ description: 'Risk-free rate that reproduces market_price.' }),
  implied_dividend_yield: z
    .number()
    .nullable()
    .meta({ description: 'Dividend yield that reproduces market_price; null with discrete dividends.' }),
  no_arbitrage: z
    .strictObject({
      lower: z.number().meta({
        description:
          'Lowest price without arbitrage: sell the securities short at borrow_rate, lend the proceeds, and buy the future.',
      }),
      upper: z.number().meta({
        description: 'Highest price without arbitrage: borrow cash, buy the securities, and sell the future.',
      }),
      market: z.enum(['below', 'within', 'above']).nullable().meta({
        description: 'Position of market_price; null without market_price.',
      }),
    })
    .nullable()
    .meta({ description: 'Range of prices without arbitrage; null without `cash_rates`.' }),
})).meta({ id: 'FuturesPriceResponse' });
export type FuturesPriceResponse = z.infer<typeof FuturesPriceResponse>;

export const TrsPriceRequest = defineObject(() => ({
  ...spotSource,
  initial_level: z.number().gt(0).nullable().default(null).meta({
    description: 'Level at the last reset. Default: the index level at the start of the current period, or spot.',
  }),
  notional: z.number().gt(0),
  start: IsoDate.meta({ description: 'Effective date, or date of the last reset.' }),
  maturity: IsoDate.meta({ description: 'After as_of.' }),
  as_of: asOf,
  direction: z
    .enum(['receive', 'pay'])
    .default('receive')
    .meta({ description: 'Direction of the return leg: received or paid.' }),
  return_type: z.enum(['total', 'price']).default('total'),
  reset_frequency: z.enum(['none', 'monthly', 'quarterly', 'semi_annual', 'annual']).default('quarterly'),
  risk_free_rate: defineRate('Discount rate and floating index.'),
  spread: z.number().default(0).meta({ description: 'Spread over the floating rate, simple, ACT/360.' }),
  dividend_yield: defineRate('Dividend yield.'),
  borrow_rate: defineRate('Stock borrow.'),
})).meta({ id: 'TrsPriceRequest' });
export type TrsPriceRequest = z.infer<typeof TrsPriceRequest>;

export const TrsPriceResponse = defineObject(() => ({
  index_id: z.string().nullable(),
  requested_as_of: z.string().nullable(),
  as_of: z.string(),
  start: z.string(),
  maturity: z.string(),
  direction: z.enum(['receive', 'pay']),
  return_type: z.enum(['total', 'price']),
  spot: z.number(),
  initial_level: z.number(),
  notional: z.number(),
  value: z.number().meta({ description: 'Value for the party with this `direction`.' }),
  equity_leg: z.number(),
  financing_leg: z.number(),
  accrued_equity: z.number(),
  accrued_financing: z.number(),
  par_spread: z.number().meta({ description: 'The spread that makes the value zero.' }),
  delta: z.number().meta({ description: 'Change of the value per point of spot.' }),
  rho: z.number().meta({ description: 'Change of the value per basis point of the risk-free rate.' }),
  periods: z.array(
    z.strictObject({
      start: z.string(),
      end: z.string(),
      days: z.int(),
      equity: z.number(),
      financing: z.number(),
      discount_factor: z.number(),
    }),
  ),
})).meta({ id: 'TrsPriceResponse' });
export type TrsPriceResponse = z.infer<typeof TrsPriceResponse>;

/** Dividend in a query: ex-date and points, for example `2025-01-15:2.5`. */
const DatedPoints = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}:\d+(?:\.\d+)?$/, {
    error: 'must be an ex-date, a colon and points, for example 2025-01-15:2.5',
    abort: true,
  })
  .refine((text) => IsoDate.safeParse(text.slice(0, 10)).success, {
    error: 'must begin with an existing day, for example 2025-01-15:2.5',
    params: { finding: 'BAD_DATE' },
  });

const curveQuery = {
  as_of: IsoDate.optional().meta({ description: 'Valuation date. Default: the date of the latest level.' }),
  risk_free_rate: defineQueryRate('Financing rate.'),
  dividend_yield: defineQueryRate('Dividend yield.'),
  borrow_rate: defineQueryRate('Stock borrow.'),
  dividends: z.array(DatedPoints).max(DIVIDENDS_MAX).default([]).meta({
    description:
      'Discrete dividends as `EX_DATE:POINTS` between as_of and the last expiry. Cannot be combined with a non-zero dividend_yield.',
  }),
  dividend_source: z.enum(['given', 'announced']).default('given').meta({
    description:
      '`announced`: the announced dividends of the latest run up to each expiry, as known on its last date. Excludes `dividends` and a yield.',
  }),
};

export const RollQuery = defineObject(() => ({
  front_expiry: IsoDate.meta({ description: 'Expiry of the contract that is sold.' }),
  back_expiry: IsoDate.meta({
    description: 'Expiry of the contract that is bought. It must be after the front expiry.',
  }),
  ...curveQuery,
}));
export type RollQuery = z.infer<typeof RollQuery>;

export const RollResponse = defineObject(() => ({
  index_id: z.string(),
  as_of: z.string(),
  spot: z.number(),
  front_expiry: z.string(),
  back_expiry: z.string(),
  front_price: z.number(),
  back_price: z.number(),
  front_dividend_points: z.number().meta({ description: 'Sum of the discrete dividends up to the front expiry.' }),
  back_dividend_points: z.number().meta({ description: 'Sum of the discrete dividends up to the back expiry.' }),
  roll_cost: z.number().meta({ description: 'Price of the back contract less price of the front contract.' }),
  annualised_roll: z.number().meta({ description: 'Roll yield: positive in backwardation, negative in contango.' }),
})).meta({ id: 'RollResponse' });
export type RollResponse = z.infer<typeof RollResponse>;

export const TermStructureQuery = defineObject(() => ({
  expiries: z
    .array(IsoDate)
    .min(1)
    .max(EXPIRIES_MAX)
    .superRefine((expiries, context) =>
      expiries.forEach((expiry, position) => {
        const firstPosition = expiries.indexOf(expiry);
        if (firstPosition === position) return;
        const message = `is ${expiry}, the same date as expiries[${firstPosition}]`;
        context.addIssue({
          code: 'custom',
          path: [position],
          input: expiry,
          params: { finding: 'DUPLICATE_ID', isWhole: true },
          message,
        });
      }),
    )
    .meta({ description: '1 to 64 contract expiries, all after as_of.' }),
  ...curveQuery,
}));
export type TermStructureQuery = z.infer<typeof TermStructureQuery>;

export const TermStructureResponse = defineObject(() => ({
  index_id: z.string(),
  requested_as_of: z.string().nullable(),
  as_of: z.string(),
  spot: z.number(),
  risk_free_rate: z.number(),
  dividend_yield: z.number(),
  borrow_rate: z.number(),
  points: z.array(
    z
      .strictObject({
        expiry: z.string(),
        days: z.int(),
        year_fraction: z.number(),
        fair_value: z.number(),
        basis: z.number(),
        annualised_carry: z.number(),
        carry: CarryDecomposition,
        dividend_points: z.number().meta({
          description: 'Sum of the discrete dividends between as_of and expiry, index points; 0 with a yield.',
        }),
        roll_from_previous: z.number().nullable().meta({ description: 'Annualised roll from the previous expiry.' }),
      })
      .meta({ id: 'TermPoint' }),
  ),
  shape: z.enum(['contango', 'backwardation', 'flat', 'mixed']),
})).meta({ id: 'TermStructureResponse' });
export type TermStructureResponse = z.infer<typeof TermStructureResponse>;

const pricingErrors = [
  'INDEX_NOT_FOUND',
  'RUN_NOT_FOUND',
  'NO_DATA_AT_DATE',
  'EXPIRY_NOT_AFTER_AS_OF',
  'RATE_OUT_OF_RANGE',
  'NUMERIC_FAILURE',
] as const;

/** Errors of routes that read announced dividends. */
const dividendErrors = ['STORE_MISMATCH', 'NO_DATA_SOURCE', 'VARIANT_NOT_AVAILABLE'] as const;

export const derivativeRoutes = defineRoutes('derivatives', {
  priceFutures: {
    method: 'POST',
    path: '/derivatives/futures/price',
    call: 'derivatives.priceFutures',
    scope: 'read',
    summary: 'Computes the fair value, carry and sensitivities of an index future.',
    body: {
      schema: FuturesPriceRequest,
      example: {
        spot: 4000,
        as_of: '2024-01-02',
        expiry: '2024-03-15',
        risk_free_rate: 0.05,
        dividend_yield: 0.015,
        borrow_rate: 0.002,
      },
    },
    success: { status: 200, description: 'The price.', schema: FuturesPriceResponse },
    errors: [...pricingErrors, ...dividendErrors],
  },
  priceTrs: {
    method: 'POST',
    path: '/derivatives/trs/price',
    call: 'derivatives.priceTrs',
    scope: 'read',
    summary: 'Computes the value, par spread and sensitivities of a total return swap.',
    body: {
      schema: TrsPriceRequest,
      example: {
        spot: 4000,
        as_of: '2024-01-02',
        start: '2024-01-02',
        maturity: '2025-01-02',
        notional: 1_000_000,
        risk_free_rate: 0.05,
      },
    },
    success: { status: 200, description: 'The value.', schema: TrsPriceResponse },
    errors: pricingErrors,
  },
  getRoll: {
    method: 'GET',
    path: '/derivatives/{index_id}/roll',
    call: 'derivatives.roll',
    scope: 'read',
    summary: 'Computes the cost of rolling between two expiries, on the latest stored run.',
    params: defineObject(() => ({ index_id: Id })),
    query: RollQuery,
    success: { status: 200, description: 'The roll.', schema: RollResponse },
    errors: [...pricingErrors, ...dividendErrors, 'EXPIRY_ORDER'],
  },
  getTermStructure: {
    method: 'GET',
    path: '/derivatives/{index_id}/term-structure',
    call: 'derivatives.termStructure',
    scope: 'read',
    summary: 'Computes fair values for several expiries, on the latest stored run.',
    params: defineObject(() => ({ index_id: Id })),
    query: TermStructureQuery,
    success: { status: 200, description: 'The term structure.', schema: TermStructureResponse },
    errors: [...pricingErrors, ...dividendErrors],
  },
});
