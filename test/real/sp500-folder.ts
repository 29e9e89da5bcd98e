import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';

const SHARED = resolve('../shared/data');

/** Files of 469 real securities from 2010 to 2013. They are absent without the shared data. */
export const SP500 = {
  closes: join(SHARED, 'sp500-2010-2013/close_split_adjusted.csv.gz'),
  volumes: join(SHARED, 'sp500-2010-2013/volume.csv.gz'),
  constituents: join(SHARED, 'reference/constituents.csv'),
  snapshot: join(SHARED, 'reference/constituents-financials.csv'),
} as const;

export const hasSp500 = existsSync(SP500.closes);

/**
 * Writes a store folder of the set: closes, volumes, sectors, the dividend yield of a snapshot, and shares outstanding.
 * The shares follow from the capitalisations of the snapshot, on split-adjusted prices.
 */
export async function writeSp500Folder(folder: string): Promise<void> {
  const closes = readTable(SP500.closes);
  const snapshot = readSnapshots();
  await mkdir(folder);
  await writeFile(join(folder, 'market.csv'), formatMarketCsv(closes, readTable(SP500.volumes), snapshot));
  await writeFile(join(folder, 'reference.csv'), formatReferenceCsv(new Set(closes.names), snapshot));
}

interface Table {
  readonly names: string[];
  readonly rows: { readonly date: string; readonly cells: string[] }[];
}

function readTable(path: string): Table {
  const [header = '', ...lines] = gunzipSync(readFileSync(path)).toString('utf8').trim().split(/\r?\n/);
  return {
    names: header.split(',').slice(1),
    rows: lines.map((line) => ({ date: line.split(',', 1)[0]!, cells: line.split(',').slice(1) })),
  };
}

interface Snapshot {
  readonly shares: number;
  readonly dividendYield: string;
}

function readSnapshots(): Map<string, Snapshot> {
  const rows = readFileSync(SP500.snapshot, 'utf8')
    .trim()
    .split(/\r?\n/)
    .slice(1)
    .map((line) => line.match(/("[^"]*"|[^,]*)(?:,|$)/g)!.map((cell) => cell.replace(/,$/, '')));
  return new Map(
    rows.flatMap((cells) => {
      const [price, capitalisation] = [Number(cells[3]), Number(cells[9])];
      return price > 0 && capitalisation > 0
        ? [[cells[0]!, { shares: Math.round(capitalisation / price), dividendYield: cells[5] ?? '' }]]
        : [];
    }),
  );
}

function formatMarketCsv(closes: Table, volumes: Table, snapshot: Map<string, Snapshot>): string {
  const volumeColumn = new Map(volumes.names.map((name, column) => [name, column]));
  const lines = closes.rows.flatMap(({ date, cells }, t) =>
    cells.flatMap((close, i) => {
      const name = closes.names[i]!;
      const column = volumeColumn.get(name);
      return close === ''
        ? []
        : [
            `${date},${name},${close},${column === undefined ? '' : volumes.rows[t]!.cells[column]},${snapshot.get(name)?.shares ?? ''}`,
          ];
    }),
  );
  return ['date,identifier,CLOSE,VOLUME,SHARES_OUTSTANDING', ...lines, ''].join('\n');
}

function formatReferenceCsv(identifiers: ReadonlySet<string>, snapshot: Map<string, Snapshot>): string {
  const rows = readFileSync(SP500.constituents, 'utf8')
    .trim()
    .split(/\r?\n/)
    .slice(1)
    .map((line) => /^([^,]+),(?:"[^"]*"|[^,]*),([^,]+),/.exec(line)!);
  const sector = new Map(rows.map((match) => [match[1]!, match[2]!]));
  const lines = [...identifiers].map(
    (name) => `${name},${sector.get(name) ?? ''},${snapshot.get(name)?.dividendYield ?? ''}`,
  );
  return ['identifier,SECTOR,DIVIDEND_YIELD', ...lines, ''].join('\n');
}
