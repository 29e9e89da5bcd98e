import { divideEvenly, locateParts } from '#domain/numbers/even-parts.js';
import type { Attempt } from '#jobs/job-kind.js';
import type { PartOutput, WrittenParts } from '#jobs/offered-parts.js';
import type { RowsInBlocks } from '#jobs/rows-in-blocks.js';
import type { PortableTaskName } from '#jobs/tasks.js';
import type { RowEntry, SumRowsInput } from '#jobs/tasks/runs.js';
import type { Markets } from '#market/serving/markets.js';
import type { ArtifactRef, ArtifactStore } from '#store/port.js';

export type RowAttempt = Attempt<PortableTaskName>;

/** Job with many items. Each item becomes one row of the result. */
export interface RowsOrder<E extends RowEntry> {
  readonly count: number;
  computeEntry(position: number, attempt: RowAttempt): Promise<E>;
  /** Returns the files of an item that the job keeps. */
  listFiles(entry: E): readonly ArtifactRef[];
}

export type RowsSummary = Pick<SumRowsInput, 'kind' | 'id' | 'total' | 'outcomes' | 'engineVersion'>;

export interface RowsInParts {
  /** Computes some parts. @param share share of the job's progress that these parts account for */
  readOutput<E extends RowEntry>(
    order: RowsOrder<E>,
    parts: readonly number[],
    { attempt, share }: { readonly attempt: RowAttempt; readonly share: number },
  ): Promise<PartOutput>;
  /** Computes all items; every node can take part. @returns the result, and the entries of the items in order */
  run<E extends RowEntry>(
    order: RowsOrder<E>,
    summary: RowsSummary,
    attempt: RowAttempt,
  ): Promise<{ readonly result: RowsResult; readonly entries: readonly E[] }>;
}

interface RowsResult {
  readonly artifact: ArtifactRef;
  readonly rows: RowsInBlocks;
}

export interface RowsInPartsDependencies {
  readonly artifacts: Pick<ArtifactStore, 'read'>;
  readonly markets: Pick<Markets, 'settled'>;
  /** Number of threads of the pool. */
  readonly workers: number;
}

/** Share of the progress that remains after all items are computed. */
const SUMMING = 0.02;

/** @returns functions that compute the items of a job in parts; each part writes its entries as JSON */
export function createRowsInParts({ artifacts, markets, workers }: RowsInPartsDependencies): RowsInParts {
  const readOutput: RowsInParts['readOutput'] = async (order, parts, { attempt, share }) => {
    await markets.settled();
    const { positions } = divideEvenly(order.count);
    const count = parts.reduce((sum, part) => sum + positions(part).length, 0);
    const ownRowAttempt = toAlternative(attempt, share / count);
    const output = [];
    for (const part of parts) {
      const entries = [];
      for (const position of positions(part)) entries.push(await order.computeEntry(position, ownRowAttempt));
      output.push(entries);
    }
    const artifact = await attempt.write(Buffer.from(JSON.stringify(output)));
    return { artifact, files: output.flat().flatMap((entry) => order.listFiles(entry)) };
  };

  /** Returns the entries of all parts without duplicates. Deletes the files of duplicate entries. */
  async function readEntries<E extends RowEntry>(
    { listFiles }: RowsOrder<E>,
    writtenParts: readonly WrittenParts[],
    { drop }: Pick<RowAttempt, 'drop'>,
  ): Promise<readonly E[]> {
    const outputs: (readonly (readonly E[])[])[] = [];
    for (const { artifact } of writtenParts)
      outputs.push(JSON.parse(Buffer.from(await artifacts.read(artifact)).toString()) as E[][]); // a part wrote these entries
    const { first, others } = locateParts(writtenParts);
    const listEntries = (entryPositions: typeof first): E[] =>
      entryPositions.flatMap(({ output, at }) => outputs[output]![at]!);
    const unusedFiles = listEntries(others).flatMap(listFiles);
    if (unusedFiles.length > 0) await drop(unusedFiles.map(({ name }) => name));
    return listEntries(first);
  }

  return {
    readOutput,
    async run(order, summary, attempt) {
      const writtenParts = await attempt.inParts({
        count: divideEvenly(order.count).count,
        atOnce: 2 * workers,
        share: 1 - SUMMING,
        here: (part, share) => readOutput(order, [part], { attempt, share }),
      });
      const entries = await readEntries(order, writtenParts, attempt);
      const files = writtenParts.map(({ artifact: { name, sha256 }, parts }) => ({ artifact: name, sha256, parts }));
      const outputs = attempt.outputs(['view', 'rows']);
      const { view, rows } = await attempt.compute('sum-rows', { ...summary, files, outputs }, SUMMING);
      return { result: { artifact: view, rows }, entries };
    },
  };
}

/**
 * Returns the attempt for one item out of many. The item accounts for a share of the progress, and the job continues
 * afterwards.
 */
const toAlternative = (attempt: RowAttempt, share: number): RowAttempt => ({
  ...attempt,
  compute: (task, input, part = 1) => attempt.compute(task, input, part * share),
  computed: () => {},
});
