import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { runService } from '../services/running-service.js';
import { tryBrowser } from './browser.js';
import { openDesk, WAIT_MS, type Desk } from './desk.js';
import { describeCrowd } from './walk/crowd.js';
import { describeData } from './walk/data.js';
import { describeDocuments } from './walk/documents.js';
import { describeFirstMarket } from './walk/first-market.js';
import { describeIndices } from './walk/indices.js';
import { describeKeys } from './walk/keys.js';
import { describeOperations } from './walk/operations.js';
import { describePages } from './walk/pages.js';
import { describeRecord } from './walk/record.js';
import { describeStudies } from './walk/studies.js';
import { describeTemplates } from './walk/templates.js';

// A single test waits for several states.
vi.setConfig({ testTimeout: 10 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();
if ('why' in browserFailure) process.stderr.write(`The console is not walked through: ${browserFailure.why}\n`);

test('it can be skipped', async () => {
  const service = await runService(['--console', 'off']);
  const headers = { accept: 'text/html' };
  const answers = await Promise.all(['/', '/console/jobs'].map((path) => service.download(path, { headers })));
  expect(answers.map(({ status }) => status)).toEqual([404, 404]);
  await service.close();
});

/** The order matters: each part uses content that the previous parts created. */
describe.skipIf('why' in browserFailure)('the console', () => {
  let openedDesk: Desk;
  const readDesk = () => openedDesk;
  beforeAll(async () => {
    if ('browser' in browserFailure) openedDesk = await openDesk(browserFailure.browser);
  });
  afterAll(() => openedDesk?.close());

  describeFirstMarket(readDesk);
  describeIndices(readDesk);
  describeStudies(readDesk);
  describeDocuments(readDesk);
  describeRecord(readDesk);
  describeOperations(readDesk);
  describePages(readDesk);
  describeTemplates(readDesk);
  describeData(readDesk);
  describeCrowd(readDesk);
  describeKeys(readDesk);
});
