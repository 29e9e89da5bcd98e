import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { InspectRequest } from '#contract/stores.js';
import { createLocations } from '#market/read/folder.js';
import type { StoreWork } from '#services/stores/serving.js';
import { createDatasetInspections } from '#services/stores/stores.js';
import { createTemporaryFolder } from '../../store/temporary-folder.js';
import { createTestContext } from '../context.js';

const BARS = 'identifier,date,CLOSE\nA,2024-01-02,10\nA,2024-01-03,11\n';

async function createInspectedFolder(files: Readonly<Record<string, string>>) {
  const location = await createTemporaryFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(location, name), text);
  const context = createTestContext<StoreWork>({
    locations: createLocations([location]),
    databases: { resolve: () => Promise.reject(new Error('no database is asked for')) },
    readers: (read) => read({ follow: () => {} }),
    closing: new AbortController().signal,
  });
  const inspections = createDatasetInspections(context);
  return inspections(InspectRequest.parse({ location }), { client: null, signal: new AbortController().signal });
}

test('an empty file of bars causes a question, an empty table in addition refuses the folder', async () => {
  const { unsure } = await createInspectedFolder({ 'A.csv': BARS, 'B.csv': '' });
  expect(unsure.map(({ field }) => field)).toContain('ignore');
  await expect(createInspectedFolder({ 'market.csv': BARS, 'reference.csv': '' })).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
    detail: { findings: [expect.objectContaining({ code: 'UNREADABLE_FILE', path: 'reference' })] },
  });
});

test('all of many empty files are counted and named', async () => {
  const names = Array.from({ length: 22 }, (_, i) => `E${String(i).padStart(2, '0')}.csv`);
  const inspection = await createInspectedFolder({
    'A.csv': BARS,
    ...Object.fromEntries(names.map((name) => [name, ''])),
  });
  expect(inspection).toMatchObject({ files: 23, rows_read: 2, faulty_files: names });
  expect(inspection.questions).toContain(
    `${names.join(', ')} cannot be read. To ignore them, use --ignore ${names.join(',')}.`,
  );
});
