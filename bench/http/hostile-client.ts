import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Client of the bench of a hostile reading key, in a separate process, so that it does not delay the measured client.
 * Arguments: URL of the service, key, seconds, and the document of an
 * index.
 */
const [url = '', key = '', seconds = '0', document = '{}'] = process.argv.slice(2);
/** Time in ms after which a client no longer waits for a response, and its pause after a refusal. */
const PATIENCE_MS = 20_000;
const REFUSED_PAUSE_MS = 50;

const agent = new Agent({ keepAlive: true });
const statuses: Record<string, number> = {};
const end = performance.now() + Number(seconds) * 1000;
await Promise.all(listAttacks().map(repeat));
process.send!(statuses, () => process.exit());

async function repeat(work: () => Promise<number>): Promise<void> {
  while (performance.now() < end) {
    const status = await Promise.race([work().catch(() => 0), sleep(PATIENCE_MS, -1)]);
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (status === 0 || status === 429 || status === 503) await sleep(REFUSED_PAUSE_MS);
  }
}

/** Sends a request and resolves with its status. @param isRead false to leave the response unread */
function send(method: string, path: string, body: unknown, isRead = true): () => Promise<number> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const headers = { 'x-api-key': key, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  return () =>
    new Promise((done, failed) => {
      const sentRequest = request(url + path, { method, headers, localAddress: '127.0.0.2', agent }, (answer) => {
        const status = answer.statusCode!;
        answer.on('error', () => done(0));
        if (isRead) answer.resume().on('end', () => done(status));
        else answer.pause();
      });
      sentRequest.on('error', failed).end(text);
    });
}

/** Requests of the hostile key, each repeated without a pause. */
function listAttacks(): (() => Promise<number>)[] {
  const fill = <T>(count: number, entry: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => entry(i));
  const createDocument = (rest: Record<string, unknown>) => ({ ...(JSON.parse(document) as object), ...rest });
  const validate = (rest: Record<string, unknown>) => send('POST', '/indices/validate', createDocument(rest));
  const query = (sql: string, isRead = true) => send('POST', '/sql', { query: sql }, isRead);
  const expression = fill(60, () => 'mean(CLOSE, window=20)').join(' + ');
  const doublings = fill(12, (k) => [`D${k + 1}`, k === 0 ? 'CLOSE + CLOSE' : `D${k} + D${k}`] as const);
  const rows = fill(500, (i) => ({ id: `r${i}`, type: 'PositionBounds', params: { lower: 0, upper: 0.3 } }));
  const selection = [{ id: 's', type: 'TopN', params: { field: 'mean(D12, window=250)', count: 50 } }];
  const slowDocument = createDocument({
    datapoints: Object.fromEntries(doublings),
    pipeline: { selection, weighting: { type: 'EqualWeight' } },
  });
  const params = { name: 'validateIndex', arguments: { body: createDocument({ reviews: fill(4000, () => ({})) }) } };
  const cardinality = { id: 'c', type: 'Cardinality', params: { upper: 20 } };
  return [
    validate(Object.fromEntries(fill(19_000, (i) => [`x${i}`, 1]))),
    validate({ reviews: fill(4000, () => ({})) }),
    validate({ datapoints: Object.fromEntries(fill(64, (i) => [`E${i}`, expression])) }),
    send('POST', '/optimise/constraint-sets/validate', {
      id: 'c',
      name: 'c',
      constraints: fill(12_000, () => rows[0]),
    }),
    send('POST', '/optimise/constraint-sets/validate', { id: 'c', name: 'c', constraints: rows }),
    send('POST', '/indices/validate', `[${fill(300_000, () => '[]').join(',')}]`),
    send('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    ...fill(12, () => send('POST', '/indices/preview', { document: slowDocument, as_of: '2024-06-03' })),
    send('POST', '/optimise/preview', { index_id: 'LARGE', constraints: [cardinality] }),
    ...fill(6, () => query('SELECT count(*) FROM range(2000000000) a')),
    ...fill(4, () => query("SELECT repeat('x', 200) AS a, i FROM range(1000000) t(i)", false)),
    query("SELECT length(repeat('x', 900000000))"),
    query('SELECT list_sort(range(100000000))[1]'),
  ];
}
