/**
 * Bytes past a cache line that packed panels begin at: not a multiple of eight, deliberately, so that now and then a load of a panel crosses a
 * line. On Zen 5 tiles whose loads never cross one fall into a rhythm in which loads and arithmetic hinder each other: six loads to
 * eighteen operations take 4.68 cycles instead of 4.5, six to sixteen 4.30 instead of 4.0. A load in six that crosses breaks it, in any order
 * of the instructions: X'X takes 2 % less time, products 5 %, factorisations and solves 2 to 3 %.
 */
export const PANEL_SKEW: usize = 4;
