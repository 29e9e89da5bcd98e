import { change, signClass } from '../words/numbers.js';

/** Renders a change in percent, coloured as a gain or a loss. */
export const addSign = (value: number | null | undefined) => <span class={signClass(value)}>{change(value)}</span>;
