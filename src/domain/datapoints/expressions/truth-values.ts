/** Truth values of Kleene's three-valued logic. A comparison is unknown if its datapoint is missing. */
export const FALSE = 0;
export const TRUE = 1;
export const UNKNOWN = 2;
