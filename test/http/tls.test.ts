import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, request, type RequestOptions } from 'node:https';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { followTls, listen, readTls } from '#http/server.js';
import { createTemporaryFolder } from '../store/temporary-folder.js';
import { CERTIFICATES } from './certificates.js';
import { createSample } from './sample-app.js';

async function writeCertificateFiles(name: keyof typeof CERTIFICATES) {
  const folder = await createTemporaryFolder();
  const files = { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') };
  await write(files, name);
  return files;
}

async function write(files: { readonly cert: string; readonly key: string }, name: keyof typeof CERTIFICATES) {
  await writeFile(files.cert, CERTIFICATES[name].cert);
  await writeFile(files.key, CERTIFICATES[name].key);
}

async function serve(terms: Partial<Parameters<typeof listen>[0]>) {
  const { app } = createSample({ isSecure: true });
  const server = await listen({ app, host: '127.0.0.1', port: 0, ...terms });
  onTestFinished(() => server.close(0));
  return server;
}

/** Returns the response to a GET request, or the reason why the request failed. */
function ask(url: string, options: RequestOptions) {
  return new Promise<{ status: number; hsts: string | undefined } | { failure: string }>((resolve) => {
    const clientRequest = request(`${url}/live`, { agent: false, ...options }, (answer) => {
      answer.resume();
      resolve({ status: answer.statusCode!, hsts: answer.headers['strict-transport-security'] });
    });
    clientRequest.on('error', (failure: NodeJS.ErrnoException) =>
      resolve({ failure: failure.code ?? failure.message }),
    );
    clientRequest.end();
  });
}

/** Returns the name in the certificate of a server. */
async function readShownBy(url: string): Promise<string> {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return String(subject.CN);
}

test('a service with a certificate uses HTTPS, and requires it of browsers', async () => {
  const { url } = await serve({ tls: await writeCertificateFiles('first') });
  expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  expect(await ask(url, { ca: CERTIFICATES.first.cert })).toEqual({ status: 200, hsts: 'max-age=31536000' });
  expect(await ask(url, { ca: CERTIFICATES.second.cert })).toMatchObject({ failure: expect.any(String) });
  await expect(fetch(url.replace('https', 'http'))).rejects.toThrow();
});

test('if clients need certificates, only those of the authority are accepted', async () => {
  const folder = await createTemporaryFolder();
  const clientCa = join(folder, 'ca.crt');
  await writeFile(clientCa, CERTIFICATES.authority.cert);
  const { url } = await serve({ tls: { ...(await writeCertificateFiles('first')), clientCa } });
  const ca = CERTIFICATES.first.cert;
  expect(await ask(url, { ca, ...CERTIFICATES.client })).toMatchObject({ status: 200 });
  expect(await ask(url, { ca, ...CERTIFICATES.second })).toMatchObject({ failure: expect.any(String) });
  expect(await ask(url, { ca })).toMatchObject({ failure: expect.any(String) });
});

test('a renewed certificate is used for the next client; an invalid one changes nothing', async () => {
  const files = await writeCertificateFiles('first');
  const reloads: unknown[] = [];
  let server: Parameters<typeof followTls>[1] | undefined;
  const { createServer } = await import('node:https');
  const secureServer = createServer(await readTls(files), (_, answer) => answer.end());
  await new Promise<void>((resolve) => secureServer.listen(0, '127.0.0.1', resolve));
  server = secureServer;
  const end = followTls(files, server, { onReload: (failure) => reloads.push(failure), watchMs: 20 });
  onTestFinished(() => {
    end();
    secureServer.close();
  });
  const url = `https://127.0.0.1:${(secureServer.address() as { port: number }).port}`;
  expect(await readShownBy(url)).toBe('first');
  await write(files, 'second');
  await expect.poll(() => readShownBy(url)).toBe('second');
  const before = reloads.length;
  await writeFile(files.cert, CERTIFICATES.first.cert); // the key belongs to another certificate
  await expect.poll(() => reloads.slice(before).some((failure) => failure !== undefined)).toBe(true);
  expect(await readShownBy(url)).toBe('second');
});

test('connections of clients with a certificate of a removed authority are closed', async () => {
  const files = { ...(await writeCertificateFiles('first')), clientCa: join(await createTemporaryFolder(), 'ca.crt') };
  await writeFile(files.clientCa, CERTIFICATES.authority.cert);
  const secrets = await readTls(files);
  const secureServer = createServer(secrets, (_, answer) => {
    answer.write('begun'); // the response never ends, like an event stream
  });
  await new Promise<void>((resolve) => secureServer.listen(0, '127.0.0.1', resolve));
  let reloads = 0;
  const end = followTls(files, secureServer, { ca: secrets.ca, onReload: () => reloads++, watchMs: 20, leaveMs: 20 });
  onTestFinished(() => {
    end();
    secureServer.closeAllConnections();
    secureServer.close();
  });
  const { port } = secureServer.address() as { port: number };
  const stream = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...CERTIFICATES.client });
  stream.on('error', () => {});
  const closing = once(stream, 'close');
  stream.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(stream, 'data');
  await write(files, 'second'); // the service's own certificate does not identify clients
  await expect.poll(() => reloads).toBeGreaterThan(0);
  expect(stream.destroyed).toBe(false);
  await writeFile(files.clientCa, CERTIFICATES.second.cert);
  await closing;
});

test('a certificate and key that do not match are refused at the start', async () => {
  const files = await writeCertificateFiles('first');
  await writeFile(files.key, CERTIFICATES.second.key);
  await expect(readTls(files)).rejects.toThrow(/key values mismatch/);
  await expect(readTls({ ...files, cert: join(files.cert, 'none') })).rejects.toThrow(/ENO/);
});

test.each([
  ['is empty', ''],
  ['holds no certificate', 'no certificate'],
  ['ends within a certificate', CERTIFICATES.authority.cert.slice(0, 200)],
  ['ends within its second certificate', CERTIFICATES.authority.cert + CERTIFICATES.second.cert.slice(0, 200)],
  ['holds a key', CERTIFICATES.authority.key],
  ['has a changed certificate', CERTIFICATES.authority.cert.replace('MIIB', 'MIIA')],
])('a file of authorities that %s is refused: a server would accept no client', async (_, text) => {
  const files = { ...(await writeCertificateFiles('first')), clientCa: join(await createTemporaryFolder(), 'ca.crt') };
  await writeFile(files.clientCa, text);
  await expect(readTls(files)).rejects.toThrow();
  await writeFile(files.clientCa, CERTIFICATES.authority.cert + CERTIFICATES.second.cert);
  await expect(readTls(files)).resolves.toMatchObject({ rejectUnauthorized: true });
});
