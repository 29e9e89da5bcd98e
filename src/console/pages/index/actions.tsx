import type { ActionsView, IndexAction, OverviewView } from '#clients/typescript/divisor.js';
import { useMemo } from 'preact/hooks';
import { Choice } from '../../components/choice.js';
import { ExportMenu } from '../../components/export-menu.js';
import { Section } from '../../components/page.js';
import { RangeBar } from '../../components/range-bar.js';
import { Table } from '../../components/table/table.js';
import { Answered } from '../../components/wait.js';
import { WrittenTable } from '../../components/versions/change-table.js';
import { Metrics } from '../../components/metrics.js';
import { useNames } from '../../state/names.js';
import { getParameter, setParameters } from '../../state/location.js';
import { findChosenRange } from '../../state/range.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatRunKey, readShownRun } from '../../state/shown-run.js';
import { parseDayNumber, subtractMonths } from '../../words/dates.js';
import { createActionColumns } from './action-columns.js';
import { DividendYears, listDividendFigures, useDividendPoints } from './dividends.js';
import { Exits } from './exits.js';
import {
  formatCount,
  countValues,
  formatDecimal,
  formatFigure,
  formatMoney,
  formatPercent,
} from '../../words/numbers.js';
import { useNameAddress } from './use-name-address.js';

interface ActionsProps {
  readonly id: string;
  readonly run: OverviewView;
}

/** Renders the effects of past and announced corporate actions on the index. */
export function Actions({ id, run }: ActionsProps) {
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
    <div class="index-part">
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

/** Renders the outcomes of pending elections, by choice. */
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
