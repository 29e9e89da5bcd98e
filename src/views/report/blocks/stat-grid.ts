import { STATS, selectStats, type Stat, type StatRun } from '#domain/reports/blocks/stat-grid.js';
import type { RunFigures } from '../figures.js';
import { formatBasisPoints, formatCount, formatPercent, formatRatio } from '../numbers.js';
import { RETURN_NAMES } from '../return-names.js';
import type { Part } from '../page/layout.js';
import { HAIRLINE, INK, LINE, MUTED_INK, SIZE } from '../style-sheet.js';
import { cleanLine } from '../text/clean-text.js';
import type { Typesetter } from '../text/typesetter.js';
import { requireFigures, type Drawing, type DrawingContext } from './drawing.js';
import { createTitlePart } from './titled.js';

interface Figure {
  readonly label: string;
  readonly value: string;
}

const FIGURES: Record<Stat, (figures: RunFigures) => string> = {
  total_return: ({ overview: { metrics } }) => formatPercent(metrics.total_return),
  month_to_date: ({ monthlyReturns }) => formatPercent(monthlyReturns().at(-1)?.value ?? null),
  year_to_date: ({ annualReturns }) => formatPercent(annualReturns().at(-1)?.[1] ?? null),
  annualised_return: ({ overview: { metrics } }) => formatPercent(metrics.annualised_return),
  volatility: ({ overview: { metrics } }) => formatPercent(metrics.volatility),
  sharpe_ratio: ({ overview: { metrics } }) => formatRatio(metrics.sharpe_ratio),
  max_drawdown: ({ overview: { metrics } }) => formatPercent(metrics.max_drawdown),
  tracking_error: ({ overview: { metrics } }) => formatPercent(metrics.tracking_error),
  tracking_difference: ({ overview: { metrics } }) => formatPercent(metrics.tracking_difference),
  parent_tracking_error: ({ overview: { parent } }) => formatPercent(parent?.tracking_error ?? null),
  forecast_tracking_error: ({ overview: { parent } }) => formatPercent(parent?.forecast?.tracking_error ?? null),
  constituents: ({ concentration }) => formatCount(concentration().constituents),
  effective_assets: ({ concentration }) => formatRatio(concentration().effective_assets),
  largest: ({ concentration }) => formatPercent(concentration().largest),
  long_exposure: ({ exposure }) => formatPercent(exposure().long),
  short_exposure: ({ exposure }) => formatPercent(exposure().short),
  gross_exposure: ({ exposure }) => formatPercent(exposure().gross),
  net_exposure: ({ exposure }) => formatPercent(exposure().net),
  transaction_cost: ({ terms }) => formatBasisPoints(terms.transactionCostBps),
};

const GAP = 14;
const LABEL_LEADING = SIZE.label * 1.25;
const LABEL_LINES_MAX = 2;
const VALUE_LINES_MAX = 3;
const VALUE_SIZES = [SIZE.figure, 12.5, 11, 10, 9, 8] as const;

/**
 * Draws figures in rows, with a label above each figure. All values have the same font size: the largest at which the
 * longest value fits. If words would not fit, a row has fewer figures.
 */
export const drawStatGrid: Drawing<'stat_grid'> = (block, context) => {
  const { width, typesetter } = context;
  const figures = [
    ...selectStats(block, getKind(context)).map((stat): Figure => ({
      label: formatLabel(stat, requireFigures(context)),
      value: FIGURES[stat](requireFigures(context)),
    })),
    ...Object.entries(block.values ?? {}).map(([label, value]): Figure => ({
      label: cleanLine(label),
      value: cleanLine(value),
    })),
  ];
  const computeCellWidth = (count: number): number => (width - GAP * (count - 1)) / count;
  const leastWidth = Math.max(0, ...figures.map((figure) => computeLeastWidth(figure, typesetter)));
  let columns = Math.max(1, Math.min(block.columns, figures.length));
  while (columns > 1 && computeCellWidth(columns) < leastWidth) columns--;
  const cell = computeCellWidth(columns);
  const fits = (size: number): boolean =>
    figures.every(({ value }) => typesetter.width(value, { size, weight: 'bold' }) <= cell);
  const size = VALUE_SIZES.find(fits) ?? VALUE_SIZES.at(-1)!;
  const rows: Part[] = [];
  for (let from = 0; from < figures.length; from += columns)
    rows.push(layRow(figures.slice(from, from + columns), { cell, size, typesetter }));
  return { title: createTitlePart(block.title, width, typesetter), sections: [{ head: null, rows }] };
};

/**
 * Returns the label of a figure. The label of the total return names its return variant; other labels come from the
 * catalogue.
 */
const formatLabel = (stat: Stat, { variant }: RunFigures): string =>
  stat === 'total_return' ? capitalise(RETURN_NAMES[variant]) : STATS[stat].label;

const capitalise = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function getKind({ figures }: DrawingContext): StatRun {
  return {
    isDerived: figures?.overview.parent !== undefined,
    isOverlay: figures !== undefined && figures !== null && figures.terms.overlay !== null,
    hasShorts: figures?.overview.exposure !== undefined,
  };
}

/**
 * Returns the minimum width of a figure: the width of the longest word of its label or value at the smallest font size.
 */
function computeLeastWidth({ label, value }: Figure, typesetter: Typesetter): number {
  const measureWidest = (text: string, size: number, weight: 'regular' | 'bold'): number =>
    Math.max(...text.split(' ').map((word) => typesetter.width(word, { size, weight })));
  return Math.max(measureWidest(label, SIZE.label, 'regular'), measureWidest(value, VALUE_SIZES.at(-1)!, 'bold'));
}

function layRow(
  figures: readonly Figure[],
  { cell, size, typesetter }: { readonly cell: number; readonly size: number; readonly typesetter: Typesetter },
): Part {
  const labels = figures.map(({ label }) =>
    typesetter.fit(label, { size: SIZE.label, maxWidth: cell, linesMax: LABEL_LINES_MAX }),
  );
  const values = figures.map(({ value }) =>
    typesetter.fit(value, { size, weight: 'bold', maxWidth: cell, linesMax: VALUE_LINES_MAX }),
  );
  const labelLines = Math.max(...labels.map(({ length }) => length));
  const valueLines = Math.max(...values.map(({ length }) => length));
  const valueLeading = size * 1.2;
  const labelTop = 5;
  const valueTop = labelTop + labelLines * LABEL_LEADING + 2;
  return {
    height: valueTop + valueLines * valueLeading + 7,
    draw(canvas, { x, y, parent }) {
      figures.forEach((_, k) => {
        const left = x + k * (cell + GAP);
        canvas.artifact(() => canvas.line([left, y], [left + cell, y], { colour: HAIRLINE, width: LINE.rule }));
        canvas.content(canvas.element(parent, 'P'), 'P', () => {
          labels[k]!.forEach((line, i) =>
            canvas.text(line, {
              x: left,
              y: y + labelTop + SIZE.label + i * LABEL_LEADING,
              size: SIZE.label,
              colour: MUTED_INK,
            }),
          );
          values[k]!.forEach((line, i) =>
            canvas.text(line, {
              x: left,
              y: y + valueTop + size * 0.95 + i * valueLeading,
              size,
              weight: 'bold',
              colour: INK,
            }),
          );
        });
      });
    },
  };
}
