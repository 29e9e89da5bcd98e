/** Metrics a table can be ranked by, and whether more of one is better. */
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

/** Those that returns alone tell, without an index. */
export const FOLD_RANKINGS = [
  'sharpe_ratio',
  'annualised_return',
  'max_drawdown',
  'volatility',
] as const satisfies readonly RankingName[];
export type FoldRanking = (typeof FOLD_RANKINGS)[number];

/** 1 where more of a metric is better, -1 where less is. */
export function preferenceOf(metric: RankingName): 1 | -1 {
  return RANKINGS[metric] === 'descending' ? 1 : -1;
}
