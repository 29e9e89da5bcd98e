import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { AuditEntry } from '#domain/definition/versions.js';
import { createAuditPush, createAuditSender } from '#services/governance/audit.js';
import { createVersionedStore } from '#store/history/history.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { createTemporaryFolder } from '../../store/temporary-folder.js';
import { createTestContext } from '../context.js';

async function openLog() {
  const engine = await openDocumentStore({ folder: await createTemporaryFolder() });
  onTestFinished(() => engine.close());
  const documents = createVersionedStore(engine);
  const write = (id: string) => documents.transaction(async (tx) => void (await tx.put('template', id, { id })));
  return { documents, write };
}

const readText = async (stream: AsyncIterable<unknown>): Promise<string> => {
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  return text;
};

test('new entries reach the receiver in order, none is lost during an outage, and a restart continues', async () => {
  const { documents, write } = await openLog();
  await write('before');
  const receivedEntries: AuditEntry[] = [];
  const tokens = new Set<string | undefined>();
  let isAway = false;
  const server = createServer(async (request: IncomingMessage, response) => {
    const text = await readText(request);
    tokens.add(request.headers.authorization);
    if (!isAway)
      receivedEntries.push(
        ...text
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as AuditEntry),
      );
    response.writeHead(isAway ? 503 : 204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise((resolve) => (server.closeAllConnections(), server.close(() => resolve()))));
  const failures: unknown[] = [];
  const open = () =>
    createAuditPush(
      createTestContext({ documents }),
      createAuditSender(`http://127.0.0.1:${(server.address() as AddressInfo).port}/log`, 'secret'),
      (failure) => failures.push(failure),
      5,
    );
  let push = open();
  push.start();
  await expect.poll(async () => (await documents.ids('audit-push')).length).toBe(1);
  const listIds = () => [...new Set(receivedEntries.map(({ id }) => id))];
  await write('first');
  await expect.poll(listIds).toEqual(['first']);
  isAway = true;
  await write('second');
  await expect.poll(() => failures.length).toBe(1);
  await push.close();
  await write('third');
  isAway = false;
  push = open();
  push.start();
  await expect.poll(listIds).toEqual(['first', 'second', 'third']);
  await push.close();
  const seqs = receivedEntries.map(({ seq }) => seq);
  expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
  expect([...tokens]).toEqual(['Bearer secret']);
});

test('syslog receives one framed message per entry', async () => {
  const { documents, write } = await openLog();
  const messages: string[] = [];
  const server = createTcpServer(async (socket) => messages.push(await readText(socket)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const send = createAuditSender(`syslog://127.0.0.1:${port}`, undefined);
  const push = createAuditPush(createTestContext({ documents }), send, () => {}, 5);
  push.start();
  await expect.poll(async () => (await documents.ids('audit-push')).length).toBe(1);
  await write('é');
  await expect.poll(() => messages.length).toBe(1);
  await push.close();
  const [, length, message] = /^(\d+) (<110>1 .*)$/s.exec(messages[0]!)!;
  expect(Buffer.byteLength(message!)).toBe(Number(length));
  expect(JSON.parse(message!.slice(message!.indexOf('{')))).toMatchObject({ kind: 'template', id: 'é' });
});
