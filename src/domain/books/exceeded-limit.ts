import { computeRuleHeadroom } from '../compliance/breach-watch.js';
import { TOLERANCE } from '../compliance/measure.js';
import { addRebalanceDate, type Finding } from '../refusals/findings.js';
import { formatDay } from '../time/days.js';
import { findRuleText } from './find-rule-text.js';
import type { Composer, Composition } from './compositions.js';

/**
 * Returns a warning if decided weights violate the rule whose breaches trigger rebalances. Such a rebalance does not
 * end the breach.
 */
export function warnOfExceededLimit(composer: Composer, indexId: string, composition: Composition): Finding[] {
  const { columns, weights, date, session } = composition;
  const rule = findRuleText(composer, indexId, composer.market(indexId).sessions[session]! + 1);
  if (rule === null) return [];
  const { market, identifiers } = composer.market(indexId);
  const names = Array.from(columns, (column) => identifiers[column]!);
  const headroom = computeRuleHeadroom({ rule, market, names }, date, weights);
  if (headroom >= -TOLERANCE) return [];
  const beyond = Number((-headroom * 100).toPrecision(6));
  const message = `The weights decided for ${formatDay(date)} are beyond ${rule} by ${beyond} percentage points, so the rebalance does not end the breach.`;
  const path = 'pipeline.treatment.on_breach';
  return addRebalanceDate([{ severity: 'warning', code: 'LIMIT_NOT_KEPT', message, path }], date);
}
