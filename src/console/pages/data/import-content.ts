import { endingOf, isParquet, type ImportFile } from './import-files.js';
import { zipOf } from './zip.js';

export interface ImportContent {
  readonly format: 'xlsx' | 'csv' | 'parquet';
  /** In base64. */
  readonly content: string;
}

/** The body of an import: a Parquet file of prices, a workbook or an archive unchanged; CSV files or several workbooks as one archive. @param isMapped true if files of the market keep their names for a mapping */
export async function contentOf(files: readonly ImportFile[], isMapped: boolean): Promise<ImportContent> {
  const [first] = files;
  const market = files.find((one) => isParquet(one) && one.table === 'market');
  if (market !== undefined) return { format: 'parquet', content: await base64Of(market.file) };
  const isWhole = first?.table === null;
  const blob = isWhole
    ? first!.file
    : await zipOf(
        await Promise.all(
          files.map(async ({ file, table }) => ({
            name: isMapped && table === 'market' ? file.name : `${table}${endingOf(file)}`,
            bytes: new Uint8Array(await file.arrayBuffer()),
          })),
        ),
      );
  return { format: isWhole && endingOf(first!.file) === '.xlsx' ? 'xlsx' : 'csv', content: await base64Of(blob) };
}

function base64Of(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(String(reader.result).replace(/^[^,]*,/, '')));
    reader.addEventListener('error', () =>
      reject(reader.error ?? new Error('The file cannot be read. Choose it again.')),
    );
    reader.readAsDataURL(blob);
  });
}
