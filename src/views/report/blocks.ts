import type { Adjustment } from '#domain/market/market-data.js';
import {
  type BlockKindName,
  type BlockOf,
  selectStats,
  type Stat,
  type StatRun,
  STATS,
} from '#domain/outputs/report-templates.js';
import {
  formatBasisPoints,
  formatCountFigure,
  formatPercentFigure,
  formatRatio,
  RETURN_NAMES,
  type RunFigures,
} from './figures.js';
import {
  type Canvas,
  createSpacer,
  HAIRLINE,
  INK,
  type LaidBlock,
  LEADING,
  LINE,
  MUTED_INK,
  NAVY,
  type Part,
  SIZE,
  type StructureElement,
} from './page.js';
import { cleanLine, cleanText, type Paragraph, parseMarkup, type Typesetter } from './text.js';

export interface DrawingContext {
  readonly width: number;
  /** Height between the margins in points. A part that cannot be divided may not be higher. */
  readonly pageHeight: number;
  readonly typesetter: Typesetter;
  /** Figures of the run that the block shows; null if the block shows no run. */
  readonly figures: RunFigures | null;
  readonly reportName: string;
}

/** Function that converts one kind of block to parts of a page. */
export type Drawing<K extends BlockKindName> = (block: BlockOf<K>, context: DrawingContext) => LaidBlock;

/**
 * Returns the figures of a block that always shows a run. A block of this kind without a run is refused before the
 * report is drawn.
 */
export function requireFigures({ figures }: DrawingContext): RunFigures {
  if (figures === null) throw new Error('a block that shows a run is bound to none');
  return figures;
}

const BAR = 3;
const STAMP_TOP = BAR + 9;
const STAMP_LEADING = SIZE.label * 1.5;
const STAMP_SHARE = 0.3;
/** Maximum width of the stamps as a fraction of the whole width. A longer line ends with an ellipsis. */
const STAMP_SHARE_MAX = 0.45;
const TITLE_LINES_MAX = 4;
const REASON_LINES_MAX = 4;
/** Font sizes of the title in points, by its number of lines. */
const TITLE_SIZES = [SIZE.display, 17, 14] as const;

/** Describes the state of the run: current, or the parts that have changed since. */
function formatState({ stale }: RunFigures): string {
  if (stale === null) return 'Current run';
  const parts = (['definition', 'data', 'engine'] as const).filter((part) => stale[part]);
  return `Not current: ${parts.join(', ')}`;
}

const ADJUSTMENT_TEXTS: Readonly<Record<Adjustment, string>> = {
  none: 'Prices as traded',
  splits: 'Prices adjusted for splits',
  total: 'Prices adjusted for splits and dividends',
};

/** Returns the stamps of a report: period, currency and return variant, price basis, costs and state of the run. */
function listStamps(figures: RunFigures): string[] {
  const { overview, currency, variant, terms } = figures;
  const { transactionCostBps: cost, adjustment, overlay } = terms;
  return [
    `As of ${overview.end}`,
    `Since ${overview.start}`,
    `${currency}, ${RETURN_NAMES[variant]}`,
    ...(adjustment === null ? [] : [ADJUSTMENT_TEXTS[adjustment]]),
    cost === 0 ? 'No transaction cost' : `Transaction cost ${formatBasisPoints(cost)}`,
    ...(overview.parent === undefined ? [] : [`Derived from ${cleanLine(overview.parent.index_id)}`]),
    ...(overlay === null ? [] : [cleanLine(`${overlay.label}: overlay on ${overlay.sources.join(', ')}`)]),
    formatState(figures),
  ];
}

/** Draws the header of a report: a bar, the title, and the stamps on the right. */
export const drawHeader: Drawing<'header'> = (
  { title, subtitle, stamp, new_page: startsPage = false },
  { width, typesetter, figures, reportName },
) => {
  const stamps = (stamp && figures !== null ? listStamps(figures) : []).flatMap((line) =>
    typesetter.fit(line, { size: SIZE.label, maxWidth: STAMP_SHARE_MAX * width, linesMax: 1 }),
  );
  const stampWidth = Math.max(0, ...stamps.map((line) => typesetter.width(line, { size: SIZE.label })));
  const textWidth = stamps.length === 0 ? width : width - Math.max(stampWidth + 16, STAMP_SHARE * width);
  const text = cleanLine(title ?? figures?.overview.name ?? reportName);
  const size =
    TITLE_SIZES.find(
      (candidate) =>
        typesetter.fit(text, { size: candidate, weight: 'bold', maxWidth: textWidth, linesMax: 99 }).length <= 2,
    ) ?? TITLE_SIZES.at(-1)!;
  const titles = typesetter.fit(text, { size, weight: 'bold', maxWidth: textWidth, linesMax: TITLE_LINES_MAX });
  const subtitles =
    subtitle === null
      ? []
      : typesetter.fit(cleanLine(subtitle), { size: SIZE.subtitle, maxWidth: textWidth, linesMax: 3 });
  const reasons = figures?.stale
    ? typesetter.fit(cleanLine(`Not current. ${figures.stale.reasons.join(' ')}`), {
        size: SIZE.body,
        maxWidth: width,
        linesMax: REASON_LINES_MAX,
      })
    : [];
  const titleLeading = size * 1.15;
  const subtitleLeading = SIZE.subtitle * 1.3;
  const titleBottom = BAR + 9 + titles.length * titleLeading + 4;
  const reasonsTop = Math.max(
    titleBottom + subtitles.length * subtitleLeading + 4,
    STAMP_TOP + stamps.length * STAMP_LEADING + 4,
  );
  const reasonLeading = SIZE.body * LEADING;
  const part: Part = {
    height: reasonsTop + reasons.length * reasonLeading,
    draw(canvas, { x, y, parent }) {
      canvas.artifact(() => canvas.rectangle({ x, y, width, height: BAR }, NAVY));
      canvas.content(canvas.element(parent, 'H1'), 'H1', () => {
        titles.forEach((line, i) =>
          canvas.text(line, { x, y: y + BAR + 9 + size * 0.92 + i * titleLeading, size, weight: 'bold', colour: INK }),
        );
      });
      if (subtitles.length > 0) {
        canvas.content(canvas.element(parent, 'P'), 'P', () => {
          subtitles.forEach((line, i) =>
            canvas.text(line, {
              x,
              y: y + titleBottom + SIZE.subtitle + i * subtitleLeading,
              size: SIZE.subtitle,
              colour: MUTED_INK,
            }),
          );
        });
      }
      if (reasons.length > 0) {
        canvas.content(canvas.element(parent, 'P'), 'P', () => {
          reasons.forEach((line, i) =>
            canvas.text(line, { x, y: y + reasonsTop + SIZE.body + i * reasonLeading, size: SIZE.body, colour: INK }),
          );
        });
      }
      if (stamps.length > 0) {
        canvas.content(canvas.element(parent, 'P'), 'P', () => {
          stamps.forEach((line, i) =>
            canvas.text(line, {
              x: x + width,
              y: y + STAMP_TOP + SIZE.label + i * STAMP_LEADING,
              size: SIZE.label,
              colour: i === 0 ? INK : MUTED_INK,
              weight: i === 0 ? 'bold' : 'regular',
              align: 'right',
            }),
          );
        });
      }
    },
  };
  return { title: null, sections: [{ head: null, rows: [part] }], startsPage };
};

const SPACE_ABOVE_RULE = 4;
const SPACE_BELOW = 5;
const LINES_MAX = 2;

/** Returns the title of a block with a rule above it; null if the block has no title. */
export function createTitlePart(title: string | null, width: number, typesetter: Typesetter): Part | null {
  const text = title === null ? '' : cleanLine(title);
  if (text === '') return null;
  const lines = typesetter.fit(text, { size: SIZE.title, weight: 'bold', maxWidth: width, linesMax: LINES_MAX });
  const leading = SIZE.title * 1.25;
  return {
    height: SPACE_ABOVE_RULE + lines.length * leading + SPACE_BELOW,
    draw(canvas, { x, y, parent }) {
      canvas.artifact(() => canvas.line([x, y], [x + width, y], { colour: NAVY, width: LINE.head }));
      canvas.content(canvas.element(parent, 'H2'), 'H2', () => {
        lines.forEach((line, i) =>
          canvas.text(line, {
            x,
            y: y + SPACE_ABOVE_RULE + SIZE.title + i * leading,
            size: SIZE.title,
            weight: 'bold',
            colour: INK,
          }),
        );
      });
    },
  };
}

/** Returns a note below a block, or in place of its content. */
export function createNotePart(text: string, width: number, typesetter: Typesetter, linesMax = 4): Part {
  const lines = typesetter.fit(cleanLine(text), { size: SIZE.label, maxWidth: width, linesMax });
  const leading = SIZE.label * 1.35;
  return {
    height: lines.length * leading + 5,
    draw(canvas, { x, y, parent }) {
      canvas.content(canvas.element(parent, 'P'), 'P', () => {
        lines.forEach((line, i) =>
          canvas.text(line, { x, y: y + 4 + SIZE.label + i * leading, size: SIZE.label, colour: MUTED_INK }),
        );
      });
    },
  };
}

interface Figure {
  readonly label: string;
  readonly value: string;
}

const FIGURES: Record<Stat, (figures: RunFigures) => string> = {
  total_return: ({ overview: { metrics } }) => formatPercentFigure(metrics.total_return),
  month_to_date: ({ monthlyReturns }) => formatPercentFigure(monthlyReturns().at(-1)?.value ?? null),
  year_to_date: ({ annualReturns }) => formatPercentFigure(annualReturns().at(-1)?.[1] ?? null),
  annualised_return: ({ overview: { metrics } }) => formatPercentFigure(metrics.annualised_return),
  volatility: ({ overview: { metrics } }) => formatPercentFigure(metrics.volatility),
  sharpe_ratio: ({ overview: { metrics } }) => formatRatio(metrics.sharpe_ratio),
  max_drawdown: ({ overview: { metrics } }) => formatPercentFigure(metrics.max_drawdown),
  tracking_error: ({ overview: { metrics } }) => formatPercentFigure(metrics.tracking_error),
  tracking_difference: ({ overview: { metrics } }) => formatPercentFigure(metrics.tracking_difference),
  parent_tracking_error: ({ overview: { parent } }) => formatPercentFigure(parent?.tracking_error ?? null),
  forecast_tracking_error: ({ overview: { parent } }) => formatPercentFigure(parent?.forecast?.tracking_error ?? null),
  constituents: ({ concentration }) => formatCountFigure(concentration().constituents),
  effective_assets: ({ concentration }) => formatRatio(concentration().effective_assets),
  largest: ({ concentration }) => formatPercentFigure(concentration().largest),
  long_exposure: ({ exposure }) => formatPercentFigure(exposure().long),
  short_exposure: ({ exposure }) => formatPercentFigure(exposure().short),
  gross_exposure: ({ exposure }) => formatPercentFigure(exposure().gross),
  net_exposure: ({ exposure }) => formatPercentFigure(exposure().net),
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

const LINE_HEIGHT = SIZE.body * LEADING;
const PARAGRAPH_GAP = 4.5;
const ENTRY_GAP = 1.5;
const INDENT = 11;

/** Draws paragraphs and lists. Each line is a part, so a long text can continue on the next page. */
export const drawText: Drawing<'text'> = ({ title, text }, { width, typesetter }) => {
  const paragraphs = parseMarkup(cleanText(text));
  let list: ListElement = createList();
  const rows = paragraphs.flatMap((paragraph, i) => {
    const next = paragraphs[i + 1];
    const isInside = paragraph.marker !== null && next !== undefined && next.marker !== null;
    const gap = next === undefined ? 0 : isInside ? ENTRY_GAP : PARAGRAPH_GAP;
    const ownParts = layParagraph(paragraph, { width, typesetter, list });
    if (!isInside) list = createList();
    return [...ownParts, ...(gap > 0 ? [createSpacer(gap)] : [])];
  });
  return { title: createTitlePart(title, width, typesetter), sections: [{ head: null, rows }] };
};

/** Function that returns the structure element of a list. It creates the element when the first entry is drawn. */
type ListElement = (canvas: Canvas, parent: StructureElement) => StructureElement;

function createList(): ListElement {
  let element: StructureElement | undefined;
  return (canvas, parent) => (element ??= canvas.element(parent, 'L'));
}

interface ParagraphInput {
  readonly width: number;
  readonly typesetter: Typesetter;
  readonly list: ListElement;
}

function layParagraph({ marker, spans }: Paragraph, { width, typesetter, list }: ParagraphInput): Part[] {
  const indent = marker === null ? 0 : Math.max(INDENT, typesetter.width(`${marker} `, { size: SIZE.body }));
  const lines = typesetter.lines(spans, { size: SIZE.body, maxWidth: width - indent });
  let entry: StructureElement | undefined;
  let body: StructureElement | undefined;
  return lines.map((line, i) => ({
    height: LINE_HEIGHT,
    draw(canvas, { x, y, parent }) {
      const baseline = y + SIZE.body * 1.05;
      if (marker !== null) entry ??= canvas.element(list(canvas, parent), 'LI');
      if (marker !== null && i === 0)
        canvas.content(canvas.element(entry!, 'Lbl'), 'Lbl', () =>
          canvas.text(marker, { x, y: baseline, size: SIZE.body, colour: INK }),
        );
      const type = marker === null ? 'P' : 'LBody';
      body ??= canvas.element(entry ?? parent, type);
      canvas.content(body, type, () =>
        canvas.spans(line.spans, { x: x + indent, y: baseline, size: SIZE.body, colour: INK }),
      );
    },
  }));
}
