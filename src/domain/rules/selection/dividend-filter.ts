import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { toCivilDate, toDay, type Day } from '../../time/days.js';
import { useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { defineSelectionClass } from '../selection-class.js';
import { keepWithin, describeMissingPolicy, nameUsedField, createReason, readValues } from '../verdicts.js';
import { formatShare } from '../../catalogue/sentence-numbers.js';

export const dividendFilter = defineSelectionClass({
  type: 'DividendFilter',
  label: 'Dividend filter',
  help: 'Keeps securities with a minimum trailing yield and an ordinary dividend in each of the last calendar years.',
  params: defineObject(() => ({
    minimum_yield: z.number().min(0).max(100).default(0).meta({
      label: 'Minimum yield',
      help: 'Minimum of the ordinary dividends of twelve months, divided by the close.',
      unit: 'fraction',
    }),
    minimum_years: z.int().min(0).max(100).default(0).meta({
      label: 'Minimum years',
      help: 'Number of complete calendar years before the decision, each with at least one ordinary dividend.',
      unit: 'years',
    }),
    missing: parameters.missing,
  })),
  example: { id: 'payers', type: 'DividendFilter', params: { minimum_yield: 0.02, minimum_years: 5 } },
  behaviour({ minimum_yield, minimum_years, missing }) {
    const value = useNumber('DIVIDEND_YIELD');
    return {
      reads: [value],
      remembers: false,
      dividendYears: minimum_years,
      sentence: `Keep securities with a trailing ${nameUsedField(value)} of at least ${formatShare(minimum_yield)} and an ordinary dividend in each of the last ${minimum_years} full calendar years; ${describeMissingPolicy(missing)}.`,
      select(scope) {
        const { cross, columns } = scope;
        const byYield = keepWithin(scope, {
          values: readValues(scope, value),
          what: nameUsedField(value),
          bounds: { minimum: minimum_yield, maximum: null },
          missing,
        });
        const years = listCalendarYears(cross.day, minimum_years);
        const computePaidYears = (column: number) =>
          years.filter(({ first, last }) => cross.dividends.paidBetween(column, first, last)).length;
        return {
          kept: byYield.kept.map((kept, i) => (kept === 1 && computePaidYears(columns[i]!) === minimum_years ? 1 : 0)),
          because(position) {
            const paidYears = computePaidYears(columns[position]!);
            if (paidYears === minimum_years) return byYield.because(position);
            return createReason(`years with an ordinary dividend at least ${minimum_years}`, {
              value: paidYears,
              thresholds: [
                {
                  type: 'minimum_years',
                  rank: null,
                  value: minimum_years,
                  met: false,
                  distance: minimum_years - paidYears,
                },
              ],
            });
          },
        };
      },
    };
  },
});

interface Year {
  readonly first: Day;
  readonly last: Day;
}

/** Returns the full calendar years before the year of a day. */
function listCalendarYears(day: Day, count: number): Year[] {
  const { year } = toCivilDate(day);
  return Array.from({ length: count }, (_, i) => ({
    first: toDay({ year: year - 1 - i, month: 1, day: 1 }),
    last: toDay({ year: year - 1 - i, month: 12, day: 31 }),
  }));
}
