/**
 * Font sizes and colours of all blocks. Lengths are in points. Colours differ in lightness, so a page can be read when
 * it is printed in grey.
 */
export const INK = '#1b2430';
export const MUTED_INK = '#5a6472';
export const HAIRLINE = '#d4d9e0';
export const RULE_COLOUR = '#8d97a5';
export const PAPER_TINT = '#f3f5f8';
/** Lightness 24 of 100. */
export const NAVY = '#123a63';
/** Lightness 65. */
export const AMBER = '#dd8f2a';
/** Lightness 50, drawn as a dashed line. */
export const SLATE = '#6f7b8a';
export const NAVY_TINT = '#d9e3ee';
/** Tint with lightness 82. The tint above has lightness 90. */
export const AMBER_TINT = '#f2c48b';

export const SIZE = {
  /** Title of the report. */
  display: 21,
  subtitle: 10.5,
  /** Title of a block. */
  title: 9.5,
  body: 8.5,
  table: 8,
  /** Column headers, legends and axes. */
  label: 7,
  footer: 6.8,
  figure: 14,
} as const;

/** Smallest font size at which a label is readable at 100%. */
export const SIZE_MIN = 6;

export const SPACE = {
  /** Distance between blocks. */
  block: 16,
  /** Distance between two blocks of half width. */
  gutter: 20,
  /** Distance between the columns of a table. */
  column: 10,
  /** Height of the footer of a page. */
  foot: 26,
} as const;

export const LINE = { hair: 0.35, rule: 0.6, head: 0.9 } as const;

/** Line height relative to the font size. */
export const LEADING = 1.38;
