import type {
  Finding,
  RebalancedName,
  RebalanceView,
  RebalancePack,
  RebalancePackRequest,
} from '#clients/typescript/divisor.js';
import { LinkButton, Button, Icon } from '../../components/controls/button.js';
import { Choice } from '../../components/controls/choice.js';
import { Answered, Badge, Banner, Findings, Problem, Wait } from '../../components/feedback.js';
import { Funnel } from '../../components/layout/bars.js';
import { addPoints, Metrics } from '../../components/layout/facts.js';
import { Page, Section } from '../../components/layout/page.js';
import { awaitNames, useNameAddress } from '../../components/securities.js';
import { addCurrency, type Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import {
  formatAddress,
  getParameter,
  type PageProps,
  setParameters,
  useAddressedObject,
} from '../../state/location.js';
import { NamesStore, useNames } from '../../state/market.js';
import { formatShownRunPath, readShownRun } from '../../state/runs.js';
import { service, useAnswer, useList } from '../../state/service.js';
import { formatIndexAddress, formatRebalanceAddress } from '../../words/addresses.js';
import {
  countValues,
  formatCost,
  formatCount,
  formatDecimal,
  formatMoney,
  formatPercent,
  getSignClass,
  formatChange,
} from '../../words/numbers.js';
import { getValueAt, isObject, type Json, type JsonObject } from '../../words/paths.js';
import { formatCompact, formatFirstNames } from '../../words/quantities.js';
import { Explanation, RunNote } from '../index/constituents.js';
import { useDefinitionRun } from '../index/run-settings.js';
import { formatBindingBounds } from '../optimise/bounds.js';
import '../data/data.css';
import '../designer/designer.css';
import './orders.css';
import { useState } from 'preact/hooks';
import { DateInput } from '../../components/controls/range.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { tryAction } from '../../state/actions.js';
import { saveFile } from '../../state/files.js';
import { useOneAtATime } from '../../state/latest-request.js';

const CAUSE_PHRASES: Readonly<Record<RebalanceView['cause'], string>> = {
  schedule: 'by the schedule',
  breach: 'after a breach',
  replacement: 'a constituent was replaced',
  fast_entry: 'a new security entered',
  fast_exit: 'a constituent was ranked too low',
};

function RebalanceFigures({ view }: { readonly view: RebalanceView }) {
  const { decision_date: decided, traded_on: traded, constituents, added, removed, cap, capped } = view;
  const { turnover, cost_fraction: cost, previous, cause } = view;
  return (
    <Metrics
      label="Figures of the rebalance"
      metrics={[
        {
          term: 'Decided on',
          value: decided ?? '–',
          help: 'Session whose data decided the weights',
          note: CAUSE_PHRASES[cause],
        },
        { term: 'Traded on', value: traded ?? 'before the run' },
        { term: 'Constituents', value: formatCount(constituents) },
        {
          term: 'Added',
          value: formatCount(added),
          kind: added > 0 ? 'up' : '',
          note: formatNames(view.names.filter(isAdded)),
        },
        {
          term: 'Removed',
          value: formatCount(removed),
          kind: removed > 0 ? 'down' : '',
          note: formatNames(view.names.filter(isRemoved)),
        },
        ...(previous === null
          ? [{ term: 'One-way turnover', value: 'initial construction', help: 'Nothing was held before' }]
          : [
              {
                term: 'One-way turnover',
                value: formatPercent(turnover),
                help: 'Half the sum of the absolute weight changes',
              },
              turnover !== 0 && cost === 0
                ? { term: 'Cost', value: 'not modelled', note: NO_COST_NOTE }
                : { term: 'Cost', value: formatCost(cost), help: 'Of the value at the close before, in basis points' },
            ]),
        {
          term: 'At the cap',
          value: formatCount(capped),
          note: cap === null ? 'no cap' : `cap ${formatPercent(cap)} when decided`,
        },
      ]}
    />
  );
}

/** States why trades of a run cost nothing. */
const NO_COST_NOTE = 'the run has no transaction cost';

/** Maximum number of identifiers below a figure. */
const NOTED_MAX = 3;

const formatNames = (names: readonly RebalancedName[]) =>
  formatFirstNames(
    names.map(({ identifier }) => identifier),
    NOTED_MAX,
  ) || undefined;

/** Returns true if a security enters the index at the rebalance. */
const isAdded = ({ before, target }: RebalancedName): boolean => target !== 0 && (before === null || before === 0);
/** Returns true if a security leaves the index at the rebalance. */
const isRemoved = ({ before, target }: RebalancedName): boolean => target === 0 && before !== null && before !== 0;

/** Sorts added securities first, then removed ones, then all others; within each by weight. */
function sortChangedFirst(names: readonly RebalancedName[]): readonly RebalancedName[] {
  const findPlace = (name: RebalancedName) => (isAdded(name) ? 0 : isRemoved(name) ? 1 : 2);
  return names.toSorted(
    (a, b) => findPlace(a) - findPlace(b) || b.after - a.after || (b.before ?? 0) - (a.before ?? 0),
  );
}

/** Formats the totals of the trades, and the value of the portfolio that follows from them and the turnover. */
function formatTraded({ names, turnover }: RebalanceView, currency: string): string | null {
  const trades = names.map(({ trade }) => trade ?? 0);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const [bought, sold] = [sum(trades.filter((trade) => trade > 0)), -sum(trades.filter((trade) => trade < 0))];
  if (bought + sold === 0) return null;
  const write = (value: string) => formatMoney(value, currency === '' ? null : currency);
  const totals = `Bought ${write(formatDecimal(bought, 0))}, sold ${write(formatDecimal(sold, 0))}`;
  if (turnover === null || turnover === 0) return `${totals}.`;
  return `${totals}, of a portfolio of about ${write(formatCompact((bought + sold) / 2 / turnover))}.`;
}

/** Page of one rebalance: holdings before and after, selection, and trades. */
export function RebalancePage({ params }: PageProps) {
  const { id = '', date = '' } = params;
  const view = useAnswer('getRebalance', { params: { index_id: id, date }, query: readShownRun() });
  const indices = useList('indices');
  // Only an index has orders. A strategy trades under its own terms.
  const index = indices.data?.indices.find(({ id: indexId }) => indexId === id);
  const openName = getParameter('name');
  return (
    <Page
      title={`Rebalance ${view.data?.date ?? date}`}
      above={[
        { address: '/', text: 'Indices' },
        { address: formatShownRunPath(formatIndexAddress(id)), text: id },
        {
          address: formatAddress(formatIndexAddress(id), { tab: 'rebalances', run_id: getParameter('run_id') }),
          text: 'Rebalances',
        },
      ]}
      actions={view.data && <Neighbours id={id} view={view.data} />}
    >
      <Answered resource={view} what="the rebalance">
        {(rebalance) => (
          <NamesStore.Provider value={rebalance.store_id}>
            {rebalance.requested_date !== rebalance.date && (
              <Banner
                kind="info"
                title={`No rebalance took effect on ${rebalance.requested_date}: this is the one in force then, of ${rebalance.date}.`}
              />
            )}
            <RebalanceFigures view={rebalance} />
            <Rules id={id} view={rebalance} />
            <Names view={rebalance} open={openName} currency={index?.currency ?? ''} />
            <Notes view={rebalance} currency={index?.currency ?? ''} />
            {index !== undefined && (
              <Orders
                id={id}
                currency={index.currency}
                asOf={rebalance.decision_date ?? rebalance.date}
                least={rebalance.decision_date ?? rebalance.date}
                most={rebalance.date}
                isChanged={rebalance.stale?.definition === true}
              />
            )}
            {openName !== null && (
              <Explanation
                id={id}
                identifier={openName}
                asOf={rebalance.date}
                stale={rebalance.stale}
                onClose={() => setParameters({ name: null })}
              />
            )}
          </NamesStore.Provider>
        )}
      </Answered>
    </Page>
  );
}

function Neighbours({ id, view: { previous, next } }: { readonly id: string; readonly view: RebalanceView }) {
  return (
    <>
      {previous !== null && (
        <LinkButton href={formatShownRunPath(formatRebalanceAddress(id, previous))}>← {previous}</LinkButton>
      )}
      {next !== null && <LinkButton href={formatShownRunPath(formatRebalanceAddress(id, next))}>{next} →</LinkButton>}
    </>
  );
}

/** Renders how the definition of the run selected the constituents. */
function Rules({ id, view }: { readonly id: string; readonly view: RebalanceView }) {
  const asOf = view.decision_date ?? view.date;
  const run = useDefinitionRun(id, view.stale);
  const preview = useAnswer(
    'previewIndex',
    run === null ? null : { params: { index_id: id }, body: { as_of: asOf, ...run } },
  );
  const version = view.index_version;
  // A strategy has no version of an index, and no preview.
  const definition = useAnswer(
    'getIndexVersion',
    preview.data === undefined || version === null ? null : { params: { index_id: id, version: String(version) } },
    { follows: false },
  );
  const selection = getValueAt(definition.data, ['pipeline', 'selection']);
  // A strategy has no selection rules. It holds the weights of its index.
  if (preview.data === undefined && preview.trouble?.code === 'INDEX_NOT_FOUND') return null;
  return (
    <Section title="Selection of constituents" aside={`decided on ${asOf}`}>
      <RunNote stale={view.stale} />
      <Answered resource={preview} what="the rules for each security">
        {({ steps, assets, solve, findings }) => (
          <>
            {steps !== null && (
              <Funnel
                steps={steps}
                assets={assets}
                rules={Array.isArray(selection) ? selection.filter(isObject) : []}
                onName={(name) => setParameters({ name })}
              />
            )}
            {solve !== null && (
              <p>
                Optimised from <a href={formatIndexAddress(solve.source_index_id)}>{solve.source_index_id}</a>, its
                rebalance of {solve.rebalance_date}; binding: {formatBindingBounds(solve.binding) || 'nothing'}.
              </p>
            )}
            <PreviewFindings findings={findings} />
          </>
        )}
      </Answered>
    </Section>
  );
}

/** Renders warnings and errors of the selection. Information is folded. */
function PreviewFindings({ findings }: { readonly findings: readonly Finding[] }) {
  const notes = findings.filter(({ severity }) => severity === 'info');
  const warnings = findings.filter(({ severity }) => severity !== 'info');
  return (
    <>
      {warnings.length > 0 && <Findings findings={warnings} />}
      {notes.length > 0 && (
        <details>
          <summary class="quiet">{countValues(notes.length, 'note')}</summary>
          <Findings findings={notes} />
        </details>
      )}
    </>
  );
}

const ROW_FILTERS = [
  { value: 'all', text: 'All' },
  { value: 'added', text: 'Added' },
  { value: 'removed', text: 'Removed' },
  { value: 'capped', text: 'At the cap' },
] as const;
type ShownRows = (typeof ROW_FILTERS)[number]['value'];

interface Row extends RebalancedName {
  readonly company: string | null;
  readonly sector: string | null;
}

const ROW_TESTS: Readonly<Record<ShownRows, (name: RebalancedName) => boolean>> = {
  all: () => true,
  added: isAdded,
  removed: isRemoved,
  capped: ({ capped }) => capped,
};

interface NamesProps {
  readonly view: RebalanceView;
  readonly open: string | null;
  /** Currency of the amounts; empty if unknown. */
  readonly currency: string;
}

function Names({ view, open, currency }: NamesProps) {
  const facts = useNames(
    view.names.map(({ identifier }) => identifier),
    view.date,
  );
  const shownFilter = ROW_FILTERS.find(({ value }) => value === getParameter('show'))?.value ?? 'all';
  const rows = sortChangedFirst(view.names.filter(ROW_TESTS[shownFilter])).map((name): Row => {
    const { name: company = null, sector = null } = facts.get(name.identifier) ?? {};
    return { ...name, company, sector };
  });
  return (
    <Section
      title="Before and after"
      aside={
        <Choice
          label="Securities shown"
          options={ROW_FILTERS}
          value={shownFilter}
          onChoose={(chosen) => setParameters({ show: chosen === 'all' ? null : chosen })}
        />
      }
    >
      <Table
        label="securities of the rebalance"
        name="names"
        columns={awaitNames(addCurrency(COLUMNS, ['trade', 'price'], currency), facts, ['company', 'sector'])}
        rows={rows}
        getKey={({ identifier }) => identifier}
        onOpen={({ identifier }) => setParameters({ name: identifier })}
        openKey={open}
        searchIn={({ identifier, company, sector }) => `${identifier} ${company ?? ''} ${sector ?? ''}`}
        height={560}
      />
      <p class="quiet">{formatTraded(view, currency)}</p>
    </Section>
  );
}

/** Formats an amount with its sign. */
const formatSigned = (value: number | null) => `${(value ?? 0) > 0 ? '+' : ''}${formatDecimal(value, 0)}`;

const formatWeight = (value: number | null) => formatPercent(value);

const COLUMNS: readonly Column<Row>[] = [
  {
    id: 'identifier',
    title: 'Security',
    width: 132,
    show: (row) => (
      <>
        <strong>{row.identifier}</strong> {isAdded(row) && <Badge kind="good">added</Badge>}
        {isRemoved(row) && <Badge kind="bad">removed</Badge>}
        {row.capped && <Badge title="At the cap when decided">cap</Badge>}
      </>
    ),
  },
  { id: 'company', title: 'Company', width: 110, grow: 2, priority: 6 },
  { id: 'sector', title: 'Sector', width: 110, grow: 2, priority: 5 },
  { id: 'before', adds: true, title: 'Before', width: 76, write: formatWeight },
  {
    id: 'after',
    adds: true,
    title: 'After',
    help: 'At the prices of the day in effect, to which weights have moved since the decision',
    width: 76,
    write: formatWeight,
  },
  { id: 'change', adds: true, title: 'Change', width: 80, priority: 2, write: addPoints },
  {
    id: 'uncapped',
    title: 'Uncapped',
    help: 'Weight before capping, at the prices of the day in effect',
    width: 84,
    priority: 4,
    write: formatWeight,
  },
  {
    id: 'trade',
    title: 'Traded',
    help: 'Money bought, negative for a sale, in the currency of the index',
    width: 116,
    priority: 3,
    align: 'right',
    show: ({ trade }) => (trade === 0 ? '–' : <span class={getSignClass(trade)}>{formatSigned(trade)}</span>),
  },
  {
    id: 'price',
    title: 'Price',
    help: 'Of the trade, in the currency of the index',
    width: 100,
    priority: 7,
    write: formatDecimal,
  },
];

/** Renders notes about trades at old prices and about orders that were not filled. */
function Notes({ view: { stale_fills: stale, unfilled }, currency }: Omit<NamesProps, 'open'>) {
  if (stale.length + unfilled.length === 0) return null;
  return (
    <Section title="To know">
      <ul class="pile gap-2 notes">
        {stale.map(({ identifier, last_bar: bar, sessions_old: age }) => (
          <li key={identifier}>
            <Badge kind="warning">old price</Badge> {identifier} was traded at its price of {bar},{' '}
            {countValues(age, 'session')} before.
          </li>
        ))}
        {unfilled.map(({ asset_id: name, side, reason, notional, filled_on: filled }) => (
          <li key={`${name} ${side}`}>
            <Badge kind="warning">not filled</Badge> {side} {name} for {formatDecimal(notional, 0)} {currency}:{' '}
            {reason.replace('_', ' ')}
            {filled === null ? ', never filled.' : `, filled on ${filled}.`}
          </li>
        ))}
      </ul>
    </Section>
  );
}

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
  {
    id: 'announced',
    title: 'Announced',
    help: 'Shares ordered at the announcement, negative for a sale',
    width: 96,
    value: (row) => row.shares_announced,
    write: formatCount,
  },
  { id: 'now', title: 'Now', help: 'Shares ordered now', width: 84, value: (row) => row.shares, write: formatCount },
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
  {
    id: 'worth',
    adds: true,
    title: 'Price moved',
    help: 'Since the announcement',
    width: 104,
    priority: 2,
    value: ({ price, price_announced: before }) => price / before - 1,
    write: (value) => formatChange(value),
  },
  {
    id: 'price-announced',
    title: 'Price then',
    help: 'Close of the announcement, on the share basis of now',
    width: 124,
    priority: 4,
    value: (row) => row.price_announced,
    write: formatDecimal,
  },
  { id: 'price', title: 'Price now', width: 124, priority: 3, write: formatDecimal },
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
            void tryAction(async () =>
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
        columns={addCurrency(TRADE_COLUMNS, ['value', 'cost'], currency)}
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

const TRADE_COLUMNS: readonly Column<PackState['trades'][number]>[] = [
  { id: 'name', title: 'Security', width: 72, grow: 1, value: ({ identifier }) => identifier },
  { id: 'side', title: 'Side', width: 52 },
  { id: 'shares', title: 'Shares', width: 72, write: formatCount },
  { id: 'value', adds: true, title: 'Value', width: 100, write: formatDecimal },
  {
    id: 'before',
    adds: true,
    title: 'Before',
    width: 80,
    priority: 4,
    value: (row) => row.weight_before,
    write: formatPercent,
  },
  {
    id: 'target',
    adds: true,
    title: 'Target',
    width: 80,
    priority: 3,
    value: (row) => row.weight_target,
    write: formatPercent,
  },
  {
    id: 'after',
    adds: true,
    title: 'After',
    width: 80,
    priority: 5,
    value: (row) => row.weight_after,
    write: formatPercent,
  },
  {
    id: 'days',
    title: 'Days',
    help: 'Days to trade at the given participation',
    width: 72,
    priority: 2,
    value: (row) => row.days_to_trade,
    write: formatDays,
  },
  {
    id: 'adv',
    title: 'Of ADV',
    help: 'Shares over the mean daily volume: 100% is a whole day of it',
    width: 80,
    priority: 6,
    value: (row) => row.adv_share,
    write: formatPercent,
  },
  { id: 'cost', adds: true, title: 'Cost', help: 'Expected', width: 92, priority: 6, write: formatDecimal },
  { id: 'reason', title: 'Why', width: 84, priority: 7 },
];
