import '../data/data.css';
import '../designer/designer.css';
import './orders.css';
import { useState } from 'preact/hooks';
import type { Finding, RebalancePack, RebalancePackRequest } from '#clients/typescript/divisor.js';
import { Button, Icon } from '../../components/controls/button.js';
import { Choice } from '../../components/controls/choice.js';
import { DateInput } from '../../components/controls/range.js';
import { Findings, Problem, Wait } from '../../components/feedback.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { Metrics } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import { useNameAddress } from '../../components/securities.js';
import { addCurrency, type Column, createNumericColumn } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { attempt } from '../../state/actions.js';
import { saveFile } from '../../state/files.js';
import { useOneAtATime } from '../../state/latest-request.js';
import { getParameter, setParameters, useAddressedObject } from '../../state/location.js';
import { service } from '../../state/service.js';
import { formatChange, formatCount, formatDecimal, formatPercent, getSignClass } from '../../words/numbers.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';

interface AccountProps {
  readonly account: JsonObject;
  readonly findings: readonly Finding[];
  readonly at: number;
  readonly currency: string;
  onChange(account: JsonObject | null): void;
}

/** Quantity in which holdings are entered. */
type HoldingUnit = 'shares' | 'value';

const HOLDING_PHRASES: Readonly<Record<HoldingUnit, string>> = {
  shares: 'the shares',
  value: 'the value at the close',
};

/** Renders the form of an account: its cash, and shares or values by security. */
function Account({ account, findings, at, currency, onChange }: AccountProps) {
  const path = ['accounts', at];
  const name = String(account['name'] ?? '');
  const holdingRows = Array.isArray(account['holdings']) ? (account['holdings'] as readonly JsonObject[]) : [];
  const [by, setBy] = useState<HoldingUnit>(holdingRows.some((one) => 'value' in one) ? 'value' : 'shares');
  const numbers = Object.fromEntries(holdingRows.map((one) => [String(one['identifier']), one[by]]));
  const put = (value: Json | undefined, how: HoldingUnit) => {
    const pairs = Object.entries(isObject(value) ? value : {});
    const holdings = pairs.map(([identifier, own]) => ({ identifier, [how]: own ?? null }));
    onChange({ ...account, holdings });
  };
  return (
    <section class="form-card" aria-label={name}>
      <SchemaForm
        schema="PackAccount"
        names={['name', 'cash']}
        value={account}
        findings={findings}
        path={path}
        onChange={onChange}
      />
      <FieldGrid>
        <Field
          spec={{
            name: 'holdings',
            label: 'Holdings',
            kind: 'numbers',
            help: `Identifiers, and ${HOLDING_PHRASES[by]} of each.`,
          }}
          value={numbers}
          findings={findings.filter((finding) => finding.path.startsWith(`accounts[${at}].holdings`))}
          onChange={(value) => put(value, by)}
        />
        <Choice
          label={`Holdings of ${name} by`}
          options={[
            { value: 'shares', text: 'Shares' },
            { value: 'value', text: `Value, ${currency}` },
          ]}
          value={by}
          onChoose={(how) => {
            setBy(how);
            put(numbers, how);
          }}
        />
      </FieldGrid>
      <div class="flow gap-3 form-actions">
        <Button aria-label={`Remove ${name}`} onClick={() => onChange(null)}>
          Remove
        </Button>
      </div>
    </section>
  );
}

type ReconciledPack = NonNullable<RebalancePack['reconciliation']>;
type Order = ReconciledPack['accounts'][number]['orders'][number];

interface ReconciliationProps {
  readonly reconciliation: ReconciledPack;
  /** Name of the displayed account. */
  readonly account: string;
  readonly currency: string;
}

/** Renders the orders at the announcement next to the current orders. They differ because prices have changed. */
function Reconciliation({ reconciliation: { announced, accounts }, account, currency }: ReconciliationProps) {
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
        columns={addCurrency(RECONCILIATION_COLUMNS, ['price-announced', 'price'], currency)}
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

const RECONCILIATION_COLUMNS: readonly Column<Order>[] = [
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

/** Request at first: a new portfolio buys the whole index. */
const INITIAL_TERMS: JsonObject = { aum: 1_000_000, accounts: [] };

export interface OrdersProps {
  readonly id: string;
  /** Currency of the amounts. */
  readonly currency: string;
  /** Session whose prices are used at first. The user may select another session. */
  readonly asOf: string;
  readonly least: string;
  readonly most: string;
  /** True if the stored definition differs from the definition of the displayed run. */
  readonly isChanged: boolean;
}

/** Renders the orders that give accounts the index weights of a rebalance. Nothing is stored. */
export function Orders({ isChanged, ...pack }: OrdersProps) {
  const [isOpen, setOpen] = useState(getParameter('orders') !== null);
  return (
    <details
      class="stack raised gap-3 designer-part"
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <h2>Orders of accounts</h2>
      </summary>
      {isOpen && isChanged && (
        <p class="quiet">Orders use the current definition, which differs from that of the run.</p>
      )}
      {isOpen && <Pack {...pack} />}
    </details>
  );
}

function Pack({ id, asOf: first, least, most, currency }: Omit<OrdersProps, 'isChanged'>) {
  const [asked, setAsked] = useAddressedObject('orders', INITIAL_TERMS);
  const asOf = getParameter('priced') ?? first;
  const body = { ...asked, as_of: asOf } as unknown as RebalancePackRequest; // the service validates the request
  const isEmpty = listAccounts(asked).length === 0 && asked['aum'] === undefined;
  const pack = useOneAtATime(isEmpty ? null : `${id} ${JSON.stringify(body)}`, () =>
    service.value.call('packRebalance', { params: { index_id: id }, body }),
  );
  const { data, trouble, isBehind } = pack;
  const findings = trouble?.findings ?? [];
  const cost = asked['cost'];
  return (
    <div class="stack gap-4 orders">
      <SchemaForm
        schema="RebalancePackRequest"
        names={['aum', 'participation', 'adv_sessions', 'lot_sizes']}
        changes={{ aum: { label: 'AUM', unit: currency }, adv_sessions: { label: 'Sessions of volume' } }}
        value={asked}
        findings={findings}
        onChange={setAsked}
      />
      <SchemaForm
        schema="PackCost"
        value={isObject(cost) ? cost : {}}
        findings={findings}
        path={['cost']}
        onChange={(own) => setAsked({ ...asked, cost: own })}
      />
      {listAccounts(asked).map((account, position) => (
        <Account
          key={position}
          account={account}
          findings={findings}
          at={position}
          currency={currency}
          onChange={(next) => setAsked({ ...asked, accounts: replaceValue(listAccounts(asked), position, next) })}
        />
      ))}
      <div class="flow gap-3 form-actions">
        <Button
          onClick={() => {
            const accounts = listAccounts(asked);
            const addedAccount = { name: `Account ${accounts.length + 1}`, cash: 0, holdings: [] };
            setAsked({ ...asked, accounts: [...accounts, addedAccount] });
          }}
        >
          Add an account
        </Button>
        <label class="inline-line gap-2 select">
          <span class="quiet">Closes of</span>
          <DateInput
            label="Session that prices the orders"
            value={asOf}
            least={least}
            most={most}
            onChange={(date) => setParameters({ priced: date === first ? null : date })}
          />
        </label>
        {data !== undefined && trouble === null && <Files id={id} body={body} asOf={data.as_of} />}
      </div>
      <div class={isBehind ? 'stack gap-3 live-answer is-behind' : 'stack gap-3 live-answer'} aria-busy={isBehind}>
        {isBehind && <Wait what="the orders" />}
        {!isEmpty && trouble !== null && <Problem trouble={trouble} />}
        {!isEmpty && data !== undefined && trouble === null && <PackedOrders pack={data} currency={currency} />}
      </div>
    </div>
  );
}

const FORMATS = [
  { text: 'CSV', ending: 'csv', media: 'text/csv' },
  { text: 'Excel', ending: 'xlsx', media: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet' },
  { text: 'JSON', ending: 'json', media: 'application/json' },
] as const;

interface FilesProps extends Pick<OrdersProps, 'id' | 'asOf'> {
  readonly body: RebalancePackRequest;
}

/** Renders downloads of the orders of all accounts. The JSON file contains the whole response. */
function Files({ id, body, asOf }: FilesProps) {
  const params = { index_id: id };
  return (
    <>
      {FORMATS.map(({ text, ending, media }) => (
        <Button
          key={ending}
          aria-label={`Orders as ${text}`}
          onClick={() =>
            void attempt(async () =>
              saveFile(
                `${id}-orders-${asOf}.${ending}`,
                await service.value.download('packRebalance', media, { params, body }),
              ),
            )
          }
        >
          <Icon name="down" /> {text}
        </Button>
      ))}
    </>
  );
}

const listAccounts = (request: JsonObject): readonly JsonObject[] => {
  const accounts = request['accounts'];
  return Array.isArray(accounts) ? (accounts as readonly Json[]).filter(isObject) : [];
};

/** Replaces an item of a list. If the replacement is null, removes the item. */
const replaceValue = (list: readonly JsonObject[], position: number, next: JsonObject | null): readonly JsonObject[] =>
  list.flatMap((own, i) => (i !== position ? [own] : next === null ? [] : [next]));

type PackState = RebalancePack['accounts'][number];

interface PackedOrdersProps {
  readonly pack: RebalancePack;
  readonly currency: string;
}

function PackedOrders({ pack, currency }: PackedOrdersProps) {
  const chosenAccount = getParameter('account');
  const account = pack.accounts.find(({ name }) => name === chosenAccount) ?? pack.accounts[0];
  const { days_to_trade: days, liquidation, capacity, findings, basis, effective, reconciliation } = pack;
  return (
    <>
      {findings.length > 0 && <Findings findings={findings} shown={4} />}
      <p class="quiet">
        Weights {basis.replace('_', ' ')}, priced by the closes of {pack.as_of}
        {effective !== null && `, effective ${effective}`}.
      </p>
      <Metrics
        label="Figures of all orders"
        metrics={[
          {
            term: 'Days, median',
            value: formatDecimal(days.p50),
            help: 'Days to trade a security at the given participation',
          },
          {
            term: 'Days, nine in ten',
            value: formatDecimal(days.p90),
            help: '90% of the securities are traded within this time',
          },
          { term: 'Days, slowest', value: formatDecimal(days.max) },
          ...listSellingDays(liquidation).map(({ days: within, share }) => ({
            term: `Sold in ${within} d`,
            value: formatPercent(share),
            help: 'Share of the holdings that can be sold within this number of days',
          })),
          ...capacity.map(({ days: within, aum }) => ({
            term: `Capacity ${within} d, ${currency}`,
            value: formatCount(aum),
            help: 'Largest AUM that can be invested within this number of days',
          })),
        ]}
      />
      {pack.accounts.length > 1 && account !== undefined && (
        <Choice
          label="Account"
          options={pack.accounts.map(({ name }) => ({ value: name, text: name }))}
          value={account.name}
          onChoose={(name) => setParameters({ account: name })}
        />
      )}
      {account !== undefined && <Trades account={account} currency={currency} />}
      {account !== undefined && reconciliation !== null && (
        <Reconciliation reconciliation={reconciliation} account={account.name} currency={currency} />
      )}
    </>
  );
}

/** Returns the periods in which shares can be sold, up to the first in which all are sold. */
function listSellingDays(liquidation: RebalancePack['liquidation']): RebalancePack['liquidation'] {
  const all = liquidation.findIndex(({ share }) => share >= 1);
  return all < 0 ? liquidation : liquidation.slice(0, all + 1);
}

function Trades({ account, currency }: { readonly account: PackState; readonly currency: string }) {
  const formatNameAddress = useNameAddress();
  return (
    <Section title={`Orders of ${account.name}`}>
      <Metrics
        label={`Figures of ${account.name}`}
        metrics={[
          { term: `Value, ${currency}`, value: formatCount(account.value), help: 'Before the trades' },
          { term: 'Turnover', value: formatPercent(account.turnover), help: 'Half the value traded over the value' },
          { term: `Cost, ${currency}`, value: formatDecimal(account.cost), help: 'Expected' },
          { term: `Cash after, ${currency}`, value: formatDecimal(account.cash_after) },
          {
            term: 'Drift after',
            value: formatPercent(account.drift_after),
            help: 'Remaining drift caused by lot sizes',
          },
        ]}
      />
      <Table
        label={`orders of ${account.name}`}
        columns={addCurrency(COLUMNS, ['value', 'cost'], currency)}
        rows={account.trades}
        getKey={({ identifier }) => identifier}
        formatAddress={({ identifier }) => formatNameAddress(identifier)}
        searchIn={({ identifier, side, reason }) => `${identifier} ${side} ${reason}`}
        sort={{ column: 'value', direction: 'desc' }}
        height={420}
        empty="No trades are needed."
      />
    </Section>
  );
}

/** Formats a number of days. A positive number that would be rounded to zero is shown as `< 0.01`. */
const formatDays = (days: number | null) =>
  days !== null && days > 0 && days < 0.005 ? '< 0.01' : formatDecimal(days);

const COLUMNS: readonly Column<PackState['trades'][number]>[] = [
  { id: 'name', title: 'Security', width: 72, grow: 1, value: ({ identifier }) => identifier },
  { id: 'side', title: 'Side', width: 52, value: ({ side }) => side },
  createNumericColumn({ id: 'shares', title: 'Shares', width: 72, of: ({ shares }) => shares, write: formatCount }),
  createNumericColumn({
    id: 'value',
    adds: true,
    title: 'Value',
    width: 100,
    of: ({ value }) => value,
    write: formatDecimal,
  }),
  createNumericColumn({
    id: 'before',
    adds: true,
    title: 'Before',
    width: 80,
    priority: 4,
    of: (row) => row.weight_before,
    write: formatPercent,
  }),
  createNumericColumn({
    id: 'target',
    adds: true,
    title: 'Target',
    width: 80,
    priority: 3,
    of: (row) => row.weight_target,
    write: formatPercent,
  }),
  createNumericColumn({
    id: 'after',
    adds: true,
    title: 'After',
    width: 80,
    priority: 5,
    of: (row) => row.weight_after,
    write: formatPercent,
  }),
  createNumericColumn({
    id: 'days',
    title: 'Days',
    help: 'Days to trade at the given participation',
    width: 72,
    priority: 2,
    of: (row) => row.days_to_trade,
    write: formatDays,
  }),
  createNumericColumn({
    id: 'adv',
    title: 'Of ADV',
    help: 'Shares over the mean daily volume: 100% is a whole day of it',
    width: 80,
    priority: 6,
    of: (row) => row.adv_share,
    write: formatPercent,
  }),
  createNumericColumn({
    id: 'cost',
    adds: true,
    title: 'Cost',
    help: 'Expected',
    width: 92,
    priority: 6,
    of: ({ cost }) => cost,
    write: formatDecimal,
  }),
  { id: 'reason', title: 'Why', width: 84, priority: 7, value: ({ reason }) => reason },
];
