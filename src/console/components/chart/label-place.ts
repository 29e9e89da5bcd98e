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
