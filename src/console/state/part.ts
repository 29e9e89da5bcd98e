import { getParameter } from './location.js';

/** Returns the name of a chart, table or group of figures on its page: its label without dates. */
export const getPartName = (label: string): string => label.replaceAll(/\d{4}-\d{2}-\d{2}/g, '…');

/** Returns the only part of the page that the address asks for; null for the whole page. */
export const findOnlyPart = (): string | null => getParameter('part');

/** Returns the names of the charts, tables and groups of figures on the page, in order. */
export const listPartsOnPage = (): readonly string[] => {
  const parts = [...document.querySelectorAll<HTMLElement>('main [data-part]')];
  // The selector requires this attribute.
  return [...new Set(parts.filter((part) => part.checkVisibility()).map((part) => part.dataset['part']!))];
};

/**
 * Hides everything on the page except one part. This includes content that is added later.
 * @returns a function that shows everything again
 */
export function showOnly(part: string): () => void {
  const root = document.documentElement;
  root.classList.add('is-part');
  const mark = () => {
    for (const markedElement of document.querySelectorAll('[data-way]')) markedElement.removeAttribute('data-way');
    const element = [...document.querySelectorAll<HTMLElement>('main [data-part]')].find(
      (one) => one.dataset['part'] === part,
    );
    if (element === undefined) return;
    element.dataset['way'] = 'end';
    for (let way = element.parentElement; way !== null && way.id !== 'main'; way = way.parentElement)
      way.dataset['way'] = 'through';
  };
  mark();
  const observer = new MutationObserver(mark);
  observer.observe(document.body, { childList: true, subtree: true });
  return () => {
    observer.disconnect();
    root.classList.remove('is-part');
  };
}
