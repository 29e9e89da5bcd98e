import { countValues } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { formatMetric } from './values.js';

/**
 * Describes the settings of folds with their units: `10 groups, 2 tested at a time (45 splits), 1 session purged, chosen
 * by Sharpe ratio`.
 * @param folds settings with their defaults
 */
export function formatFolds({ method, ...folds }: JsonObject): string {
  const [groups, tested, trained] = ['groups', 'test_groups', 'train_groups'].map((name) => Number(folds[name] ?? 0));
  const isCombinatorial = method === 'combinatorial';
  const splits = isCombinatorial ? countCombinations(groups!, tested!) : groups! - trained!;
  const embargo = folds['embargo'];
  return [
    countValues(groups!, 'group'),
    isCombinatorial
      ? `${tested} tested at a time (${countValues(splits, 'split')})`
      : `the first ${trained} only in sample (${countValues(splits, 'split')})`,
    typeof folds['window'] === 'string' && `${folds['window']} sample`,
    `${countValues(Number(folds['purge'] ?? 0), 'session')} purged`,
    typeof embargo === 'number' && `embargo of ${countValues(embargo, 'session')}`,
    `chosen by ${formatMetric(String(folds['select_by']))}`,
  ]
    .filter(Boolean)
    .join(', ');
}

/** Returns the number of ways to choose some of the groups. */
function countCombinations(all: number, chosen: number): number {
  let count = 1;
  for (let k = 1; k <= chosen; k++) count = (count * (all - chosen + k)) / k;
  return Math.round(count);
}
