/** Truth values of Kleene's three-valued logic, in which a missing datapoint makes a comparison unknown. */
export const FALSE = 0;
export const TRUE = 1;
export const UNKNOWN = 2;
