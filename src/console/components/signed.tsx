import { formatChange, formatPoints, getSignClass } from '../words/numbers.js';

/** Renders a change in percent, coloured as a gain or a loss. */
export const addSign = (value: number | null | undefined) => (
  <span class={getSignClass(value)}>{formatChange(value)}</span>
);

/** Renders a difference or a part of a return in percentage points, coloured as a gain or a loss. */
export const addPoints = (value: number | null | undefined) => (
  <span class={getSignClass(value)}>{formatPoints(value)}</span>
);
