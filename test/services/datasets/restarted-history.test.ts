import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runService, type RunningService } from '../running-service.js';
import { formatBars, listChanges, FIRST, serveFolder } from './served-folder.js';

let service: RunningService;
/** Restarts the service. A start reports its findings. */
const restart = () => service.restart();
beforeAll(async () => {
  service = await runService();
});
afterAll(() => service.close());

const serveFiles = (id: string, files: Readonly<Record<string, string>>) => serveFolder(service, id, files);

/** Waits for the copy of the served content. From this copy, a start determines the earlier content. */
const waitForCopy = (id: string) =>
  expect
    .poll(async () => (await service.ask<{ copy: string }>('GET', `/data/stores/${id}/versions`)).body.copy)
    .toBe('made');

describe('a restart', () => {
  test('applies the rules of a refresh: a security with another history keeps its served bars', async () => {
    const desk = await serveFiles('restarted', { 'market.csv': formatBars(FIRST) });
    await waitForCopy('restarted');
    const before = await desk.store();
    const laterRows = ['A,2024-01-04,12', 'B,2024-01-04,22'];
    await desk.write({ 'market.csv': formatBars(['A,2024-01-02,19', ...FIRST.slice(1), ...laterRows]) });
    await restart();
    expect([await desk.closeOf('A'), await desk.closeOf('B')]).toEqual([
      [10, 11],
      [20, 21, 22],
    ]);
    const after = await desk.store();
    expect(after.content_hash).not.toBe(before.content_hash);
    expect(listChanges(after)).toEqual(['warning HISTORY_CHANGED market.A']);
    expect(after.findings?.[0]?.message).toMatch(
      /1 changed bar .*10 in the store, 19 in the source.*1 later bar was not added/,
    );
    expect(after.rows).toMatchObject({ market: 5 });
    const takenRefresh = {
      dates_added: 1,
      rows_added: 1,
      identifiers_added: 0,
      findings: [{ code: 'HISTORY_CHANGED' }],
    };
    expect(after.taken_at_start).toMatchObject(takenRefresh);
    // Another start gives the same result and adds no findings.
    await restart();
    await desk.closeOf('A');
    expect(await desk.store()).toMatchObject({ content_hash: after.content_hash, taken_at_start: takenRefresh });
    expect((await desk.store()).taken_at_start?.findings).toHaveLength(1);
    // The next refresh reports changes that starts accepted. It also finds the changes that they did not accept.
    const report = await desk.refresh();
    expect(listChanges(report)).toEqual(['warning HISTORY_CHANGED market.A']);
    expect(report).toMatchObject({ dates_added: 1, rows_added: 1, rejected: [{ identifier: 'A', held_back: 1 }] });
    expect(await desk.refresh({ full: true })).toMatchObject({ rows_added: 1, rows_changed: 1, findings: [] });
    expect(await desk.closeOf('A')).toEqual([19, 11, 12]);
    await restart();
    expect(await desk.closeOf('A')).toEqual([19, 11, 12]);
    expect(listChanges(await desk.store())).toEqual([]);
  });

  test('removes the finding about the rejected history after a refresh that accepts the security again', async () => {
    const desk = await serveFiles('mended', { 'market.csv': formatBars(FIRST) });
    await waitForCopy('mended');
    const laterRows = ['A,2024-01-04,12', 'B,2024-01-04,22'];
    await desk.write({ 'market.csv': formatBars(['A,2024-01-02,19', ...FIRST.slice(1), ...laterRows]) });
    await restart();
    expect(await desk.closeOf('A')).toEqual([10, 11]);
    expect(listChanges(await desk.store())).toEqual(['warning HISTORY_CHANGED market.A']);
    await desk.write({ 'market.csv': formatBars([...FIRST, ...laterRows]) });
    const report = await desk.refresh();
    expect(await desk.closeOf('A')).toEqual([10, 11, 12]);
    expect(report).toMatchObject({ dates_added: 1, rows_added: 2, rejected: [] });
    expect(listChanges(report)).not.toContain('warning HISTORY_CHANGED market.A');
  });

  test('leaves the warning about a jump that it accepted to the next refresh, once', async () => {
    const desk = await serveFiles('jumped', { 'market.csv': formatBars(FIRST) });
    await waitForCopy('jumped');
    await desk.write({ 'market.csv': formatBars([...FIRST, 'A,2024-01-04,4', 'B,2024-01-04,22']) });
    await restart();
    expect(await desk.closeOf('A')).toEqual([10, 11, 4]);
    const listJumps = (findings: readonly { readonly code: string; readonly path: string }[] = []) =>
      findings.filter(({ code }) => code === 'PRICE_JUMP').map(({ path }) => path);
    const jump = ['market[A 2024-01-04].CLOSE'];
    expect(listJumps((await desk.store()).taken_at_start?.findings)).toEqual(jump);
    expect(listJumps((await desk.refresh()).findings)).toEqual(jump);
    expect(listJumps((await desk.refresh()).findings)).toEqual([]);
  });

  test('that finds only later days reports the history as unchanged', async () => {
    const desk = await serveFiles('grown', { 'market/1.csv': formatBars(FIRST) });
    await desk.write({ 'market/2.csv': formatBars(['A,2024-01-04,12']) });
    await restart();
    expect(await desk.closeOf('A')).toEqual([10, 11, 12]);
    expect(listChanges(await desk.store())).toEqual(['info DATES_ADDED market']);
    await desk.write({ 'market/3.csv': formatBars(['A,2024-01-05,13', 'B,2024-01-05,23']) });
    await restart();
    expect(await desk.closeOf('A')).toEqual([10, 11, 12, 13]);
    await desk.write({ 'market/4.csv': formatBars(['A,2024-01-08,14']) });
    expect(await desk.refresh()).toMatchObject({
      dates_added: 3,
      rows_added: 4,
      identifiers_added: 0,
      datasets: { market: { added: 4, changed: 0, removed: 0 } },
      end: '2024-01-08',
    });
    expect(await desk.store()).toMatchObject({ taken_at_start: null, rows: { market: 8 } });
  });

  test('that finds a new security reports the history of the others as unchanged', async () => {
    const createReference = (rows: readonly string[]) => ({
      'reference.csv': `identifier,SECTOR\n${rows.join('\n')}\n`,
    });
    const desk = await serveFiles('joined', { 'market/1.csv': formatBars(FIRST), ...createReference(['A,X', 'B,Y']) });
    const laterBars = formatBars(['A,2024-01-04,12', 'AB,2024-01-04,32']);
    await desk.write({ 'market/2.csv': laterBars, ...createReference(['A,X', 'AB,X', 'B,Y']) });
    await restart();
    expect(await desk.closeOf('AB')).toEqual([32]);
    expect(listChanges(await desk.store())).toEqual(['info DATES_ADDED market']);
    expect((await desk.store()).findings?.[0]?.message).toContain('2 identifiers before, 3 now');
    expect(await desk.refresh()).toMatchObject({ dates_added: 1, identifiers_added: 1 });
    // A late bar is added. A new security with bars on stored days is not added.
    await waitForCopy('joined');
    await desk.write({ 'market/3.csv': formatBars(['C,2024-01-04,1', 'C,2024-01-05,1', 'B,2024-01-04,2']) });
    await restart();
    expect(await desk.closeOf('B')).toEqual([20, 21, 2]);
    expect((await service.ask('GET', '/data/prices/C')).status).toBe(404);
    expect(listChanges(await desk.store())).toEqual(['warning HISTORY_CHANGED market.C', 'info LATE_BARS market']);
  });

  test('without changes reports no findings', async () => {
    const desk = await serveFiles('same', { 'market.csv': formatBars(FIRST) });
    await restart();
    await desk.closeOf('A');
    expect(listChanges(await desk.store())).toEqual([]);
  });

  test('after omitted corrections omits them again', async () => {
    const desk = await serveFiles('left-out', { 'market.csv': formatBars(FIRST) });
    await waitForCopy('left-out');
    await desk.write({
      'market.csv': (await readFile(join(desk.folder, 'market.csv'), 'utf8')).replace(
        'A,2024-01-02,10',
        'A,2024-01-02,15',
      ),
    });
    expect((await desk.refresh()).left_out).toMatchObject({ changed: 1 });
    const before = await desk.store();
    await restart();
    expect(await desk.closeOf('A')).toEqual([10, 11]);
    const { content_hash: hash, findings, taken_at_start: taken } = await desk.store();
    expect({ hash, findings, taken }).toEqual({ hash: before.content_hash, findings: before.findings, taken: null });
  });
});
