import type uPlot from 'uplot';
import { toSeconds } from './series.js';
import { placeLabel, type FlagBox } from './label-place.js';

/** A shaded period. */
export interface Band {
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

/** A remark on a day. */
export interface Flag {
  readonly date: string;
  readonly label: string;
  /** True if the label is drawn next to the flag. */
  readonly isWritten?: boolean;
}

type OverlayStyle = CSSStyleDeclaration;

/** Shades the visible part of periods behind the lines. */
export function drawBands(plot: uPlot, bands: readonly Band[], style: OverlayStyle): void {
  const { ctx, bbox } = plot;
  const sight = findRange(plot);
  if (bands.length === 0 || sight === null) return;
  ctx.save();
  ctx.fillStyle = style.getPropertyValue('--band');
  for (const { from, to } of bands) {
    const [start, end] = [Math.max(toSeconds(from), sight.min), Math.min(toSeconds(to), sight.max)];
    if (end < start) continue;
    const left = plot.valToPos(start, 'x', true);
    ctx.fillRect(left, bbox.top, Math.max(1, plot.valToPos(end, 'x', true) - left), bbox.height);
  }
  ctx.restore();
}

/** Draws a vertical line for each remark, with a flag at its top. */
export function drawFlags(plot: uPlot, flags: readonly Flag[], style: OverlayStyle): void {
  const { ctx, bbox } = plot;
  const sight = findRange(plot);
  if (flags.length === 0 || sight === null) return;
  const size = 6 * devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = style.getPropertyValue('--accent');
  ctx.fillStyle = ctx.strokeStyle;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.font = `${11 * devicePixelRatio}px ${style.getPropertyValue('--font')}`;
  for (const { date, label, isWritten = false } of flags) {
    const seconds = toSeconds(date);
    if (seconds < sight.min || seconds > sight.max) continue;
    const x = plot.valToPos(seconds, 'x', true);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x + 1.5 * size, bbox.top + size / 2);
    ctx.lineTo(x, bbox.top + size);
    ctx.fill();
    if (isWritten) writeLabel(plot, label, { start: x, end: x + 1.5 * size }, style);
  }
  ctx.restore();
}

function findRange(plot: uPlot): { readonly min: number; readonly max: number } | null {
  const { min, max } = plot.scales['x'] ?? {};
  return typeof min === 'number' && typeof max === 'number' ? { min, max } : null;
}

/** Distance in pixels between a label and its flag, and between a label and the edge of its background. */
const LABEL_GAP = 3;
const LABEL_HEIGHT = 13;

/** Writes the label of a flag on a background next to the flag. */
function writeLabel({ ctx, bbox }: uPlot, label: string, flag: FlagBox, style: OverlayStyle): void {
  const gap = LABEL_GAP * devicePixelRatio;
  const { width } = ctx.measureText(label);
  const left = placeLabel({ ...flag, width, gap }, { left: bbox.left, right: bbox.left + bbox.width });
  const colour = ctx.fillStyle;
  ctx.fillStyle = style.getPropertyValue('--ground');
  ctx.fillRect(left - gap, bbox.top - gap, width + 2 * gap, LABEL_HEIGHT * devicePixelRatio + gap);
  ctx.fillStyle = style.getPropertyValue('--text-second');
  ctx.textAlign = 'left';
  ctx.textBaseline = 'top';
  ctx.fillText(label, left, bbox.top);
  ctx.fillStyle = colour;
}
