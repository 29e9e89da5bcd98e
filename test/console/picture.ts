import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { Page } from 'playwright-core';

const FOLDER = 'data/guide/pictures';
/** File with the version of the console in each picture. */
export const TAKEN = `${FOLDER}/taken.json`;
/** JPEG quality in percent; a page takes about 40 KB. */
const QUALITY = 82;

/** Saves a picture of a page for the guide if `PICTURES=1` is set; otherwise does nothing. */
export async function picture(page: Page, name: string): Promise<void> {
  if (process.env['PICTURES'] === undefined) return;
  const formatToastScript = (display: string) => `document.querySelector('.toasts').style.display = '${display}'`;
  await page.evaluate(formatToastScript('none'));
  await page.mouse.move(0, 0);
  await page.evaluate('new Promise((resolve) => setTimeout(() => requestAnimationFrame(resolve), 600))');
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
  await session.detach();
  await page.evaluate(formatToastScript(''));
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(`${FOLDER}/${name}.webp`, Buffer.from(data, 'base64'));
  recordVersion(name);
}

function recordVersion(name: string): void {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
  const taken = existsSync(TAKEN) ? (JSON.parse(readFileSync(TAKEN, 'utf8')) as Record<string, string>) : {};
  const entries = Object.entries({ ...taken, [name]: version }).toSorted(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(TAKEN, `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`);
}
