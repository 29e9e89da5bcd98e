/** Ends of a flag on the x-axis. */
export interface FlagBox {
  readonly start: number;
  readonly end: number;
}

interface Label extends FlagBox {
  readonly width: number;
  readonly gap: number;
}

/** Returns the left end of a label: to the right of its flag, or to the left if it would leave the chart. */
export function placeLabel(
  { start, end, width, gap }: Label,
  chart: { readonly left: number; readonly right: number },
) {
  if (end + gap + width <= chart.right) return end + gap;
  return Math.max(chart.left, start - 2 * gap - width);
}

/** Minimum distance in pixels between date labels, and between year labels, which are shorter. */
const DATE_SPACE = 72;
const YEAR_SPACE = 44;

/** Longest step of month labels in seconds: six months, to which uPlot gives 30 days each. */
const HALF_YEAR_SECONDS = 6 * 30 * 86_400;

/**
 * Returns the minimum distance between labels in pixels. If neighbouring labels are more than half a year apart, they
 * are year labels.
 */
export const computeLabelSpace = (seconds: number, width: number): number =>
  (seconds / width) * YEAR_SPACE > HALF_YEAR_SECONDS ? YEAR_SPACE : DATE_SPACE;
