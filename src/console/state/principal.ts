import { effect, signal } from '@preact/signals';
import type { PrincipalView } from '#clients/typescript/divisor.js';
import { notifyChange, forgetSeen } from './resource.js';
import { service } from './service.js';

export type Scope = PrincipalView['scopes'][number];

/** Identity of the caller; null until the service has responded. */
export const principal = signal<PrincipalView | null>(null);

/** Returns true if the API key has a scope. Actions that need another scope are hidden. */
export function may(scope: Scope): boolean {
  const scopes = principal.value?.scopes;
  return scopes !== undefined && (scopes.includes(scope) || scopes.includes('admin'));
}

/** Reads the identity of the caller. Reads it again after each change of the key. */
export function watchPrincipal(): void {
  let isFirst = true;
  effect(() => {
    const askedService = service.value;
    const isOther = !isFirst;
    isFirst = false;
    askedService.call('getPrincipal').then(
      (view) => {
        if (principal.peek() !== null && principal.peek()?.key_id !== view.key_id) forgetSeen();
        principal.value = view;
        // With another key, the responses on the page may be different.
        if (isOther) notifyChange();
      },
      () => {
        principal.value = null; // the key page or a banner shows the reason
      },
    );
  });
}
