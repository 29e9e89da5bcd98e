import { change, signClass } from '../words/numbers.js';

/** Returns a change in percent, coloured as a gain or a loss. */
export const addSign = (value: number | null | undefined) => <span class={signClass(value)}>{change(value)}</span>;
