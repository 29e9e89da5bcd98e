import type { Adjustment } from '#domain/market/market-data.js';
import type { RunFigures } from '../figures.js';
import { formatBasisPoints } from '../numbers.js';
import { RETURN_NAMES } from '../return-names.js';
import type { Part } from '../page/layout.js';
import { INK, LEADING, MUTED_INK, NAVY, SIZE } from '../style-sheet.js';
import { cleanLine } from '../text/clean-text.js';
import type { Drawing } from './drawing.js';

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
