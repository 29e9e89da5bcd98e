import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { formatDay } from '../../time/days.js';
import { defineCheckKind, defineSeverity } from './check-kind.js';

const help = 'A person has confirmed the corporate actions of constituents that take effect on the session.';

export const confirmedActionsCheck = defineCheckKind({
  schema: defineObject(() => ({ check: z.literal('confirmed_actions'), severity: defineSeverity('block') })).meta({
    id: 'ConfirmedActionsCheck',
    description: help,
  }),
  help,
  needsRun: true,
  reads: ['closing', 'opening', 'decisions'],
  judge({ closing, opening, date, previous, actionsOf, deskStateOf }) {
    const heldIdentifiers = new Set(
      [...(closing?.holdings ?? []), ...(opening?.holdings ?? [])].map((checkedHolding) => checkedHolding.identifier),
    );
    return [...heldIdentifiers].flatMap((identifier) =>
      actionsOf(identifier)
        .filter(({ exDay, status }) => exDay > previous && exDay <= date && status !== 'cancelled')
        .flatMap((action) => {
          const state = deskStateOf(action);
          if (state === 'confirmed') return [];
          const name = `The ${action.type} of ${identifier} on ${formatDay(action.exDay)}`;
          const problem = {
            new: 'is not confirmed.',
            amended: 'has other terms than at the time of the decision.',
            rejected: 'was rejected, but is still in the store.',
          }[state];
          return [{ identifier, message: `${name} ${problem}` }];
        }),
    );
  },
});
