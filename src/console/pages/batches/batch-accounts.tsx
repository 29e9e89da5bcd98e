import type { BatchAccount } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Select } from '../../components/choice.js';
import { Menu } from '../../components/menu.js';
import { Section } from '../../components/page.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { Answered } from '../../components/wait.js';
import { attempt } from '../../state/actions.js';
import { saveFile } from '../../state/files.js';
import { getParameter, setParameters } from '../../state/location.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatBps, formatCount, formatDecimal, formatPercent } from '../../words/numbers.js';
import { AccountPanel } from './account-panel.js';
import { hasSolution, formatStatus, type Account } from './account-result.js';

const BLOCK_ACCOUNTS = 100;
/** Maximum number of times that the accounts of a running batch are read again. */
const READ_TRIES_MAX = 50;

interface BatchAccountsProps {
  readonly batchId: string;
  /** Fraction of the accounts that are solved. */
  readonly progress: number;
  /** Currency of the index. */
  readonly currency?: string | null;
}

/** Renders the accounts of a batch in blocks. The batch may still be running. Each account opens to its trades. */
export function BatchAccounts({ batchId, progress, currency = null }: BatchAccountsProps) {
  const block = Number(getParameter('block') ?? 0);
  const accounts = useResource(
    `accounts ${batchId} ${block} ${Math.floor(progress * READ_TRIES_MAX)}`,
    (signal) => service.value.call('getBatchAccounts', { params: { batch_id: batchId }, query: { block }, signal }),
    { keeps: true },
  );
  const { data, trouble } = accounts;
  const isPending = data === undefined && (trouble === null || trouble.code === 'JOB_RUNNING');
  if (isPending && progress < 1)
    return (
      <Section title="Accounts">
        <p class="quiet">The accounts are shown as soon as the first hundred are solved.</p>
      </Section>
    );
  const options = Array.from({ length: data?.blocks ?? 0 }, (_, at) => ({
    value: String(at),
    text: `${formatCount(at * BLOCK_ACCOUNTS + 1)} to ${formatCount(Math.min(data?.count ?? 0, (at + 1) * BLOCK_ACCOUNTS))}`,
  }));
  return (
    <Section
      title="Accounts"
      aside={
        <>
          {currency !== null && `amounts in ${currency}`}
          {options.length > 1 && (
            <Select
              label="Accounts shown"
              options={options}
              value={String(block)}
              onChoose={(chosen) => setParameters({ block: chosen, account: null })}
            />
          )}
          {data !== undefined && <Save batchId={batchId} blocks={data.blocks} />}
        </>
      }
    >
      {trouble?.code === 'JOB_RUNNING' ? (
        <p class="quiet">These accounts are not solved yet.</p>
      ) : (
        <Answered resource={accounts} what="the accounts">
          {(read) => <AccountTable accounts={read.accounts as readonly Account[]} />}
        </Answered>
      )}
    </Section>
  );
}

const TABLES = [
  { table: 'accounts', text: 'Accounts (CSV)' },
  { table: 'trades', text: 'Trades (CSV)' },
] as const;

/** Renders a menu that saves a table of all accounts as one file. */
function Save({ batchId, blocks }: { readonly batchId: string; readonly blocks: number }) {
  const save = async (table: (typeof TABLES)[number]['table']) => {
    const parts: string[] = [];
    for (let block = 0; block < blocks; block++) {
      const params = { batch_id: batchId };
      const bytes = await service.value.download('getBatchAccounts', 'text/csv', { params, query: { block, table } });
      const text = new TextDecoder().decode(bytes);
      parts.push(block === 0 ? text : text.slice(text.indexOf('\n') + 1));
    }
    saveFile(`${batchId}-${table}.csv`, new TextEncoder().encode(parts.join('')));
  };
  return (
    <Menu label="Export the accounts" title="Export">
      {TABLES.map(({ table, text }) => (
        <li key={table}>
          <button type="button" onClick={() => void attempt(() => save(table))}>
            {text}
          </button>
        </li>
      ))}
    </Menu>
  );
}

/** Number of accounts above which they can be searched. */
const SEARCHED_MIN = 20;

function AccountTable({ accounts }: { readonly accounts: readonly Account[] }) {
  const openAccount = accounts.find((account) => account.account_id === getParameter('account'));
  return (
    <>
      <Table
        label="accounts"
        name="accounts"
        columns={ACCOUNT_COLUMNS}
        rows={accounts}
        {...(accounts.length > SEARCHED_MIN ? { searchIn: (account: Account) => account.account_id ?? '' } : {})}
        getKey={(account) => account.account_id ?? String(accounts.indexOf(account))}
        onOpen={(account) => setParameters({ account: account.account_id })}
        openKey={openAccount?.account_id ?? null}
      />
      {openAccount !== undefined && <AccountPanel account={openAccount} />}
    </>
  );
}

const STATUS_KINDS: Readonly<Record<BatchAccount['status'], 'good' | 'bad'>> = {
  optimal: 'good',
  feasible: 'good',
  infeasible: 'bad',
  refused: 'bad',
};

const ACCOUNT_COLUMNS: readonly Column<Account>[] = [
  { id: 'account', title: 'Account', width: 120, grow: 1, value: ({ account_id }) => account_id },
  {
    id: 'status',
    title: 'Status',
    width: 132,
    value: ({ status }) => status,
    show: (account) => <Badge kind={STATUS_KINDS[account.status]}>{formatStatus(account)}</Badge>,
  },
  createNumericColumn({
    id: 'before',
    title: 'TE before',
    help: 'Annual forecast tracking error before the trades',
    width: 90,
    priority: 2,
    of: (account: Account) => account.tracking_error_before ?? null,
    write: (value) => formatPercent(value, 3),
  }),
  createNumericColumn({
    id: 'tracking',
    title: 'TE after',
    help: 'Annual forecast tracking error after the trades',
    width: 90,
    of: (account: Account) => (hasSolution(account) ? (account.tracking_error ?? null) : null),
    write: (value) => formatPercent(value, 3),
  }),
  createNumericColumn({
    id: 'value',
    title: 'Value',
    width: 110,
    priority: 3,
    adds: true,
    of: (account: Account) => account.value ?? null,
    write: formatDecimal,
  }),
  createNumericColumn({
    id: 'tax',
    title: 'Tax',
    width: 90,
    adds: true,
    of: (account: Account) => (hasSolution(account) ? (account.tax ?? null) : null),
    write: formatDecimal,
  }),
  createNumericColumn({
    id: 'saved',
    title: 'Tax saved',
    width: 90,
    adds: true,
    of: (account: Account) => (hasSolution(account) ? (account.tax_saved ?? null) : null),
    write: formatDecimal,
  }),
  createNumericColumn({
    id: 'costs',
    title: 'Costs',
    width: 80,
    priority: 3,
    adds: true,
    of: (account: Account) => (hasSolution(account) ? (account.costs ?? null) : null),
    write: formatDecimal,
  }),
  createNumericColumn({
    id: 'gap',
    title: 'Gap',
    width: 80,
    priority: 4,
    of: (account: Account) => (hasSolution(account) ? (account.certificate?.gap ?? null) : null),
    write: formatBps,
  }),
  createNumericColumn({
    id: 'trades',
    title: 'Trades',
    width: 70,
    priority: 2,
    of: (account: Account) => (hasSolution(account) ? (account.trades?.length ?? null) : null),
    write: formatCount,
  }),
];
