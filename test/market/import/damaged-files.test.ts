import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { allocateEmptyPanel } from '#market/panels/panels.js';
import { createImportTemplate, readImport } from '#market/read/import.js';
import { createProblems } from '#market/tables/problems.js';
import { writeMarket } from '#market/content/managed-folder.js';
import { IS_SOAK } from '../../soak.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { readFolder, writeFiles } from '../store-folder.js';
import { NO_TABLES } from '../../domain/backtest/market-builder.js';

const createFolder = openTemporaryFolders();

/** Returns a market file. It is large enough for damage in pages, dictionaries and footer. */
async function createMarketFile(): Promise<Buffer> {
  const folder = join(await createFolder(), 'store');
  const random = createCounterRandom({ seed: 1, stream: 0 });
  const identifiers = Array.from({ length: 20 }, (_, n) => `N${String(n).padStart(2, '0')}`);
  const dates = Int32Array.from({ length: 100 }, (_, t) => 19_000 + t);
  const close = allocateEmptyPanel(2000);
  close.forEach((_, i) => (close[i] = 1 + 100 * random.uniform()));
  await writeMarket(
    folder,
    {
      identifiers,
      dates,
      fields: new Map([['CLOSE', close]]),
      ...NO_TABLES,
    },
    () => {},
  );
  return readFileSync(join(folder, 'market.parquet'));
}

/**
 * Number of damaged files of each kind. The soak has 58 in total. Otherwise there are a few at both ends and in the
 * middle of the file.
 */
const [CUT_POSITIONS, FLIP_COUNT, BLANKS] = IS_SOAK
  ? [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 40, [0, 0.3, 0.6, 0.95]]
  : [[1, 5, 10], 6, [0, 0.6, 0.95]];
const DAMAGES = CUT_POSITIONS.length + FLIP_COUNT + 2 * BLANKS.length;

/**
 * Yields damaged files of every kind: truncated at many lengths, with inverted bytes, and with ranges of zeros or ones.
 */
function* listDamages(bytes: Buffer): Generator<readonly [string, Buffer]> {
  const random = createCounterRandom({ seed: 2, stream: bytes.length });
  for (const i of CUT_POSITIONS)
    yield [`cut after ${i} tenths`, bytes.subarray(0, Math.floor((bytes.length * i) / 10.5))];
  for (let i = 0; i < FLIP_COUNT; i++) {
    const changedBytes = Buffer.from(bytes);
    const offset = random.integer(bytes.length);
    changedBytes[offset] = changedBytes[offset]! ^ (1 << random.integer(8));
    yield [`bit turned over in byte ${offset}`, changedBytes];
  }
  for (const [what, value] of [
    ['zeros', 0],
    ['ones', 255],
  ] as const) {
    for (const where of BLANKS) {
      const blankedBytes = Buffer.from(bytes);
      const from = Math.floor(bytes.length * where);
      yield [`${what} from byte ${from}`, blankedBytes.fill(value, from, Math.min(from + 64, bytes.length))];
    }
  }
}

describe('damage to a file always results in findings or a sound market', () => {
  test.each(['market.parquet', 'market.csv', 'market.csv.gz', 'market.jsonl'])('%s', async (name) => {
    const csv = `identifier,date,CLOSE\n${Array.from(
      { length: 50 },
      (_, i) => `N${i % 5},2024-01-${String((i % 28) + 1).padStart(2, '0')},${i}.5`,
    )
      .filter((_, i, all) => all.indexOf(all[i]!) === i)
      .join('\n')}\n`;
    const csvText = Array.from({ length: 20 }, (_, i) =>
      JSON.stringify({ identifier: `N${i}`, date: '2024-01-02', CLOSE: i + 1 }),
    ).join('\n');
    const intactFile = name.endsWith('.parquet')
      ? await createMarketFile()
      : name.endsWith('.jsonl')
        ? Buffer.from(csvText)
        : name.endsWith('.gz')
          ? gzipSync(csv)
          : Buffer.from(csv);
    let kinds = 0;
    for (const [what, bytes] of listDamages(intactFile)) {
      const folder = await createFolder();
      await writeFiles(folder, { [name]: bytes });
      const { read, findings } = await readFolder(folder);
      const errors = findings.filter(({ severity }) => severity === 'error');
      expect([what, read === undefined, errors.length > 0]).toEqual([what, errors.length > 0, read === undefined]);
      expect(JSON.stringify(findings)).not.toContain(folder);
      kinds += 1;
    }
    expect(kinds).toBe(DAMAGES);
  });

  test.each(['xlsx', 'csv'] as const)('an uploaded %s', async (kind) => {
    for (const [what, bytes] of listDamages(Buffer.from(createImportTemplate(kind)))) {
      const problems = createProblems();
      const read = await readImport({ kind, bytes }, problems);
      expect([what, read === undefined]).toEqual([what, problems.errors > 0]);
    }
  });
});
