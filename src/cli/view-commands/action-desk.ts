import type { DeskAction, DeskDecisionRequest, DivisorClient } from '#clients/typescript/divisor.js';
import { DESK_STATES, type DeskState } from '#domain/corporate-actions/action-desk.js';
import { createViewCommand } from './view-command.js';

const ACTION = { name: 'ACTION', help: 'Id of a corporate action.' };
const COLUMNS = ['action_id', 'ex_date', 'identifier', 'type', 'value', 'state', 'flags'];
const createRow = ({ flags, ...action }: DeskAction) => ({ ...action, flags: flags.join(' ') });
const formatHistory = ({ decisions }: DeskAction): string[] =>
  decisions.map(
    ({ at, author, decision, comment }) => `${at} ${author} ${decision}${comment === null ? '' : `: ${comment}`}`,
  );

export const deskActions = createViewCommand({
  summary: 'List coming and recent corporate actions with their state and flags.',
  words: [],
  flags: {
    from: { type: 'string', value: 'DATE', help: 'First ex-date. Default: 10 days before the last session.' },
    to: { type: 'string', value: 'DATE', help: 'Last ex-date. Default: 90 days after the last session.' },
    state: { type: 'string', value: 'STATE', help: `One of ${DESK_STATES.join(', ')}. Default: all.` },
    security: { type: 'string', value: 'ID', help: 'Security. Default: all.' },
    flagged: { type: 'boolean', help: 'Only actions with flags.' },
  },
  examples: ['divisor action list --state new', 'divisor action list --flagged'],
  ask: (client, _words, flags) =>
    client.call('listActions', {
      query: {
        from: flags.text('from'),
        to: flags.text('to'),
        state: flags.text('state') as DeskState | undefined, // The service refuses unknown states.
        identifier: flags.text('security'),
        flagged: flags.isSet('flagged') === true,
        limit: 1000,
      },
    }),
  records: ({ actions }) => actions.map(createRow),
  columns: COLUMNS,
  notices: ({ actions, total }) =>
    total > actions.length ? [`${total - actions.length} more; narrow the dates.`] : [],
});

export const deskAction = createViewCommand({
  summary: 'Show the effect of a corporate action on each index, before and after.',
  words: [ACTION],
  flags: {},
  examples: ['divisor action show 4be1c0ffee4be1c0ffee'],
  ask: (client, [action_id = '']) => client.call('getAction', { params: { action_id } }),
  records: ({ effects }) => effects,
  notices: (action) => [
    `${action.type} of ${action.identifier} on ${action.ex_date}, ${action.value}: ${action.state}`,
    ...action.flags,
    ...formatHistory(action),
  ],
});

function createDecisionCommand(verb: string, decision: DeskDecisionRequest['decision'], summary: string) {
  return createViewCommand({
    summary,
    words: [ACTION],
    flags: {
      comment: { type: 'string', value: 'TEXT', help: 'Comment, for the history and the audit log.' },
      source: { type: 'string', value: 'NAME', help: 'Other source with which the action was compared.' },
      value: { type: 'number', value: 'X', help: 'Value in the other source.' },
    },
    examples: [`divisor action ${verb} 4be1c0ffee4be1c0ffee --source "Notice of the issuer" --value 2`],
    ask(client: DivisorClient, [action_id = ''], flags) {
      const name = flags.text('source');
      const sources = name === undefined ? [] : [{ name, value: flags.number('value') ?? null, ex_date: null }];
      const body = { decision, sources, comment: flags.text('comment') ?? null };
      return client.call('decideAction', { params: { action_id }, body });
    },
    records: (action) => [createRow(action)],
    columns: COLUMNS,
    notices: formatHistory,
  });
}

export const confirmAction = createDecisionCommand(
  'confirm',
  'confirmed',
  'Confirm a corporate action with its current terms.',
);
export const rejectAction = createDecisionCommand('reject', 'rejected', 'Reject a corporate action.');
export const reopenAction = createDecisionCommand('reopen', 'reopened', 'Return a corporate action to the queue.');
