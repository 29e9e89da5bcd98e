/** Numbers of names that the variants of a sweep hold. */
const COUNTS = 20;

/** The base: 500 names, quarterly, total return. */
export const SWEEP_DOCUMENT = {
  id: 'BENCH',
  name: 'Bench',
  calendar: 'XNYS',
  base_date: '2010-01-04',
  rebalance: { frequency: 'quarterly' },
  pipeline: {
    selection: [{ id: 'size', type: 'TopN', params: { count: 500 } }],
    treatment: { dividends: 'total' },
    weighting: { type: 'MarketCapWeight', cap: 0.1 },
  },
};

/** Variants of as many definitions, at least so many, and how many there are. */
export function sweepGrid(variants: number) {
  const caps = Math.ceil(variants / COUNTS);
  const grid = {
    '/document/pipeline/weighting/cap': Array.from({ length: caps }, (_, i) => 0.01 + i / 1000),
    '/document/pipeline/selection/0/params/count': Array.from({ length: COUNTS }, (_, i) => 500 - 5 * i),
  };
  return { grid, count: caps * COUNTS };
}
