import { useMemo } from 'preact/hooks';
import type { ActionsView, DividendPointsView, IndexAction, OverviewView } from '#clients/typescript/divisor.js';
import { Choice } from '../../components/controls/choice.js';
import { ExportMenu } from '../../components/controls/menu.js';
import { findChosenRange, RangeBar } from '../../components/controls/range.js';
import { Answered, Badge } from '../../components/feedback.js';
import { Bars } from '../../components/layout/bars.js';
import { type LabelledFigure, Metrics } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import { createNameColumns, nameColumn, useNameAddress } from '../../components/securities.js';
import { type Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { WrittenTable } from '../../components/versions/change-table.js';
import { getParameter, setParameters } from '../../state/location.js';
import { type NameFacts, useNames } from '../../state/market.js';
import { formatRunKey, readShownRun } from '../../state/runs.js';
import { service, useAnswer, useResource } from '../../state/service.js';
import { formatActionValue, formatType } from '../../words/actions.js';
import { parseDayNumber, subtractMonths } from '../../words/dates.js';
import {
  countValues,
  formatChange,
  formatCount,
  formatDecimal,
  formatFigure,
  formatMoney,
  formatPercent,
} from '../../words/numbers.js';
import type { RunPartProps } from './run-tabs.js';

/**
 * Returns the columns of the corporate actions of an index. Index points and changes of the divisor have a column only
 * if a row has a value.
 */
function createActionColumns(
  rows: readonly IndexAction[],
  facts: ReadonlyMap<string, NameFacts>,
): readonly Column<IndexAction>[] {
  return [
    { id: 'date', title: 'Ex-date', width: 100, grow: 0, value: ({ ex_date: date }) => date },
    ...createNameColumns(facts).map((column) =>
      column.id === 'company' ? { ...column, width: 96, ideal: 180, grow: 6 } : { ...column, grow: 0 },
    ),
    rows.some(({ state, awaits_decision: awaits }) => awaits || state === 'coming')
      ? { ...TYPE_COLUMN, width: MARKED_TYPE_WIDTH }
      : TYPE_COLUMN,
    createTermsColumn(facts),
    ...(rows.some((row) => row.dividend_points !== null) ? [POINTS_COLUMN] : []),
    ...(rows.some((row) => row.dividend_points !== row.net_dividend_points) ? [NET_POINTS_COLUMN] : []),
    ...EFFECT_COLUMNS,
    ...(rows.some(changesDivisor) ? [DIVISOR_COLUMN] : []),
  ];
}

/** Width of a type with the mark of a coming action, in pixels. */
const MARKED_TYPE_WIDTH = 186;

const TYPE_COLUMN: Column<IndexAction> = {
  id: 'type',
  title: 'Action',
  width: 116,
  grow: 1,
  show: ({ type, related, state, awaits_decision: awaits }) => (
    <>
      {formatType(type)}
      {related !== null && ` (${related})`}{' '}
      {awaits ? <Badge kind="warning">to decide</Badge> : state === 'coming' && <Badge kind="info">coming</Badge>}
    </>
  ),
};

const createTermsColumn = (facts: ReadonlyMap<string, NameFacts>): Column<IndexAction> => {
  const formatTerms = ({ identifier, type, value }: IndexAction): string =>
    formatActionValue(type, value, facts.get(identifier)?.currency ?? null);
  return {
    id: 'value',
    title: 'Terms',
    help: 'By type of action: cash in the currency of the security, shares per share held, or a ratio',
    width: 150,
    priority: 2,
    align: 'right',
    show: formatTerms,
    showBelow: formatTerms,
  };
};

/** Number of decimals of index points. One dividend is often below 0.1 points. */
const POINT_DIGITS = 4;
const formatDividendPoints = (points: number | null): string => formatDecimal(points, POINT_DIGITS);

const POINTS_COLUMN: Column<IndexAction> = {
  id: 'points',
  title: 'Index points',
  help: 'Ordinary dividend in index points before withholding tax: amount times index shares over the divisor',
  width: 96,
  priority: 2,
  adds: true,
  value: (row) => row.dividend_points,
  write: formatDividendPoints,
  showBelow: (row) => (row.dividend_points === null ? null : `${formatDividendPoints(row.dividend_points)} points`),
};

const NET_POINTS_COLUMN: Column<IndexAction> = {
  id: 'netPoints',
  title: 'After tax',
  help: 'Index points after withholding tax, as a net return index reinvests them',
  width: 88,
  priority: 3,
  adds: true,
  value: (row) => row.net_dividend_points,
  write: formatDividendPoints,
};

/** Formats the index shares before and after an action. If they did not change, they are written once. */
function formatShares({ shares_before: before, shares_after: after }: IndexAction): string {
  const [from, to] = [formatDecimal(before, 4), formatDecimal(after, 4)];
  return from === to ? to : `${from} → ${to}`;
}

const EFFECT_COLUMNS: readonly Column<IndexAction>[] = [
  { id: 'announced', title: 'Announced', width: 100, priority: 6 },
  {
    id: 'before',
    title: 'Weight before',
    help: 'At the close before the ex-date; for announced actions on the last date of the run',
    width: 108,
    priority: 1,
    value: (row) => row.weight_before,
    write: (value) => formatPercent(value),
    showBelow: (row) => row.weight_before !== null && `weight ${formatPercent(row.weight_before)}`,
  },
  {
    id: 'after',
    title: 'Weight after',
    help: 'At the close of the ex-date, with the price move of the day; pro forma for announced actions',
    width: 100,
    priority: 3,
    value: (row) => row.weight_after,
    write: (value) => formatPercent(value),
  },
  {
    id: 'shares',
    title: 'Index shares',
    help: 'Weight times level over price, before and after',
    width: 150,
    priority: 7,
    align: 'right',
    value: (row) => row.shares_before,
    show: formatShares,
  },
];

const changesDivisor = ({ divisor_before: before, divisor_after: after }: IndexAction): boolean =>
  formatFigure(before) !== formatFigure(after);

const DIVISOR_COLUMN: Column<IndexAction> = {
  id: 'divisor',
  title: 'Divisor change',
  help: 'Before the action and after all actions of its session; empty if the divisor does not change',
  width: 160,
  priority: 5,
  align: 'right',
  value: (row) => (changesDivisor(row) ? row.divisor_after : null),
  show: (row) => changesDivisor(row) && `${formatFigure(row.divisor_before)} → ${formatFigure(row.divisor_after)}`,
};

/**
 * Reads the ordinary dividends in index points. If the prices of a run include dividends, the service refuses the
 * request.
 */
function useDividendPoints(id: string) {
  const range = findChosenRange();
  const query = { ...readShownRun(), ...(range === null ? {} : { start: range.from, end: range.to }) };
  return useAnswer('getDividendPoints', { params: { index_id: id }, query }, { keeps: true });
}

/** Returns the dividends of twelve months, their yield, and the announced dividends, in index points. */
function listDividendFigures(view: DividendPointsView): readonly LabelledFigure[] {
  const { trailing, announced, as_of: asOf, withholding_tax: tax } = view;
  const formatNet = (points: number): string => (tax === 0 ? '' : `, ${formatDecimal(points)} after tax`);
  return [
    {
      term: 'Dividends, 12 months',
      value: formatDecimal(trailing.points),
      note: `points up to ${asOf}${formatNet(trailing.net_points)}`,
    },
    {
      term: 'Dividend yield',
      value: formatPercent(trailing.yield),
      note: 'of the last price level',
      help: 'Points over the level without dividends on the last date of the run',
    },
    {
      term: 'Announced dividends',
      value: announced.dividends_total === 0 ? 'none' : formatDecimal(announced.points),
      note:
        announced.dividends_total === 0
          ? `after ${asOf}`
          : `points of ${countValues(announced.dividends_total, 'dividend')} after ${asOf}${formatNet(announced.net_points)}`,
    },
  ];
}

/** Renders the dividends in index points by year. Renders nothing if the prices of the run include dividends. */
function DividendYears({ id }: { readonly id: string }) {
  const view = useDividendPoints(id);
  if (view.data === undefined && view.trouble?.code === 'VARIANT_NOT_AVAILABLE') return null;
  return (
    <Section
      title="Dividends in index points"
      aside={`ordinary dividends by ex-date${view.data?.withholding_tax === 0 ? ', no withholding tax' : ''}`}
    >
      <Answered resource={view} what="the dividend points">
        {({ years, withholding_tax: tax }) => (
          <Bars
            label="Dividends by year, index points"
            {...(tax === 0 ? {} : { heads: ['Before withholding tax', 'After tax'] })}
            bars={years.map(({ year, points, net_points: net }) => ({
              label: String(year),
              value: points,
              ...(tax === 0 ? {} : { cells: [formatDecimal(net)] }),
            }))}
            isPlain
            format={(value) => formatDecimal(value)}
          />
        )}
      </Answered>
    </Section>
  );
}

interface Exit {
  readonly date: string;
  readonly identifier: string;
  readonly effect: number | null;
  readonly divisorBefore: number | null;
  readonly divisorAfter: number | null;
  /** True if the security had no price for too long, and no corporate action ended it. */
  readonly isSilent: boolean;
}

interface ExitsProps {
  readonly id: string;
  /** Listed corporate actions, which are the reasons of exits. */
  readonly actions: readonly IndexAction[];
}

/** Renders the securities that left between rebalances, with or without a corporate action. */
function Exits({ id, actions }: ExitsProps) {
  const range = findChosenRange();
  const view = useResource(
    `exits of ${formatRunKey(id)} ${range?.from} ${range?.to}`,
    (signal) => readExits(id, signal),
    {
      keeps: true,
    },
  );
  if (view.data?.length === 0) return null;
  return (
    <Section title="Constituents that left between rebalances" aside="with the change of the divisor">
      <Answered resource={view} what="the securities that left">
        {(exits) => <ExitTable id={id} exits={exits} actions={actions} />}
      </Answered>
    </Section>
  );
}

function ExitTable({ id, exits, actions }: ExitsProps & { readonly exits: readonly Exit[] }) {
  const formatNameAddress = useNameAddress();
  const facts = useNames(
    exits.map(({ identifier }) => identifier),
    exits.reduce((latest, { date }) => (date > latest ? date : latest), ''),
  );
  return (
    <Table
      label={`securities that left ${id}`}
      columns={createExitColumns(facts, actions)}
      rows={exits}
      getKey={({ date, identifier }) => `${date} ${identifier}`}
      formatAddress={({ identifier }) => formatNameAddress(identifier)}
      sort={{ column: 'date', direction: 'desc' }}
      height={320}
    />
  );
}

async function readExits(id: string, signal: AbortSignal): Promise<readonly Exit[]> {
  const range = findChosenRange();
  const run = readShownRun();
  const [{ columns, data }, { findings }] = await Promise.all([
    service.value.call('exportRun', {
      params: { index_id: id, table: 'events' },
      query: { ...run, ...(range === null ? {} : { start: range.from, end: range.to }), format: 'json' },
      signal,
    }),
    service.value.call('listRebalances', { params: { index_id: id }, query: run, signal }),
  ]);
  const getCell = (row: readonly unknown[], name: string) => row[columns.indexOf(name)];
  const findNumber = (row: readonly unknown[], name: string) => getCell(row, name) as number | null; // these columns contain numbers or null
  return data
    .filter((row) => getCell(row, 'type') === 'exit')
    .map((row) => {
      const [date, identifier] = [String(getCell(row, 'date')), String(getCell(row, 'identifier'))];
      return {
        date,
        identifier,
        effect: findNumber(row, 'effect'),
        divisorBefore: findNumber(row, 'divisor_before'),
        divisorAfter: findNumber(row, 'divisor_after'),
        isSilent: findings.some(
          ({ code, places, first_date: leftOn }) =>
            code === 'SILENT_DELISTING' && leftOn === date && places?.includes(identifier),
        ),
      };
    });
}

/** Returns the reason of an exit: the corporate action that ended the holding, if it is listed. */
function formatReason({ date, identifier, isSilent }: Exit, actions: readonly IndexAction[]): string {
  if (isSilent) return 'No price for too long';
  const action = actions.find((one) => one.ex_date === date && one.identifier === identifier && one.weight_after === 0);
  if (action === undefined) return 'Corporate action, such as a delisting or a merger';
  return action.related === null ? formatType(action.type) : `${formatType(action.type)} (${action.related})`;
}

const createExitColumns = (
  facts: ReadonlyMap<string, NameFacts>,
  actions: readonly IndexAction[],
): readonly Column<Exit>[] => [
  { id: 'date', title: 'At the close of', width: 110 },
  { ...nameColumn(facts), width: 110, grow: 2 },
  {
    id: 'reason',
    title: 'Reason',
    width: 150,
    grow: 2,
    value: (exit) => formatReason(exit, actions),
  },
  {
    id: 'effect',
    title: 'Effect on divisor',
    help: 'Relative change of the divisor caused by the removed market value',
    width: 140,
    write: (value) => formatChange(value, 4),
  },
  {
    id: 'divisor',
    title: 'Divisor',
    help: 'Before and after all events of the session',
    width: 170,
    priority: 2,
    align: 'right',
    value: (row) => row.divisorAfter,
    show: ({ divisorBefore: before, divisorAfter: after }) =>
      formatFigure(before) === formatFigure(after)
        ? formatFigure(after)
        : `${formatFigure(before)} → ${formatFigure(after)}`,
  },
];

/** Renders the effects of past and announced corporate actions on the index. */
export function Actions({ id, run }: RunPartProps) {
  const range = findChosenRange();
  // Without a range, the query includes actions after the end of the run.
  const query = { ...readShownRun(), ...(range === null ? {} : { from: range.from, to: range.to }) };
  const view = useResource(
    `actions of ${formatRunKey(id)} ${range?.from} ${range?.to}`,
    async (signal) => {
      const request = { params: { index_id: id }, signal };
      const all = await service.value.call('getIndexActions', { ...request, query });
      const { actions, actions_total: total } = all;
      if (range !== null || total <= actions.length) return all;
      // One response cannot contain all actions. For the whole run, only the latest actions are shown.
      const from = computeLatestStart(run, actions.length / total);
      const latest = await service.value.call('getIndexActions', { ...request, query: { ...query, from } });
      return { ...latest, actions_total: total };
    },
    { keeps: true },
  );
  return (
    <div class="stack gap-4 index-part">
      <RangeBar start={run.start} end={run.end} />
      <Answered resource={view} what="the corporate actions">
        {(found) => <ActionTable id={id} view={found} />}
      </Answered>
      <Exits id={id} actions={view.data?.actions ?? []} />
      <DividendYears id={id} />
    </div>
  );
}

const DAYS_PER_MONTH = 30;

/**
 * Returns the date from which to request actions, so that about the given share of all actions is later, minus a margin
 * of 20%. Assumes that the actions are spread evenly over the run.
 */
function computeLatestStart({ start, end }: Pick<OverviewView, 'start' | 'end'>, share: number): string {
  const months = (parseDayNumber(end) - parseDayNumber(start)) / DAYS_PER_MONTH;
  return subtractMonths(end, Math.floor(0.8 * share * months));
}

function ActionTable({
  id,
  view: { actions, actions_total: total, as_of: asOf },
}: {
  readonly id: string;
  readonly view: ActionsView;
}) {
  const dividends = useDividendPoints(id).data;
  const kind = KIND_FILTERS.find(({ value }) => value === getParameter('kind'))?.value ?? 'all';
  const coming = actions.filter(({ state }) => state === 'coming').length;
  const names = useMemo(() => [...new Set(actions.map(({ identifier }) => identifier))], [actions]);
  const facts = useNames(names, asOf);
  const formatNameAddress = useNameAddress();
  const rows = useMemo(() => actions.filter(KIND_TESTS[kind]), [actions, kind]);
  const columns = useMemo(() => createActionColumns(rows, facts), [rows, facts]);
  return (
    <Section
      title="Corporate actions"
      aside={
        <>
          <span>
            {countValues(total, 'action')}
            {coming === 0 ? ` to ${asOf}` : `, ${formatCount(coming)} of them after ${asOf}`}
          </span>
          <ExportMenu id={id} table="events" text="events" />
        </>
      }
    >
      {total > actions.length && (
        <p class="quiet">The latest {formatCount(actions.length)} are shown; a range of dates shows others.</p>
      )}
      {dividends !== undefined && <Metrics label="Dividends of the index" metrics={listDividendFigures(dividends)} />}
      <Choice
        label="Actions shown"
        options={KIND_FILTERS.map((filter) => ({
          ...filter,
          count: actions.filter(KIND_TESTS[filter.value]).length,
        }))}
        value={kind}
        onChoose={(value) => setParameters({ kind: value === 'all' ? null : value })}
      />
      <Decisions actions={actions} asOf={asOf} />
      <Table
        label={`corporate actions of ${id}`}
        name="actions"
        columns={columns}
        rows={rows}
        getKey={({ ex_date: date, identifier, type }) => `${date} ${identifier} ${type}`}
        formatAddress={({ identifier }) => formatNameAddress(identifier)}
        searchIn={({ ex_date: date, identifier, type, related }) =>
          `${date} ${identifier} ${facts.get(identifier)?.name ?? ''} ${type} ${related ?? ''}`
        }
        sort={{ column: 'date', direction: 'desc' }}
        height={620}
        empty="No corporate actions of constituents."
      />
    </Section>
  );
}

const KIND_FILTERS = [
  { value: 'all', text: 'All' },
  { value: 'dividends', text: 'Dividends' },
  { value: 'splits', text: 'Splits' },
  { value: 'others', text: 'Other actions' },
] as const;

const isDividend = ({ type }: IndexAction): boolean => type.endsWith('DIVIDEND') && type !== 'STOCK_DIVIDEND';
const isSplit = ({ type }: IndexAction): boolean => type === 'SPLIT' || type === 'STOCK_DIVIDEND';

const KIND_TESTS: Readonly<Record<(typeof KIND_FILTERS)[number]['value'], (action: IndexAction) => boolean>> = {
  all: () => true,
  dividends: isDividend,
  splits: isSplit,
  others: (action) => !isDividend(action) && !isSplit(action),
};

type Election = IndexAction['choices'][number]['choice'];

const CHOICES: Readonly<Record<Election, string>> = {
  take_up: 'Take up all rights, paid with new cash',
  sell: 'Sell the rights, cash taken out',
  sell_to_fund: 'Sell some rights to take up the others',
  lapse: 'Let them lapse',
  accept_cash: 'Take the cash out',
  accept_shares: 'Take the shares',
};

const OFFER_PHRASES = { title: 'Offer for', terms: 'at the last closes' };
const SCRIP_PHRASES = {
  title: 'Dividend in cash or shares of',
  terms: 'at the price without the dividend, all other prices unchanged; the index takes the cash',
};
const DECIDED_PHRASES: Readonly<Partial<Record<IndexAction['type'], typeof OFFER_PHRASES>>> = {
  RIGHTS_ISSUE: {
    title: 'Rights of',
    terms: 'at the theoretical price ex rights, all other prices unchanged',
  },
  DIVIDEND: SCRIP_PHRASES,
  SPECIAL_DIVIDEND: SCRIP_PHRASES,
};

function Decisions({ actions, asOf }: { readonly actions: readonly IndexAction[]; readonly asOf: string }) {
  // A merger is left out, because both of its securities list the same choices.
  const openActions = actions.filter(({ choices, type }) => choices.length > 0 && type !== 'MERGER');
  const identifiers = openActions.map(({ identifier }) => identifier);
  const facts = useNames(identifiers, asOf);
  const findCurrency = (identifier: string) => facts.get(identifier)?.currency ?? null;
  return (
    <>
      {openActions.map(
        ({ identifier, ex_date: date, type, weight_before: before, shares_before: sharesBefore, choices, ...rest }) => (
          <section key={`${identifier} ${date} ${type}`} aria-label={`Decision about ${identifier}`}>
            <h3>
              {DECIDED_PHRASES[type]?.title ?? OFFER_PHRASES.title} {identifier}, ex {date}
            </h3>
            <p class="quiet">
              {formatPercent(before, 4)} of the index, {formatFigure(sharesBefore)} index shares before. Pro forma{' '}
              {DECIDED_PHRASES[type]?.terms ?? OFFER_PHRASES.terms}.
              {rest.election_date !== null && ` Election deadline: ${rest.election_date}.`}
              {rest.election_default !== null && ` Default without an election: ${rest.election_default}.`}
            </p>
            <WrittenTable
              label={`Choices of ${identifier}`}
              heads={['Choice', 'Weight after', 'Index shares after', 'Cash per share held']}
            >
              {choices.map(({ choice, weight_after: after, shares_after: shares, cash, received }) => (
                <tr key={choice}>
                  <th scope="row">
                    {CHOICES[choice]}
                    {received !== null && `: ${formatDecimal(received.ratio, 4)} ${received.identifier} for one`}
                  </th>
                  <td class="whole">{formatPercent(after, 4)}</td>
                  <td class="whole">{formatFigure(shares)}</td>
                  <td>{cash === 0 ? 'none' : formatMoney(formatDecimal(cash, 4), findCurrency(identifier))}</td>
                </tr>
              ))}
            </WrittenTable>
          </section>
        ),
      )}
    </>
  );
}
