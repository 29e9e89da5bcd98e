import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { formatDay } from '../../time/days.js';
import { defineCheckKind, defineSeverity } from './check-kind.js';

const help =
  'The dates of corporate actions of constituents are plausible: ex-dates are sessions, announcements are before the ex-date, and payments are after it.';

export const actionsCheck = defineCheckKind({
  schema: defineObject(() => ({
    check: z.literal('actions'),
    severity: defineSeverity('warn'),
    days_ahead: z
      .int()
      .min(0)
      .max(400)
      .default(10)
      .meta({ description: 'Number of calendar days after the session that are checked.' }),
  })).meta({ id: 'ActionsCheck', description: help }),
  help,
  needsRun: false,
  reads: ['closing'],
  judge({ closing, date, previous, actionsOf, isSession }, { days_ahead: ahead }) {
    return (closing?.holdings ?? []).flatMap(({ identifier }) =>
      actionsOf(identifier)
        .filter(({ exDay, status }) => exDay > previous && exDay <= date + ahead && status !== 'cancelled')
        .flatMap(({ type, exDay, announcedDay, payDay }) => {
          const name = `The ${type} of ${identifier} on ${formatDay(exDay)}`;
          const problems = [
            isSession(exDay) ? undefined : `${name} is not on a session.`,
            announcedDay !== null && announcedDay > exDay
              ? `${name} was announced after this date, on ${formatDay(announcedDay)}.`
              : undefined,
            payDay !== null && payDay < exDay
              ? `${name} is paid before this date, on ${formatDay(payDay)}.`
              : undefined,
          ];
          return problems.flatMap((message) => (message === undefined ? [] : [{ identifier, message }]));
        }),
    );
  },
});
