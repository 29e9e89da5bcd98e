import type { Page } from 'playwright-core';

/**
 * Returns a script that marks the elements that tab navigation must reach: every visible control, and the selected
 * radio button of each group.
 */
const formatMarkScript = (part: string) => `(() => {
  const acts = 'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea, summary, iframe, .code-editor, [tabindex="0"]';
  const isSeen = (one) => one.checkVisibility({ visibilityProperty: true }) && (one.type !== 'radio' || one.checked) && (one.tabIndex >= 0 || one.shadowRoot !== null);
  const all = [...document.querySelector('${part}').querySelectorAll(acts)].filter(isSeen);
  return all.map((one, k) => (one.dataset.stop = k)).length;
})()`;

/** Script that records which elements receive the focus, and whether each shows a focus ring. */
const FOCUS_SCRIPT = `(() => {
  document.getElementById('main').focus({ preventScroll: true });
  const came = (globalThis.came = []);
  const note = ({ target: one }) => {
    const style = getComputedStyle(one.type === 'radio' ? one.nextElementSibling : one);
    came.push({ stop: one.dataset.stop ?? '', ring: style.outlineStyle !== 'none' || one.tagName === 'IFRAME', what: one.outerHTML.slice(0, 90) });
  };
  // A page only notices the loss of the focus to a document inside it.
  const leave = () => document.activeElement?.tagName === 'IFRAME' && note({ target: document.activeElement });
  addEventListener('focusin', note);
  addEventListener('blur', leave);
  globalThis.followed = () => {
    removeEventListener('focusin', note);
    removeEventListener('blur', leave);
    return came;
  };
})()`;

/** Presses the Tab key several times without waiting for the page in between. */
async function pressTab(page: Page, times: number): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const tab = { key: 'Tab', code: 'Tab', windowsVirtualKeyCode: 9 };
  await Promise.all(
    Array.from({ length: 2 * times }, (_, k) =>
      session.send('Input.dispatchKeyEvent', { type: k % 2 === 0 ? 'rawKeyDown' : 'keyUp', ...tab }),
    ),
  );
  await session.detach();
}

/**
 * Presses the Tab key through the whole page, and once through the frame around the pages.
 * @returns elements that were not reached, and elements that were reached but showed no focus ring
 */
export async function followTabs(page: Page, isFirst: boolean): Promise<readonly string[]> {
  const stops = await page.evaluate<number>(formatMarkScript(isFirst ? 'body' : '#main'));
  await page.evaluate(FOCUS_SCRIPT);
  // The frame around the page counts as well. The focus leaves the document once and returns.
  await pressTab(page, stops + 1);
  const came = await page.evaluate<readonly { stop: string; ring: boolean; what: string }[]>('followed()');
  const seenStops = new Set(came.map(({ stop }) => stop));
  return [
    ...came.filter(({ ring }) => !ring).map(({ what }) => `no ring around ${what}`),
    ...Array.from({ length: stops }, (_, k) => String(k))
      .filter((stop) => !seenStops.has(stop))
      .map((stop) => `stop ${stop} is not reached`),
  ];
}
