import type { Mapping } from '#domain/documents/mapping.js';
import { DATASETS, type Dataset } from '../../content/datasets.js';
import { didYouMean } from '#domain/nearest-name.js';
import type { Problems } from '../../content/problems.js';

/** Table of each dataset that a database holds. */
export type TableNames = Readonly<Partial<Record<Dataset, string>>>;

export type DatabaseProgress = (fraction: number, message: string) => void;

/**
 * The tables to read of each dataset: those named, those whose field a mapping says, and those called like their
 * dataset. A named one that is absent is reported, and so is a missing market.
 */
export function tablesToRead(
  held: ReadonlySet<string>,
  named: TableNames,
  problems: Problems,
  mapping: Mapping | null = null,
): Readonly<Partial<Record<Dataset, readonly string[]>>> {
  const chosen: Partial<Record<Dataset, readonly string[]>> = {};
  for (const dataset of DATASETS) {
    const name = named[dataset] ?? dataset;
    const mapped = dataset === 'market' && named.market === undefined ? mappedTables(held, mapping) : [];
    if (mapped.length > 0) chosen[dataset] = mapped;
    else if (held.has(name)) chosen[dataset] = [name];
    else if (named[dataset] !== undefined || dataset === 'market')
      problems.error({
        code: 'LOCATION_NOT_FOUND',
        path: named[dataset] === undefined ? dataset : `tables.${dataset}`,
        message: `The database has no table ${name}.${didYouMean(name, held)}`,
      });
  }
  return chosen;
}

/** The tables of a wide market, one a field, that a mapping names. */
const mappedTables = (held: ReadonlySet<string>, mapping: Mapping | null) =>
  Object.keys(mapping?.fields ?? {}).filter((name) => held.has(name));
