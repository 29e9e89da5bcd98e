import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { IS_SOAK } from '../soak.js';
import { openLiveService, type LiveService } from './live.js';
import { hasSp500, SP500, writeSp500Folder } from './sp500-folder.js';

interface Example {
  readonly id: string;
  readonly base_date: string;
  readonly pipeline: { readonly treatment?: { readonly dividends?: string } };
}

/** Methodologies in data/examples. Each is stored, previewed and backtested as a client would do. */
const documents = readdirSync('data/examples')
  .filter((name) => name.endsWith('.json'))
  .map((name) => ({ name, document: JSON.parse(readFileSync(`data/examples/${name}`, 'utf8')) as Example }));

if (!hasSp500) console.log(`skipped on real prices: ${SP500.closes} is not on this machine`);
else if (!IS_SOAK) console.log('skipped on real prices: they are those of npm run soak');

const markets = [
  {
    market: 'a generated market',
    skipped: false,
    isCashless: false,
    load: async (service: LiveService) =>
      service.job('/data/synthetic', {
        store_id: 'generated',
        seed: 7,
        assets: 260,
        start: '2009-01-02',
        end: '2012-06-29',
        sectors: 11,
      }),
  },
  {
    market: '469 real names',
    skipped: !hasSp500 || !IS_SOAK,
    isCashless: true,
    async load(service: LiveService) {
      const folder = join(service.folder, 'sp500');
      await writeSp500Folder(folder);
      await service.ok('POST', '/data/stores', {
        name: 'Real',
        store_id: 'real',
        kind: 'folder',
        location: folder,
        adjustment: 'splits',
        currency: 'USD',
      });
      return service.job('/data/stores/real/activate');
    },
  },
];

for (const { market, skipped, isCashless, load } of markets) {
  describe.skipIf(skipped)(`on ${market}`, () => {
    let service: LiveService;
    beforeAll(async () => {
      service = await openLiveService();
      expect((await load(service)).error).toBeNull();
    });
    afterAll(() => service?.close());

    test.each(documents)('$name is stored without findings, selects and reconciles', async ({ document }) => {
      const savedAnswer = await service.ok<{ findings: { code: string }[] }>(
        'PUT',
        `/indices/${document.id}`,
        document,
      );
      // The real prices have no dividends. The service reports this if the definition needs them.
      const { dividends = 'price' } = document.pipeline.treatment ?? {};
      // If a document has no max_stale_sessions, a finding reports the default that applies.
      const ownCodes = savedAnswer.findings.map(({ code }) => code).filter((code) => code !== 'DEFAULT_TAKEN');
      expect(ownCodes).toEqual(isCashless && dividends !== 'price' ? ['NO_DIVIDENDS'] : []);
      const job = await service.job<{
        rebalances: { weights: Record<string, number> }[];
        index_level: { data: number[] };
        findings: { code: string }[];
      }>(`/analytics/${document.id}/backtest`, { transaction_cost_bps: 5 });
      expect(job.error).toBeNull();
      expect(job.result.findings.filter(({ code }) => code === 'REBALANCE_HELD')).toEqual([]);
      const counts = job.result.rebalances.map(({ weights }) => Object.keys(weights).length);
      expect(Math.min(...counts)).toBeGreaterThanOrEqual(25);
      for (const { weights } of job.result.rebalances)
        expect(Math.abs(Object.values(weights).reduce((sum, weight) => sum + weight, 0) - 1)).toBeLessThan(1e-12);
      const attribution = await service.ok<{ reconciles: boolean }>('GET', `/analytics/${document.id}/attribution`);
      expect(attribution.reconciles).toBe(true);
    });
  });
}
