/** A selected file of accounts. */
export interface AccountsFile {
  readonly name: string;
  readonly media: string;
  readonly blob: Blob;
  /** True if the first line contains the terms of the batch. */
  readonly hasTerms: boolean;
  /** Number of accounts; null if the file is too large to be counted. */
  readonly accounts: number | null;
}

/** Media types by extension. */
export const KINDS: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.parquet': 'application/vnd.apache.parquet',
  '.arrow': 'application/vnd.apache.arrow.stream',
  '.ndjson': 'application/x-ndjson',
};

/** Maximum size in bytes of a text file whose accounts are counted. Counting takes a fraction of a second. */
const COUNTED_MAX = 20_000_000;

/** Inspects a selected file. Returns null if files of this type are not supported. */
export async function inspectFile(file: File): Promise<AccountsFile | null> {
  const kind = Object.keys(KINDS).find((ending) => file.name.toLowerCase().endsWith(ending));
  if (kind === undefined) return null;
  const text = file.size <= COUNTED_MAX && (kind === '.csv' || kind === '.ndjson') ? await file.text() : null;
  const hasTerms = kind === '.ndjson' && (await startsWithTerms(file));
  return { name: file.name, media: KINDS[kind]!, blob: file, hasTerms, accounts: text === null ? null : countIn(text) };

  function countIn(all: string): number {
    const lines = all.split('\n').filter((line) => line.trim() !== '');
    if (kind === '.ndjson') return lines.length - (hasTerms ? 1 : 0);
    const [head = '', ...rows] = lines;
    const separator = [';', '\t'].find((one) => head.includes(one)) ?? ',';
    const cleanCell = (cell: string | undefined) => (cell ?? '').replaceAll(/["\uFEFF]/g, '').trim();
    const idPosition = head.split(separator).findIndex((name) => cleanCell(name) === 'account_id');
    return new Set(rows.map((row) => cleanCell(row.split(separator)[idPosition]))).size;
  }
}

/** Number of characters at the start of a file in which the terms of a batch are searched. */
const TERMS_MAX = 100_000;

async function startsWithTerms(file: File): Promise<boolean> {
  const [first = ''] = (await file.slice(0, TERMS_MAX).text()).split('\n');
  try {
    return 'parent' in (JSON.parse(first) as object);
  } catch {
    return false;
  }
}
