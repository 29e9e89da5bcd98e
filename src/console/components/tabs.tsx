import { useEffect, useRef } from 'preact/hooks';
import { parameter, withQuery } from '../state/place.js';
import './tabs.css';

export interface Tab {
  readonly id: string;
  readonly text: string;
}

interface TabsProps {
  readonly label: string;
  readonly tabs: readonly Tab[];
  /** Parameter of the address that holds the tab; the first is meant without it. */
  readonly name?: string;
}

/** Parts of a page, each with its own address. */
export function Tabs({ label, tabs, name = 'tab' }: TabsProps) {
  const open = openTab(tabs, name);
  const list = useRef<HTMLElement>(null);
  // Where the tabs are wider than the page, the open one is in sight.
  useEffect(() => {
    const { current } = list;
    const tab = current?.querySelector<HTMLElement>('[aria-current]');
    if (current && tab) current.scrollLeft = tab.offsetLeft - (current.clientWidth - tab.offsetWidth) / 2;
  }, [open]);
  return (
    <nav ref={list} class="tabs" aria-label={label}>
      {tabs.map(({ id, text }, i) => (
        <a key={id} href={withQuery({ [name]: i === 0 ? null : id })} aria-current={id === open ? 'page' : undefined}>
          {text}
        </a>
      ))}
    </nav>
  );
}

/** The tab that the address names. */
export function openTab(tabs: readonly Tab[], name = 'tab'): string {
  const asked = parameter(name);
  return (tabs.find(({ id }) => id === asked) ?? tabs[0]!).id; // A page has at least one.
}
