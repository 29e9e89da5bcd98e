import type { Page } from 'playwright-core';

/** Attributes that describe an element's content and do not affect its colours. */
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

/** Properties of an inline style that only set a position or a size. */
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

/**
 * Script that collects the attributes that determine the colours of an element and of its content. These attributes
 * suffice, because no rule of the style sheets selects siblings.
 */
const STYLE_SCRIPT = `(one, around) => {
  const written = [...one.attributes].filter(({ name }) => !${JSON.stringify(CONTENT)}.includes(name));
  const own = [...one.style].filter((name) => !${JSON.stringify(PLACES)}.includes(name));
  const state = [one.checked, one.value === '', one.textContent.trim().length > 1];
  const words = [...written.map(({ name, value }) => name + '=' + value), ...own.map((name) => one.style.getPropertyValue(name))];
  return [around, one.tagName, ...state, ...words].join(' ');
}`;

/** Script that limits the contrast rule to unmarked elements. */
export const MARKS = `axe.configure({ rules: [{ id: 'color-contrast', selector: ':not([data-drawn])' }] })`;

/**
 * Marks elements whose colours an earlier page has already shown in this view.
 * @param view name of a theme and a width
 * @param unseen selectors of elements that are not checked
 */
export async function markDrawn(page: Page, view: string, unseen: readonly string[]): Promise<void> {
  await page.evaluate(`(() => {
    const drawn = ${STYLE_SCRIPT};
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
