import { LIMIT_RULES } from '#domain/compliance/rules.js';
import type { LiteralTable, TableSource } from '#domain/reports/blocks/table.js';
import type { BlockOf } from '#domain/reports/block-kinds.js';
import { MONTHS } from '../chart/date-axis.js';
import type { RunFigures } from '../figures.js';
import { formatCount, NOT_MEASURED, formatPercent, formatPlainTexts, formatWeight } from '../numbers.js';
import { splitRows } from '../rows-within.js';
import { AMBER_TINT, NAVY_TINT } from '../style-sheet.js';
import { layTable } from '../table/lay-table.js';
import { createFigureColumn, createTextColumn, toTable, type Field, type Table } from '../table/fields.js';
import type { TableColumn, TableRow } from '../table/table-content.js';
import { cleanLine } from '../text/clean-text.js';
import {
  createBreachesTable,
  createDividendsTable,
  createLimitsTable,
  createOverlayTable,
  createPackTable,
  createScenariosTable,
} from './desk-tables.js';
import { requireFigures, type Drawing, type DrawingContext } from './drawing.js';
import { createNotePart, createTitlePart } from './titled.js';

/** Draws a table. The header is repeated on every page. */
export const drawTable: Drawing<'table'> = (block, context) => {
  const { width, typesetter } = context;
  const content = CONTENTS[block.source](block, context);
  if (content === null) return { title: null, sections: [] };
  const { columns, rows, note, remarks = [] } = content;
  const sections = rows.length === 0 ? [] : layTable({ columns, rows }, width, typesetter);
  const notes = [...(note === null ? [] : [note]), ...remarks].map((sentence) => ({
    head: null,
    rows: [createNotePart(sentence, width, typesetter)],
  }));
  return { title: createTitlePart(block.title, width, typesetter), sections: [...sections, ...notes] };
};

/** Function that returns the content of a table. It returns null if the run lacks the data; nothing is then printed. */
type Content = (block: BlockOf<'table'>, context: DrawingContext) => Table | null;

const CONTENTS: Record<TableSource, Content> = {
  constituents: ({ limit }, context) =>
    createConstituentsTable(requireFigures(context), { limit, isNarrow: context.width < NARROW_WIDTH_MAX }),
  rebalances: ({ limit }, context) => createRebalancesTable(requireFigures(context), limit),
  annual_returns: ({ limit }, context) => createAnnualTable(requireFigures(context), limit),
  monthly_returns: ({ limit }, context) => createMonthlyTable(requireFigures(context), limit),
  attribution: ({ limit }, context) => createAttributionTable(requireFigures(context), limit),
  risk: ({ limit }, context) => createRiskTable(requireFigures(context), limit),
  exposures: ({ limit }, context) => createExposuresTable(requireFigures(context), limit),
  limits: (_block, context) => createLimitsTable(requireFigures(context)),
  breaches: ({ limit }, context) => createBreachesTable(requireFigures(context), limit),
  overlay_parts: (_block, context) => createOverlayTable(requireFigures(context)),
  dividend_points: ({ limit }, context) => createDividendsTable(requireFigures(context), limit),
  pack: (block, context) => createPackTable(requireFigures(context), block),
  scenarios: (block, context) => createScenariosTable(requireFigures(context), block),
  literal: ({ frame, limit }) => createLiteralTable(frame!, limit), // the schema requires a frame in a literal table
};

/** Width in points of half a page. A narrower table of securities leaves out columns that are not figures. */
const NARROW_WIDTH_MAX = 320;

function createConstituentsTable(
  { constituents, hasCap, overview, weightDecimals }: RunFigures,
  { limit, isNarrow }: { readonly limit: number; readonly isNarrow: boolean },
): Table {
  const allConstituents = constituents();
  const { shown: rows } = splitRows(allConstituents, limit);
  const fields: Field<(typeof rows)[number]>[] = [
    { column: createTextColumn('Identifier'), cell: ({ identifier }) => cleanLine(identifier) },
    {
      column: createTextColumn('Name'),
      cell: ({ name }) => cleanLine(name ?? ''),
      isShown: rows.some(({ name }) => name !== null),
    },
    {
      column: createTextColumn('Sector'),
      cell: ({ sector }) => cleanLine(sector ?? ''),
      isShown: !isNarrow && rows.some(({ sector }) => sector !== null),
    },
    { column: createFigureColumn('Weight'), cell: ({ weight }) => formatWeight(weight, weightDecimals) },
    {
      column: createFigureColumn('Before capping'),
      cell: ({ rawWeight }) => formatWeight(rawWeight, weightDecimals),
      isShown: hasCap,
    },
    {
      column: createFigureColumn('At cap'),
      cell: ({ isCapped }) => (isCapped ? 'yes' : ''),
      isShown: !isNarrow && hasCap && rows.some(({ isCapped }) => isCapped),
    },
  ];
  const shownRows =
    rows.length < allConstituents.length
      ? `The largest ${formatCount(rows.length)} of ${formatCount(allConstituents.length)} constituents`
      : `${formatCount(allConstituents.length)} ${allConstituents.length === 1 ? 'constituent' : 'constituents'}`;
  return toTable(
    fields,
    rows,
    `${shownRows} held on ${overview.end}${hasCap ? '; weights before capping are those of the latest rebalance' : ''}.`,
  );
}

function createRebalancesTable(
  { rebalances, hasCap, overview, watchedRule, weightDecimals }: RunFigures,
  limit: number,
): Table {
  const rows = rebalances(limit);
  const breach = watchedRule === null ? 'breach' : `breach of ${LIMIT_RULES[watchedRule].label}`;
  const fields: Field<(typeof rows)[number]>[] = [
    { column: createTextColumn('Date'), cell: ({ date }) => date },
    {
      column: createTextColumn('Cause'),
      cell: ({ cause }) => (cause === 'breach' ? breach : cause),
      isShown: watchedRule !== null || rows.some(({ cause }) => cause !== 'schedule'),
    },
    { column: createFigureColumn('Constituents'), cell: ({ constituents }) => formatCount(constituents) },
    { column: createFigureColumn('Added'), cell: ({ added }) => formatCount(added.length) },
    { column: createFigureColumn('Removed'), cell: ({ removed }) => formatCount(removed.length) },
    { column: createFigureColumn('Turnover'), cell: ({ turnover }) => formatPercent(turnover) },
    { column: createFigureColumn('Largest weight'), cell: ({ largest }) => formatWeight(largest, weightDecimals) },
    { column: createFigureColumn('Cap'), cell: ({ cap }) => formatPercent(cap), isShown: hasCap },
    { column: createFigureColumn('At cap'), cell: ({ capped }) => formatCount(capped), isShown: hasCap },
    {
      column: createFigureColumn('Redistributed'),
      cell: ({ redistributed }) => formatPercent(redistributed),
      isShown: hasCap,
    },
  ];
  const count = overview.rebalances;
  return toTable(
    fields,
    rows,
    `${formatCount(count)} ${count === 1 ? 'rebalance' : 'rebalances'} from ${overview.start} to ${overview.end}. Turnover is one-way, against the weights held before the trades.`,
  );
}

/** Number of years that fit next to each other. */
const YEARS_SHOWN = 8;

function createExposuresTable({ yearEndSectors, overview }: RunFigures, limit: number): Table {
  const { dates, sectors } = yearEndSectors(YEARS_SHOWN);
  const { shown, others } = splitRows(sectors, limit);
  const otherWeights = Float64Array.from(dates, (_, k) => others.reduce((sum, { weights }) => sum + weights[k]!, 0));
  const rows = [
    ...shown.map(({ sector, weights }) => ({ label: sector ?? 'Unclassified', weights })),
    ...(others.length === 0 ? [] : [{ label: `${formatCount(others.length)} others`, weights: otherWeights }]),
  ];
  const fields: Field<(typeof rows)[number]>[] = [
    { column: createTextColumn('Sector'), cell: ({ label }) => cleanLine(label) },
    ...dates.map((date, k) => ({
      column: createFigureColumn(date === overview.end ? date : date.slice(0, 4)),
      cell: ({ weights }: (typeof rows)[number]) => formatPercent(weights[k]!),
    })),
  ];
  return toTable(fields, rows, 'Weights held at the end of each year, by the sectors of the last date.');
}

function createAnnualTable({ annualReturns }: RunFigures, limit: number): Table {
  const rows = annualReturns().slice(-limit);
  const fields: Field<(typeof rows)[number]>[] = [
    { column: createTextColumn('Year'), cell: ([year]) => String(year) },
    { column: createFigureColumn('Return'), cell: ([, value]) => formatPercent(value) },
  ];
  return toTable(fields, rows, null);
}

function createMonthlyTable({ monthlyReturns, annualReturns, overview }: RunFigures, limit: number): Table {
  const annualRows = annualReturns();
  const years = annualRows.slice(-limit);
  const months = new Map(monthlyReturns().map(({ year, month, value }) => [`${year} ${month}`, value]));
  const largest = Math.max(...[...months.values()].map(Math.abs));
  const rows = years.map(([year, annual]): TableRow => {
    const values = MONTHS.map((_, i) => months.get(`${year} ${i + 1}`) ?? null);
    return {
      cells: [
        String(year),
        ...values.map((value) => (value === null ? '' : formatPercent(value))),
        formatPercent(annual),
      ],
      tints: [null, ...values.map((value) => findTint(value, largest)), null],
    };
  });
  return {
    columns: [
      createTextColumn('Year'),
      ...MONTHS.map(createFigureColumn),
      { ...createFigureColumn('Annual'), isTotal: true },
    ],
    rows,
    note:
      years.length === annualRows.length
        ? `The first month and year start on ${overview.start}; the last month and year end on ${overview.end}.`
        : `The last month and year end on ${overview.end}.`,
  };
}

/**
 * Returns the background of a month if its absolute return is at least a third of the largest one: blue for gains,
 * amber for losses.
 */
function findTint(value: number | null, largest: number): string | null {
  if (value === null || Math.abs(value) < largest / 3) return null;
  return value > 0 ? NAVY_TINT : AMBER_TINT;
}

function createAttributionTable({ attribution, findName }: RunFigures, limit: number): Table {
  const { contributions, total_return, cap_drag, cost_drag, start, end } = attribution();
  const { shown: rows, others } = splitRows(contributions, limit);
  const hasNames = rows.some(({ asset_id }) => findName(asset_id) !== null);
  const table = toTable<(typeof rows)[number]>(
    [
      { column: createTextColumn('Identifier'), cell: ({ asset_id }) => cleanLine(asset_id) },
      {
        column: createTextColumn('Name'),
        cell: ({ asset_id }) => cleanLine(findName(asset_id) ?? ''),
        isShown: hasNames,
      },
      { column: createFigureColumn('Average weight'), cell: ({ average_weight }) => formatPercent(average_weight) },
      { column: createFigureColumn('Return'), cell: (row) => formatPercent(row.total_return) },
      { column: createFigureColumn('Contribution'), cell: ({ contribution }) => formatPercent(contribution) },
    ],
    rows,
    null,
  );
  const createSums = (label: string, value: number): TableRow => ({
    cells: [label, ...(hasNames ? [''] : []), '', '', formatPercent(value)],
    isTotal: true,
  });
  const remainingTableRows =
    others.length === 0
      ? []
      : [
          createSums(
            `${formatCount(others.length)} others`,
            others.reduce((sum, { contribution }) => sum + contribution, 0),
          ),
        ];
  const drags = [
    cap_drag === null ? '' : ` Capping: ${formatPercent(cap_drag)}.`,
    cost_drag === null ? '' : ` Costs: ${formatPercent(cost_drag)}.`,
  ].join('');
  return {
    ...table,
    rows: [...table.rows, ...remainingTableRows, createSums('Return', total_return)],
    note: `Linked over time so that contributions sum to the return of the portfolio, ${start.slice(0, 10)} to ${end.slice(0, 10)}.${drags}`,
  };
}

function createRiskTable({ risk, overview, weightDecimals }: RunFigures, limit: number): Table {
  const result = risk();
  if ('missing' in result) return { columns: [], rows: [], note: result.missing };
  const { names, volatility, coveredWeight } = result;
  const { shown: rows, others } = splitRows(names, limit);
  const hasNames = rows.some(({ name }) => name !== null);
  const isCovered = coveredWeight > 1 - 1e-6;
  const formatShare = (contribution: number): string => formatPercent(volatility > 0 ? contribution / volatility : 0);
  const table = toTable<(typeof rows)[number]>(
    [
      { column: createTextColumn('Identifier'), cell: ({ identifier }) => cleanLine(identifier) },
      { column: createTextColumn('Name'), cell: ({ name }) => cleanLine(name ?? ''), isShown: hasNames },
      { column: createFigureColumn('Weight'), cell: ({ weight }) => formatWeight(weight, weightDecimals) },
      { column: createFigureColumn('Risk contribution'), cell: ({ contribution }) => formatPercent(contribution) },
      { column: createFigureColumn('Share of risk'), cell: ({ contribution }) => formatShare(contribution) },
    ],
    rows,
    `Volatility of the holdings of ${overview.end}, estimated from returns from ${overview.start} to ${overview.end}; contributions sum to the volatility.${isCovered ? '' : ` Securities with too little data have no contribution. The estimate covers ${formatPercent(coveredWeight)} of the weight and is scaled to the full weight.`}`,
  );
  const createSums = (label: string, weight: number, contribution: number): TableRow => ({
    cells: [
      label,
      ...(hasNames ? [''] : []),
      formatPercent(weight),
      formatPercent(contribution),
      formatShare(contribution),
    ],
    isTotal: true,
  });
  const otherTotals = others.reduce(
    (sum, { weight, contribution }) => ({ weight: sum.weight + weight, contribution: sum.contribution + contribution }),
    { weight: 0, contribution: 0 },
  );
  return {
    ...table,
    rows: [
      ...table.rows,
      ...(others.length === 0
        ? []
        : [createSums(`${formatCount(others.length)} others`, otherTotals.weight, otherTotals.contribution)]),
      createSums('Volatility', coveredWeight, volatility),
    ],
  };
}

function createLiteralTable({ index, columns, data }: LiteralTable, limit: number): Table {
  const { shown: rows, others } = splitRows(data, limit);
  const isNumbered = index.every((label, i) => label === i);
  const shownColumns = columns.map((head, k) =>
    createLiteralColumn(
      cleanLine(head),
      rows.map((row) => row[k]!),
    ),
  );
  const labels = isNumbered
    ? []
    : [{ column: createTextColumn(''), cells: index.slice(0, rows.length).map((label) => cleanLine(String(label))) }];
  const allColumns = [...labels, ...shownColumns];
  return {
    columns: allColumns.map(({ column }) => column),
    rows: allColumns.length === 0 ? [] : rows.map((_, r) => ({ cells: allColumns.map(({ cells }) => cells[r]!) })),
    note:
      data.length === 0
        ? 'No rows.'
        : others.length > 0
          ? `${formatCount(others.length)} more rows are not shown.`
          : null,
  };
}

function createLiteralColumn(
  head: string,
  cells: readonly LiteralTable['data'][number][number][],
): { readonly column: TableColumn; readonly cells: readonly string[] } {
  const numbers = cells.filter((cell): cell is number => typeof cell === 'number');
  const isFigure = numbers.length > 0 && cells.every((cell) => cell === null || typeof cell === 'number');
  const texts = formatPlainTexts(numbers);
  let next = 0;
  return {
    column: { head, isFigure },
    cells: cells.map((cell) => {
      if (typeof cell === 'number') return texts[next++]!;
      if (cell === null) return isFigure ? NOT_MEASURED : '';
      return typeof cell === 'boolean' ? (cell ? 'yes' : 'no') : cleanLine(cell);
    }),
  };
}
