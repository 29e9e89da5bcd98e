import type { Page } from 'playwright-core';

/** Attributes that say what an element is about, and nothing of its colours. */
const CONTENT = [
  'id',
  'for',
  'href',
  'name',
  'title',
  'value',
  'style',
  'aria-label',
  'aria-labelledby',
  'aria-describedby',
  'aria-controls',
  'aria-rowindex',
  'aria-rowcount',
  'aria-colindex',
  'data-stop',
  'data-drawn',
];

/** Of a style of its own what is only a place or a size. */
const PLACES = [
  'left',
  'width',
  'height',
  'min-width',
  'min-height',
  'max-height',
  'transform',
  'grid-template-columns',
];

/** What tells the colours of an element below what surrounds it: no rule of the style sheets asks for its neighbours. */
const DRAWN = `(one, around) => {
  const written = [...one.attributes].filter(({ name }) => !${JSON.stringify(CONTENT)}.includes(name));
  const own = [...one.style].filter((name) => !${JSON.stringify(PLACES)}.includes(name));
  const state = [one.checked, one.value === '', one.textContent.trim().length > 1];
  const words = [...written.map(({ name, value }) => name + '=' + value), ...own.map((name) => one.style.getPropertyValue(name))];
  return [around, one.tagName, ...state, ...words].join(' ');
}`;

/** Has the rule of contrast look at what is not marked alone. */
export const MARKS = `axe.configure({ rules: [{ id: 'color-contrast', selector: ':not([data-drawn])' }] })`;

/**
 * Marks what is drawn as something was before in this view, on this page or another: it has the same colours.
 * @param view of a theme and a width
 * @param unseen selectors of what is not looked at
 */
export async function markDrawn(page: Page, view: string, unseen: readonly string[]): Promise<void> {
  await page.evaluate(`(() => {
    const drawn = ${DRAWN};
    const views = (globalThis.drawnBefore ??= {});
    const known = (views['${view}'] ??= { numbers: new Map(), seen: new Set() });
    const numbers = new Map();
    for (const one of document.body.querySelectorAll('*')) {
      const text = drawn(one, numbers.get(one.parentElement) ?? 0);
      if (!known.numbers.has(text)) known.numbers.set(text, known.numbers.size + 1);
      const number = known.numbers.get(text);
      numbers.set(one, number);
      one.toggleAttribute('data-drawn', known.seen.has(number));
      const isSeen = one.checkVisibility({ visibilityProperty: true }) && !one.closest(${JSON.stringify(unseen.join(', '))});
      if (isSeen) known.seen.add(number);
    }
  })()`);
}
