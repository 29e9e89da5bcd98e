import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { CODINGS } from '#http/content-coding.js';
import type { ConsoleFile, ConsoleFiles } from '#http/routes/console.js';
import type { VerifyFiles } from '#http/routes/verify.js';
import { PACKAGE_ROOT } from './version.js';

const CONSOLE_FOLDER = new URL('dist/console/', PACKAGE_ROOT);

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
};

/**
 * Opens the console of this package. Each file is read at its first request and then cached.
 * @cost less than 5 MB once all files are read
 */
export function openConsoleFiles(): ConsoleFiles {
  const assets = new URL('assets/', CONSOLE_FOLDER);
  const names = new Set(existsSync(assets) ? readdirSync(assets).filter((name) => extname(name) in MEDIA_TYPES) : []);
  const filesByPath = new Map<string, ConsoleFile>();
  return {
    page: () => read(new URL('index.html', CONSOLE_FOLDER), filesByPath),
    asset: (name) => (names.has(name) ? read(new URL(name, assets), filesByPath) : undefined),
  };
}

/** Files of the page `/verify` by their names on that page. */
const VERIFY_FILES: Readonly<Record<string, string>> = {
  'index.html': 'data/verify/index.html',
  'page.js': 'data/verify/page.js',
  'page.css': 'data/verify/page.css',
  'worker.js': 'dist/engine/verify-worker.js',
};

/** Opens the page that verifies published indices. Each file is read at its first request and then cached. */
export function openVerifyFiles(): VerifyFiles {
  const filesByPath = new Map<string, ConsoleFile>();
  return (name) =>
    Object.hasOwn(VERIFY_FILES, name) ? read(new URL(VERIFY_FILES[name]!, PACKAGE_ROOT), filesByPath) : undefined;
}

function read(file: URL, filesByPath: Map<string, ConsoleFile>): ConsoleFile | undefined {
  const entry = filesByPath.get(file.href);
  if (entry !== undefined) return entry;
  if (!existsSync(file)) return undefined;
  const bytes = new Uint8Array(readFileSync(file));
  const encodings = CODINGS.flatMap((coding) => {
    const encodedFile = new URL(`${file.href}.${coding}`);
    return existsSync(encodedFile) ? [[coding, new Uint8Array(readFileSync(encodedFile))] as const] : [];
  });
  const consoleFile: ConsoleFile = {
    type: MEDIA_TYPES[extname(file.pathname)]!,
    etag: createHash('sha256').update(bytes).digest('hex'),
    bytes,
    coded: Object.fromEntries(encodings),
  };
  filesByPath.set(file.href, consoleFile);
  return consoleFile;
}
