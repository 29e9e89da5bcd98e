import { tableFromArrays, tableToIPC } from 'apache-arrow';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { type CommandOutcome, runToEnd, runHere } from '../process.js';
import { toPath, INDEX, toLines } from './set-up.js';

/**
 * Tests commands on files and stores against a service with an unrestricted key. Without a service, each command would
 * open a home.
 */
export function testFilesAndData(environment: () => Readonly<Record<string, string>>): void {
  const ask = (words: readonly string[]): Promise<CommandOutcome> => runHere(words, environment());
  const runPiped = (words: readonly string[], input: string) => runToEnd(words, environment(), input);

  test('a document can be read from standard input', async () => {
    const { status, out } = await runPiped(
      ['backtest', 'PIPED', '--document', '-'],
      JSON.stringify({ ...INDEX, id: 'PIPED' }),
    );
    expect([status, toLines(out).at(-1)?.event]).toEqual([0, 'result']);
  });

  test('the extension of a file sets the format, and the file appears only when it is complete', async () => {
    for (const [ending, begins] of [
      ['csv', 'date,'],
      ['xlsx', 'PK'],
      ['json', '{"stale":null,'],
      ['arrow', '\u00FF\u00FF\u00FF\u00FF'],
    ] as const) {
      const file = toPath(`levels.${ending}`);
      const output = await ask(['export', 'levels', '--index', 'EVEN', '--out', file]);
      expect([output.status, output.err]).toEqual([0, '']);
      const bytes = await readFile(file);
      expect(bytes.subarray(0, begins.length).toString('latin1')).toBe(begins);
      expect(toLines(output.out)).toEqual([{ event: 'result', out: file, table: 'levels', bytes: bytes.length }]);
      await expect(readFile(`${file}.part`)).rejects.toMatchObject({ code: 'ENOENT' });
    }
  });

  test('what cannot be exported is refused, and leaves no file', async () => {
    const refusal = await ask(['export', 'levels', '--index', 'NOBODY', '--out', toPath('nobody.csv')]);
    expect(refusal.status).toBe(2);
    expect(refusal.err).toContain('INDEX_NOT_FOUND');
    await expect(readFile(toPath('nobody.csv'))).rejects.toMatchObject({ code: 'ENOENT' });
    const misspelt = await ask(['export', 'wieghts', '--index', 'EVEN']);
    expect([misspelt.status, misspelt.err]).toEqual([64, expect.stringContaining('Did you mean weights?')]);
    expect((await ask(['export', 'levels'])).err).toContain('--index');
    const clash = await ask(['export', 'levels', '--index', 'EVEN', '--out', toPath('both.xlsx'), '--format', 'csv']);
    expect([clash.status, clash.err]).toEqual([64, expect.stringMatching(/csv.*both\.xlsx means the format xlsx/)]);
    const emptyExport = await ask(['export', 'levels', '--index', 'EVEN', '--start', '2090-01-02']);
    expect([emptyExport.status, emptyExport.out, emptyExport.err]).toEqual([
      2,
      '',
      expect.stringMatching(/2090-01-02 is after .* 20\d\d-/),
    ]);
    const endingAnswer = await ask(['export', 'levels', '--index', 'EVEN', '--out', toPath('levels.pdf')]);
    expect([endingAnswer.status, endingAnswer.err]).toEqual([64, expect.stringContaining('.csv')]);
  });

  test('an import stops at an ambiguous format instead of guessing', async () => {
    await mkdir(toPath('unsure'));
    await writeFile(toPath('unsure/x.csv'), 'Date,Ticker,Close\n01/02/2024,A,10\n01/03/2024,A,11\n');
    const { status, err } = await ask(['import', toPath('unsure'), '--inspect']);
    expect(status).toBe(64);
    expect(err).toContain('--date-format: Every date fits M/D/YYYY and D/M/YYYY');
    expect(err).toContain(' Add --date-format M/D/YYYY or D/M/YYYY.\n');
    await writeFile(toPath('said.json'), '{ "date_format": "MM/DD/YYYY", "columns": { "identifier": "Ticker" } }');
    const output = await ask(['import', toPath('unsure/x.csv'), '--mapping', toPath('said.json')]);
    expect([output.status, output.err]).toEqual([0, '']);
    expect(toLines(output.out).at(-1)).toMatchObject({ result: { start: '2024-01-02', end: '2024-01-03' } });
  });

  test('a table that the service may not read in place is uploaded, and the output states what was recognised', async () => {
    const otherFolder = await mkdtemp(join(tmpdir(), 'divisor-elsewhere-'));
    const rows = 'date,identifier,CLOSE\n2024-01-30,A,1234.5\n2024-01-31,A,1235\n';
    const europeanRows = 'Datum;A\n30.01.2024;1.234,50\n31.01.2024;1.235,00\n';
    try {
      await writeFile(join(otherFolder, 'plain.csv'), rows);
      await writeFile(join(otherFolder, 'packed.csv.gz'), gzipSync(rows));
      await writeFile(join(otherFolder, 'european.csv'), europeanRows);
      const hashes: unknown[] = [];
      for (const [name, ...flags] of [['plain.csv'], ['packed.csv.gz'], ['european.csv', '--inspect']] as const) {
        const { status, out, err } = await ask(['import', join(otherFolder, name), ...flags]);
        expect([status, err]).toEqual([
          0,
          expect.stringContaining(`cannot read ${name} in place, and has received a copy`),
        ]);
        const { result } = toLines(out).at(-1) as unknown as { result: Record<string, unknown> };
        expect(result).toMatchObject({ kind: 'imported', start: '2024-01-30', end: '2024-01-31' });
        hashes.push(result['content_hash']);
      }
      expect(new Set(hashes).size).toBe(1);
      const proposal = await ask(['inspect', join(otherFolder, 'european.csv')]);
      expect([proposal.status, toLines(proposal.out).at(-1)]).toMatchObject([
        0,
        { result: { mapping: { layout: 'wide', date_format: 'D.M.YYYY', decimal: ',' } } },
      ]);
      const refusal = await ask(['import', join(otherFolder, 'european.csv'), '--id', 'again']);
      expect([refusal.status, refusal.err]).toEqual([2, expect.stringContaining('Add --inspect')]);
    } finally {
      await rm(otherFolder, { recursive: true });
    }
  });

  test('closes are published, and their log is verified, by commands alone', async () => {
    const { status, err, out } = await ask(['publish', 'EVEN', '--through', '2021-01-05']);
    expect([status, err]).toEqual([0, '']);
    const { result } = toLines(out).at(-1) as unknown as { result: { published: number; head: string } };
    const [log, keys] = [toPath('log.ndjson'), toPath('keys.json')];
    expect((await ask(['published', 'EVEN', '--out', log])).status).toBe(0);
    expect((await ask(['publication', 'keys', 'EVEN', '--out', keys])).status).toBe(0);
    expect((await readFile(log, 'utf8')).trim().split('\n')).toHaveLength(result.published);
    const verifyWords = ['verify-published', log, '--key', keys, '--head', result.head];
    expect(await runHere(verifyWords)).toMatchObject({
      status: 0,
      out: expect.stringMatching(/^The hash chain and the signatures are intact/) as string,
    });
    const auditPath = toPath('audit.jsonl');
    expect((await ask(['audit', '--out', auditPath])).status).toBe(0);
    expect(await runHere(['audit', '--check', auditPath, '--key', keys])).toMatchObject({
      status: 0,
      out: expect.stringMatching(/signed up to entry (\d+): \1 entries/) as string,
    });
    expect((await ask(['publication', 'rotate'])).status).toBe(0);
    expect((await ask(['publish', 'EVEN', '--restate'])).status).toBe(2); // a restatement requires a reason
  });

  test('activating the served store is not an error, and is reported', async () => {
    const { status, out, err } = await ask(['activate', 'desk']);
    expect([status, err, toLines(out).at(-1)]).toMatchObject([0, '', { result: { already_served: true } }]);
    expect((await ask(['activate', 'nothing'])).status).toBe(2);
  });

  test('a watchlist is also read from standard input, and the identifiers that the market lacks are reported', async () => {
    const { status, out, err } = await runPiped(['watchlist', 'put', 'mine', '-'], 'A\nNOBODY, B\n\n');
    const rows = toLines(out).filter(({ event }) => event === 'row');
    expect([status, rows.map(({ identifier }) => identifier)]).toEqual([0, ['A', 'NOBODY', 'B']]);
    expect(err).toContain('the served store has no NOBODY:');
    expect(await runPiped(['watchlist', 'put', 'mine', '-'], '')).toMatchObject({
      status: 64,
      err: expect.stringContaining('Standard input contains no') as string,
    });
    expect(await ask(['watchlist', 'put', 'mine', ','])).toMatchObject({
      status: 64,
      err: expect.stringContaining('NAMES contains no identifier') as string,
    });
  });

  test('a rule that a file adds before those of the stored index is one difference', async () => {
    const createTop = (count: number) => ({ id: `top${count}`, type: 'TopN', params: { count } });
    const writeIndex = (...counts: number[]) =>
      JSON.stringify({
        ...INDEX,
        id: 'LISTED',
        pipeline: { ...INDEX.pipeline, selection: counts.map(createTop) },
      });
    await writeFile(toPath('listed.json'), writeIndex(3, 2));
    expect((await ask(['index', 'put', toPath('listed.json')])).status).toBe(0);
    await writeFile(toPath('longer.json'), writeIndex(4, 3, 2));
    const [row, result] = toLines((await ask(['index', 'diff', 'LISTED', toPath('longer.json')])).out);
    expect([row, result?.event]).toEqual([
      { event: 'row', path: '/pipeline/selection/0', stored: null, file: expect.stringContaining('"top4"') as string },
      'result',
    ]);
  });

  test('the author is shown for definitions, other documents and data, and a deletion shows its reason', async () => {
    const readRows = async (...words: string[]) => toLines((await ask(words)).out).slice(0, -1);
    await writeFile(toPath('noted.json'), JSON.stringify({ ...INDEX, id: 'NOTED' }));
    expect((await ask(['index', 'put', toPath('noted.json'), '--note', 'First'])).status).toBe(0);
    const [known] = await readRows('data', 'versions', 'desk');
    expect(known).toMatchObject({ version: 1, author: 'command-line', readable: true }); // the author is the name of the key
    const previewWords = ['index', 'preview', 'NOTED'];
    expect(await readRows(...previewWords, '--as-known-on', '1')).toEqual(await readRows(...previewWords));
    expect((await ask(['index', 'delete', 'NOTED', '--note', 'A trial'])).status).toBe(0);
    const versions = await readRows('index', 'versions', 'NOTED');
    expect(versions.map(({ action, note }) => [action, note])).toEqual([
      ['deleted', 'A trial'],
      ['created', 'First'],
    ]);
    expect(await readRows('versions', 'watchlist', 'mine')).toMatchObject([{ version: 1, action: 'created' }]);
    expect(await ask(['versions', 'list', 'mine'])).toMatchObject({ status: 64 });
  });

  test('a document of any family is compared, deleted and restored; a purged document no longer exists', async () => {
    const readRows = async (...words: string[]) => toLines((await ask(words)).out).slice(0, -1);
    const put = (names: string, note: string) => ask(['watchlist', 'put', 'told', names, '--note', note]);
    expect((await put('A', 'Begun')).status).toBe(0);
    expect((await put('A,B', 'B joins')).status).toBe(0);
    const watchCommand = ['watchlist', 'told'];
    expect(await readRows('document', 'diff', ...watchCommand, '1', '2')).toMatchObject([
      { path: '/identifiers/1', op: 'add', before: null, after: '"B"' },
    ]);
    expect((await ask(['document', 'delete', ...watchCommand, '--note', 'Not used'])).status).toBe(0);
    expect((await ask(['document', 'restore', ...watchCommand, '1', '--note', 'Used'])).status).toBe(0);
    expect((await readRows('versions', ...watchCommand)).map(({ action, note }) => [action, note])).toEqual([
      ['restored', 'Used'],
      ['deleted', 'Not used'],
      ['updated', 'B joins'],
      ['created', 'Begun'],
    ]);
    expect(await ask(['document', 'delete', 'list', 'told'])).toMatchObject({ status: 64 });
    expect((await ask(['document', 'delete', ...watchCommand, '--purge'])).status).toBe(0);
    expect(await ask(['versions', ...watchCommand])).toMatchObject({ status: 2 });
  });

  test('the changes of an import to a store, and the differences between two runs, are shown', async () => {
    const formatCsv = (close: number) => `identifier,date,CLOSE\nA,2024-01-02,10\nA,2024-01-03,${close}\n`;
    await mkdir(toPath('noted'));
    await writeFile(toPath('noted/market.csv'), formatCsv(11));
    const words = ['import', toPath('noted'), '--id', 'noted', '--activate', '--note', 'The first delivery'];
    expect((await ask(words)).status).toBe(0);
    await writeFile(toPath('noted/market.csv'), formatCsv(12));
    expect((await ask(['refresh', 'noted', '--full', '--note', 'A correction'])).status).toBe(0);
    const readRows = async (...asking: string[]) => toLines((await ask(asking)).out).slice(0, -1);
    expect((await readRows('data', 'versions', 'noted')).map(({ source, note }) => [source, note])).toEqual([
      ['refresh', 'A correction'],
      ['import', 'The first delivery'],
    ]);
    expect(await readRows('data', 'diff', 'noted', '1', '2')).toMatchObject([
      { identifier: 'A', date: '2024-01-03', field: 'CLOSE', before: 11, after: 12 },
    ]);
    expect((await ask(['activate', 'desk', '--note', 'Back'])).status).toBe(0);
    await ask(['backtest', 'EVEN']);
    await ask(['backtest', 'EVEN', '--cost-bps', '25']);
    const runs = await readRows('runs', 'EVEN');
    const difference = await ask(['run', 'diff', 'EVEN', String(runs[1]!['run_id']), String(runs[0]!['run_id'])]);
    expect(toLines(difference.out).at(-1)).toMatchObject({
      event: 'result',
      result: { definition: [], request: [{ path: '/transaction_cost_bps' }], data: { cells: 0 } },
    });
  });

  test('levels of a file in the format of a vendor are compared with a run, and a wrong column is refused', async () => {
    await ask(['backtest', 'EVEN', '--document', toPath('even.json')]);
    const rows = toLines((await ask(['levels', 'EVEN'])).out).filter(({ date }) => typeof date === 'string');
    const [file, mapping] = [toPath('vendor.csv'), toPath('vendor.json')];
    const lines = rows.map(
      ({ date, price }) => `${String(date).split('-').toReversed().join('.')};${String(price).replace('.', ',')}`,
    );
    await writeFile(file, `A vendor\nDatum;Schluss\n25.12.2019;.\n${lines.join('\n')}\n`);
    const columns = { date: 'Datum', value: 'Schluss' };
    const terms = { columns, date_format: 'DD.MM.YYYY', decimal: ',', skip_rows: 1 };
    await writeFile(mapping, JSON.stringify(terms));
    const words = ['explain-difference', 'EVEN', file, '--mapping', mapping];
    const { status, out } = await ask(words);
    expect(toLines(out).at(-1)).toMatchObject({
      event: 'result',
      result: { causes: [], sessions: { common: rows.length, equal: rows.length }, reproduced: true },
    });
    expect(status).toBe(0);
    // Without a mapping, the command finds what the file shows, as the console does, and states it.
    const found = await ask(['explain-difference', 'EVEN', file]);
    expect(found.status).toBe(0);
    expect(toLines(found.out).at(-1)).toMatchObject({ result: { sessions: { equal: rows.length }, reproduced: true } });
    expect(found.err).toContain(
      'dates are read from the column Datum, levels from Schluss; dates are read as day, month, year; numbers are read with a decimal comma',
    );
    const unclear = toPath('unclear.csv');
    await writeFile(unclear, 'date,value\n2/1/2024,1\n3/1/2024,2\n');
    expect(await ask(['explain-difference', 'EVEN', unclear])).toMatchObject({
      status: 64,
      err: expect.stringContaining('Is 2/1/2024 written as month, day, year or as day, month, year?'),
    });
    // One level is 1 % off: the text and the table of the command name it as a single error.
    const wrong = rows.map(({ date, price }, t) => `${String(date)},${Number(price) * (t === 30 ? 1.01 : 1)}`);
    const published = toPath('published.csv');
    await writeFile(published, `date,value\n${wrong.join('\n')}\n`);
    const csv = await ask(['explain-difference', 'EVEN', published, '--csv']);
    expect(csv.status).toBe(1);
    const [head, row, ...more] = csv.out.trim().split('\r\n').slice(-2);
    expect(head).toMatch(/^date,through,subject,.*,step,difference_bps,sentence$/);
    expect(row).toMatch(new RegExp(`^${String(rows[30]!['date'])},.*,unexplained,.*agree again on the next session`));
    expect(more).toEqual([]);
    await writeFile(mapping, JSON.stringify({ ...terms, columns: { date: 'Tag', value: 'Schluss' } }));
    expect(await ask(words)).toMatchObject({ status: 64, err: expect.stringContaining('no column Tag') });
    // Two columns with other names are read, and named. More columns, or two usual names, are ambiguous.
    const read = async (header: string, more = '') => {
      await writeFile(file, `${header}\n${rows.map(({ date, price }) => `${date},${price}${more}`).join('\n')}\n`);
      return ask(['explain-difference', 'EVEN', file]);
    };
    const named = await read('Day,Index');
    expect(named.status).toBe(0);
    expect(named.err).toContain('dates are read from the column Day, levels from Index');
    expect(await read('Day,Index,Volume', ',1')).toMatchObject({
      status: 64,
      err: expect.stringMatching(/The file has Index, Volume\. Which has the levels\?.*--mapping/),
    });
    expect(await read('date,Close,Level', ',1')).toMatchObject({
      status: 64,
      err: expect.stringMatching(/The file has Close, Level\. Which has the levels\?.*--mapping/),
    });
  });

  test('one command imports a wide table, and reports its choices with reasons', async () => {
    await mkdir(toPath('wide'));
    await writeFile(toPath('wide/wide.csv'), 'Date,A,B\n01/02/2024,10,20\n01/03/2024,11,21\n');
    const words = ['import', toPath('wide/wide.csv'), '--inspect', '--id', 'wide'];
    const { status, err } = await ask(words);
    expect([status, err.match(/--[a-z-]+(?=:)/g)]).toEqual([64, ['--date-format']]);
    const flags = ['--date-format', 'DD/MM/YYYY'];
    const report = await ask([...words, ...flags]);
    // A single table without a column name contains closes. The unknown price basis is reported even when the output is
    // a pipe.
    expect(report.err.match(/^divisor import: (field CLOSE|adjustment none): /gm)).toHaveLength(2);
    expect(report.err).toContain('--adjustment splits if closes are adjusted for later splits');
    const line = { result: { identifiers: 2, end: '2024-03-01', adjustment: 'none', read_as: {} } };
    const unsure = [
      { field: 'field', taken: 'CLOSE' },
      { field: 'adjustment', taken: 'none', others: ['splits', 'total'] },
    ];
    line.result.read_as = { basis: { adjustment: 'none', reason: expect.any(String) as string }, unsure };
    expect(toLines(report.out).at(-1)).toMatchObject(line);
    const inspection = await ask([
      'inspect',
      toPath('wide/wide.csv'),
      ...flags,
      '--field',
      'CLOSE',
      '--adjustment',
      'splits',
    ]);
    expect(toLines(inspection.out).at(-1)).toMatchObject({ result: { adjustment: 'splits', unsure: [] } });
    expect(inspection.err).toBe('');
    await writeFile(toPath('wide/volume.csv'), 'Date,A,B\n2024-01-02,10,20\n2024-01-03,11,21\n');
    expect((await ask(['import', toPath('wide/volume.csv'), '--inspect'])).err).toContain('--field:');
  });

  test('an inspection of an unreadable file exits with 2 and the reason', async () => {
    await mkdir(toPath('torn'));
    await writeFile(toPath('torn/market.csv.gz'), 'no gzip at all');
    const { status, out, err } = await ask(['inspect', toPath('torn/market.csv.gz')]);
    expect([status, toLines(out).at(-1)!.event]).toEqual([2, 'result']);
    expect(err).toMatch(/UNREADABLE_FILE .*market.*: /);
  });

  test('invalid rows are refused without questions about the format', async () => {
    await mkdir(toPath('wrong'));
    await writeFile(toPath('wrong/market.csv'), 'date,identifier,CLOSE\n2024-01-02,A,10\n2024-01-03,A,x\n');
    const { status, err } = await ask(['import', toPath('wrong'), '--inspect']);
    expect([status, err.split('\n')[0]]).toEqual([2, 'divisor: VALIDATION_FAILED: 1 error in the data.']);
    expect(err).toContain('NOT_A_NUMBER market.csv market[row 2].CLOSE');
  });

  test('damaged files in a folder are reported together, with the flag that ignores them', async () => {
    await mkdir(toPath('damaged'));
    const formatBars = (close: string) => `Date,Close\n2024-01-02,10\n2024-01-03,${close}\n`;
    const files = {
      'A.csv': formatBars('11'),
      'B.csv': formatBars('ten'),
      'C.csv': formatBars('11,5'),
      'D one.csv': formatBars('x'),
      'E.csv': formatBars('12'),
    };
    for (const [name, text] of Object.entries(files)) await writeFile(toPath(`damaged/${name}`), text);
    const words = ['import', toPath('damaged'), '--inspect', '--id', 'damaged'];
    const { status, err } = await ask(words);
    expect(status).toBe(2);
    expect(err).toContain("3 of 5 files cannot be read this way; --ignore 'B.csv,C.csv,D one.csv' skips them.");
    for (const name of ['B.csv', 'C.csv', 'D one.csv']) expect(err).toContain(`market/${name}[row 2]`);
    expect(err).not.toContain('--on-duplicate');
    await writeFile(toPath('damaged/A.csv'), `${formatBars('11')}2024-01-03,12\n`); // open questions are reported in addition to unreadable files
    const repeatedErrors = (await ask(words)).err;
    expect(repeatedErrors).toContain('skips them. --on-duplicate: Rows with the same identifier and date differ');
    await writeFile(toPath('damaged/A.csv'), formatBars('11'));
    const inspection = await ask(['inspect', toPath('damaged')]);
    expect([inspection.status, inspection.err.includes("--ignore 'B.csv,C.csv,D one.csv'")]).toEqual([2, true]);
    const { status: done, out } = await ask([...words, '--ignore', 'B.csv,C.csv,D one.csv']);
    expect([done, toLines(out).at(-1)]).toMatchObject([0, { result: { identifiers: 2 } }]);
  });

  test('more damaged files than findings are listed are all counted and ignored', async () => {
    await mkdir(toPath('many-damaged'));
    await mkdir(toPath('no-headers'));
    const name = (i: number) => `f${String(i).padStart(2, '0')}.csv`;
    for (let i = 0; i < 45; i++)
      await writeFile(
        toPath(`many-damaged/${name(i)}`),
        `Date,Close\n2024-01-02,5\n2024-01-03,${i % 2 === 0 ? '6' : 'x'}\n`,
      );
    const damaged = Array.from({ length: 22 }, (_, i) => name(2 * i + 1)).join(',');
    const words = ['import', toPath('many-damaged'), '--inspect', '--id', 'many-damaged'];
    expect((await ask(words)).err).toContain(`22 of 45 files cannot be read this way; --ignore ${damaged} skips them.`);
    const { status, out } = await ask([...words, '--ignore', damaged]);
    expect([status, toLines(out).at(-1)]).toMatchObject([0, { result: { identifiers: 23 } }]);
    for (let i = 0; i < 37; i++) await writeFile(toPath(`no-headers/${name(i)}`), '2024-01-02,5\n2024-01-03,6\n');
    const { err } = await ask(['import', toPath('no-headers'), '--inspect', '--id', 'no-headers']);
    expect(err).toContain('37 errors in the data.');
    expect(err).not.toContain('skips them');
  });

  test('a table without prices is not read, and the inspection ends with 2', async () => {
    await writeFile(toPath('across.csv'), 'Name,2024-01-02,2024-01-03\nA,10,11\nB,20,21\n');
    const { status, out, err } = await ask(['inspect', toPath('across.csv')]);
    expect([status, toLines(out).at(-1)]).toMatchObject([2, { result: { rows_read: 0 } }]);
    expect(err).toContain('The first row contains dates. Transpose the table');
  });

  test('derived dividends are rows of the store', async () => {
    await mkdir(toPath('adjusted'));
    const bars = ['2024-01-02,100,97', '2024-01-03,100,97', '2024-01-04,97,97', '2024-01-05,98,98'];
    await writeFile(toPath('adjusted/A.csv'), ['Date,Close,Adj Close', ...bars, ''].join('\n'));
    const { status, out, err } = await ask(
      ['import', toPath('adjusted'), '--inspect', '--id', 'adjusted'].concat(
        '--identifier-from',
        'file:{identifier}.csv',
      ),
    );
    expect(status, err).toBe(0);
    const derivedResult = { derived_actions: { dividends: 1, splits: 0 }, rows: { market: 4, corporate_actions: 1 } };
    expect(toLines(out).at(-1)).toMatchObject({ result: derivedResult });
  });

  test('one command imports a Feather file, unchanged or as an inspection reads it', async () => {
    const bars = { identifier: ['A', 'A'], date: ['2024-01-02', '2024-01-03'], CLOSE: Float64Array.of(1.5, 2.5) };
    await writeFile(toPath('bars.feather'), tableToIPC(tableFromArrays(bars), 'file'));
    for (const words of [
      ['--id', 'feather'],
      ['--id', 'feather-read', '--inspect'],
    ]) {
      const { status, out } = await ask(['import', toPath('bars.feather'), ...words]);
      expect([status, toLines(out).at(-1)]).toMatchObject([
        0,
        { result: { store_id: words[1], identifiers: 1, start: '2024-01-02', end: '2024-01-03', rows: { market: 2 } } },
      ]);
    }
  });

  test('a refresh with bars for only some securities on a date is rejected with 3 if requested', async () => {
    await mkdir(toPath('daily'));
    const csvPath = toPath('daily/market.csv');
    const formatBars = (date: string, names: readonly string[]) => names.map((name) => `${date},${name},10\n`).join('');
    const members = ['A', 'B', 'C', 'D'];
    const csvBefore = `date,identifier,CLOSE\n${formatBars('2024-01-02', members)}${formatBars('2024-01-03', members)}`;
    await writeFile(csvPath, csvBefore);
    const servedStore = toLines((await ask(['stores'])).out).find(({ active }) => active === true)!;
    expect((await ask(['import', toPath('daily'), '--id', 'daily', '--activate'])).status).toBe(0);
    const runRefresh = (code: string) => ask(['refresh', 'daily', '--fail-on', code]);
    expect((await runRefresh('PARTIAL_DATE')).status).toBe(0);
    await writeFile(csvPath, `${csvBefore}${formatBars('2024-01-04', ['A', 'B'])}`);
    expect((await runRefresh('PRICE_JUMP')).status).toBe(0);
    const misspeltRun = await runRefresh('PARTIAL_DATES');
    expect([misspeltRun.status, misspeltRun.err]).toEqual([64, expect.stringContaining('Did you mean PARTIAL_DATE?')]);
    await writeFile(csvPath, `${csvBefore}${formatBars('2024-01-04', ['A', 'B'])}${formatBars('2024-01-05', ['A'])}`);
    const readEnd = async () => toLines((await ask(['stores'])).out).find(({ active }) => active === true)!['end'];
    const rejectedRun = await runRefresh('PARTIAL_DATE');
    expect([rejectedRun.status, rejectedRun.err]).toEqual([
      3,
      expect.stringMatching(/REFRESH_REJECTED: .*PARTIAL_DATE.*\n +warning PARTIAL_DATE market\[2024-01-05\]/),
    ]);
    expect(await readEnd()).toBe('2024-01-04');
    const trial = await ask(['refresh', 'daily', '--dry-run']);
    expect(toLines(trial.out).at(-1)).toMatchObject({ result: { dry_run: true, rows_added: 1, end: '2024-01-05' } });
    expect(await readEnd()).toBe('2024-01-04');
    // A complete day is accepted. The report and the exit status mention the partial day of the store.
    await writeFile(csvPath, `${csvBefore}${formatBars('2024-01-04', ['A', 'B'])}${formatBars('2024-01-05', members)}`);
    const { status, out } = await runRefresh('PARTIAL_DATE');
    expect(status).toBe(3);
    const findings = [{ code: 'PARTIAL_DATE', path: 'market[2024-01-04]' }];
    expect(toLines(out).at(-1)).toMatchObject({ result: { rows_added: 4, findings } });
    await ask(['activate', String(servedStore['store_id'])]);
  });
}
