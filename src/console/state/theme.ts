import { computed, effect, signal } from '@preact/signals';
import { isPrinting } from './printing.js';

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
