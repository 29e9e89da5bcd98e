import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/**
 * Moment at which a connection breaks: before the server has received the data of the client, or before the client has
 * received the response.
 */
export type Cut = 'before' | 'after';

/** A proxy that breaks connections to a server at chosen messages. */
export interface CuttingProxy {
  /** URL of the server through the proxy. */
  readonly url: string;
  /** Closes the connection at the next message that contains this text. */
  cutNext(text: string, cut: Cut): void;
  /** Closes all connections once the server has sent this number of further bytes. */
  cutAfter(bytes: number): void;
  /** Number of messages or bytes at which connections have been closed. */
  readonly cutCount: number;
  readonly sentBytes: number;
  close(): Promise<void>;
}

/** @param url URL of a server that listens on a loopback port */
export async function openCuttingProxy(url: string): Promise<CuttingProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let plan: { readonly text: string; readonly cut: Cut } | undefined;
  let cutCount = 0;
  let sentBytes = 0;
  let bytesMax = Infinity;

  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    let isDeaf = false;
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', end).on('close', end).setNoDelay(true);
    }
    client.on('data', (bytes) => {
      if (plan !== undefined && bytes.includes(plan.text)) {
        const { cut } = plan;
        plan = undefined;
        cutCount++;
        if (cut === 'before') return end();
        isDeaf = true;
      }
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      sentBytes += bytes.length;
      if (sentBytes >= bytesMax) {
        client.write(bytes.subarray(0, bytes.length - (sentBytes - bytesMax)));
        bytesMax = Infinity;
        cutCount++;
        for (const socket of sockets) socket.destroy();
        return;
      }
      if (!isDeaf) client.write(bytes);
      else if (bytes.at(-6) === 0x5a) end(); // ReadyForQuery: the statement has ended
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = new URL(url);
  address.port = String((server.address() as AddressInfo).port);

  return {
    url: address.href,
    cutNext: (text, cut) => void (plan = { text, cut }),
    cutAfter: (bytes) => void (bytesMax = sentBytes + bytes),
    get sentBytes() {
      return sentBytes;
    },
    get cutCount() {
      return cutCount;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
