import { signal } from '@preact/signals';

export interface Toast {
  readonly id: number;
  readonly kind: 'good' | 'bad' | 'info';
  readonly text: string;
  /** Link shown after the text. */
  readonly link?: { readonly address: string; readonly text: string } | undefined;
}

/** Short messages that disappear automatically. */
export const toasts = signal<readonly Toast[]>([]);

const SHOWN_MS = 8_000;
const SHOWN_MAX = 4;
let nextId = 1;

export function showToast(kind: Toast['kind'], text: string, link?: Toast['link']): void {
  const id = nextId++;
  toasts.value = [...toasts.value, { id, kind, text, link }].slice(-SHOWN_MAX);
  setTimeout(() => dismiss(id), SHOWN_MS);
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}
