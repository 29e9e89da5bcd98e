/** Decision about a variable of a choice: open, in the choice, or excluded (zero). */
export const UNDECIDED = 0;
export const INCLUDED = 1;
export const EXCLUDED = 2;
