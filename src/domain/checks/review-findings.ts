import type { Calendar } from '../calendars/calendar.js';
import { hasErrors, type Finding } from '../refusals/findings.js';
import { DateRule, PhaseSpec } from '../schedule/date-rule-spec.js';
import { dateOrderFindings, phaseFindings } from '../schedule/date-order.js';
import { RebalanceSpec } from '../schedule/rebalance-spec.js';
import { validateRebalance } from '../schedule/validate-rebalance.js';
import { checkShape } from '../schema/shape.js';
import { dayFrom, parseDay } from '../time/days.js';
import { isObject, type IndexContext, type Raw } from './index-context.js';
import { unknownMembers } from './unknown-members.js';

/** Findings about when an index is rebalanced, as far as its shape is readable. */
export function reviewFindings(body: Raw, context: IndexContext): Finding[] {
  return cadenceFindings(body['rebalance'] ?? {}, { body, context, path: 'rebalance' });
}

interface CadencePlace {
  readonly body: Raw;
  readonly context: IndexContext;
  readonly path: string;
}

/** Findings about a cadence: its members, and the order of its dates on the calendar. */
function cadenceFindings(rebalance: unknown, { body, context, path }: CadencePlace): Finding[] {
  if (!isObject(rebalance)) return [];
  const { value } = checkShape(RebalanceSpec, rebalance, { unknownFields: 'warning' });
  const unknown = NEW_MEMBERS.flatMap(([member, { shape }]) =>
    unknownMembers(rebalance[member], Object.keys(shape), `${path}.${member}`),
  );
  if (value === undefined) return unknown;
  const own = [...unknown, ...validateRebalance(value, path)];
  const calendar = calendarFor(body, context);
  const { base_date: base } = body;
  if (hasErrors(own) || calendar === undefined || typeof base !== 'string' || parseDay(base) === undefined) return own;
  const cadence = { rebalance: value, calendar, baseDay: dayFrom(base), path };
  return [...own, ...dateOrderFindings(cadence), ...phaseFindings(cadence)];
}

/** Objects of a cadence whose unknown members are errors. */
const NEW_MEMBERS = [
  ['reference', DateRule],
  ['announcement', DateRule],
  ['pricing_date', DateRule],
  ['phase', PhaseSpec],
] as const;

function calendarFor({ calendar }: Raw, { calendarOf }: IndexContext): Calendar | undefined {
  return typeof calendar === 'string' ? calendarOf?.(calendar) : undefined;
}
