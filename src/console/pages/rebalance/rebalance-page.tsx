import type { Finding, RebalancedName, RebalanceView } from '#clients/typescript/divisor.js';
import { LinkButton } from '../../components/controls/button.js';
import { Choice } from '../../components/controls/choice.js';
import { Answered, Badge, Banner, Findings } from '../../components/feedback.js';
import { Funnel } from '../../components/layout/bars.js';
import { addPoints, Metrics } from '../../components/layout/facts.js';
import { Page, Section } from '../../components/layout/page.js';
import { awaitNames } from '../../components/securities.js';
import { addCurrency, type Column, createNumericColumn } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { formatAddress, getParameter, type PageProps, setParameters } from '../../state/location.js';
import { NamesStore, useNames } from '../../state/market.js';
import { formatRunKey, formatShownRunPath, readShownRun } from '../../state/runs.js';
import { service, useList, useResource } from '../../state/service.js';
import { formatIndexAddress, formatRebalanceAddress } from '../../words/addresses.js';
import {
  countValues,
  formatCost,
  formatCount,
  formatDecimal,
  formatMoney,
  formatPercent,
  getSignClass,
} from '../../words/numbers.js';
import { getValueAt, isObject } from '../../words/paths.js';
import { formatCompact, formatFirstNames } from '../../words/quantities.js';
import { Explanation, RunNote } from '../index/explanation.js';
import { useDefinitionRun } from '../index/run-settings.js';
import { formatBindingBounds } from '../optimise/bounds.js';
import { Orders } from './orders.js';

const CAUSE_PHRASES: Readonly<Record<RebalanceView['cause'], string>> = {
  schedule: 'by the schedule',
  breach: 'after a breach',
  replacement: 'a constituent was replaced',
  fast_entry: 'a new security entered',
  fast_exit: 'a constituent was ranked too low',
};

/** Renders the dates, the constituents, the trading and the cap of a rebalance. */
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
  const view = useResource(`rebalance ${formatRunKey(id)} ${date}`, (signal) =>
    service.value.call('getRebalance', { params: { index_id: id, date }, query: readShownRun(), signal }),
  );
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
  const preview = useResource(run === null ? null : `preview ${id} ${asOf} ${run.run_id ?? ''}`, (signal) =>
    service.value.call('previewIndex', { params: { index_id: id }, body: { as_of: asOf, ...run }, signal }),
  );
  const version = view.index_version;
  // A strategy has no version of an index, and no preview.
  const definition = useResource(
    preview.data === undefined || version === null ? null : `definition ${id} ${version}`,
    (signal) => service.value.call('getIndexVersion', { params: { index_id: id, version: String(version) }, signal }),
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
    value: ({ identifier }) => identifier,
    show: (row) => (
      <>
        <strong>{row.identifier}</strong> {isAdded(row) && <Badge kind="good">added</Badge>}
        {isRemoved(row) && <Badge kind="bad">removed</Badge>}
        {row.capped && <Badge title="At the cap when decided">cap</Badge>}
      </>
    ),
  },
  { id: 'company', title: 'Company', width: 110, grow: 2, priority: 6, value: ({ company }) => company },
  { id: 'sector', title: 'Sector', width: 110, grow: 2, priority: 5, value: ({ sector }) => sector },
  createNumericColumn({
    id: 'before',
    adds: true,
    title: 'Before',
    width: 76,
    of: ({ before }) => before,
    write: formatWeight,
  }),
  createNumericColumn({
    id: 'after',
    adds: true,
    title: 'After',
    help: 'At the prices of the day in effect, to which weights have moved since the decision',
    width: 76,
    of: ({ after }) => after,
    write: formatWeight,
  }),
  createNumericColumn({
    id: 'change',
    adds: true,
    title: 'Change',
    width: 80,
    priority: 2,
    of: ({ change }) => change,
    write: addPoints,
  }),
  createNumericColumn({
    id: 'uncapped',
    title: 'Uncapped',
    help: 'Weight before capping, at the prices of the day in effect',
    width: 84,
    priority: 4,
    of: ({ uncapped }) => uncapped,
    write: formatWeight,
  }),
  {
    id: 'trade',
    title: 'Traded',
    help: 'Money bought, negative for a sale, in the currency of the index',
    width: 116,
    priority: 3,
    align: 'right',
    value: ({ trade }) => trade,
    show: ({ trade }) => (trade === 0 ? '–' : <span class={getSignClass(trade)}>{formatSigned(trade)}</span>),
  },
  {
    id: 'price',
    title: 'Price',
    help: 'Of the trade, in the currency of the index',
    width: 100,
    priority: 7,
    align: 'right',
    value: ({ price }) => price,
    show: ({ price }) => formatDecimal(price),
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
