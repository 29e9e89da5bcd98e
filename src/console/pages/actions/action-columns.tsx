import type { DeskAction } from '#clients/typescript/divisor.js';
import type { ComponentChildren } from 'preact';
import { Badge } from '../../components/badge.js';
import { listCompanyColumns } from '../../components/name-column.js';
import type { Column } from '../../components/table/columns.js';
import type { NameFacts } from '../../state/names.js';
import { formatActionValue, formatType, isOverdue } from '../../words/actions.js';
import { countDaysTo, formatDaysTo } from '../../words/dates.js';
import { countValues, formatCount, formatPercent, MISSING_TEXT } from '../../words/numbers.js';
import { STATE_KINDS } from './action-states.js';
import type { AffectedIndex, AffectedIndices } from './affected-indices.js';

interface ListedActions {
  readonly rows: readonly DeskAction[];
  /** Reference data by security. */
  readonly names: ReadonlyMap<string, NameFacts>;
  /** Affected indices by action; undefined until they are read. */
  readonly indices: AffectedIndices | undefined;
  /** Current UTC date. */
  readonly today: string;
  /** True if future actions are listed first. */
  readonly isComing: boolean;
}

/**
 * Returns the columns. A list of past actions has no column for the days from today. If no action has flags
 * or names, there is no column for them.
 */
export function createColumns({ rows, names, indices, today, isComing }: ListedActions): readonly Column<DeskAction>[] {
  const flagged = rows.some(({ flags }) => flags.length > 0)
    ? COLUMNS
    : COLUMNS.filter(({ id }) => id !== 'flags').map((column) =>
        column.id === 'state' ? { ...column, width: STATE_WIDTH } : column,
      );
  const type = flagged.findIndex(({ id }) => id === 'type');
  const priced = flagged.toSpliced(
    type,
    1,
    // On a phone, the type is part of the terms.
    { ...flagged[type]!, below: 'nothing' },
    termsColumn(names),
    createIndicesColumn(indices),
  );
  const columns = priced.toSpliced(2, 0, ...listCompanyColumns(createCompanyColumn(names), names));
  if (!isComing && rows.every(({ ex_date: date }) => date <= today)) return columns;
  return columns.toSpliced(1, 0, createTimeColumn(today));
}

/** Width of the states without the mark of a flag, in pixels. */
const STATE_WIDTH = 98;

const createCompanyColumn = (names: ReadonlyMap<string, NameFacts>): Column<DeskAction> => ({
  id: 'company',
  title: 'Company',
  width: 150,
  grow: 4,
  priority: 4,
  below: 'text',
  value: ({ identifier }) => names.get(identifier)?.name ?? null,
});

const termsColumn = (names: ReadonlyMap<string, NameFacts>): Column<DeskAction> => {
  const formatTerms = ({ identifier, type, value }: DeskAction): string =>
    formatActionValue(type, value, names.get(identifier)?.currency ?? null).replace(' a share', '');
  return {
    id: 'value',
    title: 'Terms',
    help: 'Per share held: cash, or other shares',
    width: 120,
    grow: 0.5,
    priority: 2,
    value: ({ value }) => value,
    show: formatTerms,
    showBelow: (row) => (row.type === 'DIVIDEND' ? '' : `${formatType(row.type)} `) + formatTerms(row),
  };
};

const createIndicesColumn = (indices: AffectedIndices | undefined): Column<DeskAction> => ({
  id: 'indices',
  title: 'Indices',
  help: 'Indices that hold the security, with their weights before the ex-date. Sorts by the largest weight.',
  width: 150,
  ideal: 264,
  grow: 7,
  priority: 3,
  value: ({ action_id: id }) => indices?.get(id)?.reduce((largest, { weight }) => Math.max(largest, weight), 0) ?? null,
  show: ({ action_id: id }) => formatIndices(indices?.get(id)),
  showBelow: ({ action_id: id }) => {
    const [largest] = (indices?.get(id) ?? []).toSorted((a, b) => b.weight - a.weight);
    return largest && `${largest.index_id} ${formatPercent(largest.weight)}`;
  },
  copy: ({ action_id: id }) =>
    indices
      ?.get(id)
      ?.map((index) => index.index_id)
      .join(' ') ?? null,
});

/** Maximum number of indices that are named in a row. */
const NAMED_MAX = 3;

/** Formats the first indices with their weights, and the number of the others. */
function formatIndices(indices: readonly AffectedIndex[] | undefined): ComponentChildren {
  if (indices === undefined) return MISSING_TEXT;
  if (indices.length === 0) return <span class="quiet">none</span>;
  const texts = indices.map(({ index_id: id, weight }) => `${id} ${formatPercent(weight)}`);
  return (
    <span title={texts.join(', ')}>
      {texts.slice(0, NAMED_MAX).join(', ')}
      {texts.length > NAMED_MAX && <span class="quiet"> and {formatCount(texts.length - NAMED_MAX)} more</span>}
    </span>
  );
}

/** Creates a column with the number of days from today to the ex-date, for example `in 12 days`. */
const createTimeColumn = (today: string): Column<DeskAction> => ({
  id: 'when',
  title: 'When',
  help: `Days from today, ${today}`,
  width: 122,
  grow: 0,
  priority: 4,
  value: (row) => countDaysTo(row.ex_date, today),
  below: 'titled',
  showBelow: (row) =>
    isOverdue(row, today) ? (
      <span class="down">{formatCount(-countDaysTo(row.ex_date, today))} d overdue</span>
    ) : (
      formatDaysTo(row.ex_date, today)
    ),
  show: (row) => {
    if (isOverdue(row, today))
      return <span class="down">{countValues(-countDaysTo(row.ex_date, today), 'day')} overdue</span>;
    return <span class={row.ex_date < today ? 'quiet' : ''}>{formatDaysTo(row.ex_date, today)}</span>;
  },
});

const COLUMNS: readonly Column<DeskAction>[] = [
  { id: 'date', title: 'Ex-date', width: 94, grow: 0, value: (row) => row.ex_date },
  { id: 'security', title: 'Security', width: 74, grow: 0, value: ({ identifier }) => identifier },
  { id: 'type', title: 'Type', width: 118, grow: 0, priority: 2, value: ({ type }) => formatType(type) },
  { id: 'announced', title: 'Announced', width: 104, priority: 5, value: ({ announced }) => announced ?? '' },
  { id: 'paid', title: 'Pay date', width: 104, priority: 5, value: (row) => row.pay_date ?? '' },
  {
    id: 'state',
    title: 'State',
    width: 130,
    grow: 0,
    value: ({ state }) => state,
    show: ({ state, flags }) => (
      <>
        <Badge kind={STATE_KINDS[state]}>{state}</Badge>{' '}
        {flags.length > 0 && (
          <Badge kind="bad" title={flags.join(' ')}>
            flagged
          </Badge>
        )}
      </>
    ),
  },
  {
    id: 'flags',
    title: 'Flags',
    width: 180,
    grow: 3,
    priority: 5,
    value: ({ flags }) => flags.join(' '),
    show: ({ flags }) => <span title={flags.join(' ')}>{flags.join(' ')}</span>,
  },
];
