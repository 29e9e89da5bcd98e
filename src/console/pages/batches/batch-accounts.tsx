import type { BatchAccount, BatchTrade, BatchView } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Banner } from '../../components/banner.js';
import { Facts } from '../../components/facts.js';
import { Select } from '../../components/choice.js';
import { Section } from '../../components/page.js';
import { SidePanel } from '../../components/side-panel.js';
import { numeric, type Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { Answered } from '../../components/wait.js';
import { parameter, setParameters } from '../../state/place.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { labelOf } from '../../words/labels.js';
import { count, decimal, figure, percent } from '../../words/numbers.js';

/** Members of a result that the contract leaves open. */
interface Account extends BatchAccount {
  readonly value?: number;
  readonly short_gain?: number;
  readonly long_gain?: number;
  readonly one_more_bp_saves?: number;
  readonly shadow_prices?: { readonly tracking_error_bp: number; readonly rows: Readonly<Record<string, number>> };
  readonly deviations?: { readonly variance_by_reason: Readonly<Record<string, number>> };
}

const BLOCK = 100;

/** Accounts of a batch in blocks; one opens with its trades. */
export function BatchAccounts({ view }: { readonly view: BatchView }) {
  const block = Number(parameter('block') ?? 0);
  const accounts = useResource(`accounts ${view.batch_id} ${block}`, (signal) =>
    service.value.call('getBatchAccounts', { params: { batch_id: view.batch_id }, query: { block }, signal }),
  );
  const options = Array.from({ length: view.blocks }, (_, at) => ({
    value: String(at),
    text: `${count(at * BLOCK + 1)} to ${count(Math.min(view.accounts, (at + 1) * BLOCK))}`,
  }));
  return (
    <Section
      title="Accounts"
      aside={
        view.blocks > 1 && (
          <Select
            label="Accounts shown"
            options={options}
            value={String(block)}
            onChoose={(chosen) => setParameters({ block: chosen, account: null })}
          />
        )
      }
    >
      <Answered resource={accounts} what="the accounts">
        {(read) => <AccountTable accounts={read.accounts as readonly Account[]} />}
      </Answered>
    </Section>
  );
}

function AccountTable({ accounts }: { readonly accounts: readonly Account[] }) {
  const open = accounts.find((account) => account.account_id === parameter('account'));
  return (
    <>
      <Table
        label="accounts"
        name="accounts"
        columns={ACCOUNTS}
        rows={accounts}
        keyOf={(account) => account.account_id ?? String(accounts.indexOf(account))}
        onOpen={(account) => setParameters({ account: account.account_id })}
        openKey={open?.account_id ?? null}
      />
      {open !== undefined && <AccountPanel account={open} />}
    </>
  );
}

const STATUS_KINDS: Readonly<Record<BatchAccount['status'], 'good' | 'warning' | 'bad'>> = {
  optimal: 'good',
  feasible: 'warning',
  stalled: 'warning',
  infeasible: 'bad',
  refused: 'bad',
};

/** Returns true if the trades of an account satisfy its limits. */
const hasSolution = ({ status }: Account): boolean => status !== 'infeasible' && status !== 'refused';

const ACCOUNTS: readonly Column<Account>[] = [
  { id: 'account', title: 'Account', width: 120, grow: 1, value: ({ account_id }) => account_id },
  {
    id: 'status',
    title: 'Status',
    width: 96,
    value: ({ status }) => status,
    show: ({ status }) => <Badge kind={STATUS_KINDS[status]}>{status}</Badge>,
  },
  numeric({
    id: 'tracking',
    title: 'Tracking error',
    width: 110,
    of: (account: Account) => (hasSolution(account) ? (account.tracking_error ?? null) : null),
    write: (value) => percent(value, 3),
  }),
  numeric({
    id: 'value',
    title: 'Value',
    width: 110,
    priority: 3,
    adds: true,
    of: (account: Account) => account.value ?? null,
    write: (value) => decimal(value, 0),
  }),
  numeric({
    id: 'tax',
    title: 'Tax',
    width: 90,
    adds: true,
    of: (account: Account) => (hasSolution(account) ? (account.tax ?? null) : null),
    write: decimal,
  }),
  numeric({
    id: 'saved',
    title: 'Tax saved',
    width: 90,
    adds: true,
    of: (account: Account) => (hasSolution(account) ? (account.tax_saved ?? null) : null),
    write: decimal,
  }),
  numeric({
    id: 'trades',
    title: 'Trades',
    width: 70,
    priority: 2,
    of: (account: Account) => (hasSolution(account) ? (account.trades?.length ?? null) : null),
    write: count,
  }),
];

/** Shadow price below which a limit does not bind. */
const PRICE_MIN = 1e-6;

function AccountPanel({ account }: { readonly account: Account }) {
  const { account_id: id, findings, conflicts = [] } = account;
  return (
    <SidePanel title={`Account ${id}`} onClose={() => setParameters({ account: null })}>
      {findings.length > 0 && (
        <Banner kind="bad" title="Refused">
          {findings.map(({ message }) => (
            <p key={message}>{message}</p>
          ))}
        </Banner>
      )}
      {account.status === 'infeasible' && (
        <Banner kind="bad" title="No trades satisfy all limits of this account.">
          <p>
            {conflicts.length > 0 && `Conflicting limits: ${conflicts.map(labelOf).join(', ')}. `}
            Relax one of them and submit the account again. There is nothing to trade.
          </p>
        </Banner>
      )}
      {hasSolution(account) && <Solution account={account} />}
    </SidePanel>
  );
}

/** Renders the figures and the trades of an account whose limits are satisfied. */
function Solution({ account }: { readonly account: Account }) {
  const { trades = [], shadow_prices: prices, deviations } = account;
  return (
    <>
      <Facts
        facts={[
          ['Status', account.status],
          ['Tracking error', percent(account.tracking_error, 3)],
          ['Short-term gains', decimal(account.short_gain)],
          ['Long-term gains', decimal(account.long_gain)],
          ['Tax of the year', decimal(account.tax)],
          ['Tax saved', decimal(account.tax_saved)],
          ['One more basis point saves', decimal(account.one_more_bp_saves)],
          ['A basis point of the limit costs', decimal(prices?.tracking_error_bp)],
          ...Object.entries(prices?.rows ?? {})
            .filter(([, price]) => Math.abs(price) > PRICE_MIN)
            .map(([row, price]): [string, string] => [`Price of ${labelOf(row).toLowerCase()}`, decimal(price)]),
          ...Object.entries(deviations?.variance_by_reason ?? {}).map(([reason, share]): [string, string] => [
            `Deviation by ${reason.replaceAll('_', ' ')}`,
            percent(share),
          ]),
        ]}
      />
      <Table
        label="trades"
        columns={TRADES}
        rows={trades}
        sort={{ column: 'side', direction: 'desc' }}
        keyOf={(trade) => `${trade.side} ${trade.identifier} ${trade.lot ?? ''} ${trade.gain ?? ''}`}
      />
    </>
  );
}

const TRADES: readonly Column<BatchTrade>[] = [
  { id: 'identifier', title: 'Security', width: 80, grow: 1, value: ({ identifier }) => identifier },
  { id: 'side', title: 'Side', width: 50, value: ({ side }) => side },
  numeric({ id: 'shares', title: 'Shares', width: 80, of: ({ shares }: BatchTrade) => shares, write: figure }),
  { id: 'acquired', title: 'Bought', width: 96, priority: 2, value: ({ acquired }) => acquired ?? null },
  numeric({
    id: 'cost',
    title: 'Basis',
    width: 80,
    priority: 3,
    of: ({ cost }: BatchTrade) => cost ?? null,
    write: decimal,
  }),
  numeric({ id: 'gain', title: 'Gain', width: 80, of: ({ gain }: BatchTrade) => gain ?? null, write: decimal }),
  { id: 'term', title: 'Term', width: 60, priority: 4, value: ({ term }) => term ?? null },
];
