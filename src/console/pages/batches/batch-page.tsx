import type { BatchAccount, BatchLot, BatchTrade, BatchView, JobStatus } from '#clients/typescript/divisor.js';
import { Select } from '../../components/controls/choice.js';
import { Menu } from '../../components/controls/menu.js';
import { Answered, Badge, Banner } from '../../components/feedback.js';
import { JobState } from '../../components/jobs.js';
import { SidePanel } from '../../components/layout/dialog.js';
import { Facts } from '../../components/layout/facts.js';
import { Page, Section } from '../../components/layout/page.js';
import { type Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { tryAction } from '../../state/actions.js';
import { saveFile } from '../../state/files.js';
import { getJob } from '../../state/live.js';
import { getParameter, type PageProps, setParameters } from '../../state/location.js';
import { service, useAnswer, useList, useResource } from '../../state/service.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { formatLabel } from '../../words/labels.js';
import {
  countValues,
  formatBps,
  formatCount,
  formatDecimal,
  formatFigure,
  formatPercent,
} from '../../words/numbers.js';
import {
  type SolvedAccount,
  Conflicts,
  type Deviation,
  Figures,
  formatConflict,
  formatRule,
  formatAccountStatus,
  hasSolution,
  isRounded,
  Outcomes,
  type ResultProps,
  TrackingErrors,
} from './batch-figures.js';

/** Minimum shadow price of a binding limit. */
const PRICE_MIN = 1e-6;

/** Renders an account: its figures, trades, lots and deviations. */
function AccountPanel({ account }: { readonly account: SolvedAccount }) {
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
          {conflicts.length > 0 && (
            <>
              <p>These limits conflict. An amount is how much one limit has to give if all others stay.</p>
              <ul>
                {conflicts.map((rule) => (
                  <li key={rule}>{formatConflict(account, rule)}</li>
                ))}
              </ul>
            </>
          )}
          <p>
            {isRounded(account) && 'Rounding found no trades; a few more shares or smaller trades may exist. '}
            Relax one of the limits and submit the account again. There is nothing to trade.
          </p>
        </Banner>
      )}
      {hasSolution(account) && <Solution account={account} />}
    </SidePanel>
  );
}

/** Returns the taxed gains by term, or by pot if the account has a tax regime with other pots. */
function listGains({ trades = [], short_gain, long_gain }: SolvedAccount): [string, string][] {
  const pots = [...new Set(trades.flatMap(({ term }) => term ?? []))];
  if (pots.every((pot) => pot === 'short' || pot === 'long'))
    return [
      ['Short-term gains', formatDecimal(short_gain)],
      ['Long-term gains', formatDecimal(long_gain)],
    ];
  return pots.map((pot) => [
    `Gains of the pot ${pot}`,
    formatDecimal(trades.reduce((sum, { term, gain = 0 }) => (term === pot ? sum + gain : sum), 0)),
  ]);
}

function Solution({ account }: { readonly account: SolvedAccount }) {
  const { trades = [], shadow_prices: prices, deviations, lots_after: lots } = account;
  return (
    <>
      <Facts
        facts={[
          ['Status', formatAccountStatus(account)],
          ['Gap', formatBps(account.certificate?.gap)],
          ['Value', formatDecimal(account.value)],
          ['Cash after trading', formatDecimal(account.cash)],
          ['Costs', formatDecimal(account.costs)],
          ['Forecast tracking error', formatPercent(account.tracking_error, 3)],
          ['Forecast tracking error before', formatPercent(account.tracking_error_before, 3)],
          ...listGains(account),
          ...((account.disallowed_loss ?? 0) > 0
            ? [['Disallowed losses', formatDecimal(account.disallowed_loss)] as [string, string]]
            : []),
          ['Tax of the year', formatDecimal(account.tax)],
          ['Tax saved', formatDecimal(account.tax_saved)],
          ['One more basis point saves', formatDecimal(account.one_more_bp_saves)],
          ...(prices !== undefined && prices.tracking_error_bp > PRICE_MIN
            ? [['A basis point of the limit costs', formatDecimal(prices.tracking_error_bp)] as [string, string]]
            : []),
          ...Object.entries(prices?.rows ?? {})
            .filter(([, price]) => Math.abs(price) > PRICE_MIN)
            .map(([row, price]): [string, string] => [
              `Price of ${formatRule(row).toLowerCase()}`,
              formatDecimal(price),
            ]),
          ...Object.entries(deviations?.variance_by_reason ?? {}).map(([reason, share]): [string, string] => [
            `Deviation by ${reason.replaceAll('_', ' ')}`,
            formatPercent(share),
          ]),
        ]}
      />
      <h3>Trades</h3>
      <Table
        label="trades"
        columns={TRADE_COLUMNS}
        rows={trades}
        sort={{ column: 'side', direction: 'desc' }}
        getKey={(trade) => `${trade.side} ${trade.identifier} ${trade.lot ?? ''} ${trade.gain ?? ''}`}
      />
      <h3>Lots after trading</h3>
      {lots === null || lots === undefined ? (
        <p class="quiet">Lots are listed for accounts of at most 500.</p>
      ) : (
        <Table
          label="lots"
          columns={LOT_COLUMNS}
          rows={lots}
          getKey={(lot) => `${lot.lot ?? 'bought'} ${lot.identifier} ${lot.cost} ${lot.acquired}`}
        />
      )}
      <h3>Largest deviations from the parent</h3>
      <Table
        label="deviations"
        columns={DEVIATION_COLUMNS}
        rows={deviations?.largest ?? []}
        getKey={({ identifier }) => identifier}
      />
    </>
  );
}

const TRADE_COLUMNS: readonly Column<BatchTrade>[] = [
  { id: 'identifier', title: 'Security', width: 80, grow: 1 },
  { id: 'side', title: 'Side', width: 50 },
  { id: 'shares', title: 'Shares', width: 80, write: formatFigure },
  { id: 'acquired', title: 'Bought', width: 96, priority: 2, value: ({ acquired }) => acquired ?? null },
  {
    id: 'cost',
    title: 'Basis',
    width: 80,
    priority: 3,
    value: ({ cost }: BatchTrade) => cost ?? null,
    write: formatDecimal,
  },
  { id: 'gain', title: 'Gain', width: 80, value: ({ gain }: BatchTrade) => gain ?? null, write: formatDecimal },
  {
    id: 'disallowed',
    title: 'Disallowed loss',
    width: 110,
    value: ({ disallowed_loss: loss }: BatchTrade) => loss ?? null,
    write: formatDecimal,
  },
  { id: 'term', title: 'Term', width: 60, priority: 4, value: ({ term }) => term ?? null },
];

const LOT_COLUMNS: readonly Column<BatchLot>[] = [
  { id: 'identifier', title: 'Security', width: 80, grow: 1 },
  { id: 'shares', title: 'Shares', width: 80, write: formatFigure },
  { id: 'acquired', title: 'Bought', width: 96 },
  { id: 'cost', title: 'Basis', width: 80, write: formatDecimal },
  {
    id: 'gain',
    title: 'Unrealised',
    width: 90,
    adds: true,
    value: ({ unrealised_gain: gain }: BatchLot) => gain,
    write: formatDecimal,
  },
];

const DEVIATION_COLUMNS: readonly Column<Deviation>[] = [
  { id: 'identifier', title: 'Security', width: 80, grow: 1 },
  {
    id: 'active',
    title: 'Active weight',
    width: 100,
    value: ({ active_weight: active }: Deviation) => active,
    write: (value) => formatPercent(value, 3),
  },
  {
    id: 'share',
    title: 'Of variance',
    width: 90,
    value: ({ variance_share: share }: Deviation) => share,
    write: formatPercent,
  },
  { id: 'reason', title: 'Reason', width: 96, value: ({ reason }) => reason.replaceAll('_', ' ') },
];

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
function BatchAccounts({ batchId, progress, currency = null }: BatchAccountsProps) {
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
          {(read) => <AccountTable accounts={read.accounts as readonly SolvedAccount[]} />}
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
          <button type="button" onClick={() => void tryAction(() => save(table))}>
            {text}
          </button>
        </li>
      ))}
    </Menu>
  );
}

const SEARCHED_MIN = 20;

function AccountTable({ accounts }: { readonly accounts: readonly SolvedAccount[] }) {
  const openAccount = accounts.find((account) => account.account_id === getParameter('account'));
  return (
    <>
      <Table
        label="accounts"
        name="accounts"
        columns={ACCOUNT_COLUMNS}
        rows={accounts}
        {...(accounts.length > SEARCHED_MIN ? { searchIn: (account: SolvedAccount) => account.account_id ?? '' } : {})}
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

const ACCOUNT_COLUMNS: readonly Column<SolvedAccount>[] = [
  { id: 'account', title: 'Account', width: 120, grow: 1, value: ({ account_id }) => account_id },
  {
    id: 'status',
    title: 'Status',
    width: 132,
    show: (account) => <Badge kind={STATUS_KINDS[account.status]}>{formatAccountStatus(account)}</Badge>,
  },
  {
    id: 'before',
    title: 'TE before',
    help: 'Annual forecast tracking error before the trades',
    width: 90,
    priority: 2,
    value: (account: SolvedAccount) => account.tracking_error_before ?? null,
    write: (value) => formatPercent(value, 3),
  },
  {
    id: 'tracking',
    title: 'TE after',
    help: 'Annual forecast tracking error after the trades',
    width: 90,
    value: (account: SolvedAccount) => (hasSolution(account) ? (account.tracking_error ?? null) : null),
    write: (value) => formatPercent(value, 3),
  },
  {
    id: 'value',
    title: 'Value',
    width: 110,
    priority: 3,
    adds: true,
    value: (account: SolvedAccount) => account.value ?? null,
    write: formatDecimal,
  },
  {
    id: 'tax',
    title: 'Tax',
    width: 90,
    adds: true,
    value: (account: SolvedAccount) => (hasSolution(account) ? (account.tax ?? null) : null),
    write: formatDecimal,
  },
  {
    id: 'saved',
    title: 'Tax saved',
    width: 90,
    adds: true,
    value: (account: SolvedAccount) => (hasSolution(account) ? (account.tax_saved ?? null) : null),
    write: formatDecimal,
  },
  {
    id: 'costs',
    title: 'Costs',
    width: 80,
    priority: 3,
    adds: true,
    value: (account: SolvedAccount) => (hasSolution(account) ? (account.costs ?? null) : null),
    write: formatDecimal,
  },
  {
    id: 'gap',
    title: 'Gap',
    width: 80,
    priority: 4,
    value: (account: SolvedAccount) => (hasSolution(account) ? (account.certificate?.gap ?? null) : null),
    write: formatBps,
  },
  {
    id: 'trades',
    title: 'Trades',
    width: 70,
    priority: 2,
    value: (account: SolvedAccount) => (hasSolution(account) ? (account.trades?.length ?? null) : null),
    write: formatCount,
  },
];

/** Page of a batch: its figures, the distribution of the tracking error, conflicts by rule, and the accounts. */
export function BatchPage({ params }: PageProps) {
  const id = params['id'] ?? '';
  const job = useAnswer('getJob', { params: { job_id: `batch:${id}` } });
  const parent = (job.data?.request as { readonly parent: string } | undefined)?.parent; // every batch request has a parent
  const indices = useList('indices');
  const currency = indices.data?.indices.find((index) => index.id === parent)?.currency ?? null;
  const view = job.data?.status === 'succeeded' ? (job.data.result as BatchView) : null; // the kind of the job determines the type of its result
  return (
    <Page
      title={id}
      above={[{ address: '/console/batches', text: 'Personal indices' }]}
      subtitle={job.data !== undefined && <Subtitle job={job.data} view={view} />}
    >
      <Answered resource={job} what="the batch">
        {(first) => (
          <>
            <JobState job={getJob(`batch:${id}`) ?? first} />
            {view !== null && <Result view={view} currency={currency} />}
            {view === null && isRunning(first) && (
              <BatchAccounts batchId={id} progress={(getJob(`batch:${id}`) ?? first).progress} />
            )}
          </>
        )}
      </Answered>
    </Page>
  );
}

interface SubtitleProps {
  readonly job: JobStatus;
  /** Result; null until the batch has succeeded. */
  readonly view: BatchView | null;
}

/** Renders the number of accounts, the parent, the valuation date, the risk model, and the time of the request. */
function Subtitle({ job: { request, created_at: submitted }, view }: SubtitleProps) {
  const { parent, accounts } = request as { readonly parent: string; readonly accounts: number }; // every batch request has these members
  return (
    <span>
      {countValues(accounts, 'account')} of <a href={formatIndexAddress(parent)}>{parent}</a>
      {view !== null && `\u00A0· valued on ${view.as_of}\u00A0· risk model ${view.risk_model}`}
      {`\u00A0· submitted ${formatMoment(submitted)}`}
    </span>
  );
}

const isRunning = ({ status }: JobStatus): boolean => status === 'pending' || status === 'running';

function Result({ view, currency }: ResultProps) {
  return (
    <>
      <Figures view={view} currency={currency} />
      <div class="pile gap-5 side-by-side">
        <TrackingErrors view={view} />
        <Outcomes view={view} />
      </div>
      <BatchAccounts batchId={view.batch_id} progress={1} currency={currency} />
      <Conflicts view={view} />
      {view.refused.length > 0 && (
        <Section title="Refused accounts" aside={view.refused.length < 100 ? undefined : 'the first 100'}>
          <Table
            label="refused accounts"
            columns={REFUSED_COLUMNS}
            rows={view.refused}
            getKey={({ position }) => String(position)}
          />
        </Section>
      )}
    </>
  );
}

type RefusedAccount = BatchView['refused'][number];

const REFUSED_COLUMNS: readonly Column<RefusedAccount>[] = [
  { id: 'account', title: 'Account', width: 120, value: ({ account_id }) => account_id },
  {
    id: 'position',
    title: 'Position',
    help: 'Place in the list of accounts; the first is 1',
    width: 80,
    priority: 2,
    value: ({ position }: RefusedAccount) => position + 1,
    write: formatCount,
  },
  {
    id: 'findings',
    title: 'Findings',
    width: 230,
    grow: 1,
    value: ({ findings }) => findings.map(formatSentence).join(' '),
    show: ({ findings }) => (
      <span title={findings.map(formatSentence).join('\n')}>{findings.map(formatSentence).join(' ')}</span>
    ),
  },
];

/**
 * Returns the message of a finding. The position and the id of the account are removed, because they are in other
 * columns.
 */
const formatSentence = ({ message }: RefusedAccount['findings'][number]): string => {
  const shortMessage = message.replace(/^accounts\[\d+\](?:(?:, account [\w-]+)?: |\.)/, '');
  return shortMessage === message ? message.replace(/, account [\w-]+: /, ': ') : formatLabel(shortMessage);
};
