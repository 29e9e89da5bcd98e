import type { RebalancePack } from '#clients/typescript/divisor.js';
import { Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import { addCurrency, createNumericColumn, type Column } from '../../components/table/columns.js';
import { useNameAddress } from '../index/use-name-address.js';
import { formatChange, formatCount, formatDecimal, getSignClass } from '../../words/numbers.js';

type ReconciledPack = NonNullable<RebalancePack['reconciliation']>;
type Order = ReconciledPack['accounts'][number]['orders'][number];

interface ReconciliationProps {
  readonly reconciliation: ReconciledPack;
  /** Name of the displayed account. */
  readonly account: string;
  readonly currency: string;
}

/** Renders the orders at the announcement next to the current orders. They differ because prices have changed. */
export function Reconciliation({ reconciliation: { announced, accounts }, account, currency }: ReconciliationProps) {
  const accountResult = accounts.find(({ name }) => name === account);
  const formatNameAddress = useNameAddress();
  if (accountResult === undefined) return null;
  const orderCount = accountResult.orders.filter(({ change: by }) => by !== 0).length;
  return (
    <Section
      title="Since the announcement"
      aside={`${formatCount(orderCount)} of ${formatCount(accountResult.orders.length)} orders differ from those of ${announced}`}
    >
      <p class="quiet">
        Worth {formatDecimal(accountResult.value_announced, 0)} {currency} at the closes of {announced}.
      </p>
      <Table
        label={`orders of ${account} since the announcement`}
        columns={addCurrency(COLUMNS, ['price-announced', 'price'], currency)}
        rows={accountResult.orders}
        getKey={({ identifier }) => identifier}
        formatAddress={({ identifier }) => formatNameAddress(identifier)}
        searchIn={({ identifier }) => identifier}
        sort={{ column: 'change', direction: 'desc' }}
        height={360}
      />
    </Section>
  );
}

const COLUMNS: readonly Column<Order>[] = [
  { id: 'name', title: 'Security', width: 84, grow: 1, value: ({ identifier }) => identifier },
  createNumericColumn({
    id: 'announced',
    title: 'Announced',
    help: 'Shares ordered at the announcement, negative for a sale',
    width: 96,
    of: (row) => row.shares_announced,
    write: formatCount,
  }),
  createNumericColumn({
    id: 'now',
    title: 'Now',
    help: 'Shares ordered now',
    width: 84,
    of: (row) => row.shares,
    write: formatCount,
  }),
  {
    id: 'change',
    title: 'Still to order',
    help: 'Additional shares since the announcement',
    width: 108,
    align: 'right',
    value: (row) => Math.abs(row.change),
    copy: (row) => row.change,
    show: (row) => <span class={getSignClass(row.change)}>{formatCount(row.change)}</span>,
  },
  createNumericColumn({
    id: 'worth',
    adds: true,
    title: 'Price moved',
    help: 'Since the announcement',
    width: 104,
    priority: 2,
    of: ({ price, price_announced: before }) => price / before - 1,
    write: (value) => formatChange(value),
  }),
  createNumericColumn({
    id: 'price-announced',
    title: 'Price then',
    help: 'Close of the announcement, on the share basis of now',
    width: 124,
    priority: 4,
    of: (row) => row.price_announced,
    write: formatDecimal,
  }),
  createNumericColumn({
    id: 'price',
    title: 'Price now',
    width: 124,
    priority: 3,
    of: ({ price }) => price,
    write: formatDecimal,
  }),
];
