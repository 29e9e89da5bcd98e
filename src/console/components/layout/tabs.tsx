import '../tabs.css';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { isPrinting } from '../../state/appearance.js';
import { addQuery, getParameter } from '../../state/location.js';
import { Menu } from '../controls/menu.js';
import { useWidth } from './page.js';

export interface Tab {
  readonly id: string;
  readonly text: string;
}

interface TabsProps {
  readonly label: string;
  readonly tabs: readonly Tab[];
  /** Name of the address parameter that contains the open tab. Default: `tab`. */
  readonly name?: string;
}

/** Width of the menu of hidden tabs, in pixels. */
const MENU_WIDTH = 84;

/**
 * Renders the tabs of a page. Each tab has an address. Tabs that do not fit are in a menu; the open tab is always
 * visible.
 */
export function Tabs({ label, tabs, name = 'tab' }: TabsProps) {
  const openTab = findOpenTab(tabs, name);
  const list = useRef<HTMLElement>(null);
  const width = useWidth(list);
  const widths = useTabWidths(list, tabs);
  const shownTabs =
    widths === null || isPrinting.value ? tabs : selectFittingTabs(tabs, { widths, width, open: openTab });
  const hiddenTabs = tabs.filter((tab) => !shownTabs.includes(tab));
  const link = ({ id, text }: Tab) => (
    <a
      key={id}
      href={addQuery({ [name]: id === tabs[0]?.id ? null : id })}
      aria-current={id === openTab ? 'page' : undefined}
    >
      {text}
    </a>
  );
  return (
    <nav ref={list} class="one-line tabs" aria-label={label}>
      {shownTabs.map(link)}
      {hiddenTabs.length > 0 && (
        <Menu
          label={`More parts: ${hiddenTabs.map(({ text }) => text).join(', ')}`}
          title={
            <>
              More <span aria-hidden="true">▾</span>
            </>
          }
          kind="bare"
        >
          {hiddenTabs.map((tab) => (
            <li key={tab.id}>{link(tab)}</li>
          ))}
        </Menu>
      )}
    </nav>
  );
}

/** Measures the width of each tab while all tabs are rendered. Returns null before that. */
function useTabWidths(list: { readonly current: HTMLElement | null }, tabs: readonly Tab[]): readonly number[] | null {
  const [widths, setWidths] = useState<readonly number[] | null>(null);
  useLayoutEffect(() => {
    const links = [...(list.current?.querySelectorAll<HTMLElement>(':scope > a') ?? [])];
    if (widths === null && links.length === tabs.length) setWidths(links.map(({ offsetWidth }) => offsetWidth));
  });
  // Tab widths change when the web font has loaded.
  useLayoutEffect(() => {
    let isThere = true;
    if (document.fonts.status !== 'loaded') void document.fonts.ready.then(() => isThere && setWidths(null));
    return () => {
      isThere = false;
    };
  }, []);
  return widths;
}

interface TabFit {
  readonly widths: readonly number[];
  readonly width: number;
  readonly open: string;
}

/** Returns the tabs that fit. The open tab is always among them. */
function selectFittingTabs(tabs: readonly Tab[], { widths, width, open }: TabFit): readonly Tab[] {
  const total = widths.reduce((sum, own) => sum + own, 0);
  if (total <= width) return tabs;
  const computeWidth = (tab: Tab) => widths[tabs.indexOf(tab)] ?? 0;
  const current = tabs.find(({ id }) => id === open);
  let remainingWidth = width - MENU_WIDTH - (current === undefined ? 0 : computeWidth(current));
  const keptTabs = new Set(current === undefined ? [] : [current]);
  for (const tab of tabs) {
    if (tab === current) continue;
    remainingWidth -= computeWidth(tab);
    if (remainingWidth < 0) break;
    keptTabs.add(tab);
  }
  return tabs.filter((tab) => keptTabs.has(tab));
}

/** Returns the id of the open tab: the one in the address, or the first tab. */
export function findOpenTab(tabs: readonly Tab[], name = 'tab'): string {
  const requestedTab = getParameter(name);
  return (tabs.find(({ id }) => id === requestedTab) ?? tabs[0]!).id; // a page has at least one tab
}
