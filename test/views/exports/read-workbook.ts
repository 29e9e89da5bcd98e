import { fromBuffer, type Entry, type ZipFile } from 'yauzl';
import { formatDay } from '#domain/base/time.js';

export interface Sheet {
  readonly name: string;
  readonly frozenRows: number;
  readonly formulas: number;
  /** Rows of cells. A cell with a date style is a day as YYYY-MM-DD. An empty cell is null. */
  readonly rows: readonly (readonly (string | number | null)[])[];
}

/** Reads the sheets of a workbook. It parses the XML files in the archive. */
export async function readWorkbook(bytes: Buffer): Promise<Sheet[]> {
  const parts = await unzipFiles(bytes);
  const dateStyles = listDateStyles(parts.get('xl/styles.xml')!);
  const targets = new Map(
    [...parts.get('xl/_rels/workbook.xml.rels')!.matchAll(/<Relationship Id="([^"]+)"[^>]* Target="([^"]+)"/g)].map(
      (match) => [match[1]!, match[2]!],
    ),
  );
  return [...parts.get('xl/workbook.xml')!.matchAll(/<sheet name="([^"]+)"[^>]* r:id="([^"]+)"/g)].map((match) =>
    readSheet(match[1]!, parts.get(`xl/${targets.get(match[2]!)!}`)!, dateStyles),
  );
}

function readSheet(name: string, xml: string, dateStyles: ReadonlySet<string>): Sheet {
  const rows = [...xml.matchAll(/<row r="(\d+)">(.*?)<\/row>/gs)].map((row, i) => {
    if (Number(row[1]) !== i + 1) throw new Error(`row ${i + 1} is numbered ${row[1]}`);
    const cells: (string | number | null)[] = [];
    // Cells without a value may be omitted.
    for (const [, column = '', attributes = '', content] of row[2]!.matchAll(CELL))
      cells[column.charCodeAt(0) - 'A'.charCodeAt(0)] = readCell(attributes, content, dateStyles);
    return cells;
  });
  return {
    name,
    rows: rows.map((row) => Array.from({ length: rows[0]!.length }, (_, i) => row[i] ?? null)),
    frozenRows: Number(/<pane [^>]*ySplit="(\d+)"[^>]*state="frozen"/.exec(xml)?.[1] ?? 0),
    formulas: xml.match(/<f[ >]/g)?.length ?? 0,
  };
}

const CELL = /<c r="([A-Z])\d+"([^>]*?)(?:\/>|>(.*?)<\/c>)/gs;

function readCell(
  attributes: string,
  content: string | undefined,
  dateStyles: ReadonlySet<string>,
): string | number | null {
  if (content === undefined) return null;
  if (attributes.includes('t="inlineStr"')) return readText(/<t[^>]*?(?:\/>|>(.*?)<\/t>)/s.exec(content)?.[1] ?? '');
  const value = Number(/<v>(.*?)<\/v>/.exec(content)![1]);
  return dateStyles.has(/ s="(\d+)"/.exec(attributes)?.[1] ?? '') ? formatDay(value - SERIAL_OF_1970) : value;
}

const SERIAL_OF_1970 = 25_569;

/** Returns the indices of cell styles with a date format. */
function listDateStyles(xml: string): ReadonlySet<string> {
  const formats = new Map(
    [...xml.matchAll(/<numFmt numFmtId="(\d+)" formatCode="([^"]+)"/g)].map((match) => [match[1]!, match[2]!]),
  );
  const styles = /<cellXfs[^>]*>(.*?)<\/cellXfs>/s.exec(xml)![1]!.matchAll(/<xf [^>]*numFmtId="(\d+)"/g);
  return new Set([...styles].flatMap((match, i) => (formats.get(match[1]!)?.includes('yyyy') ? [String(i)] : [])));
}

/** Decodes XML text, including the characters that Excel escapes. */
function readText(xml: string): string {
  const namedCharacters: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };
  return xml
    .replaceAll(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (_, hex?: string, decimal?: string, name?: string) =>
      name === undefined
        ? String.fromCodePoint(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16))
        : namedCharacters[name]!,
    )
    .replaceAll(/_x([0-9A-Fa-f]{4})_/g, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)));
}

async function unzipFiles(bytes: Buffer): Promise<ReadonlyMap<string, string>> {
  const zip = await new Promise<ZipFile>((resolve, reject) =>
    fromBuffer(bytes, { lazyEntries: true }, (failure, file) => (failure ? reject(failure) : resolve(file))),
  );
  const parts = new Map<string, string>();
  await new Promise<void>((resolve, reject) => {
    zip.on('end', resolve);
    zip.on('error', reject);
    zip.on('entry', (entry: Entry) => {
      zip.openReadStream(entry, (failure, stream) => {
        if (failure) return void reject(failure);
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => void chunks.push(chunk));
        stream.on('error', reject);
        stream.on('end', () => {
          parts.set(entry.fileName, Buffer.concat(chunks).toString());
          zip.readEntry();
        });
      });
    });
    zip.readEntry();
  });
  return parts;
}
