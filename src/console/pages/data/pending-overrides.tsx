import { Section } from '../../components/page.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatApprovalAddress } from '../../words/addresses.js';
import { formatChange, formatDecimal } from '../../words/numbers.js';

/** Request to override a price that other persons have not decided yet. */
interface PendingOverride {
  readonly approval_id: number;
  readonly identifier: string;
  readonly date: string;
  readonly before: number | null;
  readonly price: number | null;
  readonly change: number | null;
  readonly reason: string;
  readonly persons: number;
  readonly missing: number;
}

/**
 * Renders the requested overrides of a store that wait for other persons. Renders nothing if overrides need no
 * approval.
 */
export function PendingOverrides({ store }: { readonly store: string }) {
  const pending = useResource('pending approvals', (signal) =>
    service.value.call('listApprovals', { query: { state: 'pending' }, signal }),
  );
  const rule = pending.data?.rules.find(({ action }) => action === 'override');
  if (pending.data === undefined || rule === undefined) return null;
  const rows = pending.data.approvals.flatMap(({ approval_id, persons, missing, facts }): PendingOverride[] =>
    facts?.kind === 'override' && facts.store_id === store ? [{ ...facts, approval_id, persons, missing }] : [],
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
  { id: 'request', title: 'No.', width: 56, align: 'right', priority: 5, value: ({ approval_id: id }) => id },
  { id: 'security', title: 'Security', width: 84, value: ({ identifier }) => identifier },
  { id: 'session', title: 'Session', width: 104, value: ({ date }) => date },
  createNumericColumn({
    id: 'before',
    title: 'Price now',
    width: 92,
    priority: 4,
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
    priority: 3,
    of: ({ change }) => change,
    write: formatChange,
  }),
  {
    id: 'agreed',
    title: 'Agreed',
    width: 84,
    priority: 2,
    value: ({ persons, missing }) => `${persons - missing} of ${persons}`,
  },
  { id: 'reason', title: 'Reason', width: 140, grow: 1, priority: 6, value: ({ reason }) => reason },
];
