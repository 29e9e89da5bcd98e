import type { LimitsView } from '#clients/typescript/divisor.js';
import { Badge, type BadgeKind } from '../../components/badge.js';
import type { Column } from '../../components/table/columns.js';
import { formatInUnit } from '../../words/amounts.js';
import { formatCount, formatPercent } from '../../words/numbers.js';

type Row = LimitsView['rows'][number];

type Breach = LimitsView['breaches'][number];

/**
 * Returns the columns of the table of limits.
 *
 * @param breaches breaches of all limits; a breach without an end still exists on the last date
 */
export const createLimitColumns = (breaches: LimitsView['breaches']): readonly Column<Row>[] => [
  { id: 'row', title: 'Limit', width: 124, grow: 3, value: ({ row }) => row },
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
  { id: 'side', title: 'Side', width: 72, priority: 4, value: ({ side }) => side },
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
export const isNear = ({ latest: { value, limit }, unit }: Row): boolean =>
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
export function createBreachColumns(rows: LimitsView['rows']): readonly Column<Breach>[] {
  const units = new Map(rows.map(({ row, unit }) => [row, unit]));
  const formatRowFigure = (row: string, value: number) => formatInUnit(value, units.get(row) ?? 'value');
  return [
    { id: 'row', title: 'Limit', width: 150, grow: 3, value: ({ row }) => row },
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
    { id: 'begin', title: 'From', width: 96, value: ({ begin }) => begin },
    { id: 'end', title: 'To', width: 96, value: ({ end }) => end, show: ({ end }) => end ?? 'still' },
    {
      id: 'cause',
      title: 'Cause',
      width: 96,
      priority: 2,
      value: ({ cause }) => cause,
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
