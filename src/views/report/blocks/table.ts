import { LIMIT_RULES } from '#domain/compliance/rules.js';
import type { LiteralTable, TableSource } from '#domain/reports/blocks/table.js';
import type { BlockOf } from '#domain/reports/block-kinds.js';
import { MONTHS } from '../chart/date-axis.js';
import type { RunFigures } from '../figures.js';
import { countText, NOT_MEASURED, percentText, formatPlainTexts, weightText } from '../numbers.js';
import { rowsWithin } from '../rows-within.js';
import { AMBER_TINT, NAVY_TINT } from '../style-sheet.js';
import { layTable } from '../table/lay-table.js';
import { figure, text, toTable, type Field, type Table } from '../table/fields.js';
import type { TableColumn, TableRow } from '../table/table-content.js';
import { cleanLine } from '../text/clean-text.js';
import { breachesTable, dividendsTable, limitsTable, overlayTable, packTable, scenariosTable } from './desk-tables.js';
import { requireFigures, type Drawing, type DrawingContext } from './drawing.js';
import { notePart, titlePart } from './titled.js';

/** Draws a table. The header is repeated on every page. */
export const drawTable: Drawing<'table'> = (block, context) => {
  const { width, typesetter } = context;
  const content = CONTENTS[block.source](block, context);
  if (content === null) return { title: null, sections: [] };
  const { columns, rows, note, remarks = [] } = content;
  const sections = rows.length === 0 ? [] : layTable({ columns, rows }, width, typesetter);
  const notes = [...(note === null ? [] : [note]), ...remarks].map((sentence) => ({
    head: null,
    rows: [notePart(sentence, width, typesetter)],
  }));
  return { title: titlePart(block.title, width, typesetter), sections: [...sections, ...notes] };
};

/** Returns the content of a table; null if the run lacks the data, in which case nothing is printed. */
type Content = (block: BlockOf<'table'>, context: DrawingContext) => Table | null;

const CONTENTS: Record<TableSource, Content> = {
  constituents: ({ limit }, context) =>
    constituentsTable(requireFigures(context), { limit, isNarrow: context.width < NARROW }),
  rebalances: ({ limit }, context) => rebalancesTable(requireFigures(context), limit),
  annual_returns: ({ limit }, context) => annualTable(requireFigures(context), limit),
  monthly_returns: ({ limit }, context) => monthlyTable(requireFigures(context), limit),
  attribution: ({ limit }, context) => attributionTable(requireFigures(context), limit),
  risk: ({ limit }, context) => riskTable(requireFigures(context), limit),
  exposures: ({ limit }, context) => exposuresTable(requireFigures(context), limit),
  limits: (_block, context) => limitsTable(requireFigures(context)),
  breaches: ({ limit }, context) => breachesTable(requireFigures(context), limit),
  overlay_parts: (_block, context) => overlayTable(requireFigures(context)),
  dividend_points: ({ limit }, context) => dividendsTable(requireFigures(context), limit),
  pack: (block, context) => packTable(requireFigures(context), block),
  scenarios: (block, context) => scenariosTable(requireFigures(context), block),
  literal: ({ frame, limit }) => literalTable(frame!, limit), // the schema requires a frame in a literal table
};

/** Width in points below which (half a page) a table of securities omits columns that are not figures. */
const NARROW = 320;

function constituentsTable(
  { constituents, hasCap, overview, weightDecimals }: RunFigures,
  { limit, isNarrow }: { readonly limit: number; readonly isNarrow: boolean },
): Table {
  const all = constituents();
  const { shown: rows } = rowsWithin(all, limit);
  const fields: Field<(typeof rows)[number]>[] = [
    { column: text('Identifier'), cell: ({ identifier }) => cleanLine(identifier) },
    {
      column: text('Name'),
      cell: ({ name }) => cleanLine(name ?? ''),
      isShown: rows.some(({ name }) => name !== null),
    },
    {
      column: text('Sector'),
      cell: ({ sector }) => cleanLine(sector ?? ''),
      isShown: !isNarrow && rows.some(({ sector }) => sector !== null),
    },
    { column: figure('Weight'), cell: ({ weight }) => weightText(weight, weightDecimals) },
    {
      column: figure('Before capping'),
      cell: ({ rawWeight }) => weightText(rawWeight, weightDecimals),
      isShown: hasCap,
    },
    {
      column: figure('At cap'),
      cell: ({ isCapped }) => (isCapped ? 'yes' : ''),
      isShown: !isNarrow && hasCap && rows.some(({ isCapped }) => isCapped),
    },
  ];
  const shown =
    rows.length < all.length
      ? `The largest ${countText(rows.length)} of ${countText(all.length)} constituents`
      : `${countText(all.length)} ${all.length === 1 ? 'constituent' : 'constituents'}`;
  return toTable(
    fields,
    rows,
    `${shown} held on ${overview.end}${hasCap ? '; weights before capping are those of the latest rebalance' : ''}.`,
  );
}

function rebalancesTable(
  { rebalances, hasCap, overview, watchedRule, weightDecimals }: RunFigures,
  limit: number,
): Table {
  const rows = rebalances(limit);
  const breach = watchedRule === null ? 'breach' : `breach of ${LIMIT_RULES[watchedRule].label}`;
  const fields: Field<(typeof rows)[number]>[] = [
    { column: text('Date'), cell: ({ date }) => date },
    {
      column: text('Cause'),
      cell: ({ cause }) => (cause === 'breach' ? breach : cause),
      isShown: watchedRule !== null || rows.some(({ cause }) => cause !== 'schedule'),
    },
    { column: figure('Constituents'), cell: ({ constituents }) => countText(constituents) },
    { column: figure('Added'), cell: ({ added }) => countText(added) },
    { column: figure('Removed'), cell: ({ removed }) => countText(removed) },
    { column: figure('Turnover'), cell: ({ turnover }) => percentText(turnover) },
    { column: figure('Largest weight'), cell: ({ largest }) => weightText(largest, weightDecimals) },
    { column: figure('Cap'), cell: ({ cap }) => percentText(cap), isShown: hasCap },
    { column: figure('At cap'), cell: ({ capped }) => countText(capped), isShown: hasCap },
    { column: figure('Redistributed'), cell: ({ redistributed }) => percentText(redistributed), isShown: hasCap },
  ];
  const count = overview.rebalances;
  return toTable(
    fields,
    rows,
    `${countText(count)} ${count === 1 ? 'rebalance' : 'rebalances'} from ${overview.start} to ${overview.end}. Turnover is one-way, against the weights held before the trades.`,
  );
}

/** Number of years that fit next to each other. */
const YEARS_SHOWN = 8;

function exposuresTable({ yearEndSectors, overview }: RunFigures, limit: number): Table {
  const { dates, sectors } = yearEndSectors(YEARS_SHOWN);
  const { shown, others } = rowsWithin(sectors, limit);
  const rest = Float64Array.from(dates, (_, k) => others.reduce((sum, { weights }) => sum + weights[k]!, 0));
  const rows = [
    ...shown.map(({ sector, weights }) => ({ label: sector ?? 'Unclassified', weights })),
    ...(others.length === 0 ? [] : [{ label: `${countText(others.length)} others`, weights: rest }]),
  ];
  const fields: Field<(typeof rows)[number]>[] = [
    { column: text('Sector'), cell: ({ label }) => cleanLine(label) },
    ...dates.map((date, k) => ({
      column: figure(date === overview.end ? date : date.slice(0, 4)),
      cell: ({ weights }: (typeof rows)[number]) => percentText(weights[k]!),
    })),
  ];
  return toTable(fields, rows, 'Weights held at the end of each year, by the sectors of the last date.');
}

function annualTable({ annualReturns }: RunFigures, limit: number): Table {
  const rows = annualReturns().slice(-limit);
  const fields: Field<(typeof rows)[number]>[] = [
    { column: text('Year'), cell: ([year]) => String(year) },
    { column: figure('Return'), cell: ([, value]) => percentText(value) },
  ];
  return toTable(fields, rows, null);
}

function monthlyTable({ monthlyReturns, annualReturns, overview }: RunFigures, limit: number): Table {
  const all = annualReturns();
  const years = all.slice(-limit);
  const months = new Map(monthlyReturns().map(({ year, month, value }) => [`${year} ${month}`, value]));
  const largest = Math.max(...[...months.values()].map(Math.abs));
  const rows = years.map(([year, annual]): TableRow => {
    const values = MONTHS.map((_, i) => months.get(`${year} ${i + 1}`) ?? null);
    return {
      cells: [String(year), ...values.map((value) => (value === null ? '' : percentText(value))), percentText(annual)],
      tints: [null, ...values.map((value) => tintOf(value, largest)), null],
    };
  });
  return {
    columns: [text('Year'), ...MONTHS.map(figure), { ...figure('Annual'), isTotal: true }],
    rows,
    note:
      years.length === all.length
        ? `The first month and year start on ${overview.start}; the last month and year end on ${overview.end}.`
        : `The last month and year end on ${overview.end}.`,
  };
}

/**
 * Returns the background of a month with more than a third of the largest absolute return: blue for gains, amber for
 * losses.
 */
function tintOf(value: number | null, largest: number): string | null {
  if (value === null || Math.abs(value) < largest / 3) return null;
  return value > 0 ? NAVY_TINT : AMBER_TINT;
}

function attributionTable({ attribution, nameOf }: RunFigures, limit: number): Table {
  const { contributions, total_return, cap_drag, cost_drag, start, end } = attribution();
  const { shown: rows, others } = rowsWithin(contributions, limit);
  const hasNames = rows.some(({ asset_id }) => nameOf(asset_id) !== null);
  const table = toTable<(typeof rows)[number]>(
    [
      { column: text('Identifier'), cell: ({ asset_id }) => cleanLine(asset_id) },
      { column: text('Name'), cell: ({ asset_id }) => cleanLine(nameOf(asset_id) ?? ''), isShown: hasNames },
      { column: figure('Average weight'), cell: ({ average_weight }) => percentText(average_weight) },
      { column: figure('Return'), cell: (row) => percentText(row.total_return) },
      { column: figure('Contribution'), cell: ({ contribution }) => percentText(contribution) },
    ],
    rows,
    null,
  );
  const sums = (label: string, value: number): TableRow => ({
    cells: [label, ...(hasNames ? [''] : []), '', '', percentText(value)],
    isTotal: true,
  });
  const rest =
    others.length === 0
      ? []
      : [
          sums(
            `${countText(others.length)} others`,
            others.reduce((sum, { contribution }) => sum + contribution, 0),
          ),
        ];
  const drags = [
    cap_drag === null ? '' : ` Capping: ${percentText(cap_drag)}.`,
    cost_drag === null ? '' : ` Costs: ${percentText(cost_drag)}.`,
  ].join('');
  return {
    ...table,
    rows: [...table.rows, ...rest, sums('Return', total_return)],
    note: `Linked over time so that contributions sum to the return of the portfolio, ${start.slice(0, 10)} to ${end.slice(0, 10)}.${drags}`,
  };
}

function riskTable({ risk, overview, weightDecimals }: RunFigures, limit: number): Table {
  const result = risk();
  if ('missing' in result) return { columns: [], rows: [], note: result.missing };
  const { names, volatility, coveredWeight } = result;
  const { shown: rows, others } = rowsWithin(names, limit);
  const hasNames = rows.some(({ name }) => name !== null);
  const isCovered = coveredWeight > 1 - 1e-6;
  const share = (contribution: number): string => percentText(volatility > 0 ? contribution / volatility : 0);
  const table = toTable<(typeof rows)[number]>(
    [
      { column: text('Identifier'), cell: ({ identifier }) => cleanLine(identifier) },
      { column: text('Name'), cell: ({ name }) => cleanLine(name ?? ''), isShown: hasNames },
      { column: figure('Weight'), cell: ({ weight }) => weightText(weight, weightDecimals) },
      { column: figure('Risk contribution'), cell: ({ contribution }) => percentText(contribution) },
      { column: figure('Share of risk'), cell: ({ contribution }) => share(contribution) },
    ],
    rows,
    `Volatility of the holdings of ${overview.end}, estimated from returns from ${overview.start} to ${overview.end}; contributions sum to the volatility.${isCovered ? '' : ' Securities with too little data are excluded.'}`,
  );
  const sums = (label: string, weight: number, contribution: number): TableRow => ({
    cells: [label, ...(hasNames ? [''] : []), percentText(weight), percentText(contribution), share(contribution)],
    isTotal: true,
  });
  const rest = others.reduce(
    (sum, { weight, contribution }) => ({ weight: sum.weight + weight, contribution: sum.contribution + contribution }),
    { weight: 0, contribution: 0 },
  );
  return {
    ...table,
    rows: [
      ...table.rows,
      ...(others.length === 0 ? [] : [sums(`${countText(others.length)} others`, rest.weight, rest.contribution)]),
      sums('Volatility', coveredWeight, volatility),
    ],
  };
}

function literalTable({ index, columns, data }: LiteralTable, limit: number): Table {
  const { shown: rows, others } = rowsWithin(data, limit);
  const isNumbered = index.every((label, i) => label === i);
  const shown = columns.map((head, k) =>
    literalColumn(
      cleanLine(head),
      rows.map((row) => row[k]!),
    ),
  );
  const labels = isNumbered
    ? []
    : [{ column: text(''), cells: index.slice(0, rows.length).map((label) => cleanLine(String(label))) }];
  const all = [...labels, ...shown];
  return {
    columns: all.map(({ column }) => column),
    rows: all.length === 0 ? [] : rows.map((_, r) => ({ cells: all.map(({ cells }) => cells[r]!) })),
    note:
      data.length === 0
        ? 'No rows.'
        : others.length > 0
          ? `${countText(others.length)} more rows are not shown.`
          : null,
  };
}

function literalColumn(
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
