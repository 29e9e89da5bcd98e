import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Browser } from 'playwright-core';

/** Chromium without network, sandbox, or anything that differs from machine to machine. */
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Pages of one service share what is compiled.
  '--renderer-process-limit=1',
  '--font-render-hinting=none',
];

/** Browsers of distributions, for machines that the one of the package does not run on. */
const INSTALLED = ['chromium', 'chromium-browser', 'google-chrome'].map((name) => `/usr/bin/${name}`);

/** Where the browser of the package is unpacked to, once for all runs of this version. */
const UNPACKED = 'node_modules/.cache/chromium-147.0.0';

/**
 * A browser: that of CHROME_PATH, else that of the package, the same everywhere, else one that is installed.
 * @throws Error where none can start
 */
export async function openBrowser(): Promise<Browser> {
  const given = process.env['CHROME_PATH'];
  if (given !== undefined) return launch(given);
  try {
    return await launch(await unpacked());
  } catch (failure) {
    const installed = INSTALLED.find((path) => existsSync(path));
    if (installed === undefined) throw failure;
    return launch(installed);
  }
}

/** Memory that processes share, in which a browser has room. Without it every tile and answer is a file on the disk. */
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

/** Unpacked next to its final path and renamed as a whole, so that no run finds half a browser. @cost 2 s, once */
async function unpacked(): Promise<string> {
  const path = join(UNPACKED, 'chromium');
  if (existsSync(path)) return path;
  mkdirSync('node_modules/.cache', { recursive: true });
  const folder = mkdtempSync('node_modules/.cache/unpacking-');
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = folder; // The package unpacks into the folder for temporary files and nowhere else.
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

/** A browser, or why none can start here. With REQUIRE_BROWSER that is a failure and no reason to skip. */
export async function tryBrowser(): Promise<{ readonly browser: Browser } | { readonly why: string }> {
  try {
    return { browser: await openBrowser() };
  } catch (failure) {
    if (process.env['REQUIRE_BROWSER'] !== undefined) throw failure;
    return { why: String(failure).split('\n')[0]! };
  }
}
