import { expect, test } from 'vitest';
import type {
  PricesResponse,
  AttributionView,
  IdentifierSearch,
  IndexDocument,
  Plugin,
  StoredStrategy,
  Watchlist,
} from '#clients/typescript/divisor.js';
import { downloadFile, pollEventually, follow, type Desk } from '../desk.js';

/** Tests the forms of documents other than indices: strategies, templates, watchlists, constraint sets. */
export function describeDocuments(desk: () => Desk): void {
  test('a template starts from a built-in one, is edited in forms, and previewed as its PDF', async () => {
    const { page, service, complaints } = desk();
    await follow(page, '/console/reports?index=CORE');
    await page.getByRole('link', { name: /^FACTSHEET-A4/ }).click();
    await page.getByLabel('Id *').fill('DESK');
    const blocks = page.getByRole('region', { name: 'Blocks' }).getByRole('listitem');
    await blocks.first().waitFor();
    const before = await blocks.count();
    await page.getByLabel('Add a block').selectOption('text');
    await blocks.last().getByLabel('Text *').fill('Reviewed **quarterly**.');
    await page.getByRole('button', { name: `Move block ${before + 1} up` }).click();
    await page.getByRole('button', { name: 'Preview' }).click();
    const download = page.getByRole('link', { name: 'Download' });
    await download.waitFor();
    expect((await downloadFile(page, () => download.click())).subarray(0, 5).toString()).toBe('%PDF-');
    expect((await service.ask('GET', '/reports/templates/DESK')).status).toBe(404);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'DESK' }).waitFor();
    await page.getByText('This template was saved after the report was rendered.').waitFor();
    const { body } = await service.ask<{ blocks: { kind: string; index_id: string }[] }>(
      'GET',
      '/reports/templates/DESK',
    );
    expect(body.blocks).toHaveLength(before + 1);
    expect([body.blocks.at(-2)!.kind, body.blocks[0]!.index_id]).toEqual(['text', 'CORE']);
    // If another editor has saved a change in the meantime, the change is not overwritten.
    await service.ask('PUT', '/reports/templates/DESK', { ...body, name: 'Theirs' });
    await page.getByLabel('Name *').fill('Mine');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Someone else saved a version').waitFor();
    await page.getByRole('row', { name: /^Name .* Yours Mine Theirs Theirs both$/ }).waitFor();
    await page.getByRole('button', { name: 'Use theirs' }).click();
    await pollEventually(() => page.getByLabel('Name *').inputValue()).toBe('Theirs');
    expect(complaints).toEqual([]);
  });

  test('a strategy follows an index from its page, and errors are shown at their field', async () => {
    const { page, service, complaints } = desk();
    await follow(page, '/console/indices/CORE');
    await page.getByRole('link', { name: 'Follow' }).click();
    await page.getByLabel('Exposure').fill('2');
    await page
      .getByText(/Exposure is 2/)
      .first()
      .waitFor();
    await page.getByLabel('Exposure').fill('0.98');
    await page.getByText(/follows .* 98% invested/).waitFor();
    await page.getByLabel('Own dates').check();
    await page.getByLabel('Frequency').selectOption('annual');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'CORE-FUND' }).waitFor();
    // Before its first run, the page shows the figures and the level of the index that the strategy follows.
    await page.getByRole('heading', { name: 'Not run yet' }).waitFor();
    await page.getByLabel('Figures of CORE', { exact: true }).getByText('Expected costs').waitFor();
    await page.getByRole('application', { name: /^Level of CORE/ }).waitFor();
    await page.getByRole('link', { name: 'Versions', exact: true }).click();
    await page.getByRole('region', { name: 'Version 1 of CORE-FUND' }).getByText('98%').waitFor();
    const { body } = await service.ask<StoredStrategy>('GET', '/strategies/CORE-FUND');
    expect(body.strategy).toMatchObject({ index_id: 'CORE', exposure: 0.98, rebalance: { frequency: 'annual' } });
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'Indices' }).waitFor();
    expect((await service.ask('GET', '/strategies/CORE-FUND')).status).toBe(404);
    expect(complaints).toEqual([]);
  });

  test('an overlay is defined in its form and run, and shows its own part with the underlying securities', async () => {
    const { page, service, complaints } = desk();
    await follow(page, '/console/indices/CORE');
    await page.getByRole('link', { name: 'Overlay' }).click();
    const form = page.getByRole('region', { name: 'Overlay' });
    // The proposed fee is previewed before anything is typed.
    await pollEventually(() => form.getByLabel('Percent').inputValue()).toBe('0.5');
    await page.getByRole('application', { name: /^Level of the draft/ }).waitFor();
    await form.getByLabel('Percent').fill('');
    await page.getByText('Overlay, Percent is required').first().waitFor();
    expect(await form.getByLabel('Percent').getAttribute('aria-invalid')).toBe('false');
    // A blend consists of parts and has its own schedule.
    await form.getByRole('combobox', { name: 'Overlay' }).selectOption('blend');
    await form.getByRole('button', { name: 'Add to Parts' }).click();
    await form.getByRole('group', { name: 'Parts, row 2' }).getByLabel('Index').fill('CORE-OPT');
    const rebalance = form.getByRole('group', { name: 'Rebalance' });
    const frequency = rebalance.getByLabel('Frequency');
    // The group is closed, although the service reports its default schedule. The click opens it.
    await rebalance.getByText('Rebalance', { exact: true }).click();
    await frequency.selectOption('monthly');
    // Only the selected one of several alternative parameters is in the form. The preview has the realised volatility
    // and the exposure.
    await form.getByRole('combobox', { name: 'Overlay' }).selectOption('risk_control');
    await form.getByLabel('Half-lives').waitFor();
    // If few overlays change a parameter, its section is closed.
    const reviews = form.getByLabel('Tolerance');
    expect(await reviews.isVisible()).toBe(false);
    await form.getByText('Reviews of the exposure').click();
    await reviews.waitFor();
    await form.getByLabel('Volatility estimate').selectOption('sessions');
    await pollEventually(() => form.getByLabel('Sessions', { exact: true }).inputValue()).toBe('60');
    expect(await form.getByLabel('Half-lives').count()).toBe(0);
    await form.getByLabel('Target volatility').fill('0.1');
    await page.getByLabel('Figures of the exposure').getByText('10.00%').waitFor();
    await page.getByRole('application', { name: /^Exposure\./ }).waitFor();
    await form.getByRole('combobox', { name: 'Overlay' }).selectOption('fee');
    await form.getByLabel('Percent').fill('0.5');
    await form.getByLabel('Basis').selectOption('360');
    // The effect of the fee is shown before the index is saved.
    const sketch = page.getByRole('table', { name: 'Level of the draft at the cursor' });
    await sketch.getByRole('row', { name: /^CORE / }).waitFor();
    await page.getByRole('button', { name: 'Save the index', disabled: false }).click();
    await page.getByRole('button', { name: 'Run CORE-NET' }).click();
    await page.getByLabel(/^Figures from/).waitFor();
    const { body } = await service.ask<IndexDocument>('GET', '/indices/CORE-NET');
    expect(body).toMatchObject({ source_index_id: 'CORE', overlay: { type: 'fee', percent: 0.5, basis: 360 } });
    const { body: told } = await service.ask<AttributionView>('GET', '/analytics/CORE-NET/attribution');
    const [part] = told.overlay_parts!;
    expect(part).toMatchObject({ index_id: 'CORE-NET', part: 'fee' });
    await page.getByRole('link', { name: 'Attribution', exact: true }).click();
    const text = `−${Math.abs(100 * part!.contribution).toFixed(2)} pp`;
    await page.getByText('fee of CORE-NET').first().waitFor();
    await page.getByText(text, { exact: true }).first().waitFor();
    await service.ask('DELETE', '/indices/CORE-NET');
    expect(complaints).toEqual([]);
  });

  test('a watchlist stores securities, and reports those that the market lacks', async () => {
    const { page, service, complaints } = desk();
    const { body } = await service.ask<{ identifiers: { identifier: string }[] }>('GET', '/data/identifiers?limit=2');
    const [knownName, addedName] = body.identifiers.map(({ identifier }) => identifier) as [string, string]; // the store has more
    await page.getByRole('link', { name: 'Data', exact: true }).click();
    await page.getByRole('link', { name: 'Watchlists' }).click();
    await page.getByRole('link', { name: 'New watchlist' }).click();
    // The id is derived from the name, so the form begins with the name.
    const readFirstLabel = () => page.getByRole('main').locator('.field label').first().textContent();
    await pollEventually(readFirstLabel).toMatch(/^Name/);
    await page.getByLabel('Name *').fill('Desk');
    await pollEventually(() => page.getByLabel('Id *').inputValue()).toBe('desk');
    await page.getByLabel('Security to add').fill(`${knownName}, A B Equity`);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('grid', { name: 'names' }).getByText('not in the store', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Remove A B Equity from the list' }).waitFor();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.waitForURL('**/console/watchlists/desk');
    await page.getByRole('grid', { name: 'names' }).getByText(knownName, { exact: true }).waitFor();
    await page.getByLabel('Security to add').fill(`${knownName}, ${addedName.toLowerCase()}`);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('img', { name: `Last year of ${addedName}` }).waitFor();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('not saved yet').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: `Remove ${addedName} from the list` }).click();
    await page.getByText('not saved yet').waitFor();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('not saved yet').waitFor({ state: 'detached' });
    await page.getByRole('grid', { name: 'names' }).getByText(knownName, { exact: true }).click();
    const figures = page.getByLabel(`Figures of ${knownName}`);
    await figures.getByText('Range, 1 year').waitFor();
    // The figure and the chart below it cover the same range. Both are adjusted for splits.
    await page.getByText(', adjusted for splits').first().waitFor();
    const { body: closes } = await service.ask<PricesResponse>(
      'GET',
      `/data/prices/${knownName}?columns=CLOSE&adjust=splits`,
    );
    const [, low = '', high = ''] = /Range, 1 year([\d.,]+) – ([\d.,]+)low/.exec((await figures.textContent())!) ?? [];
    const writtenCloses = closes.prices.data.map(([close]) => Number(close).toFixed(2));
    expect([writtenCloses.includes(low), writtenCloses.includes(high)]).toEqual([true, true]);
    await page.getByRole('link', { name: 'Securities' }).click();
    await page
      .getByRole('img', { name: /^Last year of / })
      .first()
      .waitFor();
    const storedList = await service.ask<Watchlist>('GET', '/data/watchlists/desk');
    expect(storedList.body).toMatchObject({
      name: 'Desk',
      identifiers: [knownName, 'A B Equity'],
      unknown: ['A B Equity'],
    });
    expect(complaints).toEqual([]);
  });

  test('a plug-in is written in its form, and its findings appear at their fields', async () => {
    const { page, service, complaints } = desk();
    await follow(page, '/');
    await page.getByRole('link', { name: 'Plug-ins' }).click();
    await page.getByRole('link', { name: 'New plug-in' }).click();
    await page.getByLabel('Id *').fill('doubled');
    await page.getByLabel('Name *').first().fill('Doubled');
    const inputs = page.getByRole('group', { name: 'Inputs', exact: true });
    await inputs.getByRole('button', { name: 'Add to Inputs' }).click();
    const second = page.getByRole('group', { name: 'Inputs, row 2' });
    await second.getByLabel('Name *').fill('mean');
    await second.getByLabel('Expression *').fill('mean(CLOSE, window=');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await second.locator('.field-findings > .down').waitFor();
    await second.getByLabel('Expression *').fill('mean(CLOSE, window=20)');
    await page.getByRole('button', { name: 'Add to Parameters' }).click();
    const factor = page.getByRole('group', { name: 'Parameters, row 1' });
    await factor.getByLabel('Name *').fill('factor');
    await factor.getByLabel('Default *').fill('2');
    await factor.getByLabel('Maximum').fill('5');
    const write = async (text: string) => {
      await page.getByLabel('Source').press('Control+a');
      await page.keyboard.press('Delete'); // replacing a selection would keep its styles
      await page.keyboard.insertText(text);
    };
    await write('function compute({ close }) {\n  return close.map((v) => ;\n}');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('button', { name: 'Go to Source' }).waitFor();
    await pollEventually(() => page.getByText(/The source threw SyntaxError/).count()).toBe(1);
    const marked = page.locator('.cm-lintRange-error');
    await pollEventually(() => marked.allTextContents()).toEqual(['  return close.map((v) => ;']);
    const values = page.getByRole('region', { name: 'Values' });
    await write('function compute({ close }) {\n  return close.map((v) => v * missing);\n}');
    await values.getByText(/^The source threw ReferenceError.*\(line 2\)/).waitFor();
    const source = 'function compute({ close }, { factor }) { return close.map((v) => v * factor); }';
    await write(source);
    const { body: names } = await service.ask<IdentifierSearch>('GET', '/data/identifiers?limit=1000');
    const last = names.identifiers
      .map(({ end }) => end!)
      .toSorted()
      .at(-1);
    await values.getByText(`on ${last}`).waitFor();
    const mostExpensive = names.identifiers
      .filter(({ end }) => end === last)
      .toSorted((a, b) => (b.close ?? 0) - (a.close ?? 0))[0]!;
    await values.getByRole('row').nth(1).getByText(mostExpensive.identifier, { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'doubled' }).waitFor();
    const { body } = await service.ask<Plugin>('GET', '/plugins/doubled');
    expect(body).toMatchObject({
      name: 'Doubled',
      kind: 'datapoint',
      inputs: {
        close: { expression: 'CLOSE', sessions: 1 },
        mean: { expression: 'mean(CLOSE, window=20)', sessions: 1 },
      },
      parameters: { factor: { default: 2, minimum: null, maximum: 5, help: null } },
      source,
    });
    expect(complaints).toEqual([]);
  });

  test('the values of a selection begin with the excluded securities, next to its inputs', async () => {
    const { page, service, complaints } = desk();
    await service.ask('PUT', '/plugins/below-highest', {
      name: 'Below the highest close',
      kind: 'selection',
      inputs: { close: 'CLOSE' },
      source:
        'function compute({ close }) {\n  const highest = close.reduce((a, b) => (b > a ? b : a), 0);\n  return close.map((v) => v < highest);\n}',
    });
    await follow(page, '/console/plugins/below-highest');
    await page.getByText('Used by no index').waitFor();
    const rows = page.getByRole('region', { name: 'Values' }).getByRole('row');
    await rows.nth(1).getByText('excluded', { exact: true }).waitFor();
    await rows.nth(2).getByText('stays', { exact: true }).waitFor();
    await rows.first().getByText('close', { exact: true }).waitFor();
    expect(await rows.nth(1).textContent()).toMatch(/\d\.\d\d/);
    await page.getByRole('button', { name: 'Delete', exact: true }).waitFor();
    await service.ask('DELETE', '/plugins/below-highest');
    expect(complaints).toEqual([]);
  });

  test('a constraint set is saved without a run, and deleted', async () => {
    const { page, service, complaints } = desk();
    await follow(page, '/console/optimise?index=CORE&rows=[]');
    await page.getByLabel('Add a constraint').selectOption('PositionBounds');
    await page.getByLabel('Upper').fill('0.07');
    await page.getByLabel('Id of the constraint set').fill('desk');
    // An unsaved definition is part of the address, so a reload keeps it.
    await page.reload();
    await pollEventually(() => page.getByLabel('Upper').inputValue()).toBe('7%');
    await page.getByRole('button', { name: 'Save the constraints' }).click();
    await page.getByRole('button', { name: 'Delete desk' }).click();
    expect((await service.ask('GET', '/optimise/constraint-sets/desk')).body).toMatchObject({
      constraints: [{ type: 'PositionBounds', params: { upper: 0.07 } }],
    });
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await pollEventually(() => new URL(page.url()).searchParams.has('set')).toBe(false);
    expect((await service.ask('GET', '/optimise/constraint-sets/desk')).status).toBe(404);
    expect(complaints).toEqual([]);
  });
}
