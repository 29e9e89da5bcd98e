import { Fragment } from 'preact';
import { useMemo } from 'preact/hooks';
import type { LimitsView, OverviewView } from '#clients/typescript/divisor.js';
import { Chart } from '../../components/chart/chart.js';
import { type Line, LOSS_COLOUR, NUMBER_UNIT, POINTS } from '../../components/chart/series.js';
import { Select } from '../../components/controls/choice.js';
import { chooseRange, findChosenRange, RangeBar } from '../../components/controls/range.js';
import { Answered, Badge, type BadgeKind, Findings } from '../../components/feedback.js';
import { useSchemas } from '../../components/form/schema-form.js';
import { type LabelledFigure, Metrics } from '../../components/layout/facts.js';
import { Section } from '../../components/layout/page.js';
import { useNameAddress } from '../../components/securities.js';
import type { Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { formatAddress, getParameter, setParameters } from '../../state/location.js';
import { useFieldsOfRun } from '../../state/market.js';
import { formatRunKey, formatShownRunPath, readShownRun } from '../../state/runs.js';
import { service, useList, useResource } from '../../state/service.js';
import { formatIndexAddress, formatRebalanceAddress } from '../../words/addresses.js';
import { countValues, formatCount, formatPercent, formatPoints } from '../../words/numbers.js';
import { formatInUnit } from '../../words/quantities.js';
import type { RunPartProps } from './run-tabs.js';

type Row = LimitsView['rows'][number];

type Breach = LimitsView['breaches'][number];

/**
 * Returns the columns of the table of limits.
 *
 * @param breaches breaches of all limits; a breach without an end still exists on the last date
 */
const createLimitColumns = (breaches: LimitsView['breaches']): readonly Column<Row>[] => [
  { id: 'row', title: 'Limit', width: 124, grow: 3 },
  {
    id: 'state',
    title: 'State',
    help: 'On the last date of the range',
    width: 166,
    value: ({ row }) => findOpenBreach(breaches, row)?.begin ?? '',
    show: (limit) => {
      const openBreach = findOpenBreach(breaches, limit.row);
      if (openBreach !== undefined) return <Badge kind="bad">in breach since {openBreach.begin}</Badge>;
      return isNear(limit) ? (
        <Badge kind="warning" title="Within 2% of the bound">
          near the bound
        </Badge>
      ) : (
        <Badge kind="good">within</Badge>
      );
    },
  },
  {
    id: 'latest',
    title: 'Now',
    help: 'Measured value on the last date of the range',
    width: 76,
    align: 'right',
    value: ({ latest }) => latest.value,
    show: ({ latest, unit }) => formatInUnit(latest.value, unit),
  },
  { id: 'side', title: 'Side', width: 72, priority: 4 },
  {
    id: 'breached',
    title: 'Sessions in breach',
    width: 122,
    align: 'right',
    value: (row) => row.breached_sessions,
    show: (row) => <span class={row.breached_sessions > 0 ? 'down' : ''}>{formatCount(row.breached_sessions)}</span>,
  },
  {
    id: 'value',
    title: 'Tightest value',
    help: 'Measured value on the date of least headroom',
    width: 116,
    align: 'right',
    value: ({ least }) => least.value,
    show: ({ least, unit }) => formatInUnit(least.value, unit),
  },
  {
    id: 'limit',
    title: 'Bound',
    width: 84,
    priority: 2,
    align: 'right',
    value: ({ latest }) => latest.limit,
    show: ({ latest, unit }) => formatInUnit(latest.limit, unit),
  },
  { id: 'date', title: 'On', width: 96, priority: 3, value: ({ least }) => least.date },
];

/** Fraction of a bound. A value closer to its bound is near it. */
const NEAR = 0.02;

/** Returns true if the latest value is within its bound by less than 2% of the bound. Counts are never near. */
const isNear = ({ latest: { value, limit }, unit }: Row): boolean =>
  unit !== 'count' && Math.abs(limit - value) < NEAR * Math.abs(limit);

const findOpenBreach = (breaches: LimitsView['breaches'], row: string): Breach | undefined =>
  breaches.find((breach) => breach.end === null && breach.row === row);

/** Formats issuers with their weights. The weights are first, because a narrow column truncates its end. */
const formatIssuers = (issuers: Breach['issuers'] = []): string =>
  issuers.map(({ issuer, weight }) => `${formatPercent(weight)} ${issuer}`).join(', ');

const CAUSES: Readonly<Record<Breach['cause'], BadgeKind>> = { price: 'plain', action: 'info', rebalance: 'warning' };

/**
 * Returns the columns of the table of breaches.
 * @param rows monitored limits, from which the breaches take their units
 */
function createBreachColumns(rows: LimitsView['rows']): readonly Column<Breach>[] {
  const units = new Map(rows.map(({ row, unit }) => [row, unit]));
  const formatRowFigure = (row: string, value: number) => formatInUnit(value, units.get(row) ?? 'value');
  return [
    { id: 'row', title: 'Limit', width: 150, grow: 3 },
    {
      id: 'issuers',
      title: 'Issuers',
      help: 'Issuers that form the worst value, with their weights',
      width: 120,
      grow: 4,
      priority: 3,
      value: ({ issuers }) => formatIssuers(issuers),
      show: ({ issuers }) => <span title={formatIssuers(issuers)}>{formatIssuers(issuers)}</span>,
    },
    { id: 'begin', title: 'From', width: 96 },
    { id: 'end', title: 'To', width: 96, show: ({ end }) => end ?? 'still' },
    {
      id: 'cause',
      title: 'Cause',
      width: 96,
      priority: 2,
      show: ({ cause }) => <Badge kind={CAUSES[cause]}>{cause}</Badge>,
    },
    {
      id: 'worst',
      title: 'Worst',
      help: 'Measured value on its worst date',
      width: 90,
      priority: 3,
      align: 'right',
      value: ({ worst }) => worst.value,
      show: ({ row, worst }) => formatRowFigure(row, worst.value),
    },
    {
      id: 'bound',
      title: 'Bound',
      width: 84,
      priority: 4,
      align: 'right',
      value: ({ worst }) => worst.limit,
      show: ({ row, worst }) => formatRowFigure(row, worst.limit),
    },
  ];
}

type Rule = NonNullable<LimitsView['rule']>;

/** Prefix of constraint sets. It distinguishes them from rules in the same list. */
const SET_PREFIX = 'set:';

/** Formats the name of a rule: `UCITS_5_10_40` becomes `UCITS 5/10/40`. */
const formatRule = (rule: string): string => rule.replace('_', ' ').replaceAll('_', '/');

/** Renders how a regulatory concentration rule or a constraint set is met on every session. */
export function Limits({ id, run }: RunPartProps) {
  const schemas = useSchemas();
  const sets = useList('constraint sets');
  const rules = schemas.data?.['LimitsView']?.properties?.['rule']?.anyOf?.[0]?.enum ?? [];
  const requestedRule = getParameter('rule');
  const range = findChosenRange();
  const view = useResource(
    `limits ${formatRunKey(id)} ${requestedRule} ${getParameter('by')} ${range?.from} ${range?.to}`,
    (signal) => readLimits(id, requestedRule, signal),
    { keeps: true },
  );
  const chosenRule = requestedRule ?? view.data?.rule ?? null;
  return (
    <div class="stack gap-4 index-part">
      <div class="flow spread gap-2 limits-bar">
        <RangeBar start={run.start} end={run.end} />
        {chosenRule !== null && (
          <Select
            label="Rule"
            isLabelShown
            options={[
              ...rules.map((rule) => ({ value: rule, text: formatRule(rule) })),
              ...(sets.data?.constraint_sets ?? []).map(({ id: set }) => ({
                value: SET_PREFIX + set,
                text: `set ${set}`,
              })),
            ]}
            value={chosenRule}
            onChoose={(rule) => setParameters({ rule })}
          />
        )}
        {chosenRule?.startsWith(SET_PREFIX) === false && <Issuers run={run} />}
        {sets.data?.constraint_sets.length === 0 && (
          <p class="quiet">
            Constraint sets are monitored, too. Save them on the page{' '}
            <a href={`/console/optimise?index=${encodeURIComponent(id)}`}>Optimise</a>.
          </p>
        )}
      </div>
      <Answered resource={view} what="the limits, session by session">
        {(limits) => <WatchedRules id={id} view={limits} />}
      </Answered>
    </div>
  );
}

/** Default reference column that identifies issuers. */
const ISSUER = 'ISSUER';

/** Renders the choice of the column that identifies issuers. Weights of securities with the same value are added. */
function Issuers({ run }: { readonly run: OverviewView }) {
  const fields = useFieldsOfRun(run);
  const columns = (fields.data?.fields ?? []).filter(
    ({ dataset, kind }) => dataset === 'reference' && kind === 'string',
  );
  const chosenGrouping = getParameter('by') ?? ISSUER;
  const names = [...new Set([ISSUER, chosenGrouping, 'IDENTIFIER', ...columns.map(({ name }) => name)])];
  return (
    <Select
      label="Group securities by"
      isLabelShown
      options={names.map((name) => ({
        value: name,
        text: name === 'IDENTIFIER' ? 'none: each security separately' : name.toLowerCase().replaceAll('_', ' '),
      }))}
      value={chosenGrouping}
      onChoose={(by) => setParameters({ by: by === ISSUER ? null : by })}
    />
  );
}

/**
 * Reads the monitored limits.
 * @param chosen rule, or constraint set with its prefix; null for the rule of the index
 */
async function readLimits(id: string, chosen: string | null, signal: AbortSignal): Promise<LimitsView> {
  const range = findChosenRange();
  const query = { ...readShownRun(), ...(range === null ? {} : { start: range.from, end: range.to }) };
  const params = { index_id: id };
  if (chosen === null || !chosen.startsWith(SET_PREFIX))
    return service.value.call('getLimits', {
      params,
      query: { ...query, ...(chosen === null ? {} : { rule: chosen as Rule }), by: getParameter('by') ?? ISSUER },
      signal,
    });
  const setId = chosen.slice(SET_PREFIX.length);
  const { constraints: rows } = await service.value.call('getConstraintSet', {
    params: { constraint_set_id: setId },
    signal,
  });
  return service.value.call('watchLimits', { params, query, body: { rows }, signal });
}

function WatchedRules({ id, view }: { readonly id: string; readonly view: LimitsView }) {
  const formatNameAddress = useNameAddress();
  const { sessions, breached_sessions: breached, findings, rows, rows_total: total, breaches } = view;
  const columns = useMemo(() => createLimitColumns(breaches), [breaches]);
  return (
    <>
      {findings.length > 0 && <Findings findings={findings} shown={3} />}
      <Metrics
        label="Figures of the limits"
        metrics={[
          ...listStateFigures(view),
          ...listBreachFigures(view, formatNameAddress),
          ...headroomFigures(view),
          {
            term: 'Breached',
            value: formatCount(breached),
            kind: breached > 0 ? 'down' : '',
            note: `of ${countValues(sessions, 'session')}`,
          },
          { term: 'Limits', value: formatCount(total) },
        ]}
      />
      <Headroom view={view} />
      <Section title="Limits" aside={total > rows.length && `the first ${formatCount(rows.length)}`}>
        <Table
          label="limits monitored"
          name="rows"
          columns={columns}
          rows={rows}
          getKey={({ row, side }) => `${row} ${side}`}
          {...(rows.length > SEARCH_MIN && { searchIn: ({ row }: Row) => row })}
          sort={{ column: 'breached', direction: 'desc' }}
          height={320}
        />
      </Section>
      <Section title="Breaches" aside="from the first session in breach to the last">
        <Table
          label="breaches"
          name="breaches"
          columns={createBreachColumns(rows).filter(
            ({ id: column }) => column !== 'issuers' || breaches.some(({ issuers }) => issuers !== undefined),
          )}
          rows={breaches}
          getKey={({ row, begin }) => `${row} ${begin}`}
          formatAddress={({ begin, cause }) =>
            cause === 'rebalance'
              ? formatShownRunPath(formatRebalanceAddress(id, begin))
              : formatAddress(formatIndexAddress(id), {
                  tab: 'constituents',
                  on: begin,
                  run_id: getParameter('run_id'),
                })
          }
          sort={{ column: 'begin', direction: 'desc' }}
          height={360}
          empty="No limit was breached."
        />
      </Section>
    </>
  );
}

const areAllWeights = ({ rows }: LimitsView): boolean => rows.every(({ unit }) => unit === 'fraction');

/** Returns how many limits are exceeded on the last date. Returns none if the last breaches are not in the response. */
function listStateFigures({ breaches, breaches_total: total, state }: LimitsView): LabelledFigure[] {
  if (total > breaches.length) return [];
  const exceededCount = new Set(breaches.flatMap(({ row, end }) => (end === null ? [row] : []))).size;
  return [
    {
      term: 'State',
      value: exceededCount === 0 ? 'within all limits' : `${countValues(exceededCount, 'limit')} exceeded`,
      kind: exceededCount === 0 ? '' : 'down',
      note: `on ${state.dates.at(-1)}`,
    },
  ];
}

/**
 * Returns the limit that is in breach on the last date. If there is none, returns the price change that would cause a
 * breach.
 */
function listBreachFigures(
  { breaches, distance, rows }: LimitsView,
  formatAddressOf: (name: string) => string,
): LabelledFigure[] {
  const openBreach = breaches.find(({ end }) => end === null);
  if (openBreach !== undefined)
    return [
      {
        term: 'In breach',
        value: openBreach.row,
        kind: 'down',
        note: <BreachNote begin={openBreach.begin} row={rows.find(({ row }) => row === openBreach.row)} />,
        isLong: true,
      },
    ];
  if (distance === null) return [];
  return [
    {
      term: 'Nearest breach',
      value: distance.identifier,
      help: 'Smallest price change of one security that breaches a limit on the last date, with all other prices unchanged',
      note: (
        <a href={formatAddressOf(distance.identifier)}>
          if it {distance.move < 0 ? 'falls' : 'rises'} by {formatPercent(Math.abs(distance.move))}
        </a>
      ),
    },
  ];
}

/** Maximum number of issuers that are stated. */
const ISSUERS_MAX = 8;

interface BreachNoteProps {
  /** First session in breach. */
  readonly begin: string;
  readonly row: Row | undefined;
}

/** Renders the value of a limit in breach, the issuers that form it, and the begin of the breach. */
function BreachNote({ begin, row }: BreachNoteProps) {
  const issuers = row?.issuers ?? [];
  return (
    <>
      {row !== undefined && `${formatInUnit(row.latest.value, row.unit)} `}
      since <span class="one-line">{begin}</span>
      {issuers.slice(0, ISSUERS_MAX).map(({ issuer, weight }, k) => (
        <Fragment key={issuer}>
          {k === 0 ? ': ' : ', '}
          <span class="one-line">
            {issuer} {formatPercent(weight)}
          </span>
        </Fragment>
      ))}
      {issuers.length > ISSUERS_MAX && ` and ${formatCount(issuers.length - ISSUERS_MAX)} more`}
    </>
  );
}

/**
 * Returns the distance of the weights to their nearest bound: on the last date, and the smallest of all dates. Returns
 * an empty list unless all limits are weights.
 */
function headroomFigures(view: LimitsView): readonly LabelledFigure[] {
  const { dates, headroom } = view.state;
  const knownHeadroom = headroom.flatMap((value, t) => (value === null ? [] : [{ value, date: dates[t] ?? '' }]));
  const last = knownHeadroom.at(-1);
  if (last === undefined || !areAllWeights(view)) return [];
  const least = knownHeadroom.reduce((low, one) => (one.value < low.value ? one : low));
  const formatRowFigure = (term: string, { value, date }: typeof last, help: string, kind = ''): LabelledFigure => ({
    term,
    value: formatPoints(value),
    kind: value < 0 ? 'down' : kind,
    note: date,
    help,
  });
  return [
    formatRowFigure(
      'Headroom',
      last,
      'Distance to the nearest bound on the last session',
      view.rows.some(isNear) ? 'warning' : '',
    ),
    formatRowFigure('Smallest headroom', least, 'Smallest distance to a bound of all sessions'),
  ];
}

function Headroom({ view }: { readonly view: LimitsView }) {
  const { state } = view;
  // A line that is never above zero has the colour of losses in the legend, too.
  const isBeyond = state.headroom.every((value) => value === null || value <= 0);
  const areWeights = areAllWeights(view);
  const lines = useMemo<readonly Line[]>(
    () => [
      { id: 'headroom', label: 'Headroom', values: state.headroom, colour: isBeyond ? LOSS_COLOUR : 1, isSigned: true },
    ],
    [state],
  );
  return (
    <Section
      title="Headroom"
      aside={`${areWeights ? 'percentage points' : 'distance'} to the nearest bound; negative in a breach`}
    >
      <Chart
        label="Headroom"
        dates={state.dates}
        lines={lines}
        height={160}
        hasZero
        unit={areWeights ? POINTS : NUMBER_UNIT}
        onRange={chooseRange}
      />
    </Section>
  );
}

const SEARCH_MIN = 8;
