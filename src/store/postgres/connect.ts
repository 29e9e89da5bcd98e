import pg from 'pg';
import { EXIT_CONFIGURATION, EXIT_TEMPORARY, StartRefusal } from '../start-refusal.js';
import { clientOptions, stateOf } from './database.js';

/**
 * Opens a connection.
 * @throws StartRefusal 78 when the server or its certificate refuses what was given, which no time heals; 75 when it
 *   cannot be reached
 */
export async function connect(url: string, options: pg.ClientConfig = {}): Promise<pg.Client> {
  const client = new pg.Client({ ...clientOptions(url), ...options });
  client.on('error', () => {}); // Told by the query under way, or by the next.
  try {
    await client.connect();
    return client;
  } catch (cause) {
    await client.end().catch(() => {}); // It never was connected.
    throw refusalOf(cause, client);
  }
}

/** Authorisation, a database that is absent, and a right that is missing. */
const REFUSED_STATE = /^(28|3D000|42501)/;
const REFUSED_CERTIFICATE = /CERT|UNABLE_TO_|ERR_TLS|ERR_SSL|EPROTO/;
/** What the driver says by itself: of a password that lacks, and of a server without TLS. */
const REFUSED_MESSAGE = /^SASL:|does not support SSL/;

function refusalOf(cause: unknown, { host, port }: pg.Client): StartRefusal {
  const { code, message } = cause as NodeJS.ErrnoException;
  const state = stateOf(cause);
  const place = host.startsWith('/') ? host : `${host}:${port}`;
  if (state === undefined && REFUSED_CERTIFICATE.test(code ?? ''))
    return new StartRefusal(
      EXIT_CONFIGURATION,
      `The certificate of the database at ${place} is refused: ${message} (${code}).`,
      { cause },
    );
  const isRefused = state === undefined ? REFUSED_MESSAGE.test(message) : REFUSED_STATE.test(state);
  if (isRefused)
    return new StartRefusal(EXIT_CONFIGURATION, `The database at ${place} refuses the connection: ${message}.`, {
      cause,
    });
  // A server does not repeat passwords; of a failure of the network the code says it all.
  const why = state === undefined ? (code ?? message) : message;
  return new StartRefusal(
    EXIT_TEMPORARY,
    `The database at ${place} (--database, DATABASE_URL) cannot be reached: ${why}.`,
    { cause },
  );
}
