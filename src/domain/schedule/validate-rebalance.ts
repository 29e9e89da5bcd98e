import { formatNumber } from '../catalogue/sentence-numbers.js';
import { reportUnreadParameters } from '../catalogue/unread-parameters.js';
import { DateRule, RULE_PARAMETERS, type PhaseSpec } from './date-rule-spec.js';
import { FRACTIONS_TOLERANCE } from './phase.js';
import { ANCHORED, RebalanceSpec } from './rebalance-spec.js';
import type { Finding } from '../refusals/findings.js';
import { formatPath } from '../schema/shape.js';

const isAnchored = (frequency: RebalanceSpec['frequency']): boolean => ANCHORED.some((one) => one === frequency);

/** Required parameters of each anchor. */
const ANCHOR_PARAMETERS: Record<RebalanceSpec['anchor'], readonly ('nth' | 'weekday' | 'day')[]> = {
  first_session: [],
  last_session: [],
  third_friday: [],
  nth_weekday: ['nth', 'weekday'],
  day_of_month: ['day'],
};

/**
 * Reports missing parameters, and parameters without effect, in a cadence that matches the schema.
 * @param path path of the cadence in the document
 */
export function validateRebalance(rebalance: RebalanceSpec, path: string): Finding[] {
  if (rebalance.frequency !== 'custom' && rebalance.dates.length > 0)
    return [reportUnreadDates(path, rebalance.frequency)];
  return [
    ...listMissingFields(rebalance, path),
    ...reportUnreadParameters(RebalanceSpec, rebalance, path),
    ...listDateRules(rebalance).flatMap(([name, rule]) => reportRule(rule, formatPath(path, [name]))),
    ...reportUnreadNotice(rebalance, path),
    ...(rebalance.phase === undefined ? [] : reportFractions(rebalance.phase, formatPath(path, ['phase']))),
  ];
}

/** Members of a cadence that determine a date by a rule. */
const DATED_MEMBERS = ['reference', 'announcement', 'pricing_date'] as const;

function listDateRules(rebalance: RebalanceSpec): [(typeof DATED_MEMBERS)[number], DateRule][] {
  return DATED_MEMBERS.flatMap((name): [(typeof DATED_MEMBERS)[number], DateRule][] => {
    const { [name]: rule } = rebalance;
    return rule === undefined ? [] : [[name, rule]];
  });
}

function reportRule(rule: DateRule, path: string): Finding[] {
  const absentParameters = RULE_PARAMETERS[rule.rule].filter((name) => rule[name] === undefined);
  return [
    ...absentParameters.map((name) => reportMissing(path, name, `The rule ${rule.rule}`)),
    ...reportUnreadParameters(DateRule, rule, path).filter(({ value }) => value !== undefined),
  ];
}

/** Reports a notice in sessions that has no effect because the cadence has a reference date. */
function reportUnreadNotice({ effective_lag: lag, reference }: RebalanceSpec, path: string): Finding[] {
  if (reference === undefined || lag === 0) return [];
  const field = formatPath(path, ['effective_lag']);
  const message = `${field} has no effect if ${formatPath(path, ['reference'])} gives the reference date.`;
  return [{ severity: 'warning', code: 'NO_EFFECT', message, path: field, value: lag }];
}

function reportFractions({ sessions, fractions }: PhaseSpec, path: string): Finding[] {
  const presentCount = [sessions, fractions].filter((value) => value !== undefined).length;
  if (presentCount !== 1) {
    const message = `${path} must have either sessions or fractions, but it has ${presentCount === 0 ? 'neither' : 'both'}.`;
    return [{ severity: 'error', code: 'MISSING_PARAMETER', message, path }];
  }
  const sum = (fractions ?? [1]).reduce((total, fraction) => total + fraction, 0);
  if (Math.abs(sum - 1) <= FRACTIONS_TOLERANCE) return [];
  const field = formatPath(path, ['fractions']);
  const message = `The sum of ${field} is ${formatNumber(sum)}; it must be 1.`;
  return [{ severity: 'error', code: 'WEIGHTS_NOT_ONE', message, path: field, value: sum }];
}

function listMissingFields(rebalance: RebalanceSpec, path: string): Finding[] {
  if (rebalance.frequency === 'custom' && rebalance.dates.length === 0)
    return [reportMissing(path, 'dates', 'The frequency custom')];
  if (!isAnchored(rebalance.frequency)) return [];
  return ANCHOR_PARAMETERS[rebalance.anchor]
    .filter((name) => rebalance[name] === null)
    .map((name) => reportMissing(path, name, `The anchor ${rebalance.anchor}`));
}

function reportUnreadDates(path: string, frequency: string): Finding {
  const field = formatPath(path, ['frequency']);
  const message = `${formatPath(path, ['dates'])} applies only to the frequency custom, but ${field} is ${frequency}.`;
  return { severity: 'error', code: 'NOT_IN_CHOICES', message, path: field, accepted: ['custom'], value: frequency };
}

function reportMissing(path: string, name: string, subject: string): Finding {
  const field = formatPath(path, [name]);
  return { severity: 'error', code: 'MISSING_PARAMETER', message: `${subject} needs ${field}.`, path: field };
}
