import { tableFromIPC } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import type { RiskModelCollection } from '#contract/risk-models.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { DAYS, service, readView, fetchBytes, estimateToEnd } from './set-up.js';

export function describeStored(): void {
  describe('stored models', () => {
    test('are listed by id with their summaries', async () => {
      const { body } = await service.ask<RiskModelCollection>('GET', '/risk-models');
      const ids = body.risk_models.map(({ model_id: id }) => id);
      expect(ids).toEqual(ids.toSorted());
      expect(body).toMatchObject({ skipped: 0, skipped_causes: { unreadable: 0, invalid: 0, unsupported: 0 } });
      expect(body.risk_models.find(({ model_id: id }) => id === 'core')).toMatchObject({
        assets: 4,
        observations: DAYS.length - 1,
        observed_start: DAYS[1],
        observed_end: DAYS.at(-1),
        factors: null,
        positive_semi_definite: true,
      });
      expect(
        (await service.ask<RiskModelCollection>('GET', `/risk-models?limit=1&after=${ids[0]}`)).body.risk_models.map(
          ({ model_id: id }) => id,
        ),
      ).toEqual([ids[1]]);
    });

    test('are kept over a restart', async () => {
      const before = await readView('core');
      await service.restart(undefined, 'new');
      expect(await readView('core')).toEqual(before);
      expect((await service.ask<JobStatus>('GET', '/jobs/risk:core')).body.result).toEqual(before);
    });

    test('are sent as Arrow with everything except the covariance in the metadata', async () => {
      const json = await readView('core');
      const table = tableFromIPC(await fetchBytes('/risk-models/core', 'application/vnd.apache.arrow.stream'));
      expect(table.schema.fields.map(({ name }) => name)).toEqual(['asset_id', ...json.asset_ids]);
      json.asset_ids.forEach((name, j) =>
        expect([...(table.getChild(name) ?? [])]).toEqual(json.covariance.data.map((row) => row[j])),
      );
      const { covariance: _, ...rest } = json;
      expect(JSON.parse(table.schema.metadata.get('body') ?? 'null')).toEqual(rest);
    });

    test('are deleted on request, with If-Match only the given version', async () => {
      const { etag } = await service.ask('GET', '/risk-models/flat');
      expect((await service.ask('DELETE', '/risk-models/flat', undefined, { 'if-match': '"other"' })).status).toBe(412);
      expect((await service.ask('DELETE', '/risk-models/flat', undefined, { 'if-match': etag ?? '' })).status).toBe(
        204,
      );
      expect(await service.refusal('GET', '/risk-models/flat')).toMatchObject({
        status: 404,
        code: 'RISK_MODEL_NOT_FOUND',
      });
      expect(await service.refusal('DELETE', '/risk-models/flat')).toMatchObject({
        status: 404,
        code: 'RISK_MODEL_NOT_FOUND',
      });
    });

    test('do not come back if they are deleted while they are estimated again', async () => {
      await estimateToEnd('again', { identifiers: ['AAA', 'BBB'] });
      expect((await service.ask('POST', '/jobs/kinds/risk/pause', {})).status).toBe(200);
      const { body: submitted } = await service.ask<JobStatus>('POST', '/risk-models/again/estimate', {});
      expect(submitted).toMatchObject({ job_id: 'risk:again', status: 'pending' });
      expect((await service.ask('DELETE', '/risk-models/again', undefined, { 'if-match': '"other"' })).status).toBe(
        412,
      );
      expect((await service.ask<JobStatus>('GET', '/jobs/risk:again')).body.status).toBe('pending');
      expect((await service.ask('DELETE', '/risk-models/again')).status).toBe(204);
      expect((await service.ask('POST', '/jobs/kinds/risk/resume')).status).toBe(200);
      expect((await service.waitForJob('risk:again')).status).toBe('cancelled');
      expect((await service.refusal('GET', '/risk-models/again')).code).toBe('RISK_MODEL_NOT_FOUND');
    });

    test('do not come back, at whichever moment of their estimate they are deleted', async () => {
      const ends = new Set<string>();
      for (const delay of [0, 5, 10, 20, 40, 80, 160, 400]) {
        const body = { identifiers: ['AAA', 'BBB'] };
        expect((await service.ask('POST', '/risk-models/brief/estimate', body)).status).toBe(202);
        await new Promise((resolve) => setTimeout(resolve, delay));
        expect((await service.ask('DELETE', '/risk-models/brief')).status).toBe(204);
        ends.add((await service.waitForJob('risk:brief')).status);
        await new Promise((resolve) => setTimeout(resolve, 50)); // a late end of the attempt
        expect((await service.refusal('GET', '/risk-models/brief')).code).toBe('RISK_MODEL_NOT_FOUND');
      }
      expect([...ends]).toContain('cancelled');
    });
  });
}
