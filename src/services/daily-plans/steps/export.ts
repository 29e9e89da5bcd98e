import { formatCount } from '#domain/catalogue/sentence-numbers.js';
import { createHash } from 'node:crypto';
import type { StoredStep } from '#domain/daily-plans/day-document.js';
import { createFileName } from '#domain/daily-plans/file-name.js';
import { readPattern, type ExportedFile } from '#domain/daily-plans/steps/export.js';
import { parseValidDay } from '#domain/time/days.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { ArtifactStore } from '#store/port.js';
import { readBytes, type Exports } from '../../runs/exports.js';
import {
  createBlockedResult,
  describeIndices,
  performEachIndex,
  type ItemResult,
  type Performer,
  type StepContext,
} from '../performer.js';

export interface ExportDependencies {
  readonly exports: Pick<Exports, 'export'>;
  readonly artifacts: Pick<ArtifactStore, 'write'>;
}

/** Error codes for a table without rows on a session. */
const NO_ROWS_CODES: ReadonlySet<string> = new Set(['NO_DATA_AT_DATE', 'NO_DATA_IN_RANGE']);

export function createExportPerformer({ exports, artifacts }: ExportDependencies): Performer<'export'> {
  async function writeFile(indexId: string, file: ExportedFile, context: StepContext<unknown>): Promise<ItemResult> {
    const { signal } = context;
    const { date } = context.day();
    const { table, format, by, from_start: isFromStart } = file;
    const run = { subject: indexId, id: findPublishedRun(context.day().steps, indexId) };
    const request = { table, format, end: date, ...(isFromStart ? {} : { start: date }), ...(by && { by }) };
    const bytes = await readBytes(await (await exports.export(run, request)).open(signal));
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const { name: artifact } = await artifacts.write(bytes, sha256);
    const name = formatFileName(file, indexId, context);
    const writtenFile = { name, bytes: bytes.length, sha256 };
    return { state: 'done', message: `${name} was written.`, file: writtenFile, artifact, detail: { table } };
  }

  return async (context) => {
    const { spec, put, signal, item } = context;
    const count = await performEachIndex(context, async (indexId) => {
      const indexFiles = spec.files.filter(({ indices }) => indices === null || indices.includes(indexId));
      for (const file of indexFiles) {
        const key = formatFileName(file, indexId, context);
        if (item(key)?.state === 'done') continue;
        const result = await writeFile(indexId, file, context).catch((failure: unknown): ItemResult => {
          const isEmpty = file.optional && failure instanceof Refusal && NO_ROWS_CODES.has(failure.code);
          if (isEmpty) return { state: 'done', message: `${key} was not exported: ${failure.message}` };
          return createBlockedResult(failure, signal);
        });
        await put(key, indexId, result);
      }
      return { state: 'done', message: `${formatCount(indexFiles.length, 'file')}.` };
    });
    return { state: 'done', message: describeIndices(count, 'with files') };
  };
}

const formatFileName = (file: ExportedFile, index: string, { day }: Pick<StepContext<unknown>, 'day'>): string =>
  createFileName(readPattern(file), {
    schedule: day().schedule_id,
    index,
    table: file.table,
    day: parseValidDay(day().date),
  });

/**
 * Returns the id of the run that this day published. Returns undefined if it published none; the latest run is then
 * used.
 */
export function findPublishedRun(steps: readonly StoredStep[], indexId: string): string | undefined {
  const item = steps.find(({ type }) => type === 'publish')?.items.find(({ key }) => key === indexId);
  const id = item?.detail?.['run_id'];
  return typeof id === 'string' ? id : undefined;
}
