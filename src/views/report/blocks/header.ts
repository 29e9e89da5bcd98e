import type { RunFigures } from '../figures.js';
import type { Part } from '../page/layout.js';
import { INK, LEADING, MUTED, NAVY, SIZE } from '../style-sheet.js';
import { cleanLine } from '../text/clean-text.js';
import type { Drawing } from './drawing.js';

const BAR = 3;
const STAMP_SHARE = 0.3;
const TITLE_LINES_MAX = 4;
const REASON_LINES_MAX = 4;
/** A title of several lines is set smaller. */
const TITLE_SIZES = [SIZE.display, 17, 14] as const;

const VARIANTS = { price: 'price return', total: 'total return', net: 'net total return' } as const;

/** Whether the run is what it would be now, by what it is not. */
function stateOf({ stale }: RunFigures): string {
  if (stale === null) return 'Current';
  const parts = (['definition', 'data', 'engine'] as const).filter((part) => stale[part]);
  return `Not current: ${parts.join(', ')}`;
}

/** The head of a report: a bar, the title in large type, and at the right what the figures speak of. */
export const drawHeader: Drawing<'header'> = (
  { title, subtitle, stamp },
  { width, typesetter, figures, reportName },
) => {
  const stamps =
    stamp && figures !== null
      ? [`As of ${figures.overview.end}`, `${figures.currency}, ${VARIANTS[figures.variant]}`, stateOf(figures)]
      : [];
  const stampWidth = Math.max(0, ...stamps.map((line) => typesetter.width(line, { size: SIZE.label })));
  const room = stamps.length === 0 ? width : width - Math.max(stampWidth + 16, STAMP_SHARE * width);
  const text = cleanLine(title ?? figures?.overview.name ?? reportName);
  const size =
    TITLE_SIZES.find(
      (candidate) =>
        typesetter.fit(text, { size: candidate, weight: 'bold', maxWidth: room, linesMax: 99 }).length <= 2,
    ) ?? TITLE_SIZES.at(-1)!;
  const titles = typesetter.fit(text, { size, weight: 'bold', maxWidth: room, linesMax: TITLE_LINES_MAX });
  const subtitles =
    subtitle === null ? [] : typesetter.fit(cleanLine(subtitle), { size: SIZE.subtitle, maxWidth: room, linesMax: 3 });
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
    BAR + 14 + stamps.length * SIZE.label * 1.5,
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
              colour: MUTED,
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
              y: y + BAR + 9 + size * 0.92 + i * SIZE.label * 1.5,
              size: SIZE.label,
              colour: i === 0 ? INK : MUTED,
              weight: i === 0 ? 'bold' : 'regular',
              align: 'right',
            }),
          );
        });
      }
    },
  };
  return { title: null, sections: [{ head: null, rows: [part] }] };
};
