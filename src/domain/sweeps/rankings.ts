/** Metrics by which a table can be ranked, with the order that puts the best first. */
const RANKINGS = {
  sharpe_ratio: 'descending',
  total_return: 'descending',
  annualised_return: 'descending',
  max_drawdown: 'descending',
  volatility: 'ascending',
  tracking_error: 'ascending',
  tracking_difference: 'descending',
} as const;
export type RankingName = keyof typeof RANKINGS;
export const RANKING_NAMES = Object.keys(RANKINGS) as [RankingName, ...RankingName[]];

/** Metrics that can be computed from returns, without an index. */
export const FOLD_RANKINGS = [
  'sharpe_ratio',
  'annualised_return',
  'max_drawdown',
  'volatility',
] as const satisfies readonly RankingName[];
export type FoldRanking = (typeof FOLD_RANKINGS)[number];

/** Returns 1 if higher values of a metric are better, -1 if lower values are. */
export function findPreference(metric: RankingName): 1 | -1 {
  return RANKINGS[metric] === 'descending' ? 1 : -1;
}
