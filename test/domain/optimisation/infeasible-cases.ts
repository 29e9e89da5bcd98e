/** Constraint rows as clients write them. */
export type Row = { readonly type: string; readonly params: Readonly<Record<string, unknown>> };
type Random = () => number;

export const createRow = (type: string, params: Readonly<Record<string, unknown>>): Row => ({ type, params });
const capPositions = (upper: number) => createRow('PositionBounds', { upper });
const drawBounds = (random: Random) => createRow('PositionBounds', { lower: 0.03 + 0.03 * random() });
/**
 * Returns a constraint row with a maximum weight of slightly more than a tenth. The index weights of every random
 * problem are far from it.
 */
const createLevel = (random: Random) => capPositions(0.1 + 0.02 * random());

export interface InfeasibleCase {
  /** Rows that conflict. The program must offer to relax the first row. The other rows conflict with it. */
  readonly rows: (random: Random) => readonly Row[];
  readonly names?: number;
}

const listAverages = (side: 'lower' | 'upper', value: (random: Random) => number): InfeasibleCase[] => {
  const createSideRow = (random: Random, from: number) => ({
    [side]: side === 'upper' ? from * value(random) : from / value(random),
  });
  const extreme = side === 'upper' ? 4 : 100;
  return [
    {
      rows: (random) => [
        createRow('WeightedAverage', { field: 'X', ...createSideRow(random, extreme) }),
        capPositions(0.2),
      ],
    },
    {
      rows: (random) => [
        createRow('WeightedAverage', {
          field: 'X',
          relative: true,
          ...createSideRow(random, side === 'upper' ? 0.1 : 3),
        }),
        capPositions(0.25),
      ],
    },
    {
      rows: (random) => [
        createRow('WeightedAverage', { field: 'GAPS', missing: 'renormalise', ...createSideRow(random, extreme) }),
        capPositions(0.2),
      ],
    },
    {
      rows: (random) => [
        createRow('WeightedAverage', { field: 'X', ...createSideRow(random, extreme) }),
        createRow('GroupBounds', { field: 'SECTOR', lower: 0.1 }),
        createRow('Turnover', { limit: 0.5, reference: 'previous' }),
        createRow('WeightSum', { lower: 0.9 }),
      ],
    },
  ];
};

/**
 * Concentration limits for four securities. Two securities can reach one half and the other two one third. One of the
 * first two together with the others can reach four fifths.
 */
const FRACTIONAL_SUM = { single: 0.3, trigger: 0.17, aggregate: 0.5 };

/**
 * Cases by class and parameters. The rows of a case conflict unless one of these parameters of the first row changes.
 */
export const INFEASIBLE_CASES: Readonly<Record<string, Readonly<Record<string, readonly InfeasibleCase[]>>>> = {
  WeightSum: {
    lower: [{ rows: (random) => [createRow('WeightSum', { lower: 0.8 + 0.2 * random() }), capPositions(0.06)] }],
    upper: [{ rows: (random) => [createRow('WeightSum', { lower: 0, upper: 0.3 * random() }), drawBounds(random)] }],
  },
  GrossExposure: {
    upper: [
      { rows: (random) => [createRow('GrossExposure', { upper: 0.9 * random() })] },
      {
        rows: (random) => [
          createRow('GrossExposure', { upper: 1 + 0.2 * random() }),
          createRow('PositionBounds', { lower: -0.3, upper: -0.15, identifiers: ['N000'] }),
        ],
      },
      {
        // Each choice of securities is feasible without the minimum holding, and the limit without the choice.
        rows: (random) => [
          createRow('GrossExposure', { upper: 0.2 + 0.3 * random() }),
          createRow('WeightSum', { lower: 0, upper: 1 }),
          createRow('MinimumHolding', { threshold: 0.15 }),
          createRow('Cardinality', { minimum: 4 }),
        ],
        names: 6,
      },
    ],
  },
  PositionBounds: {
    lower: [
      { rows: (random) => [createRow('PositionBounds', { lower: 0.09 + 0.1 * random() })] },
      {
        rows: (random) => [
          createRow('PositionBounds', { lower: 0.2 + random() / 10, identifiers: ['N000'] }),
          createLevel(random),
        ],
      },
    ],
    upper: [{ rows: (random) => [capPositions(0.08 * random())] }],
  },
  RelativePositionBounds: {
    lower: [{ rows: (random) => [createRow('RelativePositionBounds', { lower: 1.1 + random(), upper: 3 })] }],
    upper: [{ rows: (random) => [createRow('RelativePositionBounds', { upper: 0.9 * random() })] }],
  },
  ActiveBounds: {
    lower: [{ rows: (random) => [createRow('ActiveBounds', { lower: 0.03 * random() + 0.001, upper: 1 })] }],
    upper: [{ rows: (random) => [createRow('ActiveBounds', { lower: -1, upper: -0.03 * random() - 0.001 })] }],
  },
  GroupBounds: {
    lower: [{ rows: (random) => [createRow('GroupBounds', { field: 'SECTOR', lower: 0.21 + 0.2 * random() })] }],
    upper: [{ rows: (random) => [createRow('GroupBounds', { field: 'SECTOR', upper: 0.19 * random() })] }],
  },
  ActiveGroupBounds: {
    lower: [
      {
        rows: (random) => [createRow('ActiveGroupBounds', { field: 'SECTOR', lower: 0.1 * random() + 0.01, upper: 1 })],
      },
    ],
    upper: [
      {
        rows: (random) => [
          createRow('ActiveGroupBounds', { field: 'SECTOR', lower: -1, upper: -0.1 * random() - 0.01 }),
        ],
      },
    ],
  },
  RelativeGroupBounds: {
    lower: [
      {
        rows: (random) => [createRow('RelativeGroupBounds', { field: 'SECTOR', lower: 1.1 + random(), upper: 3 })],
      },
    ],
    upper: [{ rows: (random) => [createRow('RelativeGroupBounds', { field: 'SECTOR', upper: 0.9 * random() })] }],
  },
  Turnover: {
    limit: [
      {
        rows: (random) => [createRow('Turnover', { limit: 0.05 * random(), reference: 'index' }), createLevel(random)],
      },
      {
        rows: (random) => [
          createRow('Turnover', { limit: 0.05 * random(), reference: 'previous' }),
          createLevel(random),
        ],
      },
    ],
  },
  TradeSize: {
    upper: [
      {
        rows: (random) => [createRow('TradeSize', { upper: 0.02 * random(), reference: 'index' }), createLevel(random)],
      },
    ],
  },
  TrackingError: {
    limit: [{ rows: (random) => [createRow('TrackingError', { limit: 0.002 * random() }), createLevel(random)] }],
  },
  Volatility: { limit: [{ rows: (random) => [createRow('Volatility', { limit: 0.02 * random() })] }] },
  CVaR: { limit: [{ rows: (random) => [createRow('CVaR', { limit: 0.002 * random(), confidence: 0.9 })] }] },
  CDaR: { limit: [{ rows: (random) => [createRow('CDaR', { limit: 0.002 * random(), confidence: 0.9 })] }] },
  ActiveShare: {
    limit: [{ rows: (random) => [createRow('ActiveShare', { limit: 0.05 * random() }), createLevel(random)] }],
  },
  EffectiveNumber: {
    minimum: [
      { rows: (random) => [createRow('EffectiveNumber', { minimum: 12.1 + 20 * random() })] },
      {
        rows: (random) => [
          createRow('EffectiveNumber', { minimum: 9 + 2 * random() }),
          createRow('GroupBounds', { field: 'SECTOR', groups: ['S1'], lower: 0.7 }),
        ],
      },
    ],
  },
  FactorExposure: {
    lower: [
      { rows: (random) => [createRow('FactorExposure', { field: 'X', lower: 2 + 3 * random() }), capPositions(0.2)] },
      {
        rows: (random) => [
          createRow('FactorExposure', { field: 'GAPS', lower: 90 + 50 * random(), standardise: false, active: true }),
        ],
      },
    ],
    upper: [
      { rows: (random) => [createRow('FactorExposure', { field: 'X', upper: -2 - 3 * random() }), capPositions(0.2)] },
      {
        rows: (random) => [
          createRow('FactorExposure', { field: 'X', upper: 3 * random(), standardise: false }),
          capPositions(0.3),
        ],
      },
    ],
  },
  WeightedAverage: {
    lower: listAverages('lower', (random) => 0.3 + 0.6 * random()),
    upper: listAverages('upper', (random) => 0.3 + 0.6 * random()),
  },
  Beta: {
    lower: [{ rows: (random) => [createRow('Beta', { lower: 3 + 5 * random() }), createLevel(random)] }],
    upper: [{ rows: (random) => [createRow('Beta', { upper: -3 + 2 * random() }), createLevel(random)] }],
  },
  ExpectedReturn: {
    lower: [
      { rows: (random) => [createRow('ExpectedReturn', { lower: 0.14 + 0.1 * random() })] },
      { rows: (random) => [createRow('ExpectedReturn', { lower: 0.13 + 0.1 * random() }), capPositions(0.2)] },
    ],
  },
  Liquidity: {
    participation: [
      {
        rows: (random) => [
          createRow('Liquidity', { notional: 1e10, participation: 0.005 + 0.005 * random(), days: 250 }),
          capPositions(0.11),
        ],
      },
    ],
    days: [
      {
        rows: (random) => [
          createRow('Liquidity', { notional: 1e10, participation: 1, days: 0.2 + 0.2 * random() }),
          capPositions(0.12),
        ],
      },
    ],
    notional: [{ rows: (random) => [createRow('Liquidity', { notional: 1e11 * (1 + random()) }), capPositions(0.12)] }],
  },
  LinearConstraint: {
    lower: [
      {
        rows: (random) => [
          createRow('LinearConstraint', { coefficients: { N000: 1, N003: 2, N004: -1 }, lower: 0.6 + random() }),
          capPositions(0.15),
        ],
      },
    ],
    upper: [
      {
        rows: (random) => [
          createRow('LinearConstraint', { coefficients: { N000: 1, N003: 2, N004: -1 }, upper: -0.3 - random() }),
          capPositions(0.15),
        ],
      },
    ],
  },
  Cardinality: {
    minimum: [
      {
        rows: () => [
          createRow('Cardinality', { minimum: 7, maximum: 8 }),
          createRow('Exclude', { identifiers: ['N000', 'N001', 'N002'] }),
        ],
        names: 8,
      },
    ],
    maximum: [
      {
        names: 6,
        rows: (random) => [createRow('Cardinality', { maximum: 1 + Math.floor(3 * random()) }), capPositions(0.2)],
      },
    ],
  },
  MinimumHolding: {
    threshold: [
      {
        names: 7,
        rows: (random) => [
          createRow('MinimumHolding', { threshold: 0.2 + 0.25 * random() }),
          createRow('Cardinality', { minimum: 6, maximum: 7 }),
        ],
      },
    ],
  },
  GroupCardinality: {
    minimum: [
      {
        rows: () => [
          createRow('GroupCardinality', { field: 'SECTOR', groups: ['S0'], minimum: 3, maximum: 3 }),
          createRow('Exclude', { identifiers: ['N000', 'N005'] }),
        ],
      },
    ],
    maximum: [
      {
        names: 8,
        rows: (random) => [
          createRow('GroupCardinality', { field: 'SECTOR', maximum: 1 }),
          capPositions(0.15 + 0.04 * random()),
        ],
      },
    ],
  },
  Concentration5_10_40: {
    'single trigger aggregate': [{ names: 4, rows: () => [createRow('Concentration5_10_40', FRACTIONAL_SUM)] }],
  },
  ConcentrationRIC: {
    'single trigger aggregate': [{ names: 4, rows: () => [createRow('ConcentrationRIC', FRACTIONAL_SUM)] }],
  },
};
