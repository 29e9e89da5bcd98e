import { readText, type Cell } from '../formats/cells.js';
import { createDayReader, COMMON_FORMATS } from '../mapping/date-formats.js';

/** Format of dates; null for YYYY-MM-DD. */
export interface DateFormat {
  readonly format: string | null;
  /** Other formats that also fit. */
  readonly others: readonly string[];
}

/**
 * Range of days that a market may contain, in days since 1970-01-01. If a text parses to a day outside it, the text is
 * not a date.
 */
const EPOCH_DAY_RANGE = { from: -56_000, to: 36_500 } as const;

/** Serial dates of Excel from 1954 to 2173, with or without a time of day. */
const SERIAL_DATE = /^[2-9]\d{4}(\.\d+)?$/;

const EPOCHS = ['epoch_s', 'epoch_ms', 'epoch_us', 'epoch_ns'] as const;

/** Returns the date format of a column; undefined if no format fits all cells. */
export function detectDateFormat(cells: readonly (Cell | undefined)[]): DateFormat | undefined {
  const filledCells = cells.filter((cell) => readText(cell) !== null);
  if (filledCells.length === 0) return undefined;
  const matchesFormat = (format: string | null) => {
    const readDay = createDayReader(format);
    return filledCells.every((cell) => {
      const day = readDay(cell);
      return typeof day === 'number' && day >= EPOCH_DAY_RANGE.from && day <= EPOCH_DAY_RANGE.to;
    });
  };
  if (matchesFormat(null)) return { format: null, others: [] };
  const commonFormats = COMMON_FORMATS.filter(matchesFormat);
  if (commonFormats.length > 0)
    return {
      format: commonFormats[0]!,
      others: commonFormats.slice(1).filter((format) => !hasSameOrder(commonFormats[0]!, format)),
    };
  // Epoch units from seconds to nanoseconds differ by factors of a thousand. At most one of them therefore gives days
  // in this range. Days of 1970 are excluded.
  const epoch = EPOCHS.find((format) => {
    const readDay = createDayReader(format);
    return filledCells.every((cell) => {
      const day = readDay(cell);
      return typeof day === 'number' && day > 365 && day <= EPOCH_DAY_RANGE.to;
    });
  });
  if (epoch !== undefined) return { format: epoch, others: [] };
  const isSerial = filledCells.every((cell) => SERIAL_DATE.test(readText(cell)!));
  return isSerial ? { format: 'excel', others: [] } : undefined;
}

/**
 * Returns true if two formats differ only in the width of their numbers. Such formats are equivalent for the same
 * texts.
 */
const hasSameOrder = (a: string, b: string) => describeOrder(a) === describeOrder(b);
const describeOrder = (format: string) =>
  [...format.replaceAll(/[^YMD]/g, '')].filter((letter, i, all) => letter !== all[i - 1]).join('');
