import { destination, pino, type DestinationStream, type Logger } from 'pino';
import { maskUrlPasswords } from '#base/text/url-passwords.js';
import type { Settings } from './settings.js';

/**
 * Maximum number of buffered characters, and maximum time in ms, before lines are written: a separate write takes a
 * fifth of the time of a short response.
 */
const BUFFER_CHARACTERS_MAX = 32_768;
const BUFFER_MS_MAX = 20;

/**
 * Creates the log: JSON lines on standard error, so that standard output carries only the text that a supervisor
 * waits for. Keys and passwords are redacted wherever a log line may contain them. Buffered lines are written at
 * the exit.
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

/** Buffers lines as one text, because pino's stream counts the bytes of its whole buffer at each line. */
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

/** Flushes the logs of this process at its exit, while their streams are open. */
function flushAtExit(flush: () => void): void {
  const flushAll = (): void => openLogs.forEach((flushLog) => flushLog());
  if (openLogs.push(flush) === 1) process.on('beforeExit', flushAll).on('exit', flushAll);
}

/** Limits work to one call per interval; the pending call does not delay an exit. */
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

/** Returns a function that formats the timestamp member of a line; lines of one millisecond share its text. */
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
