import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parquetWriteBuffer } from 'hyparquet-writer';
import type { Request } from 'playwright-core';
import { expect, test } from 'vitest';
import { createZip } from '../create-zip.js';
import { formatCount, writeMinusSigns } from '#console/words/numbers.js';
import type { DataAudit, DataStore } from '#contract/stores.js';
import { writeWorkbook } from '#market/read/import.js';
import { pollEventually, follow, WAIT_MS, type Desk } from '../desk.js';
import { picture } from '../picture.js';

/** Weekdays of half a year, from which prices are created. */
const DAYS = Array.from({ length: 182 }, (_, t) => new Date(Date.UTC(2024, 0, 1 + t)))
  .filter((day) => day.getUTCDay() % 6 !== 0)
  .map((day) => day.toISOString().slice(0, 10));

/**
 * Returns prices of three securities as CSV. On one day the prices of the second security halve and its volume doubles:
 * a split that is not reported.
 */
function formatPrices(): string {
  const rows = DAYS.flatMap((day, t) =>
    ['AAA', 'BBB', 'CCC'].map((name, n) => {
      const isSplit = n === 1 && t >= 80;
      const close = (60 + 10 * n) * Math.exp(0.02 * Math.sin(t * (n + 1.3)) + 0.0006 * t) * (isSplit ? 0.5 : 1);
      const volume = (900 + 100 * Math.sin(t * (n + 2))) * (isSplit ? 2 : 1);
      return `${name},${day},${close.toFixed(4)},${volume.toFixed(0)}`;
    }),
  );
  return ['identifier,date,CLOSE,VOLUME', ...rows].join('\n');
}

const createCsv = (name: string, text: string) => ({ name, mimeType: 'text/csv', buffer: Buffer.from(text) });

/** Tests imports of files, data warnings, repairs, and the page of a security. */
export function describeData(desk: () => Desk): void {
  test('files with errors are refused at their rows, and the corrected files become a store that is served', async () => {
    const { page, service, complaints } = desk();
    await page.getByRole('link', { name: 'Data', exact: true }).click();
    await page.getByRole('link', { name: 'Import' }).click();
    const files = page.locator('input[type=file]');
    const wrongPrices = formatPrices().replace(/^CCC,2024-01-02,[^,]*/m, 'CCC,2024-13-02,n/a');
    await files.setInputFiles([
      createCsv('market.csv', wrongPrices),
      createCsv('names.csv', 'identifier,NAME\nAAA,First\n'),
      createCsv('report.pdf', 'x'),
    ]);
    await page.getByText('Ignored: report.pdf.').waitFor();
    await page.getByLabel('Table of names.csv').selectOption('reference');
    // Errors are shown next to their file and in a table, and the files cannot be imported.
    const chosenFiles = page.getByRole('list', { name: 'Files to import' }).getByRole('listitem');
    const atFile = chosenFiles.filter({ hasText: 'market.csv' });
    await atFile.getByText(/^row 6, date: .*2024-13-02/).waitFor();
    await page.getByLabel('Name *').fill('Desk prices');
    await page.getByText('The files have errors. Correct the files or the format.').waitFor();
    expect(await page.getByRole('button', { name: 'Import', exact: true }).isDisabled()).toBe(true);
    const problems = page.getByRole('group', { name: 'Findings of the inspection' });
    await problems.getByRole('row', { name: /error Market 6 date .*2024-13-02/ }).waitFor();
    expect(await chosenFiles.filter({ hasText: 'names.csv' }).getByText(/row/).count()).toBe(0);
    await picture(page, 'import');
    await page.getByRole('button', { name: 'Remove market.csv' }).click();
    await files.setInputFiles([createCsv('market.csv', formatPrices())]);
    // The served market changes after an import only if the user chooses so.
    expect(await page.getByLabel('Serve the store now').isChecked()).toBe(false);
    await page.getByLabel('Serve the store now').check();
    await page.getByText('This replaces').waitFor();
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByRole('heading', { name: 'Imported' }).waitFor();
    // The pressed button has disappeared, so the focus moves to the heading.
    await pollEventually(() => page.evaluate('document.activeElement.textContent')).toBe('Imported');
    const { body } = await service.ask<DataStore>('GET', '/data/stores/desk-prices');
    expect(body).toMatchObject({ active: true, identifiers: 3, rows: { market: 3 * DAYS.length, reference: 1 } });
    expect(complaints).toEqual([]);
  });

  test("tables in a vendor's form are read by the proposed mapping", async () => {
    const { page, service, complaints } = desk();
    await page.goto(`${service.url()}/console/data/import`);
    const vendor = ['AAA', 'BBB'].map((name, n) =>
      createCsv(`${name}_data.csv`, `Date,Close,Adj Close\n01/02/2024,${100 + n},${98 + n}\n01/16/2024,98,98\n`),
    );
    await page.locator('input[type=file]').setInputFiles(vendor);
    const form = page.getByRole('region', { name: 'Format' });
    await form.getByText('4 bars read with the proposed mapping').waitFor();
    await pollEventually(() => form.getByLabel('Identifier from').inputValue()).toBe('file:{identifier}_data.csv');
    await pollEventually(() => form.getByLabel('Adjusted close').inputValue()).toBe('Adj Close');
    await form.getByLabel('Encoding').getByRole('option', { name: 'UTF-8, by default' }).waitFor({ state: 'attached' });
    // Unknown properties of the data are requested next to their field.
    const basis = page.getByLabel('Price basis');
    await page
      .locator(`#${await basis.getAttribute('id')}-said`)
      .getByText('closes are taken to be')
      .waitFor();
    await form.getByLabel('Date format').fill('DD/MM/YYYY');
    await form.getByText('0 bars read with the current mapping').waitFor();
    expect(await page.getByRole('button', { name: 'Import', exact: true }).isDisabled()).toBe(true);
    await form.getByLabel('Date format').fill('MM/DD');
    await form.getByText('must consist of YYYY or YY').waitFor();
    await form.getByLabel('Date format').fill('M/D/YYYY');
    await form.getByText('4 bars read with the current mapping').waitFor();
    await page.getByLabel('First bars').getByText('2024-01-16').first().waitFor();
    await page.getByLabel('Name *').fill('Vendor');
    await page.getByLabel('Serve the store now').uncheck();
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByRole('heading', { name: 'Imported' }).waitFor();
    const { body } = await service.ask<DataStore>('GET', '/data/stores/vendor');
    expect([body.identifiers, body.start, body.end]).toEqual([2, '2024-01-02', '2024-01-16']);
    expect(complaints).toEqual([]);
  });

  test('an archive of many files is read by one mapping, and sent in several requests', async () => {
    const { page, service, complaints } = desk();
    const names = Array.from({ length: 60 }, (_, n) => `S${n}`);
    const listRows = (n: number) => DAYS.map((day, t) => `${day},${(50 + n + Math.sin(t * (n + 1))).toFixed(6)}`);
    const files = names.map((name, n) => ({
      name: `eod/${name}_data.csv`,
      text: ['Date,Close', ...listRows(n)].join('\n'),
    }));
    const archive = await createZip(
      [...files, { name: 'read me.pdf', text: 'x' }].map(({ name, text }) => ({
        name,
        bytes: new TextEncoder().encode(text),
      })),
    );
    // Simulates a service that accepts only half of the archive in one request.
    await page.route('**/health', async (route) => {
      const health = (await (await route.fetch()).json()) as { limits: object };
      const bytes = Math.ceil(((archive.size / 2) * 4) / 3) + 5000;
      await route.fulfill({ json: { ...health, limits: { ...health.limits, MAX_IMPORT_BYTES: (1 << 20) + bytes } } });
    });
    await page.goto(`${service.url()}/console/data/import`);
    const imports: string[] = [];
    const note = (request: Request) => {
      if (request.url().endsWith('/data/import'))
        imports.push((request.postDataJSON() as { on_exists: string }).on_exists);
    };
    page.on('request', note);
    const buffer = Buffer.from(await archive.arrayBuffer());
    await page.locator('input[type=file]').setInputFiles({ name: 'eod.zip', mimeType: 'application/zip', buffer });
    await page.getByText('Ignored: read me.pdf.').waitFor();
    const form = page.getByRole('region', { name: 'Format' });
    await form.getByText(`${formatCount(names.length * DAYS.length)} bars read with the proposed mapping`).waitFor();
    await page.getByText('60 files, one mapping').click();
    await page
      .getByRole('table', { name: 'Files of prices' })
      .getByRole('row', { name: /eod\/S2_data\.csv/ })
      .waitFor();
    // The page does not grow with the number of files.
    expect(await page.evaluate('document.body.scrollHeight')).toBeLessThan(3000);
    const button = page.getByRole('button', { name: 'Import', exact: true });
    await page.evaluate('scrollTo(0, 0)');
    const { y, height } = (await button.boundingBox())!; // the button is on the page
    expect(y + height).toBeLessThanOrEqual(page.viewportSize()!.height);
    await page.getByLabel('Name *').fill('Archive');
    await page.getByLabel('Serve the store now').uncheck();
    await button.click();
    await page.getByRole('heading', { name: 'Imported' }).waitFor();
    page.off('request', note);
    await page.unrouteAll({ behavior: 'wait' });
    expect(imports).toEqual(['refuse', 'append']);
    const { body } = await service.ask<DataStore>('GET', '/data/stores/archive');
    expect(body).toMatchObject({ identifiers: 60, rows: { market: names.length * DAYS.length } });
    expect(complaints).toEqual([]);
  });

  test('workbooks of a vendor, one per security, are read by one proposed mapping', async () => {
    const { page, service, complaints } = desk();
    await page.goto(`${service.url()}/console/data/import`);
    const encodeWorkbook = (name: string, close: number) => ({
      name,
      mimeType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
      buffer: Buffer.from(
        writeWorkbook([{ name: 'Sheet1', rows: [['Exchange Date', 'Close'], ...DAYS.map((day) => [day, close])] }]),
      ),
    });
    await page
      .locator('input[type=file]')
      .setInputFiles([encodeWorkbook('AAPL.OQ.xlsx', 10), encodeWorkbook('IBM.N.xlsx', 20)]);
    const form = page.getByRole('region', { name: 'Format' });
    await form.getByText(`${2 * DAYS.length} bars read with the proposed mapping`).waitFor();
    await pollEventually(() => form.getByLabel('Identifier from').inputValue()).toBe('file:{identifier}.xlsx');
    await page.getByLabel('Name *').fill('Workbooks');
    await page.getByLabel('Serve the store now').uncheck();
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByRole('heading', { name: 'Imported' }).waitFor();
    const { body } = await service.ask<DataStore>('GET', '/data/stores/workbooks');
    expect(body).toMatchObject({ identifiers: 2, rows: { market: 2 * DAYS.length } });
    expect(complaints).toEqual([]);
  });

  test('Parquet files become one store, each as the table that was selected for it', async () => {
    const { page, service, complaints } = desk();
    await page.goto(`${service.url()}/console/data/import`);
    const encodeParquet = (name: string, columns: Parameters<typeof parquetWriteBuffer>[0]['columnData']) => ({
      name,
      mimeType: 'application/vnd.apache.parquet',
      buffer: Buffer.from(parquetWriteBuffer({ columnData: columns })),
    });
    const createText = (name: string, data: string[]) => ({ name, data, type: 'STRING' as const });
    const identifier = createText('identifier', ['AAA', 'BBB']);
    await page
      .locator('input[type=file]')
      .setInputFiles([
        encodeParquet('reference.parquet', [identifier, createText('NAME', ['First', 'Second'])]),
        encodeParquet('bars.parquet', [
          identifier,
          createText('date', ['2024-01-02', '2024-01-02']),
          { name: 'CLOSE', data: [10, 20], type: 'DOUBLE' },
        ]),
      ]);
    await page.getByLabel('Name *').fill('Columns');
    await page.getByLabel('Serve the store now').uncheck();
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByRole('heading', { name: 'Imported' }).waitFor();
    await expect
      .poll(async () => (await service.ask<DataStore>('GET', '/data/stores/columns')).body, { timeout: WAIT_MS })
      .toMatchObject({ active: false, identifiers: 2, start: '2024-01-02', rows: { reference: 2 } });
    // The page of a store that is not served shows its coverage and its securities.
    await follow(page, '/console/data/stores/columns?tab=coverage');
    await page.getByLabel('Coverage of prices').getByText('of 2 expected').waitFor();
    await follow(page, '/console/data/stores/columns?tab=names');
    await pollEventually(() => page.getByRole('grid', { name: 'names' }).getAttribute('aria-rowcount')).toBe('3');
    expect(complaints).toEqual([]);
  });

  test('a data warning is visible in its prices, and its repair is applied to a new store', async () => {
    const { page, service, complaints } = desk();
    await follow(page, '/console/data/stores/desk-prices');
    await page.getByRole('link', { name: 'Warnings', exact: true }).click();
    const { doubts: warnings } = (await service.ask<DataAudit>('GET', '/data/stores/desk-prices/audit')).body;
    const { message } = warnings.find(({ kind }) => kind === 'missed_split')!;
    // The list shows one cause at a time.
    await page.getByRole('list', { name: 'Causes' }).getByText('Missing split').waitFor();
    const listRows = () => page.getByRole('grid', { name: 'data warnings' }).getAttribute('aria-rowcount');
    await pollEventually(listRows).toBe(String(warnings.length + 1));
    // A single cause needs no filter.
    expect(new Set(warnings.map(({ kind }) => kind)).size).toBe(1);
    expect(await page.getByRole('button', { name: /^Show \d+ warning/ }).count()).toBe(0);
    // Details that do not fit into a row are shown below the table.
    await page.getByRole('row', { name: /BBB .* Missing split/ }).focus();
    await page
      .getByLabel('Details of BBB, a row of data warnings')
      .getByText(writeMinusSigns(message), { exact: true })
      .waitFor();
    await page.getByRole('row', { name: /BBB .* Missing split/ }).click();
    await page.getByRole('application', { name: /CLOSE of BBB around/ }).waitFor();
    await page.getByLabel('Apply this repair').check();
    await picture(page, 'doubts');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Apply 1 repair' }).click();
    await page.getByRole('heading', { name: 'Desk prices, repaired' }).waitFor();
    const audit = await service.ask<DataAudit>('GET', `/data/stores/${page.url().split('/').at(-1)}/audit`);
    expect(audit.body.doubts.filter(({ kind }) => kind === 'missed_split')).toEqual([]);
    await page.getByRole('link', { name: 'Coverage' }).click();
    await page.getByLabel('Coverage of prices').getByText('of 3 expected').waitFor();
    // The original store is no longer served, but its data warnings still have charts.
    const repairedPath = new URL(page.url()).pathname;
    const [warning] = (await service.ask<DataAudit>('GET', '/data/stores/desk-prices/audit')).body.doubts;
    await follow(page, `/console/data/stores/desk-prices?tab=doubts&doubt=${warning!.id}`);
    await page.getByRole('application', { name: /CLOSE of BBB around/ }).waitFor();
    await follow(page, repairedPath);
    await page.getByRole('link', { name: 'Securities', exact: true }).waitFor();
    expect(complaints).toEqual([]);
  });

  test('a security page shows prices on any basis, events and reference data', async () => {
    const { page, complaints } = desk();
    await page.getByRole('link', { name: 'Securities', exact: true }).click();
    await page.getByRole('row', { name: /BBB/ }).click();
    await page.getByRole('row', { name: /split 2 for 1/ }).waitFor();
    const readSecondRow = async () =>
      page
        .getByRole('table', { name: /CLOSE of BBB/ })
        .locator('tr')
        .nth(1)
        .textContent();
    const adjustedRow = await readSecondRow();
    await page.getByRole('radio', { name: 'As traded' }).check();
    // By default, prices are on the share basis of the latest date. So prices before a two-for-one split are halved.
    const readShownNumber = (text: string | null) => Number(text?.slice(10));
    await pollEventually(async () => readShownNumber(adjustedRow) / readShownNumber(await readSecondRow())).toBeCloseTo(
      0.5,
      2,
    );
    expect(complaints).toEqual([]);
  });

  test('a folder is connected without a copy, and a refresh adds later dates', async () => {
    const { page, service, complaints } = desk();
    const [head, ...rows] = formatPrices().split('\n');
    const folder = join(service.root, 'connected');
    const write = (days: readonly string[]) =>
      writeFile(
        join(folder, 'market.csv'),
        [head, ...rows.filter((row) => days.includes(row.split(',')[1]!))].join('\n'),
      );
    await mkdir(folder, { recursive: true });
    await write(DAYS.slice(0, -3));
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Data' }).click();
    await page.getByRole('link', { name: 'Connect' }).click();
    await page.getByLabel('Location *').fill(folder);
    await page.getByLabel('Name *').fill('Connected');
    await page.getByLabel('Serve the store now').check();
    // The check reads the source and registers nothing.
    await page.getByRole('button', { name: 'Check the source' }).click();
    const format = page.getByRole('region', { name: 'Format' });
    await format.getByText(`${3 * (DAYS.length - 3)} bars read from 1 table of prices.`).waitFor();
    expect((await service.ask('GET', '/data/stores/connected')).status).toBe(404);
    // A change of the location cancels a check in progress.
    const location = page.getByLabel('Location *');
    await page.route('**/data/inspect', () => {}); // no response
    await page.getByRole('button', { name: 'Check the source' }).click();
    await page.getByText('Loading the result of the inspection').waitFor();
    const isInspection = (request: Request) => request.url().includes('/data/inspect');
    await Promise.all([page.waitForEvent('requestfailed', isInspection), location.fill(`${folder}-other`)]);
    await page.getByRole('button', { name: 'Check the source' }).and(page.locator(':enabled')).waitFor();
    expect(await format.count()).toBe(0);
    await location.fill(folder);
    await page.unroute('**/data/inspect');
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    await page.getByRole('heading', { name: 'Connected' }).waitFor();
    await write(DAYS);
    await page.getByRole('button', { name: 'Add later dates' }).click();
    await page.getByRole('region', { name: 'Last refresh' }).waitFor();
    const { body } = await service.ask<DataStore>('GET', '/data/stores/connected');
    expect([body.end, body.rows?.['market']]).toEqual([DAYS.at(-1), 3 * DAYS.length]);
    expect(complaints).toEqual([]);
  });
}
