import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A proxy that can stop forwarding for a while. Neither side is notified, as in a network outage. */
export interface StallingProxy {
  /** URL of the server through the proxy. */
  readonly url: string;
  stall(): void;
  /** Forwards the data in transit and resumes forwarding. */
  pass(): void;
  /** Forwards new connections to another loopback server. Connections that are open are closed. */
  turnTo(url: string): void;
  close(): Promise<void>;
}

/** @param url URL of a server that listens on a loopback port */
export async function openStallingProxy(url: string): Promise<StallingProxy> {
  let target = new URL(url);
  const sockets = new Set<Socket>();
  let isStalled = false;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', end).on('close', () => {
        sockets.delete(socket);
        end();
      });
      socket.setNoDelay(true).on('data', (bytes) => void other.write(bytes));
      if (isStalled) socket.pause();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = new URL(url);
  address.port = String((server.address() as AddressInfo).port);
  return {
    url: address.href,
    stall() {
      isStalled = true;
      for (const socket of sockets) socket.pause();
    },
    pass() {
      isStalled = false;
      for (const socket of sockets) socket.resume();
    },
    turnTo(other) {
      target = new URL(other);
      for (const socket of sockets) socket.destroy();
    },
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
