import { useMemo } from 'preact/hooks';
import type { RebalanceRow, ScheduleView } from '#clients/typescript/divisor.js';
import { Chart } from '../../components/chart/chart.js';
import { PERCENT_UNIT } from '../../components/chart/series.js';
import { ExportMenu } from '../../components/controls/menu.js';
import { Answered, Badge, createLazyComponent, Findings } from '../../components/feedback.js';
import { Metrics } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import { type Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { formatShownRunPath, readShownRun } from '../../state/runs.js';
import { useAnswer, useList } from '../../state/service.js';
import { formatRebalanceAddress } from '../../words/addresses.js';
import { formatDaysTo, formatWeekday } from '../../words/dates.js';
import { formatBps, formatCost, formatCount, formatDecimal, formatPercent } from '../../words/numbers.js';
import { computeYearlySum } from '../../words/statistics.js';
import type { OrdersProps } from '../rebalance/rebalance-page.js';
import { findLastScheduled, listHeldRebalances } from './performance.js';
import type { RunPartProps } from './run-tabs.js';

/** Rebalance with the number of constituents that left after the rebalance before it. */
interface Row extends RebalanceRow {
  readonly left: number;
}

/** Adds to each rebalance how many constituents left between the rebalance before it and its session. */
const addLeft = (rebalances: readonly RebalanceRow[]): readonly Row[] =>
  rebalances.map((row, r) => {
    const heldBefore = row.gross_constituents - row.added + row.removed;
    return { ...row, left: r === 0 ? 0 : Math.max(0, rebalances[r - 1]!.gross_constituents - heldBefore) };
  });

/** Returns true for the initial construction. It has no cost, and all its positions are new. */
const isFirst = ({ cost_fraction: cost, added, gross_constituents: constituents }: RebalanceRow): boolean =>
  cost === null && added === constituents;

/** Renders the largest of some securities and the number of the others, for example `AAA, BBB +3`. */
function renderSecurities(names: readonly string[], count: number) {
  if (count === 0) return <span class="quiet">none</span>;
  const restCount = count - names.length;
  return (
    <span title={names.join(', ') + (restCount > 0 ? ` and ${formatCount(restCount)} more` : '')}>
      {names.join(', ')}
      {restCount > 0 && <span class="quiet"> +{formatCount(restCount)}</span>}
    </span>
  );
}

const createRebalanceColumns = (formatAddress: (row: Row) => string): readonly Column<Row>[] => [
  {
    id: 'date',
    title: 'In effect',
    width: 100,
    show: (row) => (
      <a href={formatAddress(row)} tabIndex={-1}>
        {row.date}
      </a>
    ),
  },
  ...COLUMNS,
];

/** Layout of the columns of added and of removed securities. */
const MEMBER_COLUMN = {
  help: 'Largest securities; sorted by their number',
  width: 130,
  ideal: 150,
  grow: 3,
  priority: 2,
  below: 'titled',
} as const;

const COLUMNS: readonly Column<Row>[] = [
  {
    id: 'decided',
    title: 'Decided',
    help: 'Session whose data decided the weights',
    width: 100,
    grow: 1,
    priority: 3,
    value: (row) => row.decision_date,
  },
  {
    id: 'cause',
    title: 'Called by',
    help: 'The schedule, or a breach of a rule of the definition',
    width: 92,
    priority: 6,
    show: ({ cause }) => (cause === 'schedule' ? cause : <Badge kind="warning">{cause.replace('_', ' ')}</Badge>),
  },
  { id: 'review', title: 'Review', help: 'Review of the definition that decided it', width: 92, priority: 7 },
  { id: 'names', title: 'Constituents', width: 92, priority: 3, value: (row) => row.constituents, write: formatCount },
  {
    ...MEMBER_COLUMN,
    id: 'added',
    title: 'Added',
    value: ({ added }) => added,
    show: (row) => (isFirst(row) ? <span class="quiet">all</span> : renderSecurities(row.largest_added, row.added)),
  },
  {
    ...MEMBER_COLUMN,
    id: 'removed',
    title: 'Removed',
    value: ({ removed }) => removed,
    show: (row) => renderSecurities(row.largest_removed, row.removed),
  },
  {
    id: 'left',
    title: 'Left between rebalances',
    help: 'Constituents that left after the rebalance before, for example because they were delisted',
    width: 164,
    priority: 3,
    write: formatCount,
  },
  {
    id: 'turnover',
    title: 'One-way turnover',
    help: 'Half the sum of the absolute weight changes',
    width: 136,
    align: 'right',
    show: (row) =>
      isFirst(row) ? (
        <span class="quiet" title="Nothing was held before">
          initial construction
        </span>
      ) : (
        formatPercent(row.turnover)
      ),
  },
  {
    id: 'cost',
    title: 'Cost',
    help: 'Basis points of the value at the previous close',
    width: 92,
    priority: 4,
    value: (row) => row.cost_fraction,
    write: formatCost,
  },
  { id: 'capped', title: 'At cap', width: 72, priority: 5, write: formatCount },
];

/** Loaded when a tab needs it. Most visits of an index page do not. */
const Orders = createLazyComponent<OrdersProps>(
  'the orders',
  async () => (await import('../rebalance/rebalance-page.js')).Orders,
);

/** Renders all rebalances of the run and the next scheduled rebalances. */
export function Rebalances({ id, run }: RunPartProps) {
  const list = useAnswer('listRebalances', { params: { index_id: id }, query: readShownRun() });
  const indices = useList('indices');
  // Only an index has orders. A strategy trades under its own terms.
  const index = indices.data?.indices.find(({ id: indexId }) => indexId === id);
  return (
    <div class="stack gap-4 index-part">
      <Answered resource={list} what="the rebalances">
        {({ rebalances, findings }) => {
          const rows = addLeft(rebalances);
          const constants = findConstants(rebalances);
          const formatAddress = ({ date }: RebalanceRow) => formatShownRunPath(formatRebalanceAddress(id, date));
          const hiddenColumns = new Set([...constants.keys(), ...listEmptyColumns(rows)]);
          return (
            <>
              <Figures rebalances={rebalances} />
              {listHeldRebalances(findings).length > 0 && (
                <Findings findings={listHeldRebalances(findings)} shown={3} />
              )}
              <Upcoming id={id} after={findLastScheduled(rebalances, findings)} end={run.end} />
              <Section
                title="Rebalances"
                aside={
                  <>
                    {[formatConstruction(rebalances), ...constants.values()].filter((text) => text !== null).join(', ')}
                    <ExportMenu id={id} table="rebalances" />
                    <ExportMenu id={id} table="trades" text="trades" />
                  </>
                }
              >
                <TurnoverChart id={id} rebalances={rebalances} />
                <Table<Row>
                  label={`rebalances of ${id}`}
                  name="rebalances"
                  columns={createRebalanceColumns(formatAddress).filter(({ id: column }) => !hiddenColumns.has(column))}
                  rows={rows}
                  getKey={({ date }) => date}
                  formatAddress={formatAddress}
                  sort={{ column: 'date', direction: 'desc' }}
                  height={620}
                />
              </Section>
              {index !== undefined && (
                <Orders
                  id={id}
                  currency={index.currency}
                  asOf={run.end}
                  least={rebalances.at(-1)?.date ?? run.start}
                  most={run.end}
                  isChanged={run.stale?.definition === true}
                />
              )}
            </>
          );
        }}
      </Answered>
    </div>
  );
}

/** Returns the optional columns without content. */
const listEmptyColumns = (rows: readonly Row[]): readonly string[] => [
  ...(hasCosts(rows) ? [] : ['cost']),
  ...(rows.some(({ left }) => left > 0) ? [] : ['left']),
];

/**
 * Returns the columns that have the same value in all rows, each with a statement of the value; null if the value is
 * missing.
 */
function findConstants(rebalances: readonly RebalanceRow[]): ReadonlyMap<string, string | null> {
  const [first] = rebalances;
  if (first === undefined || rebalances.length < 2) return new Map();
  const { cause, review, capped } = first;
  const isShared = (readValue: (row: RebalanceRow) => unknown) =>
    rebalances.every((row) => readValue(row) === readValue(first));
  const constants = new Map<string, string | null>();
  if (rebalances.every((row) => row.decision_date === row.date)) constants.set('decided', 'decided on the same day');
  if (isShared((row) => row.cause))
    constants.set('cause', cause === 'schedule' ? 'scheduled' : `called by ${cause.replace('_', ' ')}`);
  if (isShared((row) => row.review))
    constants.set('review', review === DEFAULT_REVIEW ? null : review && `review ${review}`);
  if (isShared((row) => row.capped))
    constants.set('capped', `${capped === 0 ? 'none' : formatCount(capped)} at the cap`);
  return constants;
}

/** States the date of the initial construction, which has no turnover; null if the run does not contain it. */
function formatConstruction([first, ...later]: readonly RebalanceRow[]): string | null {
  return first !== undefined && isFirst(first)
    ? `${formatCount(later.length)} after the initial construction of ${first.date}`
    : null;
}

interface RebalancesOf {
  readonly rebalances: readonly RebalanceRow[];
}

/** Renders the means of the rebalances. The initial construction is left out, because it buys the whole index. */
function Figures({ rebalances }: RebalancesOf) {
  const later = rebalances.filter((row) => !isFirst(row));
  const [first, last] = [rebalances[0], rebalances.at(-1)];
  if (first === undefined || last === undefined || later.length === 0) return null;
  const sum = (readValue: (row: RebalanceRow) => number | null) =>
    later.reduce((total, row) => total + (readValue(row) ?? 0), 0);
  const formatMean = (readValue: (row: RebalanceRow) => number) => formatDecimal(sum(readValue) / later.length, 1);
  const largestRebalance = later.reduce((best, row) => ((row.turnover ?? 0) > (best.turnover ?? 0) ? row : best));
  return (
    <Metrics
      label="Means of the rebalances"
      metrics={[
        {
          term: 'Rebalances',
          value: formatCount(rebalances.length),
          note: `${first.date} to ${last.date}`,
        },
        {
          term: 'Turnover a year',
          value: formatPercent(computeYearlySum(rebalances, (row) => row.turnover)),
          note: 'one-way',
          help: 'Without the initial construction',
        },
        {
          term: 'Average turnover',
          value: formatPercent(sum((row) => row.turnover) / later.length),
          note: 'at a rebalance',
          help: 'One-way, without the initial construction',
        },
        { term: 'Largest turnover', value: formatPercent(largestRebalance.turnover), note: largestRebalance.date },
        {
          term: 'Average added',
          value: formatMean((row) => row.added),
          help: 'At a rebalance, without the initial construction',
        },
        {
          term: 'Average removed',
          value: formatMean((row) => row.removed),
          help: 'At a rebalance, without the initial construction',
        },
        ...(hasCosts(rebalances)
          ? [
              {
                term: 'Costs a year',
                value: formatBps(computeYearlySum(rebalances, (row) => row.cost_fraction)),
                help: 'Of the value',
              },
            ]
          : []),
      ]}
    />
  );
}

/** Renders the turnover of each rebalance. The initial construction is left out. */
function TurnoverChart({ id, rebalances }: RebalancesOf & { readonly id: string }) {
  const later = useMemo(() => rebalances.filter((row) => !isFirst(row)), [rebalances]);
  const dates = useMemo(() => later.map(({ date }) => date), [later]);
  const lines = useMemo(
    () => [
      {
        id: 'turnover',
        label: 'One-way turnover',
        colour: 1,
        isBars: true,
        values: later.map((row) => row.turnover),
      },
    ],
    [later],
  );
  if (later.length < 2) return null;
  return <Chart label={`Turnover of ${id}`} dates={dates} lines={lines} height={120} hasZero unit={PERCENT_UNIT} />;
}

/** Name of the review of an index without named reviews. */
const DEFAULT_REVIEW = 'rebalance';

const MS_PER_DAY = 86_400_000;

/** Maximum number of scheduled rebalances shown. */
const UPCOMING_MAX = 4;

interface UpcomingProps {
  readonly id: string;
  /** Date of the last rebalance of the run, executed or not. */
  readonly after: string | undefined;
  /** Last date of the run. */
  readonly end: string;
}

/** Renders the next scheduled rebalances. If there is no data for some past rebalances, renders that period as well. */
function Upcoming({ id, after, end }: UpcomingProps) {
  const yesterday = new Date(Date.now() - MS_PER_DAY).toISOString().slice(0, 10);
  const behind = useSchedule(id, after);
  const ahead = useSchedule(id, after === undefined || after > yesterday ? after : yesterday);
  const first = behind?.upcoming[0];
  const last = ahead?.recent[0];
  const upcomingDates = ahead?.upcoming ?? [];
  const areDecidedBefore = upcomingDates.some((date) => ahead?.announcements?.[date] !== undefined);
  return (
    <>
      {upcomingDates.length > 0 && (
        <Section
          title="Next rebalances"
          aside={`${ahead?.frequency}, sessions of ${ahead?.calendar}${areDecidedBefore ? '' : ', decided on the same day'}`}
        >
          <Metrics
            label={`Next rebalances of ${id}`}
            metrics={upcomingDates.map((date) => {
              const decisionDate = ahead?.announcements?.[date];
              return {
                term: `In effect ${formatDaysTo(date)}`,
                value: `${formatWeekday(date)} ${date}`,
                ...(decisionDate !== undefined && {
                  note: `decided ${formatWeekday(decisionDate)} ${decisionDate}, ${formatDaysTo(decisionDate)}`,
                }),
              };
            })}
          />
        </Section>
      )}
      {first !== undefined && last !== undefined && first <= last && (
        <p class="quiet">
          Rebalances from {first} to {last} are not computed, because the data ends on {end}.
        </p>
      )}
    </>
  );
}

const useSchedule = (id: string, after: string | undefined): ScheduleView | undefined =>
  useAnswer(
    'getSchedule',
    after === undefined ? null : { params: { index_id: id }, query: { as_of: after, limit: UPCOMING_MAX } },
  ).data;

const hasCosts = (rebalances: readonly RebalanceRow[]): boolean =>
  rebalances.some(({ cost_fraction: cost }) => cost !== null && cost > 0);
