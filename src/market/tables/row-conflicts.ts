import { formatDay, type Day } from '#domain/time/days.js';

/** Rows of one security that differ from an earlier row of the same date. */
export interface RowConflict {
  readonly identifier: string;
  readonly rows: number;
  /** Date of the first such row. The first column that differs and the values of both rows follow. */
  readonly date: string;
  readonly column: string;
  readonly first: number | null;
  readonly other: number | null;
}

/** Two different values of one security, date and column. */
export interface ValueConflict {
  readonly identifier: string;
  readonly day: Day;
  readonly column: string;
  readonly first: number;
  readonly other: number;
}

/** Maximum number of listed securities with conflicts. */
const CONFLICTS_MAX = 1000;

/** Counts conflicts by security. */
export function createRowConflicts(): { add(conflict: ValueConflict): void; list(): readonly RowConflict[] } {
  const results = new Map<string, RowConflict>();
  const findValue = (value: number): number | null => (value === value ? value : null);
  return {
    add({ identifier, day, column, first, other }) {
      const rowConflict = results.get(identifier);
      if (rowConflict !== undefined) results.set(identifier, { ...rowConflict, rows: rowConflict.rows + 1 });
      else if (results.size < CONFLICTS_MAX)
        results.set(identifier, {
          identifier,
          rows: 1,
          date: formatDay(day),
          column,
          first: findValue(first),
          other: findValue(other),
        });
    },
    list: () => [...results.values()],
  };
}
