/** Date from which an imported model is in force. */
export interface ModelDate {
  readonly date: string;
  /** Securities of other dates without a covariance on this date, ascending. */
  readonly lacks: readonly string[];
}

/** Model of one date, with its position in the files of an imported model. */
export interface DatedPart {
  readonly date: string;
  /** Securities in the order of the matrix. */
  readonly names: readonly string[];
  /** Index of the first number of its packed matrix. */
  readonly at: number;
  /** Index of the first number of its packed factors. */
  readonly factorsAt: number;
}

/**
 * Returns the dates of a model, ascending, with their file positions: packed matrices, and packed factor models, are
 * concatenated.
 */
export function groupPartsByDate(
  names: readonly string[],
  dates: readonly ModelDate[],
  factorCount: number,
): DatedPart[] {
  let [position, factorsAt] = [0, 0];
  return dates.map(({ date, lacks }) => {
    const absentNames = new Set(lacks);
    const presentNames = absentNames.size === 0 ? names : names.filter((name) => !absentNames.has(name));
    const part = { date, names: presentNames, at: position, factorsAt };
    position += (presentNames.length * (presentNames.length + 1)) / 2;
    factorsAt += presentNames.length * factorCount + factorCount * factorCount + presentNames.length;
    return part;
  });
}

/** Returns the part in force on a date: the latest part dated on or before it. Returns undefined if there is none. */
export function findPart<P extends Pick<DatedPart, 'date'>>(parts: readonly P[], date: string): P | undefined {
  return parts.findLast((part) => part.date <= date);
}
