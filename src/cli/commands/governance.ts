import type { Approval, ApprovalDecisionRequest, DivisorClient } from '#clients/typescript/divisor.js';
import { formatCount } from '#domain/base/numbers.js';
import { APPROVAL_STATES, type ApprovalState } from '#domain/definition/approvals.js';
import { UsageError } from '../usage.js';
import { NOTE } from './documents.js';
import { createOperationCommand, createOperationView, createViewCommand } from './job-command.js';

type Facts = NonNullable<Approval['facts']>;
type FactsOf<K extends Facts['kind']> = Extract<Facts, { readonly kind: K }>;
type Levels = FactsOf<'publish'>['close'];

/** Returns the facts of a request as lines for the person who approves or rejects it. */
function formatFacts(facts: Approval['facts']): string[] {
  if (facts === null) return [];
  switch (facts.kind) {
    case 'publish':
    case 'restate':
      return formatCloseFacts(facts);
    case 'amend':
      return formatAmendFacts(facts);
    case 'action':
      return formatActionFacts(facts);
    case 'override':
      return [
        `Price: ${formatText(facts.before)} to ${formatText(facts.price)}${facts.change === null ? '' : ` (${formatBps(1e4 * facts.change)})`}`,
        `Reason: ${facts.reason}`,
      ];
    case 'waive':
      return [
        `${formatCount(facts.total, 'finding')}:`,
        ...facts.findings.map(({ index_id: index, message, measure }) => {
          const comparison =
            measure && ` (${formatFigure(measure.value)}, limit ${formatFigure(measure.limit)} ${measure.unit})`;
          return `  ${index}: ${message}${comparison ?? ''}`;
        }),
        `Reason: ${facts.reason}`,
      ];
  }
}

function formatCloseFacts(facts: FactsOf<'publish' | 'restate'>): string[] {
  const { first, last, published, restated, close, previous } = facts;
  const lines = [
    `Dates: ${first} to ${last}; ${formatCount(published, 'new close')}, ${restated} published again`,
    `Levels of ${last}: ${formatLevels(close)}`,
    ...(previous === null ? [] : [`Levels of ${previous.date}: ${formatLevels(previous)}`]),
  ];
  if (facts.kind === 'publish') return lines;
  const { latest, largest, levels_changed: changedLevels, reason } = facts;
  return [
    ...lines,
    `Dates with changed levels: ${changedLevels}`,
    `Before on ${latest.date}: ${formatLevels(latest.before)}`,
    `After on ${latest.date}: ${formatLevels(latest.after)}`,
    ...(largest === null
      ? ['No level changes. Only the divisor or the composition differ.']
      : [
          `Largest difference: ${largest.variant} on ${largest.date} from ${largest.published} to ${largest.run} (${formatBps(largest.change_bps)})`,
        ]),
    `Reason: ${reason ?? '-'}`,
  ];
}

function formatAmendFacts({ deletes, index_id: id, changes }: FactsOf<'amend'>): string[] {
  if (deletes) return [`${id} is deleted.`];
  return changes.flatMap(({ effective_from: from, announced, reason, fields, removed, added }) => [
    from === null
      ? 'The whole history changes:'
      : `From ${from} on${announced === null ? '' : `, announced on ${announced}`}:`,
    ...fields.map(({ field, before, after }) => `  ${field}: ${formatText(before)} to ${formatText(after)}`),
    ...removed.map((sentence) => `  No longer applies: ${sentence}`),
    ...added.map((sentence) => `  New: ${sentence}`),
    ...(reason === null ? [] : [`  Reason: ${reason}`]),
  ]);
}

function formatActionFacts({ decision, terms, differences, effects }: FactsOf<'action'>): string[] {
  const presentTerms = Object.entries(terms).filter(([, value]) => value !== null);
  return [
    `Decision: ${decision}`,
    `Terms: ${presentTerms.map(([name, value]) => `${name} ${value}`).join(', ')}`,
    ...differences,
    ...effects.map(
      ({ index_id: id, state, ...effect }) =>
        `${id} (${state}): weight ${formatText(effect.weight_before)} to ${formatText(effect.weight_after)}, shares ${formatText(effect.shares_before)} to ${formatText(effect.shares_after)}, divisor ${formatText(effect.divisor_before)} to ${formatText(effect.divisor_after)}`,
    ),
  ];
}

const formatLevels = (approvedLevels: Levels): string =>
  (['price', 'total', 'net'] as const)
    .flatMap((name) => (approvedLevels[name] === null ? [] : [`${name} ${approvedLevels[name]}`]))
    .join(', ');
const formatFigure = (value: number): string => String(Number(value.toPrecision(6)));
const formatBps = (value: number): string => `${formatFigure(value)} bp`;
const formatText = (value: unknown): string =>
  value === null ? 'none' : typeof value === 'string' ? value : JSON.stringify(value);

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

const approvals = createViewCommand({
  summary: 'List changes that wait for the approval of other people.',
  flags: {
    state: { value: 'STATE', help: `One of ${APPROVAL_STATES.join(', ')}, or all. Default: pending.` },
    subject: { value: 'ID', help: 'Index or schedule. Default: all.' },
    schedule: { value: 'ID', help: 'Only requests of days of this schedule.' },
    date: { value: 'DATE', help: 'Only requests of the day of this session.' },
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

const showApproval = createViewCommand({
  summary: 'Show a change that waits for approval: its figures, comments and decisions.',
  words: [APPROVAL],
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
    flags: { comment: { value: 'TEXT', help: 'Comment, for the history and the audit log.' } },
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

const approve = createDecisionCommand('approve', 'Approve changes that another person requested.', false);
const reject = createDecisionCommand('reject', 'Reject changes that another person requested.', true);
const withdraw = createDecisionCommand('withdraw', 'Withdraw changes that you requested.', false);
const comment = createDecisionCommand('comment', 'Comment on changes that wait for approval.', true);

const procedures = createOperationView({
  operation: 'listProcedures',
  summary: 'List the procedures of the administrator.',
  examples: ['divisor procedure list'],
  records: (answer) => answer.procedures,
  columns: ['procedure_id', 'kind', 'name', 'version', 'review_by', 'updated_at'],
});

const showProcedure = createOperationCommand({
  operation: 'getProcedure',
  summary: 'Print a procedure of the administrator as JSON.',
  words: [{ name: 'ID', help: 'Id of a procedure.' }],
  examples: ['divisor procedure show cessation --out cessation.json'],
  show: (procedure) => `${JSON.stringify(procedure, null, 2)}\n`,
});

const putProcedure = createOperationView({
  operation: 'putProcedure',
  summary: 'Store a procedure of the administrator.',
  words: [
    { name: 'ID', help: 'Id of the procedure.' },
    { name: 'FILE', help: 'Procedure as JSON; - reads standard input.', isBody: true },
  ],
  flags: NOTE,
  examples: ['divisor procedure put cessation cessation.json --note "Approved by the oversight committee"'],
  records: (procedure) => [procedure],
  columns: ['procedure_id', 'kind', 'name', 'version', 'review_by'],
});

export const APPROVAL_COMMANDS = {
  'approval list': approvals,
  'approval show': showApproval,
  'approval approve': approve,
  'approval reject': reject,
  'approval withdraw': withdraw,
  'approval comment': comment,
};

export const PROCEDURE_COMMANDS = {
  'procedure list': procedures,
  'procedure show': showProcedure,
  'procedure put': putProcedure,
};
