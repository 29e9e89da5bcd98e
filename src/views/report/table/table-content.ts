export interface TableColumn {
  readonly head: string;
  /** True for figures, which are right-aligned. Text is left-aligned. */
  readonly isFigure: boolean;
  /** True for a column of row totals. It is printed bold. */
  readonly isTotal?: boolean;
}

export interface TableRow {
  /** Text of each cell. */
  readonly cells: readonly string[];
  /** True for a total row. It is printed bold with a rule above it. */
  readonly isTotal?: boolean;
  /** Background colour of each cell; null without a colour. */
  readonly tints?: readonly (string | null)[];
}

export interface TableContent {
  readonly columns: readonly TableColumn[];
  readonly rows: readonly TableRow[];
}
