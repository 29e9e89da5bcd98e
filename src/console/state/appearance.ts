import { computed, effect, signal } from '@preact/signals';
import { options } from 'preact';

/**
 * Replaces an invalid language of the browser, such as `en-US@posix`. Otherwise uPlot would fail while it is loaded.
 */
export function replaceInvalidLanguage(): void {
  if (!isTag(navigator.language)) Object.defineProperty(navigator, 'language', { value: 'en-GB' });
}

function isTag(language: string): boolean {
  try {
    return Intl.getCanonicalLocales(language).length === 1;
  } catch {
    return false;
  }
}

/** True while the browser prints the page. */
export const isPrinting = signal(false);

/** Width of a table on an A4 page with its margins, without the frame of the table, in pixels. */
export const PRINT_WIDTH = 686;

/** Renders at once, because the browser lays out the page as soon as the print event ends. */
function setPrinting(is: boolean): void {
  const usual = options.debounceRendering;
  options.debounceRendering = (render) => render();
  isPrinting.value = is;
  if (usual === undefined) delete options.debounceRendering;
  else options.debounceRendering = usual;
}

export function startPrinting(): void {
  addEventListener('beforeprint', () => setPrinting(true));
  addEventListener('afterprint', () => setPrinting(false));
}

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const THEME_ENTRY = 'divisor.theme';
const darkMedia = matchMedia('(prefers-color-scheme: dark)');
const systemIsDark = signal(darkMedia.matches);
darkMedia.addEventListener('change', ({ matches }) => {
  systemIsDark.value = matches;
});

const storedTheme = localStorage.getItem(THEME_ENTRY);
export const theme = signal<Theme>(THEMES.find((known) => known === storedTheme) ?? 'system');

/** Current theme; the light theme is used for printing. */
export const shade = computed(() => {
  if (isPrinting.value) return 'light';
  return theme.value === 'system' ? (systemIsDark.value ? 'dark' : 'light') : theme.value;
});

export function startTheme(): void {
  effect(() => {
    document.documentElement.dataset['theme'] = shade.value;
  });
}

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen;
  localStorage.setItem(THEME_ENTRY, chosen);
}
