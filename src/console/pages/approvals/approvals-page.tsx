import type { Approval } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Select } from '../../components/choice.js';
import { EmptyState } from '../../components/empty-state.js';
import { GuideLink } from '../../components/guide-link.js';
import { Page } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import type { Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { parameter, setParameters } from '../../state/place.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { moment } from '../../words/dates.js';
import { ApprovalPanel } from './approval-panel.js';
import { STATE_KINDS } from './approval-states.js';

type State = Approval['state'];
const STATES = Object.keys(STATE_KINDS) as State[]; // Object.keys returns plain strings.

/** Page of changes that wait for approval. Each opens to its figures and the decision. */
export function ApprovalsPage() {
  const chosen = parameter('state') ?? 'pending';
  const state = STATES.find((known) => known === chosen);
  const open = parameter('approval');
  const listed = useResource(
    `approvals ${chosen}`,
    (signal) => service.value.call('listApprovals', { query: { ...(state && { state }), limit: 500 }, signal }),
    { keeps: true },
  );
  return (
    <Page
      title="Approvals"
      subtitle={<GuideLink page="approvals">How approvals work</GuideLink>}
      actions={
        <Select
          label="State"
          isLabelShown
          options={[{ value: 'all', text: 'all' }, ...STATES.map((value) => ({ value, text: value }))]}
          value={chosen}
          onChoose={(value) => setParameters({ state: value === 'pending' ? null : value, approval: null })}
        />
      }
    >
      <Answered resource={listed} what="the approvals">
        {({ approvals, rules }) =>
          approvals.length === 0 ? (
            <EmptyState title={chosen === 'pending' ? 'Nothing waits for approval' : 'No approval'}>
              {rules.length === 0
                ? 'The service does not require approvals. The setting --approvals says which changes need a second person.'
                : `Changes that need approval: ${rules.map(({ action, persons }) => `${action} (${persons} persons)`).join(', ')}.`}
            </EmptyState>
          ) : (
            <Table
              label="approvals"
              name="approvals"
              columns={COLUMNS}
              rows={approvals}
              keyOf={({ approval_id: id }) => String(id)}
              searchIn={({ subject, summary, requested_by: by }) => `${subject} ${summary} ${by}`}
              sort={{ column: 'id', direction: 'desc' }}
              onOpen={({ approval_id: id }) => setParameters({ approval: String(id) })}
              openKey={open}
              height={620}
            />
          )
        }
      </Answered>
      {open !== null && (
        <ApprovalPanel key={open} id={Number(open)} onClose={() => setParameters({ approval: null })} />
      )}
    </Page>
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
  { id: 'summary', title: 'Change', width: 220, grow: 3, value: ({ summary }) => summary },
  { id: 'by', title: 'Requested by', width: 120, priority: 2, value: (row) => row.requested_by },
  {
    id: 'at',
    title: 'Requested',
    width: 172,
    priority: 3,
    value: (row) => row.requested_at,
    show: (row) => moment(row.requested_at),
  },
  {
    id: 'until',
    title: 'Expires',
    width: 172,
    priority: 4,
    value: (row) => row.expires_at,
    show: (row) => (row.state === 'pending' || row.state === 'approved' ? moment(row.expires_at) : '–'),
  },
  {
    id: 'missing',
    title: 'Missing',
    help: 'Persons who have not agreed yet',
    width: 80,
    align: 'right',
    value: (row) => row.missing,
  },
];
