/**
 * Offset in bytes of packed panels from a cache line. It is deliberately not a multiple of eight, so that an occasional
 * load of a panel crosses a line. On Zen 5, loads and arithmetic of a tile hinder each other if no load ever crosses a
 * line: six loads with eighteen operations take 4.68 cycles instead of 4.5, and six with sixteen take 4.30 instead of
 * 4.0. One crossing load in six prevents this for any order of the instructions. X'X then takes 2 % less time, products
 * 5 %, factorisations and solves 2 to 3 %.
 */
export const PANEL_SKEW: usize = 4;
