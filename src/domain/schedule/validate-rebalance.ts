import { unreadParameters } from '../catalogue/unread-parameters.js';
import { ANCHORED, RebalanceSpec } from './rebalance-spec.js';
import type { Finding } from '../refusals/findings.js';
import { pathText } from '../schema/shape.js';

const isAnchored = (frequency: RebalanceSpec['frequency']): boolean => ANCHORED.some((one) => one === frequency);

/** The parameters each anchor cannot do without. */
const PARAMETERS: Record<RebalanceSpec['anchor'], readonly ('nth' | 'weekday' | 'day')[]> = {
  first_session: [],
  last_session: [],
  third_friday: [],
  nth_weekday: ['nth', 'weekday'],
  day_of_month: ['day'],
};

/**
 * What a cadence of the right shape still lacks, parameters that its anchor or frequency reads, and those that neither
 * reads.
 * @param path where the cadence stands in the document
 */
export function validateRebalance(rebalance: RebalanceSpec, path: string): Finding[] {
  if (rebalance.frequency !== 'custom' && rebalance.dates.length > 0) return [unreadDates(path, rebalance.frequency)];
  return [...lacking(rebalance, path), ...unreadParameters(RebalanceSpec, rebalance, path)];
}

function lacking(rebalance: RebalanceSpec, path: string): Finding[] {
  if (rebalance.frequency === 'custom' && rebalance.dates.length === 0)
    return [missing(path, 'dates', 'The frequency custom')];
  if (!isAnchored(rebalance.frequency)) return [];
  return PARAMETERS[rebalance.anchor]
    .filter((name) => rebalance[name] === null)
    .map((name) => missing(path, name, `The anchor ${rebalance.anchor}`));
}

function unreadDates(path: string, frequency: string): Finding {
  const field = pathText(path, ['frequency']);
  const message = `${pathText(path, ['dates'])} belongs to the frequency custom, and ${field} is ${frequency}, which reads none.`;
  return { severity: 'error', code: 'NOT_IN_CHOICES', message, path: field, accepted: ['custom'], value: frequency };
}

function missing(path: string, name: string, subject: string): Finding {
  const field = pathText(path, [name]);
  return { severity: 'error', code: 'MISSING_PARAMETER', message: `${subject} needs ${field}.`, path: field };
}
