import { destination, pino, type DestinationStream, type Logger } from 'pino';
import { maskUrlPasswords } from '#base/text/url-passwords.js';
import type { Settings } from './settings.js';

/**
 * Maximum number of characters and maximum time in ms before lines are written. To write each line separately would
 * take a fifth of the time of a short response.
 */
const BUFFER_CHARACTERS_MAX = 32_768;
const BUFFER_MS_MAX = 20;

/**
 * Creates the log. It writes JSON lines to standard error, because standard output contains only the text for which a
 * supervisor waits. Keys and passwords are removed wherever a line may contain them. Lines that are still in the buffer
 * are written at the exit.
 */
export function createLog(level: Settings['logLevel'], file: number | string = 2): Logger {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: createTimestampFormatter(),
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRETS, censor: '[redacted]' },
      serializers: { err: serialiseError },
      hooks: { streamWrite: removePasswords },
    },
    createLineBuffer(file),
  );
}

/** Buffers lines as one text. The stream of pino would count the bytes of its whole buffer at each line. */
function createLineBuffer(file: number | string): DestinationStream & { flushSync(): void } {
  const stream = destination({ dest: file, sync: false });
  let text = '';
  let isEnded = false; // pino ends its stream once the event loop is empty
  stream.once('close', () => (isEnded = true));
  const writeBuffer = (): void => {
    if (text !== '' && !isEnded) stream.write(text);
    text = '';
  };
  const scheduleWrite = throttle(BUFFER_MS_MAX, writeBuffer);
  const flushSync = (): void => {
    writeBuffer();
    if (!isEnded) stream.flushSync();
  };
  flushAtExit(flushSync);
  return {
    write(line) {
      text += line;
      if (text.length < BUFFER_CHARACTERS_MAX) scheduleWrite();
      else writeBuffer();
    },
    flushSync,
  };
}

const openLogs: (() => void)[] = [];

/** Writes the remaining lines at the exit of this process, while their streams are still open. */
function flushAtExit(flush: () => void): void {
  const flushAll = (): void => openLogs.forEach((flushLog) => flushLog());
  if (openLogs.push(flush) === 1) process.on('beforeExit', flushAll).on('exit', flushAll);
}

/** Limits work to one call per interval. A call that is still pending does not delay the exit. */
function throttle(ms: number, work: () => void): () => void {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      work();
    }, ms).unref();
  };
}

const SECRET_NAMES = ['authorization', '["x-api-key"]', 'password', 'secret', 'api_key', 'key_text'];
const SECRETS = SECRET_NAMES.flatMap((name) =>
  name.startsWith('[') ? [name.slice(0), `*${name}`, `*.*${name}`] : [name, `*.${name}`, `*.*.${name}`],
);

/** Pattern of a key of this service. */
const KEY_PATTERN = /dvs_([A-Za-z0-9]{12})_[A-Za-z0-9_-]{43}/g;

export function removePasswords(line: string): string {
  const withoutUrls = line.includes('://') ? maskUrlPasswords(line, '[redacted]') : line;
  return withoutUrls.includes('dvs_') ? withoutUrls.replaceAll(KEY_PATTERN, 'dvs_$1_[redacted]') : withoutUrls;
}

/** Returns a function that formats the timestamp of a line. Lines of the same millisecond share the text. */
function createTimestampFormatter(): () => string {
  let last = NaN;
  let text = '';
  return () => {
    const now = Date.now();
    if (now === last) return text;
    last = now;
    text = `,"time":"${new Date(now).toISOString()}"`;
    return text;
  };
}

function serialiseError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const cause = error.cause === undefined ? {} : { cause: serialiseError(error.cause) };
  return { type: error.name, message: error.message, stack: error.stack, ...cause };
}
