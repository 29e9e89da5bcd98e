import { destination, pino, type DestinationStream, type Logger } from 'pino';
import { withoutUrlPasswords } from '#base/text/url-passwords.js';
import type { Settings } from './settings.js';

/** Lines are written together, as a write of its own takes a fifth of a short answer: so many characters, or after so long. */
const TOGETHER_CHARACTERS = 32_768;
const TOGETHER_MS = 20;

/**
 * The log: JSON lines on standard error, so that standard output carries only what a supervisor waits for.
 * Keys and passwords are taken out wherever a log line could hold them. What is not written yet is written at the exit.
 */
export function createLog(level: Settings['logLevel'], file: number | string = 2): Logger {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: timestamps(),
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRETS, censor: '[redacted]' },
      serializers: { err: serialiseError },
      hooks: { streamWrite: withoutPasswords },
    },
    linesTogether(file),
  );
}

/** Gathers lines as one text: the stream of pino counts the bytes of all that it holds at each line. */
function linesTogether(file: number | string): DestinationStream & { flushSync(): void } {
  const stream = destination({ dest: file, sync: false });
  let text = '';
  let isEnded = false; // As pino ends its stream when nothing is left to run.
  stream.once('close', () => (isEnded = true));
  const hand = (): void => {
    if (text !== '' && !isEnded) stream.write(text);
    text = '';
  };
  const handSoon = onceWithin(TOGETHER_MS, hand);
  const flushSync = (): void => {
    hand();
    if (!isEnded) stream.flushSync();
  };
  beforeTheEnd(flushSync);
  return {
    write(line) {
      text += line;
      if (text.length < TOGETHER_CHARACTERS) handSoon();
      else hand();
    },
    flushSync,
  };
}

const unended: (() => void)[] = [];

/** Has logs of this process written while their streams are there. */
function beforeTheEnd(flush: () => void): void {
  const flushAll = (): void => unended.forEach((each) => each());
  if (unended.push(flush) === 1) process.on('beforeExit', flushAll).on('exit', flushAll);
}

/** Does work that is asked for again and again once in a while; an exit does not wait for it. */
function onceWithin(ms: number, work: () => void): () => void {
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

/** A key of the service anywhere. */
const KEY = /dvs_([A-Za-z0-9]{12})_[A-Za-z0-9_-]{43}/g;

export function withoutPasswords(line: string): string {
  const withoutUrls = line.includes('://') ? withoutUrlPasswords(line, '[redacted]') : line;
  return withoutUrls.includes('dvs_') ? withoutUrls.replaceAll(KEY, 'dvs_$1_[redacted]') : withoutUrls;
}

/** The member of a line that says when it was written; lines of one millisecond share it. */
function timestamps(): () => string {
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
