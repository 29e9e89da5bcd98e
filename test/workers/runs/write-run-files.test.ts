import { createHash } from 'node:crypto';
import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ThreadInput } from '#jobs/tasks/catalogue.js';
import { createCheckedFiles } from '#jobs/job-system.js';
import { runWithEarlyOutput } from '#workers/output/task-outputs.js';
import { type ComputedFiles, practiseRunFiles, writeRunFiles } from '#workers/runs/backtest.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';

const createFolder = openTemporaryFolders();
const PRICES = new Uint8Array(1 << 20).fill(7);
const sha256 = createHash('sha256').update(PRICES).digest('hex');

/** Returns a run that uses the stored price file of another run. */
async function runBeside(content: Uint8Array, { securities }: { readonly securities: string }) {
  const folder = await createFolder();
  const storedFolder = join(folder, 'stored');
  await writeFile(storedFolder, content);
  await utimes(storedFolder, 1e9, 1e9); // a file that has just changed is not remembered
  const destination = { kind: 'folder', folder, lowWaterMark: { bytes: 0 } } as const;
  const input = {
    market: { datasetId: 'm', contentHash: 'c', adjustment: 'none' },
    plan: { indexId: 'I' },
    storedPrices: [{ name: 'stored', bytes: PRICES.length, sha256 }],
    checkedFiles: createCheckedFiles(destination),
    outputs: { destination, names: { plan: 'plan', columns: 'columns', prices: 'prices', checkpoint: 'checkpoint' } },
  } as unknown as ThreadInput<'backtest'>;
  const looks: string[] = [];
  const madeFiles: ComputedFiles = {
    columns: new Uint8Array(8),
    weightsEnd: 0,
    blocks: [],
    prices: {
      length: PRICES.length,
      parts: () => [PRICES],
      identifiers: [securities],
      days: new Int32Array(1),
      adjustedBy: '',
    },
    checkpoint: null,
    areColumnsKept: true,
    look: () => void looks.push('part'),
  };
  return { input, made: madeFiles, looks };
}

type PreparedRun = Pick<Awaited<ReturnType<typeof runBeside>>, 'input' | 'made'>;

const writeFiles = ({ input, made }: PreparedRun) =>
  runWithEarlyOutput(input.outputs, 'columns', (early) => writeRunFiles(input, made, early));

test('the first run of a thread writes its prices; after a warm-up it neither writes nor reads them', async () => {
  const unpreparedRun = await runBeside(PRICES, { securities: 'A' });
  const first = await writeFiles(unpreparedRun);
  expect(first.prices).toMatchObject({ sha256, written: { name: 'prices' } });
  const { input, made, looks } = await runBeside(PRICES, { securities: 'B' });
  practiseRunFiles(input, made);
  const read = looks.length;
  expect(read).toBeGreaterThan(1); // the prices themselves, and ranges of the stored file
  expect((await writeFiles({ input, made })).prices).toEqual({ sha256, written: null });
  expect(looks).toHaveLength(read);
});

test('a stored file that was damaged is not trusted after a warm-up', async () => {
  const { input, made } = await runBeside(
    PRICES.map((byte, i) => (i === 5 ? 8 : byte)),
    { securities: 'C' },
  );
  practiseRunFiles(input, made);
  expect((await writeFiles({ input, made })).prices).toMatchObject({ sha256, written: { name: 'prices' } });
});
