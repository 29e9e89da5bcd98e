export interface TableColumn {
  readonly head: string;
  /** True for figures, which are right-aligned; text is left-aligned. */
  readonly isFigure: boolean;
  /** Sums of the rows: bold. */
  readonly isTotal?: boolean;
}

export interface TableRow {
  /** Text of each column. */
  readonly cells: readonly string[];
  /** A sum: bold, below a rule. */
  readonly isTotal?: boolean;
  /** Colour behind each cell. */
  readonly tints?: readonly (string | null)[];
}

export interface TableContent {
  readonly columns: readonly TableColumn[];
  readonly rows: readonly TableRow[];
}
