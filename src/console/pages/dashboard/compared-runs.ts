import { formatCompareAddress } from '../../words/addresses.js';

const COMPARE_PATH = '/console/compare';

/** Part of the dashboard. */
interface Addressed {
  readonly address: string;
}

/** Returns the runs of the first part that compares runs; null if there is no such part. */
export const findComparedRuns = (all: readonly Addressed[]): readonly string[] | null =>
  all.map(readRuns).find((ids) => ids !== null) ?? null;

/** Replaces the runs of all parts that compare the same runs as the first of these parts. */
export function replaceComparedRuns<P extends Addressed>(all: readonly P[], ids: readonly string[]): readonly P[] {
  const before = findComparedRuns(all)?.join(',');
  return all.map((one) =>
    before !== undefined && readRuns(one)?.join(',') === before ? { ...one, address: formatCompareAddress(ids) } : one,
  );
}

function readRuns({ address }: Addressed): readonly string[] | null {
  const [path, query = ''] = address.split('?');
  const ids = path === COMPARE_PATH ? new URLSearchParams(query).get('ids') : null;
  return ids === null ? null : ids.split(',').filter(Boolean);
}
