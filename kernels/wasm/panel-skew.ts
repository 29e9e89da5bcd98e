/**
 * Offset in bytes of packed panels from a cache line. It is deliberately not a multiple of eight, so that an occasional
 * load of a panel crosses a line. On Zen 5, tiles whose loads never cross a line fall into a rhythm in which loads and
 * arithmetic hinder each other: six loads with eighteen operations take 4.68 cycles instead of 4.5, six with sixteen
 * 4.30 instead of 4.0. One crossing load in six breaks the rhythm, for any order of the instructions: X'X takes 2 %
 * less time, products 5 %, factorisations and solves 2 to 3 %.
 */
export const PANEL_SKEW: usize = 4;
