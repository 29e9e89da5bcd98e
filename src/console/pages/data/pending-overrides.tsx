import type { Approval } from '#clients/typescript/divisor.js';
import { Section } from '../../components/page.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { usePendingApprovals } from '../../state/pending-approvals.js';
import { formatApprovalAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { formatChange, formatDecimal } from '../../words/numbers.js';

/** Request to override a price that other persons have not decided yet. */
type PendingOverride = Omit<Approval, 'facts'> & OverrideFacts;

type OverrideFacts = Extract<Approval['facts'], { readonly kind: 'override' }>;

/**
 * Renders the requested overrides of a store that wait for other persons. Renders nothing if overrides need no
 * approval.
 */
export function PendingOverrides({ store }: { readonly store: string }) {
  const pending = usePendingApprovals();
  const rule = pending.data?.rules.find(({ action }) => action === 'override');
  if (pending.data === undefined || rule === undefined) return null;
  const rows = pending.data.approvals.flatMap(({ facts, ...approval }): PendingOverride[] =>
    facts?.kind === 'override' && facts.store_id === store ? [{ ...approval, ...facts }] : [],
  );
  return (
    <Section title="Waiting for approval" aside={`an override needs ${rule.persons} persons`}>
      <Table
        label="requested overrides"
        name="requested"
        columns={COLUMNS}
        rows={rows}
        getKey={({ approval_id: id }) => String(id)}
        formatAddress={({ approval_id: id }) => formatApprovalAddress(id)}
        height={220}
        empty="No override waits for approval."
      />
    </Section>
  );
}

const COLUMNS: readonly Column<PendingOverride>[] = [
  {
    id: 'request',
    title: 'Request',
    width: 88,
    value: ({ approval_id: id }) => id,
    show: ({ approval_id: id }) => (
      <a href={formatApprovalAddress(id)} tabIndex={-1}>
        Approval {id}
      </a>
    ),
  },
  { id: 'security', title: 'Security', width: 84, value: ({ identifier }) => identifier },
  { id: 'session', title: 'Session', width: 104, value: ({ date }) => date },
  createNumericColumn({
    id: 'before',
    title: 'Price now',
    width: 92,
    priority: 2,
    of: ({ before }) => before,
    write: (value) => formatDecimal(value, 4),
  }),
  {
    id: 'price',
    title: 'Requested',
    width: 100,
    align: 'right',
    value: ({ price }) => price,
    show: ({ price }) => (price === null ? 'withdrawal' : formatDecimal(price, 4)),
  },
  createNumericColumn({
    id: 'change',
    title: 'Change',
    width: 84,
    priority: 4,
    of: ({ change }) => change,
    write: formatChange,
  }),
  {
    id: 'agreed',
    title: 'Agreed',
    width: 84,
    priority: 2,
    value: ({ persons, missing }) => `${persons - missing} of ${persons}`,
    showBelow: ({ persons, missing }) => `${persons - missing} of ${persons} agreed`,
  },
  {
    id: 'author',
    title: 'Author',
    width: 90,
    priority: 5,
    below: 'titled',
    value: ({ requested_by: author }) => author,
  },
  {
    id: 'at',
    title: 'Time',
    width: 172,
    priority: 7,
    below: 'nothing',
    value: ({ requested_at: at }) => at,
    show: ({ requested_at: at }) => formatMoment(at),
  },
  { id: 'reason', title: 'Reason', width: 140, grow: 1, priority: 3, lines: 2, value: ({ reason }) => reason },
];
