import { change, points, signClass } from '../words/numbers.js';

/** Renders a change in percent, coloured as a gain or a loss. */
export const addSign = (value: number | null | undefined) => <span class={signClass(value)}>{change(value)}</span>;

/** Renders a difference or a part of a return in percentage points, coloured as a gain or a loss. */
export const addPoints = (value: number | null | undefined) => <span class={signClass(value)}>{points(value)}</span>;
