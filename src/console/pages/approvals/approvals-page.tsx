import type { Approval, ApprovalCollection } from '#clients/typescript/divisor.js';
import { useMemo, useState } from 'preact/hooks';
import { Badge } from '../../components/badge.js';
import { LinkButton } from '../../components/button.js';
import { Choice } from '../../components/choice.js';
import { DecideMany } from '../../components/decide-many.js';
import { EmptyState } from '../../components/empty-state.js';
import { Entries } from '../../components/entries.js';
import { GuideLink } from '../../components/guide-link.js';
import { Metrics } from '../../components/metrics.js';
import { Page, Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import type { Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { getParameter, setParameters } from '../../state/location.js';
import { may, principal } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatApprovalAddress } from '../../words/addresses.js';
import { formatMoment, createMomentFigure } from '../../words/dates.js';
import { formatChange, formatCount, formatDecimal, MISSING_TEXT } from '../../words/numbers.js';
import { ApprovalPanel } from './approval-panel.js';
import { ACTION_WORDS, selectLastLevels, STATE_KINDS } from './approval-states.js';
import { RequestFactsView } from './request-facts.js';
import './approvals.css';

type State = Approval['state'];
const STATES = Object.keys(STATE_KINDS) as State[]; // Object.keys returns plain strings.

/** Maximum number of approvals that are loaded and counted. */
const LISTED_MAX = 500;

/** Page of changes that wait for approval. Each request opens to its figures and the decision. */
export function ApprovalsPage() {
  const openApproval = getParameter('approval');
  const approvalList = useResource('approvals', (signal) =>
    service.value.call('listApprovals', { query: { limit: LISTED_MAX }, signal }),
  );
  return (
    <Page title="Approvals" subtitle={<GuideLink page="approvals">How approvals work</GuideLink>}>
      <Answered resource={approvalList} what="the approvals">
        {({ approvals, rules }) => (
          <>
            {approvals.length > 0 && <Counts approvals={approvals} />}
            <ApprovalList approvals={approvals} open={openApproval} hasRules={rules.length > 0} />
            {openApproval === null && <FirstPending approvals={approvals} />}
            <Rules rules={rules} />
          </>
        )}
      </Answered>
      {openApproval !== null && (
        <ApprovalPanel key={openApproval} id={Number(openApproval)} onClose={() => setParameters({ approval: null })} />
      )}
    </Page>
  );
}

/** Renders what would be changed by the pending request that expires first. */
function FirstPending({ approvals }: { readonly approvals: readonly Approval[] }) {
  const [first] = approvals
    .filter(({ state }) => state === 'pending')
    .toSorted((a, b) => (a.expires_at < b.expires_at ? -1 : 1));
  const id = first?.approval_id;
  const approval = useResource(id === undefined ? null : `approval ${id}`, (signal) =>
    service.value.call('getApproval', { params: { approval_id: id! }, signal }),
  );
  if (id === undefined || approval.data?.facts == null) return null;
  return (
    <Section
      title={`Expires first: request ${id}`}
      aside={
        <LinkButton kind="main" href={formatApprovalAddress(id)}>
          Decide
        </LinkButton>
      }
    >
      <p>{approval.data.summary}</p>
      <RequestFactsView facts={approval.data.facts} />
    </Section>
  );
}

/** Returns the state of the approvals that are listed: all states if the open request is decided; otherwise pending. */
const chooseState = (approvals: readonly Approval[], open: string | null): string =>
  approvals.some(({ approval_id: id, state }) => String(id) === open && state !== 'pending') ? 'all' : 'pending';

function Counts({ approvals }: { readonly approvals: readonly Approval[] }) {
  const formatStateCount = (...states: State[]) =>
    formatCount(approvals.filter(({ state }) => states.includes(state)).length);
  const next = approvals
    .filter(({ state }) => state === 'pending')
    .map(({ expires_at: expiresAt }) => expiresAt)
    .toSorted()[0];
  return (
    <Metrics
      label="Approvals by state"
      metrics={[
        { term: 'Pending', value: formatStateCount('pending'), note: 'wait for a person' },
        { term: 'Approved', value: formatStateCount('approved'), note: 'to be sent again' },
        { term: 'Used', value: formatStateCount('used') },
        { term: 'Rejected', value: formatStateCount('rejected') },
        { term: 'Withdrawn or expired', value: formatStateCount('withdrawn', 'expired') },
        { term: 'Next to expire', ...(next === undefined ? { value: MISSING_TEXT } : createMomentFigure(next)) },
      ]}
    />
  );
}

interface ApprovalListProps {
  readonly approvals: readonly Approval[];
  readonly open: string | null;
  /** True if any change needs approval. */
  readonly hasRules: boolean;
}

/** Formats a state with the number of its requests, for example `pending 2`. */
function formatStateText(state: string, approvals: readonly Approval[]): string {
  const count = approvals.filter((approval) => approval.state === state).length;
  return count === 0 ? state : `${state} ${formatCount(count)}`;
}

function ApprovalList({ approvals, open, hasRules }: ApprovalListProps) {
  const requestedState = getParameter('state');
  // If a request is decided while it is open, the list does not change.
  const chosenState = useMemo(() => requestedState ?? chooseState(approvals, open), [requestedState, open]);
  const [selected, setSelected] = useState<readonly string[]>([]);
  const rows = chosenState === 'all' ? approvals : approvals.filter(({ state }) => state === chosenState);
  const ownKeyId = principal.value?.key_id;
  const decidable = rows.filter(({ state, history }) => state === 'pending' && history[0]?.key_id !== ownKeyId);
  const keys = selected.filter((key) => decidable.some(({ approval_id: id }) => String(id) === key));
  return (
    <>
      <Choice
        label="State"
        options={['all', ...STATES].map((value) => ({ value, text: formatStateText(value, approvals) }))}
        value={chosenState}
        onChoose={(value) => setParameters({ state: value === 'pending' ? null : value, approval: null })}
      />
      {rows.length === 0 ? (
        <EmptyState title={chosenState === 'pending' ? 'Nothing waits for approval' : 'No approval'}>
          {hasRules
            ? 'A change that needs approval is held back and listed here until a second person has decided.'
            : 'On this service, one person can make every change. The operator sets the changes that need a second person.'}
        </EmptyState>
      ) : (
        <Table
          label="approvals"
          name="approvals"
          columns={rows.some((row) => selectLastLevels(row).level !== null) ? COLUMNS : WITHOUT_LEVELS}
          rows={rows}
          getKey={({ approval_id: id }) => String(id)}
          searchIn={({ subject, summary, requested_by: by, schedule_day: day }) =>
            `${subject} ${summary} ${by} ${day?.schedule_id ?? ''} ${day?.date ?? ''}`
          }
          // The oldest pending request expires first.
          sort={{ column: 'id', direction: chosenState === 'pending' ? 'asc' : 'desc' }}
          onOpen={({ approval_id: id }) => setParameters({ approval: String(id) })}
          openKey={open}
          height={620}
          {...(may('publish') && decidable.length > 0 ? { selection: { keys, onChange: setSelected } } : {})}
        />
      )}
      {keys.length > 0 && (
        <DecideMany
          keys={keys}
          noun="request"
          decisions={DECISIONS}
          decide={(key, decision, comment) =>
            service.value.call('decideApproval', { params: { approval_id: Number(key) }, body: { decision, comment } })
          }
          onDone={setSelected}
        />
      )}
    </>
  );
}

const DECISIONS = [
  { decision: 'approve', text: 'Approve', done: 'approved', kind: 'main' },
  { decision: 'reject', text: 'Reject', done: 'rejected', kind: 'danger', needsComment: true },
] as const;

type Rule = ApprovalCollection['rules'][number];

/** Renders the kinds of changes that need approval, and the kinds that do not. */
function Rules({ rules }: { readonly rules: readonly Rule[] }) {
  return (
    <Section title="Rules" aside="set by the operator">
      <div class="approval-rules">
        <Entries
          label="Changes that need approval"
          entries={(Object.keys(ACTION_WORDS) as Approval['action'][]).map((action) => {
            const rule = rules.find((one) => one.action === action);
            return {
              key: action,
              title: ACTION_WORDS[action],
              badge: rule === undefined ? <Badge>one person</Badge> : <Badge kind="info">{rule.persons} persons</Badge>,
              aside: rule?.approvers == null ? '' : `approved by ${rule.approvers.join(', ')}`,
            };
          })}
        />
      </div>
    </Section>
  );
}

const COLUMNS: readonly Column<Approval>[] = [
  { id: 'id', title: 'No.', width: 64, align: 'right', value: (row) => row.approval_id },
  {
    id: 'state',
    title: 'State',
    width: 96,
    value: ({ state }) => state,
    show: ({ state }) => <Badge kind={STATE_KINDS[state]}>{state}</Badge>,
  },
  { id: 'subject', title: 'Concerns', width: 110, value: ({ subject }) => subject },
  {
    id: 'action',
    title: 'Kind',
    width: 170,
    priority: 7,
    below: 'nothing',
    value: ({ action }) => ACTION_WORDS[action],
  },
  {
    id: 'summary',
    title: 'Change',
    width: 340,
    ideal: 520,
    grow: 5,
    priority: 2,
    value: ({ summary }) => summary,
    show: ({ summary }) => <span title={summary}>{summary}</span>,
  },
  {
    id: 'level',
    title: 'Last level',
    help: 'Price return level of the last close that is published, otherwise the total return level',
    width: 104,
    align: 'right',
    priority: 3,
    below: 'nothing',
    value: (row) => selectLastLevels(row).level,
    show: (row) => formatDecimal(selectLastLevels(row).level, 4),
  },
  {
    id: 'move',
    title: 'Last move',
    help: 'Change of this level since the close before it',
    width: 88,
    align: 'right',
    priority: 3,
    below: 'nothing',
    value: (row) => selectLastLevels(row).move,
    show: (row) => formatChange(selectLastLevels(row).move),
  },
  { id: 'by', title: 'Requested by', width: 104, priority: 3, value: (row) => row.requested_by },
  {
    id: 'at',
    title: 'Requested',
    width: 172,
    priority: 6,
    below: 'nothing',
    value: (row) => row.requested_at,
    show: (row) => formatMoment(row.requested_at),
  },
  {
    id: 'until',
    title: 'Expires',
    width: 172,
    priority: 4,
    below: 'nothing',
    value: (row) => row.expires_at,
    show: (row) => (row.state === 'pending' || row.state === 'approved' ? formatMoment(row.expires_at) : '–'),
  },
  {
    id: 'missing',
    title: 'Agreed',
    help: 'Persons who have agreed, including the requester, and the required number',
    width: 80,
    align: 'right',
    priority: 5,
    below: 'nothing',
    value: (row) => row.persons - row.missing,
    show: (row) => `${row.persons - row.missing} of ${row.persons}`,
  },
];

/** Columns without the level. For lists that contain no publication. */
const WITHOUT_LEVELS = COLUMNS.filter(({ id }) => id !== 'level' && id !== 'move');
