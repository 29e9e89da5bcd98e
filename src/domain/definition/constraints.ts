import { z } from 'zod';
import { raiseToPower } from '#kernels/power.js';
import { AssetIdentifier, defineObject } from '../base/schema.js';
import { createLabel } from '../datapoints/expression-text.js';
import { toRequest } from '../datapoints/expression-tree.js';
import { createLatestRequest } from '../datapoints/fields.js';
import { createTypeSpec, type TypeSpec } from './catalogue.js';
import {
  type BoundPath,
  category,
  type ConstraintClass,
  COUNT_MAX,
  createFixedLimit,
  createFraction,
  createFractionOrPath,
  createIndicator,
  createParameterLimit,
  createSecurityRows,
  datapoint,
  defineConstraintClass,
  defineConstraintParams,
  groups,
  hasBound,
  isBoundPath,
  type LinearRow,
  listGroupsInScope,
  lowerAtMostUpper,
  minimumAtMostMaximum,
  NO_GROUP,
  ONE_WAY,
  readTradeBounds,
  reference,
  type Refinement,
  requireNumber,
  type RowContext,
  scope,
  securities,
  side,
  triggerAtMostSingle,
} from './constraint-class.js';
import { drawnScenarioParams, readScenarioTerms, tailParams } from './tail-risk.js';

const activeBounds = defineConstraintClass({
  type: 'ActiveBounds',
  label: 'Active bounds',
  help: 'Each active weight (weight less index weight) is between two bounds.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({
    lower: createFraction({ label: 'Lower', help: 'Smallest active weight.' }, { least: -2 }),
    upper: createFraction({ label: 'Upper', help: 'Largest active weight.' }, { least: -2 }),
    identifiers: scope,
  }).refine(...lowerAtMostUpper),
  isSymmetric: true,
  example: { id: 'active', type: 'ActiveBounds', params: { lower: -0.01, upper: 0.01 } },
  toRows: ({ lower, upper, identifiers }, context) =>
    createSecurityRows(identifiers, context, (name) => ({
      lower: createParameterLimit(context.index[name]! + lower, 'lower'),
      upper: createParameterLimit(context.index[name]! + upper, 'upper'),
    })),
});

const SmallGroup = defineObject(() => ({
  below: createFraction({ label: 'Below', help: 'Index weight below which a group is small.' }),
  multiple: z.number().min(1).max(1000).meta({
    label: 'Multiple',
    help: 'Maximum weight of a small group, as a multiple of its index weight.',
  }),
})).meta({ id: 'SmallGroup' });

const activeGroupBounds = defineConstraintClass({
  type: 'ActiveGroupBounds',
  label: 'Active group bounds',
  help: 'The active weight of each group (weight less index weight) is between two bounds.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({
    field: category,
    groups,
    lower: createFraction({ label: 'Lower', help: 'Smallest active weight of a group.' }, { least: -2 }),
    upper: createFraction({ label: 'Upper', help: 'Largest active weight of a group.' }, { least: -2 }),
    small_group: SmallGroup.nullable().default(null).meta({
      label: 'Small groups',
      help: 'Limit of groups with a small index weight: a multiple of the index weight instead of `upper`. Default: no such limit.',
      ref: 'SmallGroup',
    }),
  }).refine(...lowerAtMostUpper),
  isSymmetric: true,
  example: { id: 'sec', type: 'ActiveGroupBounds', params: { field: 'SECTOR', lower: -0.02, upper: 0.02 } },
  toRows: ({ field, groups, lower, upper, small_group: small }, context) =>
    listGroupsInScope(field, groups, context).map(({ group, members }) => {
      let groupWeight = 0;
      for (const name of members) groupWeight += context.index[name]!;
      return {
        form: 'linear',
        coefficients: createIndicator(members, context),
        lower: createParameterLimit(groupWeight + lower, 'lower'),
        upper:
          small !== null && groupWeight < small.below
            ? createFixedLimit(groupWeight * small.multiple)
            : createParameterLimit(groupWeight + upper, 'upper'),
        member: group,
      };
    }),
});

const activeShare = defineConstraintClass({
  type: 'ActiveShare',
  label: 'Active share',
  help: 'The active share (half the sum of absolute active weights) is at most a limit.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({
    limit: createFraction({ label: 'Limit', help: 'Largest active share.' }, { most: 2 }),
  }),
  example: { id: 'share', type: 'ActiveShare', params: { limit: 0.3 } },
  toRows: ({ limit }, { index }) => [
    {
      form: 'distance',
      reference: index,
      fixed: 0,
      scale: ONE_WAY,
      limit: createParameterLimit(limit, 'limit'),
      member: null,
    },
  ],
});

const nullableSide = z.number().nullable().default(null);

const beta = defineConstraintClass({
  type: 'Beta',
  label: 'Beta',
  help: 'The beta of the portfolio to the index is between two bounds. It is computed from the covariance of the problem.',
  kind: 'ineq',
  unit: 'value',
  convex: true,
  params: defineConstraintParams({
    lower: nullableSide.meta({ label: 'Lower', help: 'Smallest beta.' }),
    upper: nullableSide.meta({ label: 'Upper', help: 'Largest beta.' }),
  })
    .refine(...lowerAtMostUpper)
    .refine(...hasBound),
  example: { id: 'beta', type: 'Beta', params: { lower: 0.98, upper: 1.02 } },
  toRows: ({ lower, upper }, context) => {
    const coefficients = context.covarianceTimesIndex().slice();
    let variance = 0;
    for (let i = 0; i < coefficients.length; i++) variance += coefficients[i]! * context.index[i]!;
    for (let i = 0; i < coefficients.length; i++) coefficients[i] = variance > 0 ? coefficients[i]! / variance : 0;
    return [
      {
        form: 'linear',
        coefficients,
        lower: lower === null ? null : createParameterLimit(lower, 'lower'),
        upper: upper === null ? null : createParameterLimit(upper, 'upper'),
        member: null,
      },
    ];
  },
});

const cardinality = defineConstraintClass({
  type: 'Cardinality',
  label: 'Number of securities',
  help: 'The number of securities held, long or short, is between two bounds.',
  kind: 'ineq',
  unit: 'count',
  convex: false,
  params: defineConstraintParams({
    minimum: z
      .int()
      .min(1)
      .max(COUNT_MAX)
      .default(1)
      .meta({ label: 'Minimum', help: 'Minimum number of holdings.', unit: 'securities' }),
    maximum: z
      .int()
      .min(1)
      .max(COUNT_MAX)
      .default(COUNT_MAX)
      .meta({ label: 'Maximum', help: 'Maximum number of holdings.', unit: 'securities' }),
  }).refine(...minimumAtMostMaximum),
  example: { id: 'n', type: 'Cardinality', params: { maximum: 60 } },
  toRows: ({ minimum, maximum }, { identifiers }) => [
    { form: 'count', members: Int32Array.from(identifiers.keys()), minimum, maximum, member: null },
  ],
});

const { confidence, scenarios } = tailParams.shape;

const cdar = defineConstraintClass({
  type: 'CDaR',
  label: 'Conditional drawdown at risk',
  help: 'The average of the worst historical drawdowns is at most a limit. Drawdowns are computed from summed session returns.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  scenarios: 'consecutive',
  params: defineConstraintParams({
    limit: createFraction({ label: 'Limit', help: 'Largest average drawdown, as a fraction of value.' }, { most: 10 }),
    confidence,
    scenarios,
  }),
  example: { id: 'cdar', type: 'CDaR', params: { limit: 0.12, confidence: 0.95 } },
  toRows: (params, context) => [
    {
      form: 'tail',
      goal: context.tail('drawdown', params.confidence, readScenarioTerms(params)),
      limit: createParameterLimit(params.limit, 'limit'),
      member: null,
    },
  ],
});

const concentration5x10x40 = defineConstraintClass({
  type: 'Concentration5_10_40',
  label: 'Concentration 5/10/40',
  help: 'UCITS limits: no security is above `single`, and the securities above `trigger` add up to at most `aggregate`.',
  kind: 'ineq',
  unit: 'fraction',
  convex: false,
  params: defineConstraintParams({
    single: createFraction({ label: 'Single', help: 'Maximum weight of one security.' }).default(0.1),
    trigger: createFraction({
      label: 'Trigger',
      help: 'Weight above which a security is included in the aggregate.',
    }).default(0.05),
    aggregate: createFraction({
      label: 'Aggregate',
      help: 'Maximum total weight of the securities above the trigger.',
    }).default(0.4),
  }).refine(...triggerAtMostSingle),
  example: { id: 'ucits', type: 'Concentration5_10_40', params: {} },
  toRows: ({ single, trigger, aggregate }) => [{ form: 'concentration', single, trigger, aggregate, member: null }],
});

const concentrationRic = defineConstraintClass({
  type: 'ConcentrationRIC',
  label: 'Concentration 25/50',
  help: 'United States RIC limits: no security is above `single`, and the securities above `trigger` add up to at most `aggregate`.',
  kind: 'ineq',
  unit: 'fraction',
  convex: false,
  params: defineConstraintParams({
    single: createFraction({ label: 'Single', help: 'Maximum weight of one security.' }).default(0.25),
    trigger: createFraction({
      label: 'Trigger',
      help: 'Weight above which a security is included in the aggregate.',
    }).default(0.05),
    aggregate: createFraction({
      label: 'Aggregate',
      help: 'Maximum total weight of the securities above the trigger.',
    }).default(0.5),
  }).refine(...triggerAtMostSingle),
  example: { id: 'ric', type: 'ConcentrationRIC', params: {} },
  toRows: ({ single, trigger, aggregate }) => [{ form: 'concentration', single, trigger, aggregate, member: null }],
});

const { confidence: cvarConfidence } = tailParams.shape;

const cvar = defineConstraintClass({
  type: 'CVaR',
  label: 'Conditional value at risk',
  help: 'The average loss of the worst historical or simulated sessions (expected shortfall) is at most a limit.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  scenarios: 'any',
  params: defineConstraintParams({
    limit: createFraction(
      { label: 'Limit', help: 'Largest average loss of one session, as a fraction of value.' },
      { least: -1 },
    ),
    confidence: cvarConfidence,
    ...drawnScenarioParams,
  }),
  example: { id: 'cvar', type: 'CVaR', params: { limit: 0.02, confidence: 0.95 } },
  toRows: (params, context) => [
    {
      form: 'tail',
      goal: context.tail('loss', params.confidence, readScenarioTerms(params)),
      limit: createParameterLimit(params.limit, 'limit'),
      member: null,
    },
  ],
});

const toRadius = (minimum: number) => 1 / Math.sqrt(minimum);
const toParameter = (radius: number) => 1 / (radius * radius);

const effectiveNumber = defineConstraintClass({
  type: 'EffectiveNumber',
  label: 'Effective number of securities',
  help: 'The effective number of securities (1 divided by the sum of squared weights) is at least a minimum.',
  kind: 'ineq',
  unit: 'count',
  convex: true,
  isFractionalCount: true,
  params: defineConstraintParams({
    minimum: z
      .number()
      .min(1)
      .max(100_000)
      .meta({ label: 'Minimum', help: 'Smallest effective number.', unit: 'securities' }),
  }),
  example: { id: 'spread', type: 'EffectiveNumber', params: { minimum: 40 } },
  toRows: ({ minimum }) => [
    {
      form: 'norm',
      metric: 'identity',
      centre: null,
      limit: createParameterLimit(toRadius(minimum), 'minimum', -0.5 * raiseToPower(minimum, -1.5)),
      radiusOf: toRadius,
      parameterOf: toParameter,
      side: 'lower',
      member: null,
    },
  ],
});

export const excludeConstraint = defineConstraintClass({
  type: 'Exclude',
  label: 'Exclude',
  help: 'The listed securities have no weight.',
  kind: 'eq',
  unit: 'fraction',
  convex: true,
  isExclusion: true,
  params: defineConstraintParams({ identifiers: securities }),
  example: { id: 'out', type: 'Exclude', params: { identifiers: ['AAPL'] } },
  toRows: ({ identifiers }, context) =>
    createSecurityRows(identifiers, context, () => ({ lower: createFixedLimit(0), upper: createFixedLimit(0) })),
});

const expectedReturn = defineConstraintClass({
  type: 'ExpectedReturn',
  label: 'Expected return',
  help: 'The annual expected return of the portfolio is at least a limit, before costs. It is computed from the expected returns of the request, which are required; their uncertainty is not deducted.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  needsReturns: true,
  params: defineConstraintParams({
    lower: z
      .number()
      .min(-10)
      .max(10)
      .meta({ label: 'Lower', help: 'Smallest annual expected return.', unit: 'fraction a year' }),
  }),
  example: { id: 'floor', type: 'ExpectedReturn', params: { lower: 0.05 } },
  toRows: ({ lower }, context) => {
    const coefficients = context.expectedReturns();
    if (coefficients === null) return [];
    return [{ form: 'linear', coefficients, lower: createParameterLimit(lower, 'lower'), upper: null, member: null }];
  },
});

const factorExposure = defineConstraintClass({
  type: 'FactorExposure',
  label: 'Factor exposure',
  help: 'The exposure of the portfolio, or of its active weights, to a datapoint is between two bounds. A missing value is replaced by the mean.',
  kind: 'ineq',
  unit: 'value',
  convex: true,
  hasNumericField: true,
  params: defineConstraintParams({
    field: datapoint,
    lower: side.meta({ label: 'Lower', help: 'Smallest exposure.' }),
    upper: side.meta({ label: 'Upper', help: 'Largest exposure.' }),
    standardise: z
      .boolean()
      .default(true)
      .meta({ label: 'Standardise', help: 'If true, exposures are z-scores over the securities.' }),
    active: z.boolean().default(false).meta({ label: 'Active', help: 'If true, the bounds apply to active weights.' }),
  })
    .refine(...lowerAtMostUpper)
    .refine(...hasBound),
  isSymmetric: true,
  example: {
    id: 'momentum',
    type: 'FactorExposure',
    params: { field: 'MOMENTUM', lower: -0.1, upper: 0.1, active: true },
  },
  toRows: ({ field, lower, upper, standardise, active }, context) => {
    const values = context.numbers(field);
    const coefficients = computeExposures(values, standardise);
    context.missing({ field: createLabel(toRequest(field)), values, effect: 'the mean is used instead' });
    let base = 0;
    if (active) for (let i = 0; i < coefficients.length; i++) base += coefficients[i]! * context.index[i]!;
    return [
      {
        form: 'linear',
        coefficients,
        lower: lower === null ? null : createParameterLimit(base + requireNumber(lower), 'lower'),
        upper: upper === null ? null : createParameterLimit(base + requireNumber(upper), 'upper'),
        member: null,
      },
    ];
  },
  measureOf({ field, standardise, active }, { weights, numbers }) {
    if (active) return 0;
    return computeExposures(numbers(field), standardise).reduce((sum, value, i) => sum + value * weights[i]!, 0);
  },
});

/**
 * Returns exposures in which gaps are filled by the mean. Standardised exposures are z-scores with the population
 * deviation; they are zero if the deviation is zero.
 */
function computeExposures(values: Float64Array, isStandardised: boolean): Float64Array {
  const presentValues = values.filter((value) => !Number.isNaN(value));
  const mean =
    presentValues.length === 0 ? 0 : presentValues.reduce((sum, value) => sum + value, 0) / presentValues.length;
  const variance =
    presentValues.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(presentValues.length, 1);
  const deviation = Math.sqrt(variance);
  return values.map((value) => {
    const filledValue = Number.isNaN(value) ? mean : value;
    if (!isStandardised) return filledValue;
    return deviation > 0 ? (filledValue - mean) / deviation : 0;
  });
}

const freezeConstraint = defineConstraintClass({
  type: 'Freeze',
  label: 'Freeze',
  help: 'The listed securities keep their weight in the reference portfolio.',
  kind: 'eq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({ identifiers: securities, reference }),
  example: { id: 'keep', type: 'Freeze', params: { identifiers: ['AAPL'] } },
  toRows: ({ identifiers, reference }, context) => {
    const from = context.reference(reference);
    if (from === null) return [];
    return createSecurityRows(identifiers, context, (name) => {
      const weight = createFixedLimit(from.weights[name]!);
      return { lower: weight, upper: weight };
    });
  },
});

export const fullInvestment = defineConstraintClass({
  type: 'FullInvestment',
  label: 'Full investment',
  help: 'The weights add up to 1. This constraint is present by default unless bounds of the sum of weights replace it.',
  kind: 'eq',
  unit: 'fraction',
  convex: true,
  replacesInvestment: true,
  params: defineConstraintParams({}),
  example: { id: 'budget', type: 'FullInvestment', params: {} },
  toRows: (_, { identifiers }) => [
    {
      form: 'linear',
      coefficients: new Float64Array(identifiers.length).fill(1),
      lower: createFixedLimit(1),
      upper: createFixedLimit(1),
      member: null,
    },
  ],
});

/** Maximum limit. It is far above any portfolio, and below a limit that is stated in percent. */
const GROSS_MAX = 100;

const grossExposure = defineConstraintClass({
  type: 'GrossExposure',
  label: 'Gross exposure',
  help: 'The sum of the absolute weights is at most a limit: 1.5 allows short positions of 0.25 if the weights add up to 1. Position bounds with a negative lower bound allow short positions.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({
    upper: createFraction({ label: 'Upper', help: 'Largest sum of absolute weights.' }, { most: GROSS_MAX }),
  }),
  example: { id: 'gross', type: 'GrossExposure', params: { upper: 1.5 } },
  toRows: ({ upper }, { identifiers }) => [
    {
      form: 'distance',
      reference: new Float64Array(identifiers.length),
      fixed: 0,
      scale: 1,
      limit: createParameterLimit(upper, 'upper'),
      member: null,
    },
  ],
});

interface GroupLimits {
  readonly groups: readonly string[] | null;
  readonly lower: number | BoundPath;
  readonly upper: number | BoundPath;
}

/** Requires one group if a bound begins at the weight of the group on a date. */
const hasGroupOfPath: Refinement<GroupLimits> = [
  ({ groups: listedGroups, lower, upper }) =>
    listedGroups?.length === 1 || ![lower, upper].some((bound) => isBoundPath(bound) && typeof bound.base === 'string'),
  {
    path: ['groups'],
    params: { finding: 'MISSING_PARAMETER' },
    error: () => 'must name one group, because a bound begins at the weight of the group on a date',
  },
];

export const groupBounds = defineConstraintClass({
  type: 'GroupBounds',
  label: 'Group bounds',
  help: 'The weight of each group is between two bounds. Securities without a group form a separate group.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({
    field: category,
    groups,
    lower: createFractionOrPath({ label: 'Lower', help: 'Smallest weight of a group.' }, { least: -1 }).default(0),
    upper: createFractionOrPath({ label: 'Upper', help: 'Largest weight of a group.' }, { least: -1 }).default(1),
  })
    .refine(...lowerAtMostUpper)
    .refine(...hasGroupOfPath),
  example: { id: 'sectors', type: 'GroupBounds', params: { field: 'SECTOR', upper: 0.25 } },
  toRows: ({ field, groups, lower, upper }, context) =>
    listGroupsInScope(field, groups, context).map(({ group, members }) => ({
      form: 'linear',
      coefficients: createIndicator(members, context),
      lower: createParameterLimit(requireNumber(lower), 'lower'),
      upper: createParameterLimit(requireNumber(upper), 'upper'),
      member: group,
    })),
  measureOf: ({ field, groups }, { weights, categories }) => {
    const group = groups![0]!; // the parameters of a bound that begins on a date name one group
    return categories(field).reduce(
      (sum, category, i) => ((category ?? NO_GROUP) === group ? sum + weights[i]! : sum),
      0,
    );
  },
});

const groupCardinality = defineConstraintClass({
  type: 'GroupCardinality',
  label: 'Number of securities per group',
  help: 'The number of securities held in each group is between two bounds.',
  kind: 'ineq',
  unit: 'count',
  convex: false,
  params: defineConstraintParams({
    field: category,
    groups,
    minimum: z
      .int()
      .min(0)
      .max(COUNT_MAX)
      .default(0)
      .meta({ label: 'Minimum', help: 'Minimum number of holdings in a group.', unit: 'securities' }),
    maximum: z
      .int()
      .min(0)
      .max(COUNT_MAX)
      .default(COUNT_MAX)
      .meta({ label: 'Maximum', help: 'Maximum number of holdings in a group.', unit: 'securities' }),
  }).refine(...minimumAtMostMaximum),
  example: { id: 'per-sector', type: 'GroupCardinality', params: { field: 'SECTOR', maximum: 10 } },
  toRows: ({ field, groups, minimum, maximum }, context) =>
    listGroupsInScope(field, groups, context).map(({ group, members }) => ({
      form: 'count',
      members,
      minimum,
      maximum,
      member: group,
    })),
});

const linearConstraint = defineConstraintClass({
  type: 'LinearConstraint',
  label: 'Linear constraint',
  help: 'A weighted sum of weights is between two bounds. Securities without a coefficient have the coefficient 0.',
  kind: 'ineq',
  unit: 'value',
  convex: true,
  params: defineConstraintParams({
    coefficients: z
      .record(AssetIdentifier, z.number().min(-1e9).max(1e9))
      .meta({ label: 'Coefficients', help: 'Coefficient of each security.' }),
    lower: nullableSide.meta({ label: 'Lower', help: 'Smallest sum.' }),
    upper: nullableSide.meta({ label: 'Upper', help: 'Largest sum.' }),
  })
    .refine(...lowerAtMostUpper)
    .refine(...hasBound),
  example: {
    id: 'pair',
    type: 'LinearConstraint',
    params: { coefficients: { AAPL: 1, MSFT: -1 }, lower: -0.01, upper: 0.01 },
  },
  toRows: ({ coefficients, lower, upper }, { identifiers }) => {
    const coefficientByName = new Map(Object.entries(coefficients));
    return [
      {
        form: 'linear',
        coefficients: Float64Array.from(identifiers, (identifier) => coefficientByName.get(identifier) ?? 0),
        lower: lower === null ? null : createParameterLimit(lower, 'lower'),
        upper: upper === null ? null : createParameterLimit(upper, 'upper'),
        member: null,
      },
    ];
  },
});

const liquidity = defineConstraintClass({
  type: 'Liquidity',
  label: 'Liquidity',
  help: 'No trade from the previous solved weights exceeds a fraction of the median value traded over a number of sessions. A security without a known value traded is not traded.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  tradesFromPrevious: true,
  readsDatapoint: ({ window }) => createLatestRequest('VALUE_TRADED', { aggregate: 'median', window }),
  params: defineConstraintParams({
    notional: z
      .number()
      .gt(0)
      .max(1e15)
      .meta({ label: 'Notional', help: 'Size of the portfolio, in the index currency.', unit: 'money' }),
    participation: z
      .number()
      .gt(0)
      .max(1)
      .default(0.2)
      .meta({ label: 'Participation', help: 'Maximum fraction of the value traded.', unit: 'fraction' }),
    days: z
      .number()
      .gt(0)
      .max(252)
      .default(1)
      .meta({ label: 'Days', help: 'Maximum number of days for a trade.', unit: 'days' }),
    window: z
      .int()
      .min(1)
      .max(2520)
      .default(60)
      .meta({ label: 'Window', help: 'Number of trailing sessions of the median.', unit: 'sessions' }),
  }),
  example: { id: 'liquid', type: 'Liquidity', params: { notional: 50_000_000, participation: 0.2, days: 2 } },
  toRows: ({ notional, participation, days, window }, context) => {
    const tradedValues = context.medianValueTraded(window);
    context.missing({ field: 'VALUE_TRADED', values: tradedValues, effect: 'they are not traded' });
    const from = context.reference('previous');
    if (from === null) return [];
    return context.identifiers.map((_, name) => {
      const median = Number.isNaN(tradedValues[name]!) ? 0 : tradedValues[name]!;
      const slope = (days * median) / notional;
      return readTradeBounds(
        {
          name,
          from: from.weights[name]!,
          room: participation * slope,
          parameter: 'participation',
          slope,
          further: {
            slopes: { days: (participation * median) / notional, notional: (-participation * slope) / notional },
            valueOf: (params) => computeMaximumTrade(median, params as unknown as LiquidityTerms), // parsed parameters of this class
          },
        },
        context,
      );
    });
  },
});

interface LiquidityTerms {
  readonly notional: number;
  readonly participation: number;
  readonly days: number;
}

/** Returns the maximum weight change of a security, given the median value that is traded per day. */
function computeMaximumTrade(median: number, { notional, participation, days }: LiquidityTerms): number {
  return participation * ((days * median) / notional);
}

export const longOnly = defineConstraintClass({
  type: 'LongOnly',
  label: 'Long only',
  help: 'No weight is negative. This constraint is present by default. Position bounds with a negative lower bound remove it for their securities.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  replacesLongOnly: () => null,
  params: defineConstraintParams({}),
  example: { id: 'long', type: 'LongOnly', params: {} },
  toRows: (_, { identifiers }) =>
    identifiers.map((member, name) => ({ form: 'name', name, lower: createFixedLimit(0), upper: null, member })),
});

const minimumHolding = defineConstraintClass({
  type: 'MinimumHolding',
  label: 'Minimum holding',
  help: 'The weight of a security is at least a threshold, or zero. Short positions are not affected.',
  kind: 'ineq',
  unit: 'fraction',
  convex: false,
  params: defineConstraintParams({
    threshold: z
      .number()
      .gt(0)
      .max(1)
      .meta({ label: 'Threshold', help: 'Minimum weight of a held security.', unit: 'fraction' }),
  }),
  example: { id: 'min', type: 'MinimumHolding', params: { threshold: 0.005 } },
  toRows: ({ threshold }) => [{ form: 'threshold', threshold, member: null }],
});

const positionBounds = defineConstraintClass({
  type: 'PositionBounds',
  label: 'Position bounds',
  help: 'Each weight is between two bounds. A negative lower bound allows short positions of the securities in its scope.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({
    lower: createFraction({ label: 'Lower', help: 'Smallest weight.' }, { least: -1 }).default(0),
    upper: createFraction({ label: 'Upper', help: 'Largest weight.' }, { least: -1 }).default(1),
    identifiers: scope,
  }).refine(...lowerAtMostUpper),
  replacesLongOnly: ({ lower, identifiers }) => (lower < 0 ? identifiers : []),
  example: { id: 'pos', type: 'PositionBounds', params: { lower: 0, upper: 0.05 } },
  toRows: ({ lower, upper, identifiers }, context) =>
    createSecurityRows(identifiers, context, () => ({
      lower: createParameterLimit(lower, 'lower'),
      upper: createParameterLimit(upper, 'upper'),
    })),
});

const multipleOfIndex = z.number().min(-1000).max(1000);

/**
 * Returns the limits of a weight between two multiples of its index weight. For a short index weight, the larger
 * multiple gives the lower limit.
 */
function createMultiples(lower: number, upper: number, indexWeight: number): Pick<LinearRow, 'lower' | 'upper'> {
  const least = createParameterLimit(lower * indexWeight, 'lower', indexWeight);
  const most = createParameterLimit(upper * indexWeight, 'upper', indexWeight);
  return indexWeight < 0 ? { lower: most, upper: least } : { lower: least, upper: most };
}

const relativePositionBounds = defineConstraintClass({
  type: 'RelativePositionBounds',
  label: 'Relative position bounds',
  help: 'Each weight is between two multiples of its index weight.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({
    lower: multipleOfIndex
      .default(0)
      .meta({ label: 'Lower', help: 'Smallest multiple of the index weight.', unit: 'multiple' }),
    upper: multipleOfIndex.meta({ label: 'Upper', help: 'Largest multiple of the index weight.', unit: 'multiple' }),
    identifiers: scope,
  }).refine(...lowerAtMostUpper),
  example: { id: 'multiple', type: 'RelativePositionBounds', params: { lower: 0.5, upper: 2 } },
  toRows: ({ lower, upper, identifiers }, context) =>
    createSecurityRows(identifiers, context, (name) => createMultiples(lower, upper, context.index[name]!)),
});

const relativeGroupBounds = defineConstraintClass({
  type: 'RelativeGroupBounds',
  label: 'Relative group bounds',
  help: 'The weight of each group is between two multiples of its index weight. A group without index weight has no weight.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({
    field: category,
    groups,
    lower: multipleOfIndex.default(0).meta({
      label: 'Lower',
      help: 'Smallest multiple of the index weight of a group.',
      unit: 'multiple',
    }),
    upper: multipleOfIndex.meta({
      label: 'Upper',
      help: 'Largest multiple of the index weight of a group.',
      unit: 'multiple',
    }),
  }).refine(...lowerAtMostUpper),
  example: { id: 'countries', type: 'RelativeGroupBounds', params: { field: 'COUNTRY', lower: 0.5, upper: 1.5 } },
  toRows: ({ field, groups, lower, upper }, context) =>
    listGroupsInScope(field, groups, context).map(({ group, members }) => {
      const groupWeight = members.reduce((sum, name) => sum + context.index[name]!, 0);
      return {
        form: 'linear',
        coefficients: createIndicator(members, context),
        ...createMultiples(lower, upper, groupWeight),
        member: group,
      };
    }),
});

/**
 * Distance that counts as zero: half of the holding threshold. With a limit of exactly 0 only one portfolio is
 * feasible, and no shadow price is finite.
 */
const ZERO_LENGTH = 5e-10;

const trackingError = defineConstraintClass({
  type: 'TrackingError',
  label: 'Tracking error',
  help: 'The annualised tracking error relative to the index is at most a limit.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({
    limit: z
      .number()
      .min(0)
      .max(1)
      .meta({ label: 'Limit', help: 'Largest annualised tracking error.', unit: 'fraction a year' }),
  }),
  example: { id: 'te', type: 'TrackingError', params: { limit: 0.02 } },
  toRows: ({ limit }, { index }) => [
    {
      form: 'norm',
      metric: 'covariance',
      centre: index,
      limit: createParameterLimit(Math.max(limit, ZERO_LENGTH), 'limit'),
      radiusOf: (parameter) => Math.max(parameter, ZERO_LENGTH),
      parameterOf: (radius) => (radius <= ZERO_LENGTH ? 0 : radius),
      side: 'upper',
      member: null,
    },
  ],
});

const tradeSize = defineConstraintClass({
  type: 'TradeSize',
  label: 'Trade size',
  help: 'No weight differs from the reference portfolio by more than a bound.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({
    upper: createFraction({ label: 'Upper', help: 'Largest change of one weight.' }, { most: 2 }),
    reference,
  }),
  example: { id: 'trade', type: 'TradeSize', params: { upper: 0.02 } },
  toRows: ({ upper, reference }, context) => {
    const from = context.reference(reference);
    if (from === null) return [];
    return context.identifiers.map((_, name) =>
      readTradeBounds({ name, from: from.weights[name]!, room: upper, parameter: 'upper', slope: 1 }, context),
    );
  },
});

const turnover = defineConstraintClass({
  type: 'Turnover',
  label: 'Turnover',
  help: 'One-way turnover relative to the reference portfolio (half the sum of absolute weight changes) is at most a limit. Securities of the reference that left the index are counted as sold. The default reference of a derived index is the weights held just before the rebalance, so that its first portfolio is unrestricted.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  countsForcedSales: true,
  changedDefault: { parameter: 'reference', earlier: 'index', today: 'held', isOfDerivations: true },
  params: defineConstraintParams({
    limit: createFraction({ label: 'Limit', help: 'Largest one-way turnover.' }, { most: 2 }),
    reference,
  }),
  example: { id: 'turn', type: 'Turnover', params: { limit: 0.15, reference: 'index', priority: 2 } },
  toRows: ({ limit, reference }, context) => {
    const from = context.reference(reference);
    if (from === null) return [];
    return [
      {
        form: 'distance',
        reference: from.weights,
        fixed: from.outside,
        scale: ONE_WAY,
        limit: createParameterLimit(limit, 'limit'),
        member: null,
      },
    ];
  },
});

const volatility = defineConstraintClass({
  type: 'Volatility',
  label: 'Volatility',
  help: 'The annualised volatility of the portfolio is at most a limit, or a multiple of the volatility of the index.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({
    limit: z
      .number()
      .min(0)
      .max(10)
      .meta({ label: 'Limit', help: 'Largest annualised volatility, or multiple of it.', unit: 'fraction a year' }),
    relative: z.boolean().default(false).meta({
      label: 'Relative',
      help: 'If true, the limit is a multiple of the volatility of the index, by the covariance of the problem.',
    }),
  }),
  example: { id: 'vol', type: 'Volatility', params: { limit: 0.18 } },
  toRows: ({ limit, relative }, context) => {
    const scale = relative ? computeIndexVolatility(context) : 1;
    return [
      {
        form: 'norm',
        metric: 'covariance',
        centre: null,
        limit: createParameterLimit(limit * scale, 'limit', scale),
        radiusOf: (parameter) => parameter * scale,
        parameterOf: (radius) => radius / scale,
        side: 'upper',
        member: null,
      },
    ];
  },
});

/** Returns the volatility of the index by the covariance of the problem; the least positive number if it is 0. */
function computeIndexVolatility({ index, covarianceTimesIndex }: RowContext): number {
  const product = covarianceTimesIndex();
  let variance = 0;
  for (let i = 0; i < index.length; i++) variance += index[i]! * product[i]!;
  return Math.max(Math.sqrt(Math.max(0, variance)), ZERO_LENGTH);
}

/** Maximum absolute sum of weights. It equals the maximum factor or leverage of an overlay. */
const LEVERAGE_MAX = 10;

const sumRange = { least: -LEVERAGE_MAX, most: LEVERAGE_MAX };

const weightSum = defineConstraintClass({
  type: 'WeightSum',
  label: 'Sum of weights',
  help: 'The sum of the weights is between two bounds, and the rest is cash. Replaces FullInvestment. A sum above 1 is financed by borrowed cash: the cash is then negative.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  replacesInvestment: true,
  params: defineConstraintParams({
    lower: createFraction({ label: 'Lower', help: 'Smallest sum.' }, sumRange).default(1),
    upper: createFraction({ label: 'Upper', help: 'Largest sum.' }, sumRange).default(1),
  }).refine(...lowerAtMostUpper),
  example: { id: 'cash', type: 'WeightSum', params: { lower: 0.98, upper: 1 } },
  toRows: ({ lower, upper }, { identifiers }) => [
    {
      form: 'linear',
      coefficients: new Float64Array(identifiers.length).fill(1),
      lower: createParameterLimit(lower, 'lower'),
      upper: createParameterLimit(upper, 'upper'),
      member: null,
    },
  ],
});

const weightedAverage = defineConstraintClass({
  type: 'WeightedAverage',
  label: 'Weighted average',
  help: 'The weighted average of a datapoint over the invested weight is between two bounds, or between two multiples of the average of the index.',
  kind: 'ineq',
  unit: 'value',
  convex: true,
  hasNumericField: true,
  changedDefault: { parameter: 'missing', earlier: 'zero', today: 'renormalise', isOfDerivations: false },
  params: defineConstraintParams({
    field: datapoint,
    lower: side.meta({ label: 'Lower', help: 'Smallest average, or multiple of the average of the index.' }),
    upper: side.meta({ label: 'Upper', help: 'Largest average, or multiple of the average of the index.' }),
    relative: z
      .boolean()
      .default(false)
      .meta({ label: 'Relative', help: 'If true, the bounds are multiples of the average of the index.' }),
    missing: z.enum(['zero', 'renormalise']).default('zero').meta({
      label: 'Missing values',
      help: 'Treatment of a security without a value: it is excluded from the average (renormalise), or its value is zero (zero).',
      stated: 'renormalise',
    }),
  })
    .refine(...lowerAtMostUpper)
    .refine(...hasBound),
  example: { id: 'carbon', type: 'WeightedAverage', params: { field: 'CARBON_INTENSITY', upper: 0.5, relative: true } },
  toRows: ({ field, lower, upper, relative, missing }, context) => {
    const values = context.numbers(field);
    context.missing({
      field: createLabel(toRequest(field)),
      values,
      effect: missing === 'zero' ? 'their value is zero' : 'they are excluded',
    });
    const numerator = values.map((value) => (Number.isNaN(value) ? 0 : value));
    const denominator = values.map((value) => (missing === 'renormalise' && Number.isNaN(value) ? 0 : 1));
    const scale = relative ? computeAverage(context.index, numerator, denominator) : 1;
    const createRow = (bound: number, parameter: 'lower' | 'upper'): LinearRow => ({
      form: 'linear',
      coefficients: numerator.map((value, i) => value - bound * scale * denominator[i]!),
      lower: parameter === 'lower' ? createParameterLimit(0, parameter, scale) : null,
      upper: parameter === 'upper' ? createParameterLimit(0, parameter, scale) : null,
      member: null,
      average: { numerator, denominator, scale },
    });
    return [
      ...(lower === null ? [] : [createRow(requireNumber(lower), 'lower')]),
      ...(upper === null ? [] : [createRow(requireNumber(upper), 'upper')]),
    ];
  },
  measureOf({ field, missing, relative }, { weights, numbers }) {
    if (relative) return 1;
    const values = numbers(field);
    const numerator = values.map((value) => (Number.isNaN(value) ? 0 : value));
    const denominator = values.map((value) => (missing === 'renormalise' && Number.isNaN(value) ? 0 : 1));
    return computeAverage(weights, numerator, denominator);
  },
});

function computeAverage(weights: Float64Array, numerator: Float64Array, denominator: Float64Array): number {
  let numeratorSum = 0;
  let denominatorSum = 0;
  for (let i = 0; i < weights.length; i++) {
    numeratorSum += weights[i]! * numerator[i]!;
    denominatorSum += weights[i]! * denominator[i]!;
  }
  return denominatorSum === 0 ? 0 : numeratorSum / denominatorSum;
}

/** All constraint classes, in the order in which forms list them. */
export const CONSTRAINT_CLASSES: readonly ConstraintClass[] = [
  fullInvestment,
  weightSum,
  grossExposure,
  longOnly,
  positionBounds,
  relativePositionBounds,
  activeBounds,
  groupBounds,
  activeGroupBounds,
  relativeGroupBounds,
  turnover,
  tradeSize,
  trackingError,
  volatility,
  cvar,
  cdar,
  activeShare,
  effectiveNumber,
  factorExposure,
  weightedAverage,
  beta,
  expectedReturn,
  liquidity,
  linearConstraint,
  excludeConstraint,
  freezeConstraint,
  cardinality,
  minimumHolding,
  groupCardinality,
  concentration5x10x40,
  concentrationRic,
];

const CONSTRAINTS_BY_TYPE = new Map(CONSTRAINT_CLASSES.map((entry) => [entry.type, entry]));

export function findConstraintClass(type: string): ConstraintClass | undefined {
  return CONSTRAINTS_BY_TYPE.get(type);
}

/** Returns the constraint catalogue for clients. */
export const listConstraintSpecs = (): TypeSpec[] => CONSTRAINT_CLASSES.map(createTypeSpec);
