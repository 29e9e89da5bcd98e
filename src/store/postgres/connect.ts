import pg from 'pg';
import { EXIT_CONFIGURATION, EXIT_TEMPORARY, StartRefusal } from '../start-refusal.js';
import { isUnavailable, Refusal } from '#domain/refusals/refusal.js';
import { createClientOptions, createRefusal as createStatementRefusal, findState } from './database.js';

/**
 * Opens a connection.
 * @throws StartRefusal 78 if the server rejects the credentials or its certificate is rejected, so that retries are
 * useless; 75 if it is unavailable
 */
export async function connect(url: string, options: pg.ClientConfig = {}): Promise<pg.Client> {
  const client = new pg.Client({ ...createClientOptions(url), ...options });
  client.on('error', () => {}); // the pending or the next query reports the error
  try {
    await client.connect();
    return client;
  } catch (cause) {
    await client.end().catch(() => {}); // the client was never connected
    throw createRefusal(cause, client);
  }
}

/**
 * Runs statements of a connection outside the pool. A connection that ends or does not answer is a temporary fault, as
 * it is for statements of the pool.
 * @throws StartRefusal 75, and whatever `work` throws for another reason
 */
export async function runOnClient<T>({ host, port }: pg.Client, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const isOther = thrown instanceof StartRefusal || thrown instanceof Refusal || isDefect(thrown);
    const refusal = isOther ? thrown : createStatementRefusal(thrown);
    if (!isUnavailable(refusal)) throw thrown;
    const { message } = thrown as Error;
    const sentence = `The database at ${formatAddress(host, port)} (--database, DATABASE_URL) stopped answering: ${message.replace(/\.$/, '')}.`;
    throw new StartRefusal(EXIT_TEMPORARY, sentence, { cause: thrown });
  }
}

/** Returns true for an error of the program. The driver and the network report plain errors. */
const isDefect = (thrown: unknown): boolean =>
  thrown instanceof TypeError || thrown instanceof RangeError || thrown instanceof ReferenceError;

const formatAddress = (host: string, port: number): string => (host.startsWith('/') ? host : `${host}:${port}`);

/** SQLSTATEs of failed authorisation, of a missing database, and of a missing right. */
const REFUSED_STATE = /^(28|3D000|42501)/;
const REFUSED_CERTIFICATE = /CERT|UNABLE_TO_|ERR_TLS|ERR_SSL|EPROTO/;
/** Error messages of the driver for a missing password and for a server without TLS. */
const REFUSED_MESSAGE = /^SASL:|does not support SSL/;

function createRefusal(cause: unknown, { host, port }: pg.Client): StartRefusal {
  const { code, message } = cause as NodeJS.ErrnoException;
  const state = findState(cause);
  const address = formatAddress(host, port);
  if (state === undefined && REFUSED_CERTIFICATE.test(code ?? ''))
    return new StartRefusal(
      EXIT_CONFIGURATION,
      `The certificate of the database at ${address} is refused: ${message} (${code}).`,
      { cause },
    );
  const isRefused = state === undefined ? REFUSED_MESSAGE.test(message) : REFUSED_STATE.test(state);
  if (isRefused)
    return new StartRefusal(EXIT_CONFIGURATION, `The database at ${address} refuses the connection: ${message}.`, {
      cause,
    });
  // The message of a server contains no password. For a network failure, the code is sufficient.
  const explanation = state === undefined ? (code ?? message) : message;
  return new StartRefusal(
    EXIT_TEMPORARY,
    `The database at ${address} (--database, DATABASE_URL) cannot be reached: ${explanation}.`,
    { cause },
  );
}
