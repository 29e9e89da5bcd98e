/** Maximum number of added and of removed securities that a row of rebalances names. A table has room for a few. */
export const LARGEST_CHANGES_MAX = 5;
