import type { ImportRequest, ImportResult, Operations } from '#clients/typescript/divisor.js';
import { service, troubleOf, type Trouble } from '../../state/service.js';
import type { JsonObject } from '../../words/paths.js';
import { contentOf } from './import-content.js';
import { isParquet, type ImportFile } from './import-files.js';

type ImportQuery = Operations['importStore']['request']['query'];

/** The result of an import. */
export interface Outcome {
  readonly result: ImportResult | null;
  readonly trouble: Trouble | null;
  /** True if a store was created from some of the files although others were refused. */
  readonly isPartial?: boolean;
}

interface Wanted {
  readonly files: readonly ImportFile[];
  readonly header: JsonObject;
  readonly mapping: JsonObject | null;
}

/** Sends files to become a store. */
export async function sendImport(wanted: Wanted): Promise<Outcome> {
  return wanted.files.some(isParquet) ? sentTables(wanted) : sentWhole(wanted);
}

/** One request brings every table: all of them are kept, or none. */
async function sentWhole({ files, header, mapping }: Wanted): Promise<Outcome> {
  try {
    const body = { ...header, mapping, ...(await contentOf(files, mapping !== null)) } as unknown as ImportRequest; // The service says what is wrong with it.
    return { result: await service.value.call('importStore', { body }), trouble: null };
  } catch (thrown) {
    return { result: null, trouble: troubleOf(thrown) };
  }
}

const PARQUET = 'application/vnd.apache.parquet';

/** Each Parquet file is a separate request: prices create the store, other tables are added to it. */
async function sentTables({ files, header, mapping }: Wanted): Promise<Outcome> {
  const ordered = files.toSorted((a, b) => Number(b.table === 'market') - Number(a.table === 'market'));
  const done: ImportResult[] = [];
  for (const { file, table } of ordered) {
    const [made] = done;
    const first = { ...header, ...(mapping === null ? {} : { mapping: JSON.stringify(mapping) }) };
    const added = { name: header['name'], store_id: made?.store.store_id, on_exists: 'append', dataset: table };
    const query = (made === undefined ? first : added) as ImportQuery; // The service says what is wrong with it.
    try {
      done.push(await service.value.upload('importStore', PARQUET, file, { query }));
    } catch (thrown) {
      const trouble = troubleOf(thrown);
      if (made === undefined) return { result: null, trouble };
      const message = `The store ${made.store.store_id} was created with the prices, but ${file.name} was not added: ${trouble.message}`;
      return { result: null, trouble: { ...trouble, message }, isPartial: true };
    }
  }
  return { result: together(done), trouble: null };
}

/** The last answer, with the rows of all. */
function together(done: readonly ImportResult[]): ImportResult | null {
  const last = done.at(-1);
  if (last === undefined) return null;
  const rows = Object.assign({}, ...done.map((each) => each.rows)) as ImportResult['rows']; // Records of counts.
  return { ...last, rows, findings: done.flatMap(({ findings }) => findings) };
}
