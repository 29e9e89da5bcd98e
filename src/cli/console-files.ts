import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { CODINGS } from '#http/content-coding.js';
import type { ConsoleFile, ConsoleFiles } from '#http/routes/console.js';
import type { VerifyFiles } from '#http/routes/verify.js';
import { PACKAGE_ROOT } from './version.js';

const BUILT = new URL('dist/console/', PACKAGE_ROOT);

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
};

/**
 * Serves the console of this package; each file is read at its first request and cached.
 * @cost less than 2 MB once all files are read
 */
export function openConsoleFiles(): ConsoleFiles {
  const assets = new URL('assets/', BUILT);
  const names = new Set(existsSync(assets) ? readdirSync(assets).filter((name) => extname(name) in TYPES) : []);
  const filesByPath = new Map<string, ConsoleFile>();
  return {
    page: () => read(new URL('index.html', BUILT), filesByPath),
    asset: (name) => (names.has(name) ? read(new URL(name, assets), filesByPath) : undefined),
  };
}

/** Files of the page `/verify` by their names on that page. */
const VERIFY: Readonly<Record<string, string>> = {
  'index.html': 'data/verify/index.html',
  'page.js': 'data/verify/page.js',
  'page.css': 'data/verify/page.css',
  'worker.js': 'dist/engine/verify-worker.js',
};

/** Serves the page that verifies published indices; each file is read at its first request and cached. */
export function openVerifyFiles(): VerifyFiles {
  const filesByPath = new Map<string, ConsoleFile>();
  return (name) => (Object.hasOwn(VERIFY, name) ? read(new URL(VERIFY[name]!, PACKAGE_ROOT), filesByPath) : undefined);
}

function read(file: URL, filesByPath: Map<string, ConsoleFile>): ConsoleFile | undefined {
  const entry = filesByPath.get(file.href);
  if (entry !== undefined) return entry;
  if (!existsSync(file)) return undefined;
  const bytes = new Uint8Array(readFileSync(file));
  const coded = CODINGS.flatMap((coding) => {
    const stored = new URL(`${file.href}.${coding}`);
    return existsSync(stored) ? [[coding, new Uint8Array(readFileSync(stored))] as const] : [];
  });
  const consoleFile: ConsoleFile = {
    type: TYPES[extname(file.pathname)]!,
    etag: createHash('sha256').update(bytes).digest('hex'),
    bytes,
    coded: Object.fromEntries(coded),
  };
  filesByPath.set(file.href, consoleFile);
  return consoleFile;
}
