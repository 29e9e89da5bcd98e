import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { useCategory } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { defineSelectionClass } from '../selection-class.js';
import { formatList, describeMissingPolicy, createReason } from '../verdicts.js';

const categories = z.array(z.string()).min(1).max(1000).nullable().default(null);

export const categoryFilter = defineSelectionClass({
  type: 'CategoryFilter',
  label: 'Category filter',
  help: 'Keeps securities with a category in one list, and without a category in another list.',
  params: defineObject(() => ({
    field: parameters.fieldName,
    include: categories.meta({
      label: 'Include',
      help: 'Categories that are kept. Default: all categories that are not excluded.',
    }),
    exclude: categories.meta({ label: 'Exclude', help: 'Categories that are removed.' }),
    missing: parameters.missing,
  })).refine(({ include, exclude }) => include !== null || exclude !== null, {
    path: ['include'],
    params: { finding: 'MISSING_PARAMETER' },
    error: 'or exclude is required',
  }),
  example: {
    id: 'no-financials',
    type: 'CategoryFilter',
    params: { field: 'SECTOR', exclude: ['Financials', 'Real Estate'] },
  },
  behaviour({ field, include, exclude, missing }) {
    const use = useCategory(field, 'field');
    const includedGroups = include === null ? null : new Set(include);
    const excludedGroups = new Set(exclude ?? []);
    const conditionsText = [
      ...(include === null ? [] : [`one of ${formatList(include)}`]),
      ...(exclude === null ? [] : [`none of ${formatList(exclude)}`]),
    ].join(' and ');
    return {
      reads: [use],
      remembers: false,
      sentence: `Keep securities whose ${field} is ${conditionsText}; ${describeMissingPolicy(missing)}.`,
      select({ cross, columns }) {
        const { of, names } = cross.groups(use.field, columns);
        const isWantedGroup = (group: string | null): boolean =>
          group === null
            ? missing === 'include'
            : (includedGroups === null || includedGroups.has(group)) && !excludedGroups.has(group);
        const isKept = names.map(isWantedGroup);
        const keptFlags = new Uint8Array(of.length);
        for (let i = 0; i < of.length; i++) keptFlags[i] = isKept[of[i]!] ? 1 : 0;
        return {
          kept: keptFlags,
          because: (position) => createReason(`${field} ${conditionsText}`, { value: names[of[position]!]! }),
        };
      },
    };
  },
});
