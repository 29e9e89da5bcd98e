import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { auditMarket } from '#market/judge/audit.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { hasRealSets, REAL_SETS } from '../real-sets.js';
import { readFolderContent, writeFiles } from '../store-folder.js';

const createFolder = openTemporaryFolders();
const FOLDER = join(REAL_SETS, 'dirty-dividends');

type Row = Readonly<Record<string, string>> & { readonly date: string };

function readRows(file: string): Row[] {
  const [header = '', ...lines] = readFileSync(join(FOLDER, file), 'utf8').trim().split(/\r?\n/);
  const names = header.split(',');
  const seenDates = new Set<string>();
  return lines
    .map((line): Row => {
      const cells = line.split(',');
      return { ...Object.fromEntries(names.map((name, i) => [name, cells[i] ?? ''])), date: cells[0]!.slice(0, 10) };
    })
    .filter(({ date }) => !seenDates.has(date) && seenDates.add(date));
}

const readNumber = (text: string | undefined) => (text === undefined || text === '' ? Number.NaN : Number(text));
const keepFinite = (text: string | undefined) => (Number.isFinite(readNumber(text)) ? text! : '');
const isPositive = (text: string | undefined) =>
  readNumber(text) > 0 && Number.isFinite(readNumber(text)) ? text! : '';

async function listFlaggedDates(rows: readonly Row[]): Promise<ReadonlySet<string>> {
  const folder = await createFolder();
  const marketLines = rows.map((row) =>
    [
      'X',
      row.date,
      isPositive(row['Open']),
      isPositive(row['High']),
      isPositive(row['Low']),
      isPositive(row['Close']),
      keepFinite(row['Adj Close']),
      keepFinite(row['Volume']),
    ].join(','),
  );
  const actions = rows.flatMap((row) => [
    ...(readNumber(row['Dividends']) > 0 ? [`X,DIVIDEND,${row['Dividends']},${row.date}`] : []),
    ...(readNumber(row['Stock Splits']) > 0 ? [`X,SPLIT,${row['Stock Splits']},${row.date}`] : []),
  ]);
  await writeFiles(folder, {
    'market.csv': `identifier,date,OPEN,HIGH,LOW,CLOSE,ADJ_CLOSE,VOLUME\n${marketLines.join('\n')}\n`,
    'corporate_actions.csv': `identifier,type,value,ex_date\n${actions.join('\n')}\n`,
  });
  const { doubts: warnings } = auditMarket(await readFolderContent(folder), 'splits', () => {});
  return new Set(warnings.filter(({ kind }) => kind.startsWith('dividend')).map(({ date }) => date));
}

/**
 * Returns the dates of dividends that the repaired file changes. Either the amount or the step of the adjusted price
 * differs.
 */
function listWrongDividends(rows: readonly Row[], repaired: readonly Row[]): ReadonlySet<string> {
  const repairedRows = new Map(repaired.map((row) => [row.date, row]));
  const computeAdjustmentFactor = (row: Row) => readNumber(row['Adj Close']) / readNumber(row['Close']);
  const wrongDates = new Set<string>();
  rows.forEach((row, i) => {
    const repairedRow = repairedRows.get(row.date);
    if (repairedRow === undefined || !(readNumber(row['Dividends']) > 0)) return;
    const before = rows[i - 1];
    const repairedBefore = before && repairedRows.get(before.date);
    if (Math.abs(readNumber(row['Dividends']) - readNumber(repairedRow['Dividends'])) > 1e-9) wrongDates.add(row.date);
    else if (
      before !== undefined &&
      repairedBefore !== undefined &&
      !(
        Math.abs(
          computeAdjustmentFactor(row) / computeAdjustmentFactor(before) -
            computeAdjustmentFactor(repairedRow) / computeAdjustmentFactor(repairedBefore),
        ) < 2e-3
      )
    )
      wrongDates.add(row.date);
  });
  return wrongDates;
}

describe.skipIf(!hasRealSets)('real dividends and their repaired twins', () => {
  test('nine of ten wrong dividends are found, and nine of ten that are found are wrong', async () => {
    const files = readdirSync(FOLDER).filter((file) => file.includes('-1d-') && !file.includes('-fixed'));
    let count = 0;
    const missedDates: string[] = [];
    const extraDates: string[] = [];
    for (const file of files) {
      const rows = readRows(file);
      const wrongDividends = file.includes('no-bad')
        ? new Set<string>()
        : listWrongDividends(rows, readRows(file.replace('.csv', '-fixed.csv')));
      const warnings = await listFlaggedDates(rows);
      for (const date of wrongDividends) {
        if (warnings.has(date)) count += 1;
        else missedDates.push(`${file} ${date}`);
      }
      for (const date of warnings) if (!wrongDividends.has(date)) extraDates.push(`${file} ${date}`);
    }
    const [recall, precision] = [count / (count + missedDates.length), count / (count + extraDates.length)];
    const reportText = `recall ${recall.toFixed(3)} (missed: ${missedDates.join(', ')}), precision ${precision.toFixed(3)} (not wrong: ${extraDates.join(', ')})`;
    console.info(reportText);
    expect(count + missedDates.length).toBeGreaterThan(150);
    expect(recall, reportText).toBeGreaterThanOrEqual(0.9);
    expect(precision, reportText).toBeGreaterThanOrEqual(0.9);
  });
});
