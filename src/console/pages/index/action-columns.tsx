import type { IndexAction } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { createNameColumns } from '../../components/name-column.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import type { NameFacts } from '../../state/names.js';
import { formatActionValue, formatType } from '../../words/actions.js';
import { formatDecimal, formatFigure, formatPercent } from '../../words/numbers.js';

/**
 * Returns the columns of the corporate actions of an index. Index points and changes of the divisor have a column only
 * if a row has a value.
 */
export function createActionColumns(
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
  value: ({ type }) => type,
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
    value: ({ value }) => value,
    show: formatTerms,
    showBelow: formatTerms,
  };
};

/** Number of decimals of index points. One dividend is often below 0.1 points. */
const POINT_DIGITS = 4;
const formatDividendPoints = (points: number | null): string => formatDecimal(points, POINT_DIGITS);

const POINTS_COLUMN = createNumericColumn<IndexAction>({
  id: 'points',
  title: 'Index points',
  help: 'Ordinary dividend in index points before withholding tax: amount times index shares over the divisor',
  width: 96,
  priority: 2,
  adds: true,
  of: (row) => row.dividend_points,
  write: formatDividendPoints,
  showBelow: (row) => (row.dividend_points === null ? null : `${formatDividendPoints(row.dividend_points)} points`),
});

const NET_POINTS_COLUMN = createNumericColumn<IndexAction>({
  id: 'netPoints',
  title: 'After tax',
  help: 'Index points after withholding tax, as a net return index reinvests them',
  width: 88,
  priority: 3,
  adds: true,
  of: (row) => row.net_dividend_points,
  write: formatDividendPoints,
});

/** Formats the index shares before and after an action. If they did not change, they are written once. */
function formatShares({ shares_before: before, shares_after: after }: IndexAction): string {
  const [from, to] = [formatDecimal(before, 4), formatDecimal(after, 4)];
  return from === to ? to : `${from} → ${to}`;
}

const EFFECT_COLUMNS: readonly Column<IndexAction>[] = [
  { id: 'announced', title: 'Announced', width: 100, priority: 6, value: ({ announced }) => announced },
  createNumericColumn({
    id: 'before',
    title: 'Weight before',
    help: 'At the close before the ex-date; for announced actions on the last date of the run',
    width: 108,
    priority: 1,
    of: (row) => row.weight_before,
    write: (value) => formatPercent(value),
    showBelow: (row) => row.weight_before !== null && `weight ${formatPercent(row.weight_before)}`,
  }),
  createNumericColumn({
    id: 'after',
    title: 'Weight after',
    help: 'At the close of the ex-date, with the price move of the day; pro forma for announced actions',
    width: 100,
    priority: 3,
    of: (row) => row.weight_after,
    write: (value) => formatPercent(value),
  }),
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
