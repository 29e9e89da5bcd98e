import { afterAll, beforeAll, expect, test } from 'vitest';
import { runService, type RunningService } from '../running-service.js';
import { writeWalks } from '../runs/random-walks.js';
import { join } from 'node:path';

let service: RunningService;
let location: string;
beforeAll(async () => {
  service = await runService();
  location = writeWalks(join(service.root, 'walks'), { names: ['A', 'B'], sessions: 30, seed: 1 });
});
afterAll(() => service.close());

test.for(['activate', 'refresh'] as const)(
  'a deletion and the work %s of one store at the same time are not both accepted',
  async (work) => {
    const market = { index: [0], columns: ['identifier', 'date', 'CLOSE'], data: [['A', '2024-01-02', 10]] };
    await service.ask('POST', '/data/import', { name: 'idle', store_id: 'idle', tables: { market }, activate: true });
    for (let round = 0; round < 8; round++) {
      const storeId = `${work}-${round}`;
      const body = { store_id: storeId, name: storeId, kind: 'folder', location, activate: false };
      expect((await service.ask('POST', '/data/stores', body)).status).toBe(201);
      const path = `/data/stores/${storeId}`;
      const requests = [() => service.ask('POST', `${path}/${work}`, {}), () => service.ask('DELETE', path)];
      const order = round % 2 === 0 ? requests : requests.toReversed();
      const answers = await Promise.all(order.map((request) => request()));
      const [workStatus, deletionStatus] = (round % 2 === 0 ? answers : answers.toReversed()).map(
        ({ status }) => status,
      );
      expect([
        [202, 409],
        [409, 204],
        [404, 204], // the deletion ended before the other request arrived
      ]).toContainEqual([workStatus, deletionStatus]);
      if (deletionStatus === 204) continue;
      await service.waitForJob(`${work === 'activate' ? 'load' : 'refresh'}:${storeId}`);
      await service.ask('POST', '/data/stores/idle/activate');
      await service.waitForJob('load:idle');
      expect((await service.ask('DELETE', path)).status).toBe(204);
    }
  },
);
