import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openColumns } from '#domain/backtest/run-file/columns.js';
import {
  type Body,
  WHOLE_CONTENT,
  formatDateAt,
  INDEX,
  REQUEST,
  service,
  cutMarket,
  put,
  grow,
  sessions,
  startBacktest,
  runWhole,
  readText,
  formatNumbers,
  readViews,
  restart,
  listArtifacts,
} from './set-up.js';

export function describeGrowingStore(): void {
  describe('a backtest after the store has grown', () => {
    test('extends the stored run, and every view equals that of a whole run', async () => {
      expect(await startBacktest()).toMatchObject({ extended_from: null, full_run_reason: null });
      let from = 420;
      // First a few days are appended, then the days to the end, which include a rebalance. The service restarts in
      // between.
      for (const rows of [424, 438]) {
        await put(cutMarket(rows));
        const extendedRun = await startBacktest();
        expect([extendedRun.extended_from, extendedRun.full_run_reason]).toEqual([formatDateAt(from - 1), null]);
        const shownViews = await readViews();
        if (rows === 424) {
          const replayedAnswer = await service.ask<{ job_id: string }>('POST', '/analytics/GROWS/replay');
          expect((await service.waitForJob(replayedAnswer.body.job_id)).result).toMatchObject({
            equal: true,
            inputs_equal: true,
            first_difference: null,
          });
          expect(JSON.parse(await readText('/analytics/GROWS/reconcile')).reconciles).toBe(true);
          await restart();
          expect(await readViews()).toEqual(shownViews);
        }
        const wholeRun = await runWhole();
        expect(formatNumbers(JSON.stringify(extendedRun))).toBe(formatNumbers(JSON.stringify(wholeRun)));
        expect(shownViews).toEqual(await readViews());
        from = rows;
      }
    });

    test('is extended repeatedly, and its first files are deleted with the last of them', async () => {
      await put(cutMarket(410), { full: true });
      await service.ask('DELETE', '/analytics/GROWS/record');
      await runWhole();
      for (const rows of [411, 412, 413]) {
        await put(cutMarket(rows));
        expect(await startBacktest()).toMatchObject({ extended_from: formatDateAt(rows - 2), full_run_reason: null });
      }
      const shownViews = await readViews();
      await runWhole();
      expect(shownViews).toEqual(await readViews());
      await put(cutMarket(414));
      const before = listArtifacts(); // includes the earlier content of the store
      expect(await startBacktest()).toMatchObject({ extended_from: formatDateAt(412) });
      const newArtifacts = listArtifacts().filter((name) => !before.includes(name));
      expect(newArtifacts.length).toBeGreaterThanOrEqual(5);
      expect((await service.ask('DELETE', '/indices/GROWS')).status).toBeLessThan(300);
      await restart(); // unreferenced files are removed a minute later, or when the service stops
      expect(listArtifacts().filter((name) => newArtifacts.includes(name))).toEqual([]);
      expect((await service.ask('POST', '/indices', INDEX)).status).toBe(200);
    });

    test('is extended when new securities are held, and shows their earlier values', async () => {
      await put(cutMarket(300), { full: true });
      const risenRow = { id: 'risen', type: 'TopN', params: { field: 'MOMENTUM', count: 6 } };
      const document = {
        ...INDEX,
        id: 'JOINS',
        name: 'Joins',
        base_date: formatDateAt(270),
        rebalance: { frequency: 'monthly' },
        pipeline: { ...INDEX.pipeline, selection: [risenRow], weighting: { type: 'EqualWeight' } },
      };
      expect((await service.ask('POST', '/indices', document)).status).toBe(200);
      expect(
        (
          await service.ask('PUT', '/strategies/HALF', {
            id: 'HALF',
            name: 'Half',
            index_id: 'JOINS',
            exposure: 0.5,
            transaction_cost_bps: 5,
          })
        ).status,
      ).toBe(200);
      const listRebalanceNames = (rebalances: readonly { readonly weights: object }[]): Set<string> =>
        new Set(rebalances.flatMap(({ weights }) => Object.keys(weights)));
      const knownNames = listRebalanceNames((await runWhole('JOINS')).rebalances);
      await runWhole('HALF', {});
      let last: Body;
      for (const rows of [331, 438]) {
        await put(cutMarket(rows));
        last = await startBacktest('JOINS');
        expect(last.full_run_reason).toBeNull();
        expect((await startBacktest('HALF', {})).full_run_reason).toBeNull();
      }
      const joinedNames = [...listRebalanceNames(last.rebalances)].filter((name) => !knownNames.has(name));
      expect(joinedNames.length).toBeGreaterThan(1);
      const readLaterViews = async () => ({
        ...(await readViews('JOINS')),
        half: await readViews('HALF'),
        assets: await Promise.all(joinedNames.map((name) => readText(`/analytics/JOINS/assets/${name}`))),
        rolling: await readText('/analytics/JOINS/rolling'),
      });
      const shownViews = await readLaterViews();
      expect((await service.ask<{ weights: unknown[] }>('GET', '/analytics/JOINS/weights')).body.weights).toHaveLength(
        6,
      );
      for (const id of ['JOINS', 'HALF']) {
        const { body } = await service.ask<{ job_id: string }>('POST', `/analytics/${id}/replay`);
        expect((await service.waitForJob(body.job_id)).result).toMatchObject({ equal: true, first_difference: null });
        expect(JSON.parse(await readText(`/analytics/${id}/reconcile`)).reconciles).toBe(true);
      }
      await runWhole('JOINS');
      await runWhole('HALF', {});
      expect(shownViews).toEqual(await readLaterViews());
    });

    test('runs whole if any earlier value has changed', async () => {
      await put(cutMarket(420), { full: true });
      await runWhole();
      const restatedMarket = cutMarket(422);
      const close = restatedMarket.fields.get('CLOSE')!;
      close[200 * WHOLE_CONTENT.identifiers.length] = close[200 * WHOLE_CONTENT.identifiers.length]! * 1.01;
      await put(restatedMarket, { full: true });
      expect(await startBacktest()).toMatchObject({ extended_from: null, full_run_reason: 'history_changed' });
      const lateMarket = cutMarket(423);
      const action = {
        ...lateMarket.actions.find(({ type }) => type === 'DIVIDEND')!,
        identifier: WHOLE_CONTENT.identifiers[1]!,
        exDay: WHOLE_CONTENT.dates[150]!,
        value: 0.37,
      };
      const actions = [...lateMarket.actions, action].toSorted((a, b) =>
        a.identifier < b.identifier ? -1 : a.identifier > b.identifier ? 1 : a.exDay - b.exDay,
      );
      const changedMarket = {
        ...lateMarket,
        fields:
          restatedMarket.fields.size > 0
            ? new Map(
                [...lateMarket.fields].map(([name, panel]) => [
                  name,
                  name === 'CLOSE' ? Float64Array.from(panel, (value, cell) => close[cell] ?? value) : panel,
                ]),
              )
            : lateMarket.fields,
        actions,
      };
      // A corporate action that arrives late changes the history of its security. Without `full`, neither the action
      // nor the later bar is accepted.
      await put(changedMarket);
      const { full_run_reason: why } = await startBacktest();
      expect(why).not.toBe('history_changed');
      await put(changedMarket, { full: true });
      expect(await startBacktest()).toMatchObject({ extended_from: null, full_run_reason: 'history_changed' });
      expect(formatNumbers(JSON.stringify(await startBacktest()))).toBe(
        formatNumbers(JSON.stringify(await runWhole())),
      );
    });

    test('runs whole for another definition or request, unless only the end is later', async () => {
      await put(cutMarket(420), { full: true });
      await runWhole();
      expect(await startBacktest()).toMatchObject({ full_run_reason: 'no_new_session' });
      await put(cutMarket(421));
      expect(await startBacktest('GROWS', { ...REQUEST, transaction_cost_bps: 11 })).toMatchObject({
        full_run_reason: 'request_changed',
      });
      expect(await startBacktest('GROWS', { transaction_cost_bps: 11 })).toMatchObject({
        full_run_reason: 'request_changed',
      });
      await startBacktest('GROWS', { ...REQUEST, transaction_cost_bps: 11 });
      const changedIndex = {
        ...INDEX,
        pipeline: { ...INDEX.pipeline, weighting: { type: 'MarketCapWeight', cap: 0.2 } },
      };
      expect((await service.ask('PUT', '/indices/GROWS', changedIndex)).status).toBe(200);
      expect(await startBacktest('GROWS', { ...REQUEST, transaction_cost_bps: 11 })).toMatchObject({
        full_run_reason: 'definition_changed',
      });
      expect((await service.ask('PUT', '/indices/GROWS', INDEX)).status).toBe(200);
      await runWhole('GROWS', { ...REQUEST, end: formatDateAt(350) });
      const laterRun = await startBacktest('GROWS', { ...REQUEST, end: formatDateAt(352) });
      expect(laterRun).toMatchObject({ extended_from: formatDateAt(350), full_run_reason: null });
      expect(await startBacktest('GROWS', { ...REQUEST, end: formatDateAt(349) })).toMatchObject({
        full_run_reason: 'no_new_session',
      });
      expect(formatNumbers(JSON.stringify(laterRun))).toBe(
        formatNumbers(JSON.stringify(await runWhole('GROWS', { ...REQUEST, end: formatDateAt(352) }))),
      );
    });

    test('runs whole if a file of the stored run is damaged', async () => {
      const before = new Set(listArtifacts());
      await runWhole();
      for (const name of listArtifacts())
        if (!before.has(name)) truncateSync(join(service.root, 'home', 'artifacts', name), 100);
      await grow();
      expect(await startBacktest()).toMatchObject({ extended_from: null, full_run_reason: 'no_checkpoint' });
      expect((await service.ask('GET', '/analytics/GROWS/record')).status).toBe(200);
    });

    test('replaces a run with a damaged plan, whose overview is refused until then', async () => {
      const before = new Set(listArtifacts());
      await runWhole();
      const path = listArtifacts()
        .filter((name) => !before.has(name))
        .map((name) => join(service.root, 'home', 'artifacts', name))
        .find((file) => readFileSync(file, 'latin1').startsWith('{"documents":'))!;
      const bytes = readFileSync(path);
      bytes[bytes.length >> 1]! ^= 1;
      writeFileSync(path, bytes);
      expect(await service.ask('GET', '/analytics/GROWS/overview')).toMatchObject({
        status: 404,
        body: { error: { code: 'DOCUMENT_UNREADABLE' } },
      });
      await grow();
      await startBacktest();
      expect((await service.ask('GET', '/analytics/GROWS/overview')).status).toBe(200);
    });

    test('runs whole if a bit of a stored weight differs, whether the new run begins in the file or copies it', async () => {
      /** Returns the file to which a run was written. If the run continues other files, it is the smallest new file. */
      const formatNewColumns = (before: readonly string[]): string => {
        const newArtifacts = listArtifacts()
          .filter((name) => !before.includes(name))
          .map((name) => join(service.root, 'home', 'artifacts', name));
        return newArtifacts
          .filter((path) => readFileSync(path, 'latin1').startsWith('DVSRUN'))
          .toSorted((a, b) => statSync(a).size - statSync(b).size)[0]!;
      };
      const damage = (path: string): void => {
        const bytes = readFileSync(path);
        const { offset } = openColumns((from, to) => bytes.subarray(from, to)).header.blocks.weights!;
        bytes[offset]! ^= 1; // changes the last bit of a weight, which no computed figure shows
        writeFileSync(path, bytes);
      };
      let before = listArtifacts();
      await runWhole();
      damage(formatNewColumns(before));
      await grow();
      expect(await startBacktest()).toMatchObject({ extended_from: null, full_run_reason: 'no_checkpoint' });
      await grow();
      before = listArtifacts();
      expect(await startBacktest()).toMatchObject({ extended_from: formatDateAt(sessions - 2) });
      damage(formatNewColumns(before));
      await grow();
      expect(await startBacktest()).toMatchObject({ extended_from: null, full_run_reason: 'no_checkpoint' });
      const shownViews = await readViews();
      await runWhole();
      expect(shownViews).toEqual(await readViews());
    });
  });
}
