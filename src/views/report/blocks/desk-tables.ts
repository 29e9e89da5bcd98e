import { LIMIT_RULES } from '#domain/compliance/rules.js';
import type { BlockOf } from '#domain/reports/block-kinds.js';
import type { RunFigures } from '../figures.js';
import { formatBasisPoints, formatCount, formatPercent, formatRatio } from '../numbers.js';
import { splitRows } from '../rows-within.js';
import { createFigureColumn, createTextColumn, toTable, type Field, type Table } from '../table/fields.js';
import { cleanLine } from '../text/clean-text.js';

/** Returns the table of all published concentration rules. */
export function createLimitsTable({ limits, hasIssuers, overview }: RunFigures): Table {
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
export function createOverlayTable({ attribution, overview, terms }: RunFigures): Table | null {
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
export function createBreachesTable({ breaches, overview }: RunFigures, limit: number): Table | null {
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
export function createDividendsTable({ dividendPoints, overview }: RunFigures, limit: number): Table | null {
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
export function createPackTable(
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
export function createScenariosTable(
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
