import { effect, signal } from '@preact/signals';
import type { PrincipalView } from '#clients/typescript/divisor.js';
import { notifyChange, forgetSeen } from './resource.js';
import { service } from './service.js';

export type Scope = PrincipalView['scopes'][number];

/** Identity of the caller; null until the service has responded. */
export const principal = signal<PrincipalView | null>(null);

/** True if the key has a scope; other actions are not offered. */
export function may(scope: Scope): boolean {
  const scopes = principal.value?.scopes;
  return scopes !== undefined && (scopes.includes(scope) || scopes.includes('admin'));
}

/** Requests the identity of the caller, again after each change of the key. */
export function startPrincipal(): void {
  let isFirst = true;
  effect(() => {
    const asked = service.value;
    const isOther = !isFirst;
    isFirst = false;
    asked.call('getPrincipal').then(
      (view) => {
        if (principal.peek() !== null && principal.peek()?.key_id !== view.key_id) forgetSeen();
        principal.value = view;
        // Pages that were shown under another key ask again.
        if (isOther) notifyChange();
      },
      () => {
        principal.value = null; // The reason is shown where the answer is needed: on the key page, or above the page.
      },
    );
  });
}
