/** Date of an imported model, from which it is in force. */
export interface ModelDate {
  readonly date: string;
  /** Securities of the other dates without a covariance on this date, ascending. */
  readonly lacks: readonly string[];
}

/** Position of the model of a date in the files of an imported one. */
export interface DatedPart {
  readonly date: string;
  /** Securities in the order of its matrix. */
  readonly names: readonly string[];
  /** First number of its packed matrix. */
  readonly at: number;
  /** First number of its packed factors. */
  readonly factorsAt: number;
}

/** Returns dates of a model, ascending, with their positions: matrices and packed factor models are concatenated. */
export function groupPartsByDate(names: readonly string[], dates: readonly ModelDate[], factors: number): DatedPart[] {
  let [at, factorsAt] = [0, 0];
  return dates.map(({ date, lacks }) => {
    const absent = new Set(lacks);
    const own = absent.size === 0 ? names : names.filter((name) => !absent.has(name));
    const part = { date, names: own, at, factorsAt };
    at += (own.length * (own.length + 1)) / 2;
    factorsAt += own.length * factors + factors * factors + own.length;
    return part;
  });
}

/** Returns the part in force on a date: the latest one dated on or before it; undefined if there is none. */
export function findPart<P extends Pick<DatedPart, 'date'>>(parts: readonly P[], date: string): P | undefined {
  return parts.findLast((part) => part.date <= date);
}
