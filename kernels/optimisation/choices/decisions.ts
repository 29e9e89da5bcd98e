/** Decision about a variable of a choice: open, in the choice, or excluded (zero). */
export const OPEN = 0;
export const IN = 1;
export const OUT = 2;
