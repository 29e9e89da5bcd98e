import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/** A received span and the process that sent it. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly status: { readonly code?: number; readonly message?: string };
  readonly pid: number;
  readonly service: string;
}

export interface Collector {
  readonly url: string;
  readonly spans: ReceivedSpan[];
  readonly requests: { readonly path: string; readonly headers: Readonly<Record<string, unknown>> }[];
  close(): Promise<void>;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}
const readValues = (attributes: readonly Attribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, String(Object.values(value)[0])]));

/** Opens a minimal collector of OTLP over HTTP with JSON. */
export async function openCollector(status = 200): Promise<Collector> {
  const spans: ReceivedSpan[] = [];
  const requests: Collector['requests'] = [];
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      requests.push({ path: incoming.url ?? '', headers: incoming.headers });
      const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
        resourceSpans: readonly {
          resource: { attributes: readonly Attribute[] };
          scopeSpans: readonly { spans: readonly (ReceivedSpan & { attributes: readonly Attribute[] })[] }[];
        }[];
      };
      for (const { resource, scopeSpans } of resourceSpans) {
        const resourceValues = readValues(resource.attributes);
        for (const { spans: received } of scopeSpans)
          for (const span of received)
            spans.push({
              ...span,
              attributes: readValues(span.attributes),
              pid: Number(resourceValues['process.pid']),
              service: resourceValues['service.name']!,
            });
      }
      outgoing.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    requests,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
