import { SWEEP_COUNTS } from '../variables.js';

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

/** Variants of as many definitions. @param variants a multiple of `SWEEP_COUNTS` */
export function sweepGrid(variants: number) {
  const caps = variants / SWEEP_COUNTS;
  return {
    '/document/pipeline/weighting/cap': Array.from({ length: caps }, (_, i) => 0.01 + i / 1000),
    '/document/pipeline/selection/0/params/count': Array.from({ length: SWEEP_COUNTS }, (_, i) => 500 - 5 * i),
  };
}
