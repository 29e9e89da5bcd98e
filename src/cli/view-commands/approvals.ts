import type { Approval, ApprovalDecisionRequest, DivisorClient } from '#clients/typescript/divisor.js';
import { APPROVAL_STATES, type ApprovalState } from '#domain/approvals/approval-document.js';
import { UsageError } from '../usage-error.js';
import { formatFacts } from './approval-facts.js';
import { createViewCommand } from './view-command.js';

const APPROVAL = { name: 'NUMBER', help: 'Number of an approval.' };
const APPROVALS = {
  name: 'NUMBERS',
  help: 'Numbers of approvals, separated by commas, or SCHEDULE/DATE for all pending approvals of a day.',
  isList: true,
} as const;
const COLUMNS = ['approval_id', 'state', 'action', 'subject', 'requested_by', 'requested_at', 'missing', 'summary'];

const parseNumber = (word: string): number => {
  if (/^[1-9]\d{0,8}$/.test(word)) return Number(word);
  throw new UsageError(`${word} is not the number of an approval; divisor approval list shows them`);
};

const DAY = /^([^/,]+)[/](\d{4}-\d\d-\d\d)$/;
/** Maximum number of requests that the service lists. A family has fewer. */
const LISTED_MAX = 500;

/** Returns the numbers in a list without duplicates, or the numbers of the pending requests of a day. */
async function readNumbers(client: DivisorClient, word: string): Promise<number[]> {
  const [, schedule_id, date] = DAY.exec(word) ?? [];
  if (schedule_id === undefined) return [...new Set(word.split(',').map(parseNumber))];
  const query = { state: 'pending', schedule_id, date: date!, limit: LISTED_MAX } as const; // DAY matched, so it captured a date
  const { approvals: foundApprovals } = await client.call('listApprovals', { query });
  if (foundApprovals.length > 0) return foundApprovals.map(({ approval_id: id }) => id).toReversed();
  throw new UsageError(`no approval of ${word} is pending; divisor approval list shows them`);
}

const formatHistory = ({ history }: Approval): string[] =>
  history.map(
    ({ at, author, action, comment }) => `${at} ${author} ${action}${comment === null ? '' : `: ${comment}`}`,
  );

export const approvals = createViewCommand({
  summary: 'List changes that wait for the approval of other people.',
  words: [],
  flags: {
    state: { type: 'string', value: 'STATE', help: `One of ${APPROVAL_STATES.join(', ')}, or all. Default: pending.` },
    subject: { type: 'string', value: 'ID', help: 'Index or schedule. Default: all.' },
    schedule: { type: 'string', value: 'ID', help: 'Only requests of days of this schedule.' },
    date: { type: 'string', value: 'DATE', help: 'Only requests of the day of this session.' },
    limit: { type: 'number', value: 'N', help: 'Maximum number of approvals. Default: 100.' },
  },
  examples: [
    'divisor approval list --schedule close --date 2024-12-31',
    'divisor approval list --state all --subject CORE-100',
  ],
  ask(client, _words, flags) {
    const state = flags.text('state') ?? 'pending';
    const query = {
      subject: flags.text('subject'),
      schedule_id: flags.text('schedule'),
      date: flags.text('date'),
      limit: flags.number('limit'),
    };
    // The service refuses unknown states.
    return client.call('listApprovals', {
      query: state === 'all' ? query : { ...query, state: state as ApprovalState },
    });
  },
  records: (answer) => answer.approvals,
  columns: COLUMNS,
});

export const showApproval = createViewCommand({
  summary: 'Show a change that waits for approval: its figures, comments and decisions.',
  words: [APPROVAL],
  flags: {},
  examples: ['divisor approval show 12'],
  ask: (client, [word = '']) => client.call('getApproval', { params: { approval_id: parseNumber(word) } }),
  records: (approval) => [approval],
  columns: COLUMNS,
  notices: (approval) => [...formatHistory(approval), ...formatFacts(approval.facts)],
});

function createDecisionCommand(decision: ApprovalDecisionRequest['decision'], summary: string, isRequired: boolean) {
  return createViewCommand({
    summary,
    words: [APPROVALS],
    flags: { comment: { type: 'string', value: 'TEXT', help: 'Comment, for the history and the audit log.' } },
    examples: [
      `divisor approval ${decision} 12,13 --comment "Levels agree with ours"`,
      `divisor approval ${decision} close/2024-12-31 --comment "Levels agree with ours"`,
    ],
    async ask(client: DivisorClient, [word = ''], flags) {
      const comment = flags.text('comment');
      if (isRequired && comment === undefined) throw new UsageError(`divisor approval ${decision} requires --comment`);
      const body = { decision, comment: comment ?? null };
      const decidedApprovals: Approval[] = [];
      for (const id of await readNumbers(client, word))
        decidedApprovals.push(await client.call('decideApproval', { params: { approval_id: id }, body }));
      return decidedApprovals;
    },
    records: (decidedApprovals) => decidedApprovals,
    columns: COLUMNS,
    notices: (decidedApprovals) =>
      decidedApprovals.flatMap((approval) => formatHistory(approval).map((line) => `${approval.approval_id}: ${line}`)),
  });
}

export const approve = createDecisionCommand('approve', 'Approve changes that another person requested.', false);
export const reject = createDecisionCommand('reject', 'Reject changes that another person requested.', true);
export const withdraw = createDecisionCommand('withdraw', 'Withdraw changes that you requested.', false);
export const comment = createDecisionCommand('comment', 'Comment on changes that wait for approval.', true);
