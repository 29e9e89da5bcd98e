import { parseValidDay } from '#domain/time/days.js';
import { findFirstAtLeast, findLastAtMost } from '#domain/numbers/search.js';
import type { RequestedWindow } from '../run-window.js';

/**
 * Returns the positions of the dates in a window; `to` is exclusive. If the window contains no date, the span is empty.
 */
export function createSpan(
  days: Int32Array,
  { start, end }: RequestedWindow,
): { readonly from: number; readonly to: number } {
  const from = start === null ? 0 : findFirstAtLeast(days, parseValidDay(start));
  const to = end === null ? days.length : findLastAtMost(days, parseValidDay(end)) + 1;
  return { from, to: Math.max(from, to) };
}
