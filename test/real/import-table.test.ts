import { readdirSync, readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import {
  Bool,
  DateDay,
  Dictionary,
  Field,
  Float64,
  Int32,
  Int64,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  TimestampMillisecond,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LIMITS } from '#domain/base/limits.js';
import { TABLE_FORMATS } from '#domain/definition/datasets.js';
import { writeParquet } from '#market/formats/write-parquet.js';
import { openLiveService, type LiveService } from './live.js';

const [PARQUET, ARROW] = Object.keys(TABLE_FORMATS) as [string, string];
const DAYS = ['2024-01-02', '2024-01-03', '2024-01-04'];
const CLOSES = [100, 101.1, 99.7, 50, 50.3, 51];
const NAMES = ['A', 'A', 'A', 'B', 'B', 'B'];
const DATES = [...DAYS, ...DAYS];

let service: LiveService;
let parquetMarket: Uint8Array;
beforeAll(async () => {
  service = await openLiveService();
  parquetMarket = await createMarketFile();
});
afterAll(() => service.close());

interface ImportResult {
  readonly store: { readonly store_id: string; readonly content_hash: string };
  readonly rows: Readonly<Record<string, number>>;
}
interface RefusalBody {
  readonly error: {
    readonly code: string;
    readonly detail: { readonly limit?: number; readonly findings?: FindingBody[] };
  };
}
interface FindingBody {
  readonly code: string;
  readonly path: string;
}

async function send(type: string, query: string, body: Uint8Array): Promise<{ status: number; body: unknown }> {
  const address = new URL(`/data/import?${query}`, service.url);
  const response = await fetch(address, {
    method: 'POST',
    headers: { 'content-type': type },
    body: body as Uint8Array<ArrayBuffer>,
  });
  return { status: response.status, body: await response.json() };
}

function encodeArrowMarket(dates: 'text' | 'day' | 'time' | 'midnight in Berlin'): Uint8Array {
  const moments = DATES.map((day) => new Date(dates === 'midnight in Berlin' ? `${day}T00:00+01:00` : day));
  const types = {
    day: new DateDay(),
    time: new TimestampMillisecond(),
    'midnight in Berlin': new TimestampMillisecond('Europe/Berlin'),
  };
  return tableToIPC(
    new Table({
      identifier: vectorFromArray(NAMES, new Dictionary(new Utf8(), new Int32())),
      date: dates === 'text' ? vectorFromArray(DATES, new Utf8()) : vectorFromArray(moments, types[dates]),
      CLOSE: vectorFromArray(CLOSES, new Float64()),
      VOLUME: vectorFromArray([1n, 2n, null, 4n, 5n, 6n], new Int64()),
    }),
  );
}

async function createMarketFile(): Promise<Uint8Array> {
  const path = join(service.folder, 'market.parquet');
  const columns = [
    { name: 'identifier', kind: 'text', values: NAMES },
    { name: 'date', kind: 'text', values: DATES },
    { name: 'CLOSE', kind: 'double', values: Float64Array.from(CLOSES) },
    { name: 'VOLUME', kind: 'double', values: Float64Array.from([1, 2, NaN, 4, 5, 6]) },
  ] as const;
  await writeParquet(path, [{ rows: NAMES.length, columns }]);
  return readFileSync(path);
}

const requireImport = async (sent: Promise<{ status: number; body: unknown }>) => {
  const { status, body } = await sent;
  expect(status, JSON.stringify(body)).toBe(201);
  return body as ImportResult;
};
const createRefusal = async (sent: Promise<{ status: number; body: unknown }>) =>
  ((await sent).body as RefusalBody).error;

test('a table is the same market as JSON, as Parquet and as an Arrow stream', async () => {
  const data = NAMES.map((name, i) => [name, DATES[i], CLOSES[i], [1, 2, null, 4, 5, 6][i]]);
  const json = await service.ok<ImportResult>('POST', '/data/import', {
    name: 'json',
    tables: { market: { index: [0, 1, 2, 3, 4, 5], columns: ['identifier', 'date', 'CLOSE', 'VOLUME'], data } },
  });
  const stores = [
    await requireImport(send(PARQUET, 'name=parquet', parquetMarket)),
    await requireImport(send(ARROW, 'name=texts', encodeArrowMarket('text'))),
    await requireImport(send(`${ARROW}; x=y`, 'name=days', encodeArrowMarket('day'))),
    await requireImport(send(ARROW, 'name=berlin', encodeArrowMarket('midnight in Berlin'))),
    await requireImport(send(ARROW, 'name=times&activate=true', encodeArrowMarket('time'))),
  ];
  expect(stores.map(({ store }) => store.content_hash)).toEqual(stores.map(() => json.store.content_hash));
  expect(stores.map(({ rows }) => rows['market'])).toEqual([6, 6, 6, 6, 6]);
  const { prices } = await service.ok<{ prices: { data: unknown } }>('GET', '/data/prices/A?columns=CLOSE');
  expect(prices.data).toEqual(CLOSES.slice(0, 3).map((close) => [close]));
});

test('another table is appended to a store that has a market, and to no other', async () => {
  const reference = tableToIPC(
    new Table({
      identifier: vectorFromArray(['A', 'B'], new Utf8()),
      SECTOR: vectorFromArray(['Energy', null], new Utf8()),
    }),
  );
  await requireImport(send(PARQUET, 'name=Parts&currency=EUR', parquetMarket));
  const { rows } = await requireImport(send(ARROW, 'name=Parts&dataset=reference&on_exists=append', reference));
  expect(rows['reference']).toBe(2);
  await service.job('/data/stores/parts/activate');
  const { fields } = await service.ok<{ fields: unknown }>('GET', '/data/reference/A');
  expect(fields).toMatchObject({ SECTOR: 'Energy' });
  const refusal = await createRefusal(send(ARROW, 'name=Alone&dataset=reference', reference));
  expect([refusal.code, refusal.detail.findings!.map(({ code }) => code)]).toEqual([
    'VALIDATION_FAILED',
    ['EMPTY_DATASET'],
  ]);
});

test('a table is read by a mapping, which the query carries as JSON', async () => {
  const vendor = tableToIPC(
    new Table({
      Ticker: vectorFromArray(['A', 'A', 'A'], new Utf8()),
      Day: vectorFromArray(['02/01/2024', '03/01/2024', '04/01/2024'], new Utf8()),
      Last: vectorFromArray([100.25, 99.5, 102.75], new Float64()),
      Adjusted: vectorFromArray([99.25, 99.5, 102.75], new Float64()),
    }),
  );
  const mapping = {
    columns: { identifier: 'Ticker', date: 'Day', CLOSE: 'Last' },
    date_format: 'DD/MM/YYYY',
    adjusted_close: 'Adjusted',
  };
  const query = (text: string) => `name=Vendor&mapping=${encodeURIComponent(text)}`;
  await requireImport(send(ARROW, query(JSON.stringify(mapping)), vendor));
  await service.job('/data/stores/vendor/activate');
  // On the day before a dividend of 1, 100.25 is worth 99.25.
  const { actions } = await service.ok<{ actions: { ex_date: string; value: number }[] }>(
    'GET',
    '/data/corporate-actions/A',
  );
  expect(actions.map(({ ex_date, value }) => [ex_date, Number(value.toFixed(9))])).toEqual([['2024-01-03', 1]]);
  const appendedAnswer = send(ARROW, `${query(JSON.stringify(mapping))}&on_exists=append`, vendor);
  const codes = [await createRefusal(appendedAnswer), await createRefusal(send(ARROW, query('{'), vendor))];
  expect(codes.map(({ detail }) => detail.findings!.map(({ code, path }) => `${code} ${path}`))).toEqual([
    ['NOT_IN_CHOICES mapping.adjusted_close'],
    ['WRONG_TYPE mapping'],
  ]);
});

test('errors are reported at their position, and nothing of the import stays', async () => {
  const listStoredFiles = () =>
    readdirSync(join(service.folder, 'home'), { recursive: true, encoding: 'utf8' }).toSorted();
  const before = listStoredFiles();
  const brokenMarket = parquetMarket.slice(0, 100);
  const oddTable = new Table({ identifier: vectorFromArray(['A']), date: vectorFromArray(['2024-01-02']) });
  const list = new Schema([new Field('CLOSE', new Struct([new Field('x', new Bool())]))]);
  const nestedTable = new Table([new RecordBatch(list, makeData({ type: new Struct(list.fields), length: 0 }))]);
  const refusals = [
    await createRefusal(send(PARQUET, 'name=x', brokenMarket)),
    await createRefusal(send(ARROW, 'name=x', Buffer.from('no stream at all'))),
    await createRefusal(send(ARROW, 'name=x', tableToIPC(oddTable))),
    await createRefusal(send(ARROW, 'name=x', tableToIPC(nestedTable))),
    await createRefusal(send(ARROW, '', encodeArrowMarket('day'))),
    await createRefusal(send('application/json', 'name=x', Buffer.from('{}'))),
    await createRefusal(send(PARQUET, 'name=x', new Uint8Array(0))),
    await createRefusal(send('text/csv', 'name=x', Buffer.from('a'))),
  ];
  expect(
    refusals.map(({ code, detail }) => [
      code,
      ...(detail?.findings ?? []).map((finding) => `${finding.code} ${finding.path}`),
    ]),
  ).toEqual([
    ['VALIDATION_FAILED', 'UNREADABLE_FILE market'],
    ['VALIDATION_FAILED', 'UNREADABLE_FILE market'],
    ['VALIDATION_FAILED', 'MISSING_COLUMN market.CLOSE'],
    ['VALIDATION_FAILED', 'WRONG_TYPE market.CLOSE'],
    ['VALIDATION_FAILED', 'REQUIRED name'],
    ['VALIDATION_FAILED', 'UNKNOWN_FIELD name'],
    ['MALFORMED_REQUEST'],
    ['MALFORMED_REQUEST'],
  ]);
  // The service may still be removing earlier contents of the store.
  expect(listStoredFiles().filter((name) => !before.includes(name))).toEqual([]);
});

/** Sends headers and the first bytes of a body. The body then continues or ends early. @returns the response */
function begin(
  headers: Readonly<Record<string, string>>,
  breaksOff: boolean,
): Promise<RefusalBody['error'] | undefined> {
  return new Promise((resolve, reject) => {
    const address = new URL('/data/import?name=half', service.url);
    const sentRequest = httpRequest(
      address,
      { method: 'POST', headers: { 'content-type': ARROW, ...headers } },
      (response) => {
        response.setEncoding('utf8').on('data', (text: string) => {
          sentRequest.destroy();
          resolve((JSON.parse(text) as RefusalBody).error);
        });
      },
    );
    sentRequest.on('error', (failure) => (breaksOff ? resolve(undefined) : reject(failure)));
    sentRequest.write('half a stream', () => {
      if (breaksOff) sentRequest.destroy(new Error('gone'));
    });
  });
}

test('a body beyond the limit is refused by its length, one that breaks off leaves its name free', async () => {
  const bytesText = String(LIMITS.MAX_IMPORT_TABLE_BYTES + 1);
  const refusal = await begin({ 'content-length': bytesText }, false);
  expect([refusal?.code, refusal?.detail.limit]).toEqual(['BODY_TOO_LARGE', LIMITS.MAX_IMPORT_TABLE_BYTES]);
  await begin({ 'transfer-encoding': 'chunked' }, true);
  // The name stays reserved until the service has noticed that the request has ended.
  let sentAnswer = await send(PARQUET, 'name=half', parquetMarket);
  while (((sentAnswer.body as RefusalBody).error?.code ?? '') === 'STORE_LOADING')
    sentAnswer = await send(PARQUET, 'name=half', parquetMarket);
  expect(sentAnswer.status).toBe(201);
});
