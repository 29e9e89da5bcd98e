import { LIMIT_RULES } from '#domain/definition/compliance.js';
import type { BlockOf, LiteralTable, TableSource } from '#domain/outputs/report-templates.js';
import { createNotePart, createTitlePart, type Drawing, type DrawingContext, requireFigures } from './blocks.js';
import { MONTHS } from './charts.js';
import {
  formatBasisPoints,
  formatCount,
  formatPercent,
  formatPlainTexts,
  formatRatio,
  formatWeight,
  NOT_MEASURED,
  type RunFigures,
  splitRows,
} from './figures.js';
import { AMBER_TINT, NAVY_TINT } from './page.js';
import {
  createFigureColumn,
  createTextColumn,
  type Field,
  layTable,
  type Table,
  type TableColumn,
  type TableRow,
  toTable,
} from './tables.js';
import { cleanLine } from './text.js';

/** Returns the table of all published concentration rules. */
function createLimitsTable({ limits, hasIssuers, overview }: RunFigures): Table {
  const rules = limits();
  const fields: Field<(typeof rules)[number]>[] = [
    { column: createTextColumn('Rule'), cell: ({ rule }) => LIMIT_RULES[rule].label },
    {
      column: createFigureColumn(`Headroom on ${overview.end}`),
      cell: ({ headroom }) => formatPercent(headroom.at(-1)!),
    },
    { column: createFigureColumn('Least headroom'), cell: ({ headroom }) => formatPercent(Math.min(...headroom)) },
    { column: createFigureColumn('Sessions in breach'), cell: ({ breachedDates }) => formatCount(breachedDates) },
    { column: createFigureColumn('Breaches'), cell: ({ breaches }) => formatCount(breaches.length) },
  ];
  return toTable(
    fields,
    rules,
    `Concentration rules on the weights of ${formatCount(rules[0]!.dates.length)} sessions, ${hasIssuers ? 'by issuer' : 'each security its own issuer'}. Headroom is the distance to the nearest bound; it is negative beyond the bound.`,
  );
}

/**
 * Returns the contributions of an overlay: first its underlying index, then its own parts. Returns null for an index
 * that is not an overlay.
 */
function createOverlayTable({ attribution, overview, terms }: RunFigures): Table | null {
  const { contributions, overlay_parts: parts, total_return: total } = attribution();
  if (parts === null) return null;
  const names = contributions.reduce((sum, { contribution }) => sum + contribution, 0);
  const rows = [
    { label: 'Underlying securities', of: overview.index_id, contribution: names },
    ...parts.map(({ part, index_id, contribution }) => ({
      label: `${part.charAt(0).toUpperCase()}${part.slice(1)}`,
      of: index_id,
      contribution,
    })),
    { label: 'Return of the portfolio', of: overview.index_id, contribution: total },
  ];
  const fields: Field<(typeof rows)[number]>[] = [
    { column: createTextColumn('Part'), cell: ({ label }) => label },
    {
      column: createTextColumn('Index'),
      cell: ({ of }) => cleanLine(of),
      isShown: parts.some((part) => part.index_id !== overview.index_id),
    },
    { column: createFigureColumn('Contribution'), cell: ({ contribution }) => formatPercent(contribution) },
  ];
  const table = toTable(
    fields,
    rows,
    'Contributions are linked over time: securities and parts sum to the return of the portfolio.',
  );
  return { ...table, remarks: terms.overlay?.sentences ?? [] };
}

/**
 * Returns the breaches of the rule that triggers rebalances: first those that last, then the latest. Returns null if
 * the index has no such rule.
 */
function createBreachesTable({ breaches, overview }: RunFigures, limit: number): Table | null {
  const watchedBreaches = breaches();
  if (watchedBreaches === null) return null;
  const { label } = LIMIT_RULES[watchedBreaches.rule];
  const latestBreaches = watchedBreaches.breaches.toReversed();
  const orderedBreaches = [
    ...latestBreaches.filter(({ end }) => end === null),
    ...latestBreaches.filter(({ end }) => end !== null),
  ];
  const { shown: rows, others } = splitRows(orderedBreaches, limit);
  const fields: Field<(typeof rows)[number]>[] = [
    { column: createTextColumn('Limit'), cell: ({ row }) => `${row.charAt(0).toUpperCase()}${row.slice(1)}` },
    { column: createTextColumn('From'), cell: ({ begin }) => begin },
    { column: createTextColumn('To'), cell: ({ end }) => end ?? 'still' },
    { column: createTextColumn('By'), cell: ({ cause }) => cause },
    { column: createFigureColumn('Furthest'), cell: ({ worst }) => formatPercent(worst.value) },
    { column: createFigureColumn('Bound'), cell: ({ worst }) => formatPercent(worst.limit) },
  ];
  const count = `${formatCount(orderedBreaches.length)} ${orderedBreaches.length === 1 ? 'breach' : 'breaches'} from ${overview.start} to ${overview.end}`;
  const omissionNote =
    others.length === 0 ? '' : `, of which the ${formatCount(rows.length)} lasting and latest are shown`;
  return toTable(
    fields,
    rows,
    `${label}: ${count}${omissionNote}. A breach by price or corporate action triggers a rebalance.`,
  );
}

/** Returns the dividends in index points, latest year first; null if there are neither past nor announced dividends. */
function createDividendsTable({ dividendPoints, overview }: RunFigures, limit: number): Table | null {
  const result = dividendPoints();
  if ('missing' in result) return { columns: [], rows: [], note: result.missing };
  const { years, trailing, announced, level } = result;
  if (years.length === 0 && announced.points === 0) return null;
  const { shown: rows } = splitRows(years.toReversed(), limit);
  const fields: Field<(typeof rows)[number]>[] = [
    { column: createTextColumn('Year'), cell: ({ year }) => String(year) },
    { column: createFigureColumn('Points'), cell: ({ points }) => formatRatio(points) },
  ];
  const comingNote =
    announced.dividends_total === 0
      ? ''
      : ` Announced after that: ${formatRatio(announced.points)} points in ${formatCount(announced.dividends_total)} ${announced.dividends_total === 1 ? 'dividend' : 'dividends'}.`;
  return toTable(
    fields,
    rows,
    `Ordinary dividends in points of the level, ${formatRatio(level)} on ${overview.end}; ${formatRatio(trailing.points)} points in the twelve months before, a yield of ${formatPercent(trailing.yield)}.${comingNote}`,
  );
}

/**
 * Returns the orders of the latest rebalance, largest first. Returns null for an overlay, or if the only rebalance is
 * the first purchase.
 */
function createPackTable(
  { pack, currency, findName }: RunFigures,
  { aum, limit }: Pick<BlockOf<'table'>, 'aum' | 'limit'>,
): Table | null {
  const result = pack(aum);
  if (result === null) return null;
  if ('missing' in result) return { columns: [], rows: [], note: result.missing };
  const { date, participation, account, days, capacity } = result;
  const { shown: rows, others } = splitRows(
    account.trades.toSorted((a, b) => b.value - a.value),
    limit,
  );
  const hasNames = rows.some(({ identifier }) => findName(identifier) !== null);
  const formatDays = (value: number | null): string => (value === null ? 'unknown' : formatRatio(value));
  const fields: Field<(typeof rows)[number]>[] = [
    { column: createTextColumn('Identifier'), cell: ({ identifier }) => cleanLine(identifier) },
    {
      column: createTextColumn('Name'),
      cell: ({ identifier }) => cleanLine(findName(identifier) ?? ''),
      isShown: hasNames,
    },
    { column: createTextColumn('Side'), cell: ({ side }) => side },
    { column: createFigureColumn('Shares'), cell: ({ shares }) => formatCount(shares) },
    { column: createFigureColumn('Value'), cell: ({ value }) => formatCount(value) },
    { column: createFigureColumn('From'), cell: ({ weight_before: before }) => formatPercent(before) },
    { column: createFigureColumn('To'), cell: ({ weight_target: target }) => formatPercent(target) },
    { column: createFigureColumn('Days'), cell: ({ days_to_trade: daysToTrade }) => formatDays(daysToTrade) },
  ];
  const omissionNote = others.length === 0 ? '' : ` ${formatCount(others.length)} smaller orders are not shown.`;
  const capacities = capacity.map(
    ({ days: daysMax, aum: value }) => `${value === null ? 'unknown' : formatCount(value)} in ${daysMax}`,
  );
  return toTable(
    fields,
    rows,
    `Orders of ${date} for ${formatCount(aum)} ${currency}: turnover ${formatPercent(account.turnover)}, expected cost ${formatBasisPoints((account.cost / account.value) * 10_000)}.${omissionNote} Days to trade at ${formatPercent(participation)} of the mean daily volume: ${formatDays(days.p50)} in the median, ${formatDays(days.max)} at most. Largest purchase by maximum number of days: ${capacities.join(', ')}.`,
  );
}

/** Returns the results of scenarios, one row per scenario. Scenarios without a result are listed below the table. */
function createScenariosTable(
  { scenarios, overview }: RunFigures,
  { scenarios: scenarioNames }: Pick<BlockOf<'table'>, 'scenarios'>,
): Table {
  const results = scenarios(scenarioNames!); // the schema requires scenarios in this table
  if ('missing' in results) return { columns: [], rows: [], note: results.missing };
  const rows = results.flatMap(({ outcome: scenario }) =>
    'missing' in scenario || scenario.result.return === null ? [] : [scenario.result],
  );
  const hasWindows = rows.some(({ window }) => window !== null);
  const fields: Field<(typeof rows)[number]>[] = [
    { column: createTextColumn('Scenario'), cell: ({ name }) => cleanLine(name) },
    { column: createTextColumn('From'), cell: ({ window }) => window?.start ?? '', isShown: hasWindows },
    { column: createTextColumn('To'), cell: ({ window }) => window?.end ?? '', isShown: hasWindows },
    { column: createFigureColumn('Return'), cell: ({ return: total }) => formatPercent(total!) },
    {
      column: createFigureColumn('Standard error'),
      cell: ({ standard_error: error }) => (error === null ? '' : formatPercent(error)),
      isShown: rows.some(({ standard_error: error }) => error !== null),
    },
    {
      column: createFigureColumn('Worst session'),
      cell: ({ worst_session: worstSession }) =>
        worstSession === null ? '' : `${formatPercent(worstSession.return)} (${worstSession.date})`,
      isShown: hasWindows,
    },
    {
      column: createFigureColumn('Own returns'),
      cell: ({ covered_weight: coveredWeight }) => formatPercent(coveredWeight),
    },
  ];
  const note = `Holdings of ${overview.end} in historical windows or under shocks. Own returns: the fraction of the weights with separate returns instead of the mean return of their sector.`;
  const remarks = results.flatMap(({ name, outcome: scenario }) => {
    const messages = 'missing' in scenario ? [scenario.missing] : scenario.findings.map(({ message }) => message);
    return messages.map((message) => `${cleanLine(name)}: ${message}`);
  });
  return { ...toTable(fields, rows, note), remarks };
}

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
