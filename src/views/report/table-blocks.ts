import { LIMIT_RULES } from '#domain/definition/compliance.js';
import type { BlockOf, LiteralTable, TableSource } from '#domain/outputs/report-templates.js';
import type { Cause, ShownDifference } from '#domain/studies/difference-result.js';
import { createNotePart, createTitlePart, type Drawing, type DrawingContext, requireFigures } from './blocks.js';
import { MONTHS } from './charts.js';
import {
  formatBasisPoints,
  formatCountFigure,
  formatPercentFigure,
  formatPlainTexts,
  formatRatio,
  formatWeight,
  NOT_MEASURED,
  type RunFigures,
  splitRows,
} from './figures.js';
import {
  AMBER_TINT,
  type Canvas,
  HAIRLINE,
  INK,
  LEADING,
  LINE,
  MUTED_INK,
  NAVY_TINT,
  type Part,
  type Section,
  SIZE,
  SPACE,
  type StructureElement,
} from './page.js';
import { cleanLine, type Typesetter } from './text.js';

interface TableColumn {
  readonly head: string;
  /** True for figures, which are right-aligned. Text is left-aligned. */
  readonly isFigure: boolean;
  /** True for a column of row totals. It is printed bold. */
  readonly isTotal?: boolean;
}

interface TableRow {
  readonly cells: readonly string[];
  /** True for a total row. It is printed bold with a rule above it. */
  readonly isTotal?: boolean;
  /** Background colour of each cell; null without a colour. */
  readonly tints?: readonly (string | null)[];
}

interface TableContent {
  readonly columns: readonly TableColumn[];
  readonly rows: readonly TableRow[];
}

interface Table extends TableContent {
  /** Note printed below the table. */
  readonly note: string | null;
  /** Further remarks below the note, one per paragraph. */
  readonly remarks?: readonly string[];
}

const createTextColumn = (head: string): TableColumn => ({ head, isFigure: false });
const createFigureColumn = (head: string): TableColumn => ({ head, isFigure: true });

/** Table column with the function that creates its cells. If all cells are empty, the column is left out. */
interface Field<R> {
  readonly column: TableColumn;
  readonly cell: (row: R) => string;
  readonly isShown?: boolean;
}

function toTable<R>(fields: readonly Field<R>[], rows: readonly R[], note: string | null): Table {
  const shownFields = fields.filter(({ isShown = true }) => isShown);
  return {
    columns: shownFields.map(({ column }) => column),
    rows: rows.map((row) => ({ cells: shownFields.map(({ cell }) => cell(row)) })),
    note,
  };
}

interface FittedColumn {
  /** Position among all columns of the table. */
  readonly column: number;
  readonly x: number;
  readonly width: number;
  /** Padding on both sides. */
  readonly outer: number;
}

interface FitInput extends TableContent {
  readonly width: number;
  readonly typesetter: Typesetter;
  /** Minimum distance between two columns in points. */
  readonly gap: number;
}

/** Width of a column without line breaks, and its minimum width. */
interface ColumnNeed {
  readonly natural: number;
  readonly least: number;
}

/** Minimum width of a text column in points. */
const TEXT_WIDTH_MIN = 56;

/**
 * Divides the columns into as few groups as fit the width. The groups have about equal numbers of columns, and each
 * repeats the first column. A column of figures is as wide as its longest figure. Text is wrapped, and the remaining
 * width is distributed.
 */
export function fitColumns({ columns, rows, width, typesetter, gap }: FitInput): FittedColumn[][] {
  const needs = columns.map((column, i) =>
    measureNeed(
      column,
      rows.map(({ cells, isTotal = false }) => ({ text: cells[i]!, isTotal: isTotal || column.isTotal === true })),
      typesetter,
    ),
  );
  const layout = { needs, columns, width, gap };
  const filledGroups = groupBy(layout, columns.length);
  const evenGroups = groupBy(layout, Math.ceil((columns.length - 1) / filledGroups.length));
  return (evenGroups.length > filledGroups.length ? filledGroups : evenGroups).map((group) =>
    placeColumns(group, layout),
  );
}

/**
 * Groups columns so that each group fits the width. A group has the first column and at most `columnsMax` other
 * columns.
 */
function groupBy({ needs, width, gap }: PlaceInput, columnsMax: number): number[][] {
  const groups: number[][] = [];
  let usedWidth = Infinity;
  needs.forEach(({ least }, i) => {
    if (i === 0) return;
    const wantedWidth = least + gap;
    if (usedWidth + wantedWidth > width || groups.at(-1)!.length > columnsMax) {
      groups.push([0]);
      usedWidth = needs[0]!.least;
    }
    groups.at(-1)!.push(i);
    usedWidth += wantedWidth;
  });
  return groups.length === 0 ? [[0]] : groups;
}

function measureNeed(
  { head, isFigure }: TableColumn,
  cells: readonly { readonly text: string; readonly isTotal: boolean }[],
  typesetter: Typesetter,
): ColumnNeed {
  const cellWidth =
    cells.reduce(
      (widest, { text, isTotal }) =>
        Math.max(widest, typesetter.width(text, { size: SIZE.table, weight: isTotal ? 'bold' : 'regular' })),
      0,
    ) + 0.5;
  const words = Math.max(
    ...head.split(' ').map((word) => typesetter.width(word, { size: SIZE.label, weight: 'bold' })),
  );
  const title = typesetter.width(head, { size: SIZE.label, weight: 'bold' });
  return isFigure
    ? { natural: Math.max(cellWidth, title), least: Math.max(cellWidth, words) }
    : { natural: Math.max(cellWidth, title), least: Math.max(words, Math.min(cellWidth, TEXT_WIDTH_MIN)) };
}

interface PlaceInput {
  readonly needs: readonly ColumnNeed[];
  readonly columns: readonly TableColumn[];
  readonly width: number;
  readonly gap: number;
}

function placeColumns(group: readonly number[], { needs, columns, width, gap }: PlaceInput): FittedColumn[] {
  const availableWidth = Math.max(width - gap * (group.length - 1), 0);
  const widths = computeWidths(
    group.map((i) => needs[i]!),
    availableWidth,
  );
  const spareWidth = Math.max(0, availableWidth - widths.reduce((sum, columnWidth) => sum + columnWidth, 0));
  const share = group.length > 1 ? spareWidth / (group.length - 1) : 0;
  let x = 0;
  return group.map((column, k) => {
    const ownWidth = Math.min(widths[k]!, width);
    // Additional space comes before figures and after text, because figures are right-aligned and text is left-aligned.
    const gapBefore = k > 0 && columns[column]!.isFigure ? share : 0;
    const gapAfter = k < group.length - 1 && !columns[group[k + 1]!]!.isFigure ? share : 0;
    const fittedColumn = { column, x: x + gapBefore, width: ownWidth, outer: Math.min(gap, gap + share) / 2 };
    x += gapBefore + ownWidth + gapAfter + gap;
    return fittedColumn;
  });
}

/**
 * Returns the natural widths if they fit. Otherwise each column gets its minimum width, and all columns get the same
 * fraction of what they need beyond it.
 */
function computeWidths(needs: readonly ColumnNeed[], availableWidth: number): number[] {
  const natural = needs.reduce((sum, need) => sum + need.natural, 0);
  if (natural <= availableWidth) return needs.map((need) => need.natural);
  const minimumWidth = needs.reduce((sum, need) => sum + need.least, 0);
  const share =
    natural > minimumWidth ? Math.max(0, Math.min(1, (availableWidth - minimumWidth) / (natural - minimumWidth))) : 0;
  return needs.map((need) => need.least + share * (need.natural - need.least));
}

const ROW_PADDING = 3;
const HEAD_PADDING = 3.5;
const LINE_HEIGHT = SIZE.table * LEADING;
const HEAD_LINE_HEIGHT = SIZE.label * 1.25;
/** Maximum number of lines in a cell. Longer text ends with an ellipsis. */
const CELL_LINES_MAX = 3;

/**
 * Lays out a table for a width. Columns that do not fit continue in another section that repeats the first column. If
 * this saves a section, the distance between columns is halved.
 * @cost measures every cell
 */
export function layTable({ columns, rows }: TableContent, width: number, typesetter: Typesetter): Section[] {
  const fitWithGap = (gap: number) => fitColumns({ columns, rows, width, typesetter, gap });
  const wideGroups = fitWithGap(SPACE.column);
  const close = wideGroups.length === 1 ? wideGroups : fitWithGap(SPACE.column / 2);
  const groups = close.length < wideGroups.length ? close : wideGroups;
  return groups.map((group, i) =>
    laySection({ columns, rows, group, typesetter, gapAbove: i === 0 ? 0 : SPACE.column }),
  );
}

interface SectionInput extends TableContent {
  readonly group: readonly FittedColumn[];
  readonly typesetter: Typesetter;
  readonly gapAbove: number;
}

function laySection({ columns, rows, group, typesetter, gapAbove }: SectionInput): Section {
  let table: StructureElement | null = null;
  const addTable = (canvas: Canvas, parent: StructureElement): StructureElement =>
    (table ??= canvas.element(parent, 'Table'));
  const heads = group.map(({ column, width }) =>
    typesetter.fit(columns[column]!.head, {
      size: SIZE.label,
      weight: 'bold',
      maxWidth: width,
      linesMax: CELL_LINES_MAX,
    }),
  );
  const headLines = Math.max(...heads.map(({ length }) => length));
  const head: Part = {
    height: gapAbove + headLines * HEAD_LINE_HEIGHT + HEAD_PADDING + 1,
    draw(canvas, { x, y, parent }) {
      const isRepeated = table !== null;
      const bottom = y + gapAbove + headLines * HEAD_LINE_HEIGHT + HEAD_PADDING;
      const lastColumn = group.at(-1)!;
      canvas.artifact(() =>
        canvas.line([x, bottom], [x + lastColumn.x + lastColumn.width, bottom], { colour: INK, width: LINE.head }),
      );
      const drawHead = (k: number): void =>
        drawLines(canvas, heads[k]!, {
          column: group[k]!,
          isFigure: columns[group[k]!.column]!.isFigure,
          x,
          lineHeight: HEAD_LINE_HEIGHT,
          size: SIZE.label,
          colour: MUTED_INK,
          isBold: true,
          baseline: bottom - HEAD_PADDING - HEAD_LINE_HEIGHT * (heads[k]!.length - 1) - 1,
        });
      if (isRepeated) {
        canvas.artifact(() => group.forEach((_, k) => drawHead(k)), 'Pagination');
        return;
      }
      const row = canvas.element(addTable(canvas, parent), 'TR');
      group.forEach((_, k) => canvas.content(canvas.element(row, 'TH', { scope: 'Column' }), 'TH', () => drawHead(k)));
    },
  };
  return {
    head,
    rows: rows.map((row, i) =>
      layRow(row, { columns, group, typesetter, tableIn: addTable, isLast: i === rows.length - 1 }),
    ),
  };
}

interface RowInput {
  readonly columns: readonly TableColumn[];
  readonly group: readonly FittedColumn[];
  readonly typesetter: Typesetter;
  readonly tableIn: (canvas: Canvas, parent: StructureElement) => StructureElement;
  readonly isLast: boolean;
}

function layRow(
  { cells, isTotal = false, tints }: TableRow,
  { columns, group, typesetter, tableIn, isLast }: RowInput,
): Part {
  const isBold = (column: number): boolean => isTotal || columns[column]!.isTotal === true;
  const texts = group.map(({ column, width }) => {
    const weight = isBold(column) ? 'bold' : 'regular';
    return columns[column]!.isFigure
      ? [cells[column]!]
      : typesetter.fit(cells[column]!, { size: SIZE.table, weight, maxWidth: width, linesMax: CELL_LINES_MAX });
  });
  const height = Math.max(...texts.map(({ length }) => length)) * LINE_HEIGHT + ROW_PADDING;
  return {
    height,
    draw(canvas, { x, y, parent }) {
      const lastColumn = group.at(-1)!;
      canvas.artifact(() => {
        group.forEach(({ column, x: left, width, outer }) => {
          const tint = tints?.[column];
          if (!tint) return;
          const right = Math.min(left + width + outer, lastColumn.x + lastColumn.width);
          canvas.rectangle({ x: x + left - outer, y, width: right - left + outer, height }, tint);
        });
        if (isTotal) canvas.line([x, y], [x + lastColumn.x + lastColumn.width, y], { colour: INK, width: LINE.rule });
        canvas.line(
          [x, y + height],
          [x + lastColumn.x + lastColumn.width, y + height],
          isLast ? { colour: INK, width: LINE.rule } : { colour: HAIRLINE, width: LINE.hair },
        );
      });
      const row = canvas.element(tableIn(canvas, parent), 'TR');
      const baseline = y + ROW_PADDING / 2 + SIZE.table * 1.05;
      group.forEach((fitWithGap, k) => {
        const type = k === 0 ? 'TH' : 'TD';
        const element = canvas.element(row, type, k === 0 ? { scope: 'Row' } : {});
        canvas.content(element, type, () =>
          drawLines(canvas, texts[k]!, {
            column: fitWithGap,
            isFigure: columns[fitWithGap.column]!.isFigure,
            x,
            baseline,
            lineHeight: LINE_HEIGHT,
            size: SIZE.table,
            colour: INK,
            isBold: isBold(fitWithGap.column),
          }),
        );
      });
    },
  };
}

interface LinesInput {
  readonly column: FittedColumn;
  readonly isFigure: boolean;
  readonly x: number;
  /** Baseline of the first line. */
  readonly baseline: number;
  readonly lineHeight: number;
  readonly size: number;
  readonly colour: string;
  readonly isBold: boolean;
}

function drawLines(
  canvas: Canvas,
  lines: readonly string[],
  { column, isFigure, x, baseline, lineHeight, size, colour, isBold }: LinesInput,
): void {
  const left = x + column.x;
  lines.forEach((line, i) => {
    canvas.text(line, {
      x: isFigure ? left + column.width : left,
      y: baseline + i * lineHeight,
      size,
      colour,
      weight: isBold ? 'bold' : 'regular',
      align: isFigure ? 'right' : 'left',
    });
  });
}

/** Returns the table of all published concentration rules. */
function createLimitsTable({ limits, hasIssuers, overview }: RunFigures): Table {
  const rules = limits();
  const fields: Field<(typeof rules)[number]>[] = [
    { column: createTextColumn('Rule'), cell: ({ rule }) => LIMIT_RULES[rule].label },
    {
      column: createFigureColumn(`Headroom on ${overview.end}`),
      cell: ({ headroom }) => formatPercentFigure(headroom.at(-1)!),
    },
    {
      column: createFigureColumn('Least headroom'),
      cell: ({ headroom }) => formatPercentFigure(Math.min(...headroom)),
    },
    { column: createFigureColumn('Sessions in breach'), cell: ({ breachedDates }) => formatCountFigure(breachedDates) },
    { column: createFigureColumn('Breaches'), cell: ({ breaches }) => formatCountFigure(breaches.length) },
  ];
  return toTable(
    fields,
    rules,
    `Concentration rules on the weights of ${formatCountFigure(rules[0]!.dates.length)} sessions, ${hasIssuers ? 'by issuer' : 'each security its own issuer'}. Headroom is the distance to the nearest bound; it is negative beyond the bound.`,
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
    { column: createFigureColumn('Contribution'), cell: ({ contribution }) => formatPercentFigure(contribution) },
  ];
  const table = toTable(
    fields,
    rows,
    'Contributions are linked over time: securities and parts sum to the return of the portfolio.',
  );
  return { ...table, remarks: terms.overlay === null ? [] : [terms.overlay.sentences.join(' ')] };
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
    { column: createFigureColumn('Furthest'), cell: ({ worst }) => formatPercentFigure(worst.value) },
    { column: createFigureColumn('Bound'), cell: ({ worst }) => formatPercentFigure(worst.limit) },
  ];
  const count = `${formatCountFigure(orderedBreaches.length)} ${orderedBreaches.length === 1 ? 'breach' : 'breaches'} from ${overview.start} to ${overview.end}`;
  const omissionNote =
    others.length === 0 ? '' : `, of which the ${formatCountFigure(rows.length)} lasting and latest are shown`;
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
      : ` Announced after that: ${formatRatio(announced.points)} points in ${formatCountFigure(announced.dividends_total)} ${announced.dividends_total === 1 ? 'dividend' : 'dividends'}.`;
  return toTable(
    fields,
    rows,
    `Ordinary dividends in points of the level, ${formatRatio(level)} on ${overview.end}; ${formatRatio(trailing.points)} points in the twelve months before, a yield of ${formatPercentFigure(trailing.yield)}.${comingNote}`,
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
    { column: createFigureColumn('Shares'), cell: ({ shares }) => formatCountFigure(shares) },
    { column: createFigureColumn('Value'), cell: ({ value }) => formatCountFigure(value) },
    { column: createFigureColumn('From'), cell: ({ weight_before: before }) => formatPercentFigure(before) },
    { column: createFigureColumn('To'), cell: ({ weight_target: target }) => formatPercentFigure(target) },
    { column: createFigureColumn('Days'), cell: ({ days_to_trade: daysToTrade }) => formatDays(daysToTrade) },
  ];
  const omissionNote = others.length === 0 ? '' : ` ${formatCountFigure(others.length)} smaller orders are not shown.`;
  const capacities = capacity.map(
    ({ days: daysMax, aum: value }) => `${value === null ? 'unknown' : formatCountFigure(value)} in ${daysMax}`,
  );
  return toTable(
    fields,
    rows,
    `Orders of ${date} for ${formatCountFigure(aum)} ${currency}: turnover ${formatPercentFigure(account.turnover)}, expected cost ${formatBasisPoints((account.cost / account.value) * 10_000)}.${omissionNote} Days to trade at ${formatPercentFigure(participation)} of the mean daily volume: ${formatDays(days.p50)} in the median, ${formatDays(days.max)} at most. Largest purchase by maximum number of days: ${capacities.join(', ')}.`,
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
    { column: createFigureColumn('Return'), cell: ({ return: total }) => formatPercentFigure(total!) },
    {
      column: createFigureColumn('Standard error'),
      cell: ({ standard_error: error }) => (error === null ? '' : formatPercentFigure(error)),
      isShown: rows.some(({ standard_error: error }) => error !== null),
    },
    {
      column: createFigureColumn('Worst session'),
      cell: ({ worst_session: worstSession }) =>
        worstSession === null ? '' : `${formatPercentFigure(worstSession.return)} (${worstSession.date})`,
      isShown: hasWindows,
    },
    {
      column: createFigureColumn('Own returns'),
      cell: ({ covered_weight: coveredWeight }) => formatPercentFigure(coveredWeight),
    },
  ];
  const note = `Holdings of ${overview.end} in historical windows or under shocks. Own returns: the fraction of the weights with separate returns instead of the mean return of their sector.`;
  const remarks = results.flatMap(({ name, outcome: scenario }) => {
    const messages = 'missing' in scenario ? [scenario.missing] : scenario.findings.map(({ message }) => message);
    return messages.map((message) => `${cleanLine(name)}: ${message}`);
  });
  return { ...toTable(fields, rows, note), remarks };
}

/**
 * Returns the causes of a difference from a level from outside by date, with the largest difference that remains after
 * each. Returns null without a comparison.
 */
function createDifferencesTable({ difference, findName }: RunFigures, limit: number): Table | null {
  if (difference === null) return null;
  const { causes, sessions, remaining, mean_absolute_bps: mean, outside, variant, isOfRun } = difference;
  const largest = remaining.bps.map((values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0));
  const listNames = (members: readonly Cause[]): string =>
    members.flatMap(({ identifier }) => (identifier === null ? [] : [findName(identifier) ?? identifier])).join(', ');
  const { shown, others } = splitRows(
    difference.steps.map((step) => ({
      ...step,
      causes: step.causes.map((k) => causes[k]!),
      remains: largest[step.causes.at(-1)! + 1] ?? null,
    })),
    limit,
  );
  const fields: Field<(typeof shown)[number]>[] = [
    { column: createTextColumn('Date'), cell: ({ causes: [first] }) => first!.date ?? 'from the start' },
    {
      column: createTextColumn('Subject'),
      cell: (step) => [...new Set(step.causes.map(({ subject }) => subject.replaceAll('_', ' ')))].join(', '),
    },
    {
      column: createTextColumn('Security'),
      cell: (step) => cleanLine(listNames(step.causes)),
      isShown: shown.some((step) => listNames(step.causes) !== ''),
    },
    { column: createTextColumn('Cause'), cell: ({ sentence }) => cleanLine(sentence) },
    { column: createFigureColumn('Sessions'), cell: ({ sessions: count }) => formatCountFigure(count) },
    { column: createFigureColumn('Effect'), cell: ({ effect_bps: effect }) => formatBasisPoints(effect) },
    { column: createFigureColumn('Remains'), cell: ({ remains }) => formatBasisPoints(remains) },
  ];
  const ties = shown.flatMap((step) => step.causes).filter((cause) => cause.ties.length > 0);
  const source = outside?.name ? ` (${cleanLine(outside.name)})` : '';
  const note = `Levels from outside${source} and the ${variant} return of the run on ${formatCountFigure(sessions.common)} common sessions: ${formatCountFigure(sessions.equal)} are equal within rounding, ${formatCountFigure(sessions.explained)} with all causes. The mean absolute difference is ${formatBasisPoints(mean)}, the largest ${formatBasisPoints(largest[0] ?? 0)}. Effect: on the last level. Causes that only together explain a session are one row. Remains: the largest difference after this cause and those above it are removed.`;
  const remarks = [
    ...(isOfRun ? [] : ['The comparison is of another run of the index.']),
    ...(sessions.unmatched
      ? [`${formatCountFigure(sessions.unmatched)} levels from outside are on no session of the run.`]
      : []),
    ...(others.length === 0 ? [] : [`${formatCountFigure(others.length)} further causes are not shown.`]),
    ...ties.map(
      ({ sentence, ties: equal }) =>
        `${cleanLine(sentence)} The sessions are explained equally well by: ${equal.map((tie) => cleanLine(tie.sentence)).join(' ')}`,
    ),
    ...(sessions.unexplained.length === 0
      ? []
      : [
          `Sessions without an explanation: ${sessions.unexplained.map(({ date, difference_bps: size }) => `${date} (${formatBasisPoints(size)})`).join(', ')}.`,
          ...describeErrors(sessions.unexplained),
        ]),
  ];
  return { ...toTable(fields, shown, note), remarks };
}

/** Returns a remark on the sessions whose outside level alone is wrong. */
function describeErrors(unexplained: ShownDifference['sessions']['unexplained']): string[] {
  const dates = unexplained.flatMap(({ single, date }) => (single ? [date] : []));
  if (dates.length === 0) return [];
  const { sentence } = unexplained.find(({ single }) => single)!;
  return [`${dates.join(', ')}: ${sentence ?? ''}`];
}

/** Maximum lines of a remark. The terms of an overlay are one remark. */
const REMARK_LINES_MAX = 20;

/** Draws a table. The header is repeated on every page. */
export const drawTable: Drawing<'table'> = (block, context) => {
  const { width, typesetter } = context;
  const content = CONTENTS[block.source](block, context);
  if (content === null) return { title: null, sections: [] };
  const { columns, rows, note, remarks = [] } = content;
  const sections = rows.length === 0 ? [] : layTable({ columns, rows }, width, typesetter);
  const notes = [
    ...(note === null ? [] : [createNotePart(note, width, typesetter)]),
    ...remarks.map((remark) => createNotePart(remark, width, typesetter, REMARK_LINES_MAX)),
  ].map((part) => ({ head: null, rows: [part] }));
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
  differences: ({ limit }, context) => createDifferencesTable(requireFigures(context), limit),
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
      ? `The largest ${formatCountFigure(rows.length)} of ${formatCountFigure(allConstituents.length)} constituents`
      : `${formatCountFigure(allConstituents.length)} ${allConstituents.length === 1 ? 'constituent' : 'constituents'}`;
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
    { column: createFigureColumn('Constituents'), cell: ({ constituents }) => formatCountFigure(constituents) },
    { column: createFigureColumn('Added'), cell: ({ added }) => formatCountFigure(added.length) },
    { column: createFigureColumn('Removed'), cell: ({ removed }) => formatCountFigure(removed.length) },
    { column: createFigureColumn('Turnover'), cell: ({ turnover }) => formatPercentFigure(turnover) },
    { column: createFigureColumn('Largest weight'), cell: ({ largest }) => formatWeight(largest, weightDecimals) },
    { column: createFigureColumn('Cap'), cell: ({ cap }) => formatPercentFigure(cap), isShown: hasCap },
    { column: createFigureColumn('At cap'), cell: ({ capped }) => formatCountFigure(capped), isShown: hasCap },
    {
      column: createFigureColumn('Redistributed'),
      cell: ({ redistributed }) => formatPercentFigure(redistributed),
      isShown: hasCap,
    },
  ];
  const count = overview.rebalances;
  return toTable(
    fields,
    rows,
    `${formatCountFigure(count)} ${count === 1 ? 'rebalance' : 'rebalances'} from ${overview.start} to ${overview.end}. Turnover is one-way, against the weights held before the trades.`,
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
    ...(others.length === 0 ? [] : [{ label: `${formatCountFigure(others.length)} others`, weights: otherWeights }]),
  ];
  const fields: Field<(typeof rows)[number]>[] = [
    { column: createTextColumn('Sector'), cell: ({ label }) => cleanLine(label) },
    ...dates.map((date, k) => ({
      column: createFigureColumn(date === overview.end ? date : date.slice(0, 4)),
      cell: ({ weights }: (typeof rows)[number]) => formatPercentFigure(weights[k]!),
    })),
  ];
  return toTable(fields, rows, 'Weights held at the end of each year, by the sectors of the last date.');
}

function createAnnualTable({ annualReturns }: RunFigures, limit: number): Table {
  const rows = annualReturns().slice(-limit);
  const fields: Field<(typeof rows)[number]>[] = [
    { column: createTextColumn('Year'), cell: ([year]) => String(year) },
    { column: createFigureColumn('Return'), cell: ([, value]) => formatPercentFigure(value) },
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
        ...values.map((value) => (value === null ? '' : formatPercentFigure(value))),
        formatPercentFigure(annual),
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
      {
        column: createFigureColumn('Average weight'),
        cell: ({ average_weight }) => formatPercentFigure(average_weight),
      },
      { column: createFigureColumn('Return'), cell: (row) => formatPercentFigure(row.total_return) },
      { column: createFigureColumn('Contribution'), cell: ({ contribution }) => formatPercentFigure(contribution) },
    ],
    rows,
    null,
  );
  const createSums = (label: string, value: number): TableRow => ({
    cells: [label, ...(hasNames ? [''] : []), '', '', formatPercentFigure(value)],
    isTotal: true,
  });
  const remainingTableRows =
    others.length === 0
      ? []
      : [
          createSums(
            `${formatCountFigure(others.length)} others`,
            others.reduce((sum, { contribution }) => sum + contribution, 0),
          ),
        ];
  const drags = [
    cap_drag === null ? '' : ` Capping: ${formatPercentFigure(cap_drag)}.`,
    cost_drag === null ? '' : ` Costs: ${formatPercentFigure(cost_drag)}.`,
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
  const formatShare = (contribution: number): string =>
    formatPercentFigure(volatility > 0 ? contribution / volatility : 0);
  const table = toTable<(typeof rows)[number]>(
    [
      { column: createTextColumn('Identifier'), cell: ({ identifier }) => cleanLine(identifier) },
      { column: createTextColumn('Name'), cell: ({ name }) => cleanLine(name ?? ''), isShown: hasNames },
      { column: createFigureColumn('Weight'), cell: ({ weight }) => formatWeight(weight, weightDecimals) },
      {
        column: createFigureColumn('Risk contribution'),
        cell: ({ contribution }) => formatPercentFigure(contribution),
      },
      { column: createFigureColumn('Share of risk'), cell: ({ contribution }) => formatShare(contribution) },
    ],
    rows,
    `Volatility of the holdings of ${overview.end}, estimated from returns from ${overview.start} to ${overview.end}; contributions sum to the volatility.${isCovered ? '' : ` Securities with too little data have no contribution. The estimate covers ${formatPercentFigure(coveredWeight)} of the weight and is scaled to the full weight.`}`,
  );
  const createSums = (label: string, weight: number, contribution: number): TableRow => ({
    cells: [
      label,
      ...(hasNames ? [''] : []),
      formatPercentFigure(weight),
      formatPercentFigure(contribution),
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
        : [createSums(`${formatCountFigure(others.length)} others`, otherTotals.weight, otherTotals.contribution)]),
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
          ? `${formatCountFigure(others.length)} more rows are not shown.`
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
