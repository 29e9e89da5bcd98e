import { parameterSpecs, type Condition } from '../catalogue/type-spec.js';
import { ANCHORED, RebalanceSpec } from '../documents/rebalance-spec.js';
import { smallValue, type Finding } from '../findings.js';
import { pathText } from '../shape.js';

const isAnchored = (frequency: RebalanceSpec['frequency']): boolean => ANCHORED.some((one) => one === frequency);

/** The parameters each anchor cannot do without. */
const PARAMETERS: Record<RebalanceSpec['anchor'], readonly ('nth' | 'weekday' | 'day')[]> = {
  first_session: [],
  last_session: [],
  third_friday: [],
  nth_weekday: ['nth', 'weekday'],
  day_of_month: ['day'],
};

/** Parameters that are read with some values of others alone. */
const CONDITIONAL = parameterSpecs(RebalanceSpec).flatMap(({ name, when, default: usual }) =>
  when === null ? [] : [{ name: name as keyof RebalanceSpec, when, usual }],
);

/**
 * What a cadence of the right shape still lacks, parameters that its anchor or frequency reads, and those that neither
 * reads.
 * @param path where the cadence stands in the document
 */
export function validateRebalance(rebalance: RebalanceSpec, path: string): Finding[] {
  if (rebalance.frequency !== 'custom' && rebalance.dates.length > 0) return [unreadDates(path, rebalance.frequency)];
  return [...lacking(rebalance, path), ...unread(rebalance, path)];
}

function lacking(rebalance: RebalanceSpec, path: string): Finding[] {
  if (rebalance.frequency === 'custom' && rebalance.dates.length === 0)
    return [missing(path, 'dates', 'The frequency custom')];
  if (!isAnchored(rebalance.frequency)) return [];
  return PARAMETERS[rebalance.anchor]
    .filter((name) => rebalance[name] === null)
    .map((name) => missing(path, name, `The anchor ${rebalance.anchor}`));
}

/** Parameters with another value than their default that nothing reads beside the others. */
function unread(rebalance: RebalanceSpec, path: string): Finding[] {
  const holds = (condition: Condition, name: 'frequency' | 'anchor'): boolean =>
    condition[name]?.includes(rebalance[name]) ?? true;
  return CONDITIONAL.flatMap(({ name, when, usual }): Finding[] => {
    const value = rebalance[name];
    const isUsual = JSON.stringify(value) === JSON.stringify(usual);
    if (isUsual || when.some((condition) => holds(condition, 'frequency') && holds(condition, 'anchor'))) return [];
    const beside = when.some((condition) => holds(condition, 'frequency')) ? 'anchor' : 'frequency';
    const field = pathText(path, [name]);
    const message = `${field} has no effect beside ${beside} ${rebalance[beside]}.`;
    return [{ severity: 'warning', code: 'NO_EFFECT', message, path: field, ...smallValue(value) }];
  });
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
