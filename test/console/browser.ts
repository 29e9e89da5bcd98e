import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Browser } from 'playwright-core';

/** Chromium flags: no network, no sandbox, and no differences between machines. */
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // pages of one service share compiled code
  '--renderer-process-limit=1',
  '--font-render-hinting=none',
  // Each script runs only a few times. Optimising compilation and parallel garbage collection would take a fifth of the
  // processor time.
  '--js-flags=--no-opt --no-maglev --single-threaded-gc',
];

/** Paths of browsers from distributions, for machines on which the packaged browser does not run. */
const INSTALLED = ['chromium', 'chromium-browser', 'google-chrome'].map((name) => `/usr/bin/${name}`);

/** Folder of the unpacked browser package, shared by all test runs of this version. */
const UNPACKED = 'node_modules/.cache/chromium-147.0.0';

/**
 * Starts the browser named by CHROME_PATH, otherwise the packaged browser, otherwise an installed one.
 * @throws Error if none can start
 */
export async function openBrowser(): Promise<Browser> {
  const chromePath = process.env['CHROME_PATH'];
  if (chromePath !== undefined) return launch(chromePath);
  try {
    return await launch(await unpackChromium());
  } catch (failure) {
    const installedPath = INSTALLED.find((path) => existsSync(path));
    if (installedPath === undefined) throw failure;
    return launch(installedPath);
  }
}

/**
 * Bytes of shared memory that a browser needs. With less, it writes every tile and every response to a file on disk.
 */
const SHARED_BYTES = 2 ** 30;

function launch(executablePath: string): Promise<Browser> {
  const isRoomy = existsSync('/dev/shm') && freeBytes('/dev/shm') >= SHARED_BYTES;
  const ignoreDefaultArgs = isRoomy ? ['--disable-dev-shm-usage'] : [];
  return chromium.launch({ executablePath, headless: true, args: FLAGS, ignoreDefaultArgs });
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/**
 * Unpacks the browser next to its final path, then renames the folder. So no process finds an incomplete browser.
 * @cost 2 s, once
 */
async function unpackChromium(): Promise<string> {
  const path = join(UNPACKED, 'chromium');
  if (existsSync(path)) return path;
  mkdirSync('node_modules/.cache', { recursive: true });
  const folder = mkdtempSync('node_modules/.cache/unpacking-');
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = folder; // the package unpacks only into the folder for temporary files
  try {
    const { default: chromium } = await import('@sparticuz/chromium');
    await chromium.executablePath();
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
  if (existsSync(path)) rmSync(folder, { recursive: true });
  else renameSync(folder, UNPACKED);
  return path;
}

/** Returns a browser, or the reason why none can start. @throws Error with this reason if REQUIRE_BROWSER is set */
export async function tryBrowser(): Promise<{ readonly browser: Browser } | { readonly why: string }> {
  try {
    return { browser: await openBrowser() };
  } catch (failure) {
    if (process.env['REQUIRE_BROWSER'] !== undefined) throw failure;
    return { why: String(failure).split('\n')[0]! };
  }
}
