import { DATASETS, type Dataset } from '../../content/datasets.js';
import { didYouMean } from '#domain/nearest-name.js';
import type { Problems } from '../../content/problems.js';

/** Table of each dataset that a database holds. */
export type TableNames = Readonly<Partial<Record<Dataset, string>>>;

export type DatabaseProgress = (fraction: number, message: string) => void;

/**
 * The tables to read: those named, and those called like their dataset. A named one that is absent is reported, and so is a
 * missing market.
 */
export function tablesToRead(held: ReadonlySet<string>, named: TableNames, problems: Problems): TableNames {
  const chosen: Partial<Record<Dataset, string>> = {};
  for (const dataset of DATASETS) {
    const name = named[dataset] ?? dataset;
    if (held.has(name)) chosen[dataset] = name;
    else if (named[dataset] !== undefined || dataset === 'market')
      problems.error({
        code: 'LOCATION_NOT_FOUND',
        path: named[dataset] === undefined ? dataset : `tables.${dataset}`,
        message: `The database has no table ${name}.${didYouMean(name, held)}`,
      });
  }
  return chosen;
}
