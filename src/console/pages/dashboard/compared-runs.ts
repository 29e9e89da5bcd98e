import type { RunSummaryRow } from '#clients/typescript/divisor.js';
import { formatCompareAddress } from '../../words/addresses.js';

const COMPARE_PATH = '/console/compare';

/** Part of the dashboard. */
interface Addressed {
  readonly address: string;
}

type Runs = readonly Pick<RunSummaryRow, 'index_id' | 'benchmark'>[];

/** Returns the runs of the first part that compares runs; null if there is no such part. */
export const findComparedRuns = (all: readonly Addressed[]): readonly string[] | null =>
  all.map(readRuns).find((ids) => ids !== null) ?? null;

/**
 * Returns the benchmark that all the runs share; null if there is none. The benchmark itself can be one of the runs.
 */
export function findSharedBenchmark(runs: Runs, ids: readonly string[]): string | null {
  const benchmarkOf = new Map(runs.map(({ index_id: id, benchmark }) => [id, benchmark]));
  for (const candidate of new Set(ids.map((id) => benchmarkOf.get(id) ?? null))) {
    const others = ids.filter((id) => id !== candidate);
    if (candidate !== null && others.every((id) => benchmarkOf.get(id) === candidate)) return candidate;
  }
  return null;
}

/**
 * Replaces the runs of all parts that compare the same runs as the first of these parts. The parts then show the
 * benchmark that the runs share.
 */
export function replaceComparedRuns<P extends Addressed>(
  all: readonly P[],
  ids: readonly string[],
  runs: Runs,
): readonly P[] {
  const before = findComparedRuns(all)?.join(',');
  const address = formatCompareAddress(ids, findSharedBenchmark(runs, ids));
  return all.map((one) => (before !== undefined && readRuns(one)?.join(',') === before ? { ...one, address } : one));
}

/**
 * Returns the ids of the runs of an overview, at most `count`. These are runs with the same return variant and, if
 * several share one, the same benchmark. Of several such groups, it is the largest, then the one that is first in
 * `runs`.
 */
export function chooseOverviewRuns(
  runs: readonly Pick<RunSummaryRow, 'index_id' | 'benchmark' | 'return_variant'>[],
  count: number,
): readonly string[] {
  const listAlike = ({ benchmark, return_variant: variant }: (typeof runs)[number]) =>
    runs.filter((run) => run.return_variant === variant && run.benchmark === benchmark);
  const groups = runs.filter(({ benchmark }) => benchmark !== null).map(listAlike);
  const sizeMax = Math.max(0, ...groups.map(({ length }) => Math.min(length, count)));
  const chosenRuns =
    sizeMax > 1
      ? groups.find(({ length }) => length >= sizeMax)!
      : runs.filter(({ return_variant: variant }) => variant === runs[0]?.return_variant);
  return chosenRuns.slice(0, count).map(({ index_id: id }) => id);
}

/** Returns the runs of a part: those that it compares, or that of its index. */
export function listRuns(part: Addressed): readonly string[] {
  const id = /^\/console\/indices\/([^/?]+)/.exec(part.address)?.[1];
  return readRuns(part) ?? (id === undefined ? [] : [decodeURIComponent(id)]);
}

function readRuns({ address }: Addressed): readonly string[] | null {
  const [path, query = ''] = address.split('?');
  const ids = path === COMPARE_PATH ? new URLSearchParams(query).get('ids') : null;
  return ids === null ? null : ids.split(',').filter(Boolean);
}
